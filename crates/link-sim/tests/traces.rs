//! The traces of `scenarios/traces` and the program that makes them.

#[expect(dead_code, reason = "the program's own main is not called here")]
#[path = "../examples/make_trace.rs"]
mod make_trace;

use link_sim::LinkSpec;
use std::fs;
use units::Bandwidth;

const CELLULAR: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/scenarios/traces/cellular.trace"
);

#[test]
fn the_trace_is_what_the_program_makes() {
    assert_eq!(
        fs::read_to_string(CELLULAR).unwrap(),
        make_trace::cellular(1)
    );
}

#[test]
fn the_trace_is_a_link_of_some_megabits() {
    let spec: LinkSpec = format!("trace {CELLULAR} delay 30ms queue 1bdp")
        .parse()
        .unwrap();
    let mbits = |mbits: u64| Bandwidth::from_bits_per_sec(mbits * 1_000_000);
    assert!((mbits(5)..mbits(10)).contains(&spec.rate().unwrap()));
}
