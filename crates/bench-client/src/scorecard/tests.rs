use super::*;
use bench_kit::interrupt::Interrupts;

fn run(only: &[&str], cc: &str, against: &[&str], tests: &mut Tests) -> ScorecardResult {
    let file = ScorecardFile::built_in();
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let (only, against): (Vec<String>, Vec<String>) = (owned(only), owned(against));
    let plan = ScorecardPlan {
        file: &file,
        criteria: None,
        only: &only,
        cc: cc.to_owned(),
        against: &against,
        rounds: 2,
        seed: 1,
        registry: &Registry::standard(),
    };
    let workers = NonZero::<usize>::MIN;
    let interrupts = Interrupts::listen().unwrap();
    plan.run(workers, tests, &interrupts, &mut |_| {}).unwrap()
}

#[test]
fn a_page_has_what_was_asked_for_with_figure_verdict_and_words() {
    let result = run(
        &["short-100k", "long-beside-new"],
        "new_reno",
        &["cubic", "bbr1"],
        &mut Tests::default(),
    );
    assert!(result.complete);
    let rows: Vec<_> = result.rows().collect();
    let found: Vec<(&str, &str)> = rows
        .iter()
        .map(|row| (row.id.as_str(), row.against.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            ("short-100k", "cubic"),
            ("long-beside-new", "cubic"),
            ("long-beside-new", "bbr1")
        ]
    );
    assert_eq!((rows[0].commands.len(), rows[1].commands.len()), (1, 2));
    assert_eq!((rows[0].unit.as_str(), rows[1].unit.as_str()), ("s", "×"));
    assert!(
        rows[0].words.starts_with("100 kB take 0."),
        "{}",
        rows[0].words
    );
    assert!(
        rows[2].words.contains("beside a new `bbr1`"),
        "{}",
        rows[2].words
    );
    assert!(rows[0].verdict.is_none() && rows[1].verdict.is_some());
    assert_eq!(
        result.command,
        "bench-client scorecard new_reno --against cubic --against bbr1 --only short-100k --only \
         long-beside-new --rounds 2 --seed 1"
    );
}

#[test]
fn a_controller_beside_itself_does_no_harm_and_its_test_is_run_once() {
    let mut tests = Tests::default();
    let result = run(&["long-beside-new"], "cubic", &["cubic"], &mut tests);
    let row = result.rows().next().unwrap();
    let figure = row.figure.unwrap();
    let ends = [Some(figure.value), figure.low, figure.high];
    assert_eq!(ends.map(|end| end.unwrap().get()), [1.0; 3]);
    assert_eq!(tests.0.len(), 1);
    tests.forget("bbr3");
    assert_eq!(tests.0.len(), 1);
    tests.forget("cubic");
    assert_eq!(tests.0.len(), 0);
}
