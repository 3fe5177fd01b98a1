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
    assert!(refused("0").contains("no opportunity later than 0 ms"));
    let spec = LinkSpec::parse_with("trace 1,2,3,4", read_trace).unwrap();
    assert_eq!(spec.rate(), Some(Bandwidth::from_bits_per_sec(12_112_000)));
}

#[test]
fn recorded_delays_and_losses_are_read_and_written_as_clauses() {
    for text in [
        "delay trace 12,14 loss trace 0,1 ecn trace 1,2 queue 1bdp",
        "delay trace 5 every 1s at 1s loss trace 1 at 2s delay trace 5",
    ] {
        let spec = LinkSpec::parse_with(text, read_trace).unwrap();
        assert_eq!(spec.to_string(), text);
    }
    let spec = LinkSpec::parse_with("delay trace 12,14,1.5 every 10ms", read_trace).unwrap();
    assert_eq!(spec.to_string(), "delay trace 12,14,1.5");
    assert_eq!(spec.delay(), Duration::from_nanos(9_166_666));
    for (text, word, says) in [
        ("delay trace", "", "expected a file name after `trace`"),
        ("delay trace 5 every 0s", "0s", "from 1ns"),
        ("delay trace 5 1ms", "1ms", "before a value"),
        ("delay trace x", "x", "line 1 of the delay trace"),
        ("delay trace 5 ordered", "ordered", "only allowed after"),
        ("loss trace 012", "012", "line 1 of the loss trace"),
        ("loss 1% trace 1", "", ""),
    ] {
        match LinkSpec::parse_with(text, read_trace) {
            Err(error) => assert!(
                error.word() == word && error.problem().contains(says),
                "{text}: {error}"
            ),
            // `trace` behind a whole loss clause is that of the rate.
            Ok(spec) => assert!(says.is_empty() && spec.rate().is_some(), "{text}"),
        }
    }
}

#[test]
fn a_built_in_trace_needs_no_file_and_a_path_is_never_one() {
    let link = spec("delay trace starlink-delay trace starlink");
    let rate = link.rate().unwrap().bits_per_sec() / 1_000_000;
    assert_eq!((rate, link.delay().as_millis()), (49, 10));
    assert_refused(
        "trace ./starlink",
        "./starlink",
        7,
        "no such file; built-in",
    );
    assert_refused(
        "trace starlink-delay",
        "starlink-delay",
        7,
        "line 5 of the trace",
    );
    assert_refused(
        "loss trace starlink",
        "starlink",
        12,
        "line 6 of the loss trace",
    );
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
    // A file of numbers may be a trace of rates and one of delays.
    let text = "delay trace 5 trace 5 at 1s delay trace 5 every 1s at 2s trace 5";
    assert_eq!(LinkSpec::parse_with(text, read).unwrap().to_string(), text);
    assert_eq!(reads.get(), 4);
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
