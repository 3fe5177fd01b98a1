//! The examples that have no test beside them.

#[path = "../../../crates/transport/examples/short_flows.rs"]
#[expect(dead_code, reason = "a test has no use for `main`")]
mod short_flows;
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

/// What the example prints of `flows` flows of 20 kB: load, p50, p95 and p99 in ms.
fn short_flows(link: &str, flows: u32, per_second: f64) -> (String, [u64; 4]) {
    let arrivals = short_flows::Arrivals {
        flows,
        bytes: 20_000,
        per_second,
    };
    let mut text = Vec::new();
    short_flows::print("cubic", link, arrivals, &mut text).expect("the link is one");
    let text = String::from_utf8(text).expect("it prints text");
    let figures = text.lines().map(|line| {
        let figure = line
            .split(' ')
            .nth(1)
            .and_then(|figure| figure.parse().ok());
        figure.expect("a number behind the name")
    });
    let figures: Vec<u64> = figures.take(4).collect();
    (text, figures.try_into().expect("four figures"))
}

#[test]
fn short_flows_take_their_round_trips_on_an_empty_link_and_longer_on_a_busy_one() {
    let link = "delay 20ms rate 8mbit queue 100p";
    let (text, [load, p50, ..]) = short_flows(link, 40, 5.0);
    assert!(text.ends_with("finished 40 of 40\n"), "{text}");
    assert_eq!(load, 10);
    // A round trip of 40 ms for the handshake; then half of one, another one for what is beyond
    // the initial window, and 20 ms of transmission.
    assert!((110..=140).contains(&p50), "{text}");
    let (text, [load, _, p95, _]) = short_flows(link, 80, 45.0);
    assert_eq!(load, 90);
    assert!(p95 > 150, "{text}");
}
