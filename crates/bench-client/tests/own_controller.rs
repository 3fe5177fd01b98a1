//! The example of a controller of one's own, run as its users run it.

#[path = "../examples/own_controller.rs"]
#[expect(dead_code, reason = "a test has no use for `main`")]
mod own_controller;

use serde_json::Value;
use std::path::Path;
use std::process::ExitCode;

#[test]
fn a_controller_from_outside_is_tested_against_another_and_fills_the_link() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("own_controller.json");
    let json = file.to_str().expect("cargo's folder has a name in UTF-8");
    let link = "delay 20ms rate 8mbit queue 4bdp";
    let line = [
        "own_controller",
        "ab",
        "--a",
        "vegas:queue=3",
        "--b",
        "cubic",
    ];
    let plan = ["--link", link, "--rounds", "1", "-t", "2", "-O", "1"];
    let output = ["--no-report", "--json", json];
    let args = line.iter().chain(&plan).chain(&output).map(Into::into);
    assert_eq!(own_controller::run(args), ExitCode::SUCCESS);

    let text = std::fs::read_to_string(file).expect("the result was written");
    let result: Value = serde_json::from_str(&text).expect("the result is JSON");
    let vegas = &result["variants"][0];
    assert_eq!(vegas["cc"], "vegas:queue=3");
    let round = &vegas["rounds"][0];
    let goodput = round["goodput_bits_per_second"].as_f64();
    assert!(goodput > Some(4e6), "{goodput:?} of 8 Mbit/s");
}

#[test]
fn a_parameter_that_it_does_not_have_is_bad_usage() {
    let args = ["own_controller", "ab", "--a", "vegas:gamma=1"];
    assert_eq!(own_controller::run(args.map(Into::into)), ExitCode::from(2));
}
