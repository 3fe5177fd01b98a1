//! How long a test goes on.

use super::{ab, goodput_ratio, measured, parse};
use serde_json::Value;

const LINK: [&str; 2] = ["--link", "delay 20ms loss 0.5% rate 10mbit queue 1bdp"];

#[test]
fn a_test_goes_on_until_its_interval_is_narrow() {
    let plan = [
        "--independent",
        "-t",
        "3",
        "--a",
        "cubic",
        "--b",
        "new_reno",
    ];
    let result = measured(&[&plan[..], &LINK, &["--until", "6%"]].concat());
    let rounds = result["variants"][0]["rounds"]
        .as_array()
        .expect("a list")
        .len();
    assert_eq!(result["until"]["half_width"], 0.06);
    assert_eq!(result["until"]["reached"], true, "{rounds} rounds");
    let [low, _, high] = goodput_ratio(&result, "b");
    assert!((high / low).sqrt() <= 1.06, "{low} {high}");
    assert!(
        (8..50).contains(&rounds) && rounds.is_multiple_of(2),
        "{rounds}"
    );

    // The rounds are those of a test of as many, to the byte.
    let rounds = rounds.to_string();
    let fixed = measured(&[&plan[..], &LINK, &["--rounds", &rounds]].concat());
    assert_eq!(fixed["variants"], result["variants"]);
}

#[test]
fn a_test_that_never_knows_stops_at_its_most_rounds_and_says_so() {
    let plan = ["--independent", "-t", "1", "--a", "cubic", "--b", "cubic"];
    let until = ["--until", "0.1%", "--max-rounds", "11"];
    let result = undecided(&[&plan[..], &LINK, &until].concat());
    assert_eq!(result["until"]["reached"], false);
    for variant in result["variants"].as_array().expect("a list") {
        assert_eq!(variant["rounds"].as_array().map(Vec::len), Some(11));
    }
}

#[test]
fn every_interval_has_to_be_narrow_and_rounds_that_were_asked_for_are_run() {
    // `a` and `b` send the same to a percent; what `c` gets depends on its losses.
    let plan = "--independent -t 1 --a fixed:rate=1mbit --b fixed:rate=1mbit --also cubic";
    let plan: Vec<&str> = plan.split(' ').collect();
    let until = ["--until", "2%", "--max-rounds", "10"];
    let result = undecided(&[&plan[..], &LINK, &until].concat());
    let [low, _, high] = goodput_ratio(&result, "b");
    assert!((high / low).sqrt() <= 1.02, "{low} {high}");
    assert_eq!(result["until"]["reached"], false);

    let until = ["--until", "90%", "--rounds", "12"];
    let result = measured(&[&plan[..], &LINK, &until].concat());
    let rounds = &result["variants"][0]["rounds"];
    assert_eq!(rounds.as_array().map(Vec::len), Some(12));
    assert_eq!(result["until"]["reached"], true);
}

/// As [`measured`], of a test whose intervals stay too wide.
fn undecided(args: &[&str]) -> Value {
    let ended = ab(&[&["--virtual"], args].concat());
    assert_eq!(ended.code, Some(3), "{args:?}: {ended:?}");
    parse(&ended.stdout)
}
