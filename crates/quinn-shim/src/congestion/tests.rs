use super::*;

fn name_of(factory: impl ControllerFactory + Send + Sync + 'static) -> String {
    chosen(Arc::new(factory)).to_string()
}

#[test]
fn quinns_defaults_are_our_defaults() {
    assert_eq!(name_of(CubicConfig::default()), "cubic");
    assert_eq!(name_of(BbrConfig::default()), "bbr3");
    assert_eq!(name_of(NewRenoConfig::default()), "new_reno");
}

#[test]
fn the_reduction_of_new_reno_is_taken_over() {
    for (factor, name) in [(0.7, "new_reno:beta=0.7"), (0.1, "new_reno:beta=0.1")] {
        let mut config = NewRenoConfig::default();
        config.loss_reduction_factor(factor).initial_window(20_000);
        assert_eq!(name_of(config), name);
    }
}

#[test]
fn a_window_of_the_applications_is_not_taken_over() {
    let mut config = CubicConfig::default();
    config.initial_window(1_000_000);
    assert_eq!(name_of(config), "cubic");
}
