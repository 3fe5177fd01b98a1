//! The examples that have no test beside them.

#[path = "../../../crates/transport/examples/startup_trace.rs"]
#[expect(dead_code, reason = "a test has no use for `main`")]
mod startup_trace;

use core::time::Duration;

/// A row of the trace: time and state, and the columns behind them.
fn rows(controller: &str) -> Vec<(u64, String, Vec<Option<f64>>)> {
    let mut csv = Vec::new();
    let link = "delay 20ms rate 100mbit queue 2bdp";
    let traced = startup_trace::trace(controller, link, Duration::from_secs(1), &mut csv);
    traced.expect("the names are known and memory takes what is written");
    let csv = String::from_utf8(csv).expect("CSV is text");
    let (header, rows) = csv.split_once('\n').expect("there is a header");
    assert_eq!(
        header,
        "time,state,cwnd,pacing_rate,bandwidth,inflight,srtt,delivered"
    );
    rows.lines().map(row).collect()
}

fn row(line: &str) -> (u64, String, Vec<Option<f64>>) {
    let mut cells = line.split(',');
    let time = cells.next().and_then(|cell| cell.parse().ok());
    let state = cells.next().map(str::to_owned);
    let rest = cells.map(|cell| cell.parse().ok()).collect();
    (time.expect("a time"), state.expect("a state"), rest)
}

#[test]
fn a_trace_of_bbr_shows_startup_double_until_the_pipe_is_full_and_drain_empty_it() {
    let rows = rows("bbr3");
    assert_eq!(rows.len(), 1_000);
    assert!(rows.iter().zip(0..).all(|(row, millis)| row.0 == millis));
    let first = |state: &str| rows.iter().position(|row| row.1 == state);
    let states = ["Startup", "Drain", "ProbeBW_CRUISE"].map(first);
    assert!(states.is_sorted() && states[0] == Some(0), "{states:?}");
    let bandwidth = |row: usize| rows[row].2[2].expect("BBR has an estimate");
    assert!(bandwidth(200) > 1.8 * bandwidth(160));
    let drain = states[1].expect("Startup ends within a second");
    assert!((95e6..100e6).contains(&bandwidth(drain)));
    let inflight = |row: usize| rows[row].2[3].expect("something is in flight");
    let drained = states[2].expect("Drain ends within a second");
    assert!(inflight(drained) <= 0.6 * inflight(drain));
}

#[test]
fn what_a_controller_does_not_estimate_is_left_empty() {
    assert!(rows("cubic").iter().all(|row| row.2[2].is_none()));
}
