//! Traces, and links that change with time.

use super::*;

#[test]
fn a_trace_says_which_of_its_lines_is_wrong() {
    let refused = |name: &str| {
        let error = LinkSpec::parse_with(&format!("trace {name}"), read_trace).unwrap_err();
        error.problem().to_owned()
    };
    assert!(
        refused("1,x").contains("line 2 of the trace, `x`"),
        "{}",
        refused("1,x")
    );
    assert!(refused("5,4").contains("line 2 of the trace is earlier"));
    assert!(refused("0").contains("no line later than 0 ms"));
    let spec = LinkSpec::parse_with("trace 1,2,3,4", read_trace).unwrap();
    assert_eq!(spec.rate(), Some(Bandwidth::from_bits_per_sec(12_112_000)));
}

#[test]
fn a_trace_is_read_once_however_often_the_link_changes_to_it() {
    let reads = core::cell::Cell::new(0);
    let read = |name: &str| {
        reads.set(reads.get() + 1);
        read_trace(name)
    };
    let text = "trace 1,2 at 1s trace 5 at 2s trace 1,2 at 3s trace 5";
    assert_eq!(LinkSpec::parse_with(text, read).unwrap().to_string(), text);
    assert_eq!(reads.get(), 2);
}

#[test]
fn changes_are_checked_at_the_time_at_which_they_hold() {
    assert_refused("at 5s", "5s", 4, "no change given");
    assert_refused("at 7s..5s loss 1%", "7s..5s", 4, "such as 10s, or a period");
    assert_refused("delay 5ms at 5s queue 5p", "queue", 17, "needs a `rate`");
    assert_refused("at 1s seed 5", "5", 12, "`seed` cannot change");
    spec("at 1s rate 1mbit at 2s queue 5p");
    spec("at 1s..3s rate 1mbit at 2s..3s queue 5p");
    assert_refused(
        "at 1s..3s rate 1mbit at 2s..4s queue 5p",
        "queue",
        32,
        "needs a `rate`",
    );
}

#[test]
fn the_last_of_two_changes_of_one_clause_holds() {
    let link = spec("delay 1ms at 2s delay 2ms at 5s..7s delay 3ms at 6s loss 1%");
    let at = |seconds| {
        link.changes
            .clauses_at(&link.clauses, Duration::from_secs(seconds))
            .to_string()
    };
    assert_eq!(at(0), "delay 1ms");
    assert_eq!(at(4), "delay 2ms");
    assert_eq!(at(5), "delay 3ms");
    assert_eq!(at(6), "delay 3ms loss 1%");
    assert_eq!(at(7), "delay 2ms loss 1%");
}
