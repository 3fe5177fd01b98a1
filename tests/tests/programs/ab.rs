//! `bench-client ab` as a measuring instrument: what is equal it calls equal, what theory knows it
//! finds, and it says how sure it is.

mod competing;
mod deciding;
mod earlier;
mod elsewhere;
mod known;
mod media;
mod resuming;
mod servers;

use e2e::programs::{Ended, run};
use serde_json::Value;

/// What the command prints as JSON; it has to succeed. No report, virtual time.
fn measured(args: &[&str]) -> Value {
    let ended = ab(&[&["--virtual"], args].concat());
    assert_eq!(ended.code, Some(0), "{args:?}: {ended:?}");
    parse(&ended.stdout)
}

/// `ab` without a report, whose output is JSON.
fn ab(args: &[&str]) -> Ended {
    run(
        "bench-client",
        [&["ab", "--no-report", "-J"], args].concat(),
    )
}

fn parse(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}:\n{json}"))
}

/// Low end, centre and high end of the goodput's ratio of variant `name` and `a`.
fn goodput_ratio(result: &Value, name: &str) -> [f64; 3] {
    let comparison = match name {
        "b" => &result["comparison"],
        further => &result["further_comparisons"][further],
    };
    let goodput = &comparison["goodput_bits_per_second"];
    ["low", "ratio_b_over_a", "high"].map(|end| {
        let end = &goodput[end];
        end.as_f64().unwrap_or_else(|| panic!("{goodput}"))
    })
}
