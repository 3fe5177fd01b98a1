use super::draws::Draws;
use super::quantity::{Kind, Quantity};
use super::*;
use crate::matrix::axis::Only;
use crate::matrix::template::Text;
use std::collections::BTreeMap;

fn draws(text: &str) -> Draws {
    toml::from_str(text).unwrap()
}

fn uses() -> Vec<UseFile> {
    #[derive(serde::Deserialize)]
    struct File {
        r#use: Vec<UseFile>,
    }
    let text = "[[use]]\nat = 'alone'\nweight = 3\n[[use]]\nat = 'transfer'\nbytes = 1000";
    toml::from_str::<File>(text).unwrap().r#use
}

fn refusal(text: &str) -> String {
    check(&draws(text), &uses()).unwrap_err()
}

/// The value of each variable in one cell.
fn drawn(draws: &Draws, seed: u64, cell: u32) -> BTreeMap<String, String> {
    let uses = uses();
    let sample = sample(draws, &uses, seed, cell).unwrap();
    let words = sample.words.into_iter();
    words.map(|(name, text)| (name, text.to_string())).collect()
}

fn number(text: &str) -> f64 {
    text.parse::<Quantity>().unwrap().value
}

const PATH: &str = r#"
    rate = { log_uniform = ["1mbit", "100mbit"] }
    rtt = { uniform = ["10ms", "90ms"] }
    half = { value = 0.5, times = ["rtt"] }
    buffer = { value = 2, times = ["rate", "rtt"], at_least = "3000b" }
    later = { value = "5s", plus = "rtt" }
    [loss]
    choose = [{ at = "none", weight = 3, words = "" }, { at = "some", words = "loss 1%" }]
"#;

#[test]
fn quantities_are_read_and_written_in_three_digits() {
    for (text, written) in [
        ("1.2345ms", "1.23ms"),
        ("999.7ms", "1s"),
        ("0.25s", "250ms"),
        ("1500kbit", "1.5mbit"),
        ("12345b", "12300b"),
        ("2kb", "2050b"),
        ("0.012345%", "0.0123%"),
        ("7", "7"),
    ] {
        assert_eq!(text.parse::<Quantity>().unwrap().to_string(), written);
        // What is written is read as itself.
        assert_eq!(written.parse::<Quantity>().unwrap().to_string(), written);
    }
    for text in ["", "-1", "5x", "mbit", "%", "-3%"] {
        let error = text.parse::<Quantity>().unwrap_err().to_string();
        assert!(error.contains("a number, or one with a unit"), "{error}");
    }
}

#[test]
fn a_rate_times_a_time_is_a_size() {
    let read = |text: &str| text.parse::<Quantity>().unwrap();
    let size = read("8mbit").times(read("100ms")).unwrap();
    assert_eq!((size.kind, size.value), (Kind::Size, 100_000.0));
    assert_eq!(read("10%").times(read("50%")).unwrap().to_string(), "5%");
    assert!(read("1s").times(read("1s")).is_none());
    assert!(read("1s").plus(read("1%")).is_none());
}

#[test]
fn a_cell_is_the_same_in_every_draw_and_cells_differ() {
    let all = draws(PATH);
    assert_eq!(drawn(&all, 7, 3), drawn(&all, 7, 3));
    assert_ne!(drawn(&all, 7, 3), drawn(&all, 7, 4));
    assert_ne!(drawn(&all, 7, 3), drawn(&all, 8, 3));
    // One variable more, or fewer alternatives, moves no other.
    let more = draws(&format!("extra = {{ uniform = [0, 1] }}\n{PATH}"));
    assert_eq!(drawn(&all, 7, 3)["rate"], drawn(&more, 7, 3)["rate"]);
}

#[test]
fn numbers_have_the_distribution_that_they_are_given() {
    let all = draws(PATH);
    let cells: Vec<_> = (0..2_000).map(|cell| drawn(&all, 1, cell)).collect();
    let share = |name: &str, is: &dyn Fn(f64) -> bool| {
        let cells = cells.iter().filter(|cell| is(number(&cell[name])));
        cells.count() as f64 / 2_000.0
    };
    // Half of a logarithm is its geometric middle; four standard deviations are 0.045.
    assert!((share("rate", &|rate| rate < 10e6) - 0.5).abs() < 0.045);
    assert!((share("rtt", &|rtt| rtt < 0.05) - 0.5).abs() < 0.045);
    assert!(cells.iter().all(|cell| {
        let (rate, rtt) = (number(&cell["rate"]), number(&cell["rtt"]));
        (1e6..=100e6).contains(&rate) && (0.01..=0.09).contains(&rtt)
    }));
    let none = cells.iter().filter(|cell| cell["loss"] == "none").count();
    assert!((none as f64 / 2_000.0 - 0.75).abs() < 0.04, "{none}");
    let alone = cells.iter().filter(|cell| cell["use"] == "alone").count();
    assert!((alone as f64 / 2_000.0 - 0.75).abs() < 0.04, "{alone}");
}

#[test]
fn derived_numbers_follow_what_they_are_made_from_as_written() {
    let all = draws(PATH);
    for cell in (0..50).map(|cell| drawn(&all, 1, cell)) {
        let (rate, rtt) = (number(&cell["rate"]), number(&cell["rtt"]));
        let near = |name: &str, value: f64| (number(&cell[name]) / value - 1.0).abs() < 0.006;
        assert!(near("half", rtt / 2.0), "{cell:?}");
        assert!(
            near("buffer", (2.0 * rate * rtt / 8.0).max(3_000.0)),
            "{cell:?}"
        );
        assert!(near("later", 5.0 + rtt), "{cell:?}");
    }
}

