use super::*;

#[test]
fn a_target_rate_of_zero_is_none() {
    let asked = |bits| Some(Bandwidth::from_bits_per_sec(bits));
    assert_eq!(target_rate(asked(0)), None);
    assert_eq!(target_rate(asked(5_000)), Some(5_000));
    assert_eq!(target_rate(None), None);
}

fn plan() -> Plan {
    Plan {
        direction: Direction::Forward,
        limit: Limit::Time(Duration::from_secs(10)),
        omit: Duration::ZERO,
        streams: 1,
        length: 131_072,
        rate: None,
        client_congestion: "new_reno".to_owned(),
        server_congestion: "new_reno".to_owned(),
        window: 32 << 20,
        step: STEP,
        extras: Extras::default(),
    }
}

fn refusal(change: impl FnOnce(&mut Plan)) -> String {
    let mut plan = plan();
    change(&mut plan);
    let limits = Limits {
        duration: Duration::from_secs(60),
        bytes: Bytes::new(10 << 30),
        window: Bytes::new(64 << 20),
        ..Limits::NONE
    };
    let error = plan.check(&limits, &Registry::standard()).unwrap_err();
    error.to_string()
}

#[test]
fn a_plan_out_of_bounds_is_refused_by_the_name_of_its_part() {
    let limits = Limits {
        duration: Duration::from_secs(10),
        bytes: Bytes::new(1),
        rate: Bandwidth::MAX,
        window: Bytes::new(32 << 20),
    };
    plan().check(&limits, &Registry::standard()).unwrap();
    assert_eq!(
        refusal(|plan| plan.streams = 129),
        "streams: 129 is not between 1 and 128"
    );
    assert_eq!(
        refusal(|plan| plan.length = 0),
        "length: 0 is not between 1 and 1048576"
    );
    assert_eq!(
        refusal(|plan| plan.rate = Some(999)),
        "rate: 999 is below 1000"
    );
    assert_eq!(
        refusal(|plan| plan.omit = Duration::from_secs(51)),
        "run of 61s too long: this server allows at most 60s"
    );
    assert_eq!(
        refusal(|plan| plan.limit = Limit::Bytes(0)),
        "bytes: 0 is below 1"
    );
    assert_eq!(
        refusal(|plan| plan.limit = Limit::Bytes(11 << 30)),
        "run of 11.0 GBytes too large: this server allows at most 10.0 GBytes"
    );
    let both = |plan: &mut Plan| {
        plan.direction = Direction::Both;
        plan.limit = Limit::Bytes(6 << 30);
    };
    assert_eq!(
        refusal(both),
        "run of 12.0 GBytes too large: this server allows at most 10.0 GBytes"
    );
    assert_eq!(
        refusal(|plan| plan.window = 65 << 20),
        "window of 65.0 MBytes too large: this server allows at most 64.0 MBytes; lower -w"
    );
    assert!(refusal(|plan| plan.step = Duration::ZERO).starts_with("step in ns: 0"));
    assert!(
        refusal(|plan| plan.server_congestion = "bbr9".to_owned())
            .starts_with("congestion controller of the server: `bbr9` is not")
    );
}

#[test]
fn a_plan_survives_the_wire() {
    let text = serde_json::to_string(&plan()).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan());
}

#[test]
fn a_part_that_is_not_known_is_refused_by_its_name() {
    let mut plan = serde_json::to_value(plan()).unwrap();
    plan["teleport"] = true.into();
    let error = serde_json::from_value::<Plan>(plan).unwrap_err();
    assert!(error.to_string().contains("`teleport`"), "{error}");
}

#[test]
fn connections_share_bytes_out_and_not_time() {
    let limits = |limit| {
        let plan = Plan { limit, ..plan() };
        let shares = plan.shares(3);
        shares.iter().map(|plan| plan.limit).collect::<Vec<_>>()
    };
    assert_eq!(limits(Limit::Bytes(11)), [4, 4, 3].map(Limit::Bytes));
    let time = Limit::Time(Duration::from_secs(10));
    assert_eq!(limits(time), [time; 3]);
}

#[test]
fn samples_divide_the_rows_and_stay_few() {
    let step = |seconds: u64, interval: Option<f64>| {
        let limit = Limit::Time(Duration::from_secs(seconds));
        step_for(limit, Duration::ZERO, interval.map(Duration::from_secs_f64))
    };
    assert_eq!(step(10, Some(1.0)), Duration::from_millis(100));
    assert_eq!(step(10, Some(0.25)), Duration::from_nanos(83_333_333));
    assert_eq!(step(10, Some(0.05)), Duration::from_millis(50));
    assert_eq!(step(10, None), Duration::from_millis(100));
    assert_eq!(step(3_600, Some(1.0)), Duration::from_secs(1));
    assert_eq!(step(3_600, Some(10.0)), Duration::from_nanos(1_666_666_666));
    assert_eq!(step(86_400, None), Duration::from_millis(43_200));
}

#[test]
fn a_low_target_rate_is_sent_in_small_blocks() {
    let block = |rate: Option<u64>| Plan { rate, ..plan() }.block().get();
    assert_eq!(block(None), 131_072);
    assert_eq!(block(Some(1_000_000)), 1_250);
    assert_eq!(block(Some(10_000)), 1_200);
    assert_eq!(block(Some(1_000_000_000)), 131_072);
}

#[test]
fn a_server_with_a_rate_serves_plans_that_keep_to_it_and_says_how_to() {
    let limits = Limits {
        rate: Bandwidth::from_bits_per_sec(100_000_000),
        ..Limits::NONE
    };
    let check = |streams, rate| {
        let plan = Plan {
            streams,
            rate,
            ..plan()
        };
        let checked = plan.check(&limits, &Registry::standard());
        checked.map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(check(4, Some(25_000_000)), Ok(()));
    let refused = "rate too high: this server allows 100mbit per direction; use -b 25mbit or less \
                   per stream";
    assert_eq!(check(4, Some(25_000_001)).unwrap_err(), refused);
    assert_eq!(check(4, None).unwrap_err(), refused);
}
