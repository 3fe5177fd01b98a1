use super::*;
use bench_kit::interrupt::Interrupts;
use bench_report::result::BoundVerdict;
use cc_core::Registry;

fn run(only: &[&str], cc: &str, against: &[&str], tests: &mut Tests) -> ScorecardResult {
    run_file(&ScorecardFile::built_in(), only, cc, against, tests)
}

fn run_file(
    file: &ScorecardFile,
    only: &[&str],
    cc: &str,
    against: &[&str],
    tests: &mut Tests,
) -> ScorecardResult {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let (only, against): (Vec<String>, Vec<String>) = (owned(only), owned(against));
    let plan = ScorecardPlan {
        file,
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

/// Random loss on one axis, and what is asked of a CUBIC flow that meets it.
const LOSSES: &str = r#"
    url = "https://example.org"
    intro = "Losses."
    section = [{ number = "1", title = "Losses" }]

    [[criterion]]
    id = "loss"
    section = "1"
    title = "random loss"
    link = "delay 10ms loss {loss} rate 4mbit queue 1bdp"
    return_link = "delay 10ms"
    rounds = 1
    seconds = 3
    omit = 1
    measure = "link_share"
    sentence = "{figure} of the link."
    good = { at_least = 80, reason = "most of it" }
    axes = { loss = ["1%", "0%", "10%"] }

    [[criterion]]
    id = "loss-best"
    section = "1"
    title = "random loss, over the better of two"
    link = "delay 10ms loss {loss} rate 4mbit queue 1bdp"
    return_link = "delay 10ms"
    rounds = 1
    seconds = 3
    omit = 1
    measure = "goodput"
    relative = true
    reference = "best"
    over = "median"
    sentence = "{figure} the better one."
    good = { at_least = 0.9, reason = "hardly less" }
    axes = { loss = ["0%", "10%"] }
"#;

#[test]
fn of_several_cells_the_one_that_decides_is_judged_without_an_interval() {
    let file = ScorecardFile::read("l.toml", LOSSES).unwrap();
    let mut tests = Tests::default();
    let result = run_file(&file, &[], "cubic", &["bbr1"], &mut tests);
    assert!(result.complete, "{:?}", result.error);
    assert_eq!(result.intro.as_deref(), Some("Losses."));
    let rows: Vec<_> = result.rows().collect();
    let cells = rows[0].cells.as_ref().unwrap();
    let figures = cells.cells.iter().map(|cell| cell.figure.unwrap().value);
    let figures: Vec<_> = figures.collect();
    let ats: Vec<&str> = cells.cells.iter().map(|cell| cell.at.as_str()).collect();
    assert_eq!(ats, ["loss=1%", "loss=0%", "loss=10%"]);
    assert!(
        figures[0] < figures[1] && figures[2] < figures[0],
        "{figures:?}"
    );
    assert_eq!(rows[0].figure.unwrap().value, figures[2]);
    assert_eq!(rows[0].verdict, Some(BoundVerdict::Beyond));
    assert!(cells.within < 3, "{figures:?}");
    assert!(cells.cells[2].reference.unwrap().value > figures[2]);
    assert_eq!(
        rows[0].commands,
        ["bench-client scorecard cubic --against bbr1 --only loss --rounds 2 --seed 1"]
    );
    // The better half of two cells is the one without loss, in which both fill the link.
    let best = rows[1].figure.unwrap().value.get();
    assert!((0.9..=1.0).contains(&best), "{best}");
    assert_eq!(rows[1].verdict, Some(BoundVerdict::Within));
    // The second criterion has no test of its own: both have the same conditions.
    assert_eq!(tests.0.len(), 3);
}