#[test]
fn an_alternative_brings_its_words() {
    let all = draws(PATH);
    let cells: Vec<_> = (0..40).map(|cell| drawn(&all, 1, cell)).collect();
    for cell in cells {
        let words = if cell["loss"] == "none" {
            ""
        } else {
            "loss 1%"
        };
        assert_eq!(cell["words"], words);
    }
}

#[test]
fn only_what_a_cell_uses_is_said_of_it() {
    let all = draws(PATH);
    let uses = uses();
    let sample = sample(&all, &uses, 1, 0).unwrap();
    let link = Text::from("delay {half} {words} queue {buffer}");
    let used = sample.used(&all, [&link].into_iter());
    assert_eq!(used, ["rate", "rtt", "half", "buffer", "loss"]);
    let link = Text::from("delay {later}");
    assert_eq!(sample.used(&all, [&link].into_iter()), ["rtt", "later"]);
}

#[test]
fn wrong_variables_are_refused_by_name() {
    for (text, expected) in [
        ("a = {}", "draws.a: needs one of"),
        (
            "a = { value = 1, uniform = [0, 1] }",
            "draws.a: needs one of",
        ),
        ("a = { uniform = ['2ms', '1ms'] }", "2ms to 1ms is no range"),
        ("a = { uniform = ['2ms', '1kbit'] }", "is no range"),
        ("a = { log_uniform = [0, 1] }", "has to be above 0"),
        ("a = { value = 'x' }", "`x`"),
        ("a = { choose = [] }", "no alternatives"),
        ("a = { choose = [{ at = 'x', weight = 0 }] }", "add up to 0"),
        (
            "a = { choose = [{ at = 'x', b = '' }, { at = 'y' }] }",
            "define different words",
        ),
        (
            "a = { choose = [{ at = 'x' }], at_least = 1 }",
            "cannot be combined",
        ),
        (
            "a = { choose = [{ at = 'x', b = '' }] }\nb = { value = 1 }",
            "`b` is defined twice",
        ),
        ("use = { value = 1 }", "`use` is defined twice"),
    ] {
        let error = refusal(text);
        assert!(error.contains(expected), "{text}: {error}");
    }
    for (text, expected) in [
        (
            "a = { value = 1, times = ['b'] }\nb = { value = 1 }",
            "no number `b` is drawn before",
        ),
        (
            "a = { value = '1s' }\nb = { value = '1s', times = ['a'] }",
            "is no quantity",
        ),
        (
            "a = { value = '1s' }\nb = { value = 1, plus = 'a' }",
            "of another kind",
        ),
        ("a = { value = '1s', at_least = '1%' }", "of another kind"),
    ] {
        let error = sample(&draws(text), &uses(), 1, 0).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

/// What is left of [`PATH`] with these, and the cells that they name.
fn narrowed(only: &[&str]) -> Result<(Draws, Vec<UseFile>, NarrowedCells), String> {
    let only: Vec<Only> = only.iter().map(|only| only.parse().unwrap()).collect();
    let (mut draws, mut uses) = (draws(PATH), uses());
    let cells = narrow(&mut draws, &mut uses, &only.iter().collect::<Vec<_>>())?;
    check(&draws, &uses).unwrap();
    Ok((draws, uses, cells))
}

#[test]
fn a_draw_is_narrowed_to_alternatives_values_ranges_and_cells() {
    let (all, uses, cells) = narrowed(&[
        "loss=some",
        "rate=5mbit..20mbit",
        "rtt=30ms",
        "use=transfer",
        "cell=9",
        "cell=2",
    ])
    .unwrap();
    assert_eq!((uses.len(), cells), (1, vec![2, 9]));
    for number in 0..50 {
        let sample = sample(&all, &uses, 7, number).unwrap();
        let text = |name: &str| sample.words[name].to_string();
        assert_eq!(
            (text("loss"), text("rtt")),
            ("some".to_owned(), "30ms".to_owned())
        );
        let rate = text("rate").parse::<Quantity>().unwrap().value;
        assert!((5e6..=20e6).contains(&rate));
    }
    // What is not named is drawn as without.
    let (all, ..) = narrowed(&["loss=some"]).unwrap();
    assert_eq!(drawn(&all, 7, 1)["rate"], drawn(&draws(PATH), 7, 1)["rate"]);
}

#[test]
fn what_is_not_drawn_cannot_be_narrowed() {
    for (only, expected) in [
        (
            "jitter=1ms",
            "unknown variable `jitter`; known: cell, cc, use, rate",
        ),
        ("loss=2%", "unknown value `2%` of `loss`; known: none, some"),
        ("use=both", "known: alone, transfer"),
        ("cell=x", "`x` is not a number"),
        ("rate=fast", "rate: value: `fast`"),
        ("rate=2mbit..1mbit", "is no range"),
    ] {
        let error = narrowed(&[only]).unwrap_err();
        assert!(error.contains(expected), "{only}: {error}");
    }
    let error = narrowed(&["rate=1mbit", "rate=2mbit"]).unwrap_err();
    assert!(error.contains("one value or one range"), "{error}");
}
