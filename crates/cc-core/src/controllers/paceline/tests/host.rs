//! A host that is late: how much of a round trip it missed, and what is delivered beside that.

use super::{at, is_near};
use crate::control::Control;
use crate::controller::PathState;
use crate::controllers::paceline::lateness::Lateness;
use crate::controllers::paceline::round::Round;
use units::{Bandwidth, Bytes};

const KB: Bytes = Bytes::new(1_000);
/// A millisecond is a packet, the bucket holds two, the window ten.
const CONTROL: Control = Control {
    cwnd: Bytes::new(10_000),
    pacing_rate: Bandwidth::from_bytes_per_sec(1_000_000),
    send_quantum: Bytes::new(2_000),
};

/// At `now`, ms, with so many kB in flight.
fn path(now: u64, inflight: u64) -> PathState {
    PathState {
        inflight: KB * inflight,
        ..PathState::new(at(now), KB)
    }
}

/// A packet of 1 kB leaves.
fn send(lateness: &mut Lateness, now: u64, inflight: u64) {
    lateness.on_sent(&path(now, inflight), KB, CONTROL.cwnd);
}

/// One whose bucket is empty at 0 ms, with so many kB in flight.
fn begun(inflight: u64) -> Lateness {
    let mut lateness = Lateness::new(at(0));
    lateness.on_control(&path(0, inflight), &CONTROL);
    lateness
}

#[test]
fn a_host_is_late_by_what_its_bucket_cannot_make_good() {
    let mut lateness = begun(0);
    (1..10).for_each(|now| send(&mut lateness, now, 1));
    assert!(is_near(lateness.take(), 0.0), "on time");
    // The bucket is full at 11 ms.
    send(&mut lateness, 11, 1);
    send(&mut lateness, 11, 2);
    assert!(is_near(lateness.take(), 0.0), "it catches up");
    // Full at 13 ms.
    send(&mut lateness, 18, 1);
    assert!(is_near(lateness.take(), 0.005));
    assert!(is_near(lateness.take(), 0.0), "once");
    // Full at 19 ms: one packet has left.
    lateness.on_control(&path(20, 2), &CONTROL);
    assert!(is_near(lateness.take(), 0.001), "until the rate changes");
}

#[test]
fn a_host_that_waits_for_its_window_is_not_late() {
    let mut lateness = begun(10);
    send(&mut lateness, 100, 5);
    assert!(is_near(lateness.take(), 0.0));

    let mut lateness = begun(10);
    lateness.on_control(&path(90, 5), &CONTROL);
    send(&mut lateness, 100, 5);
    assert!(is_near(lateness.take(), 0.01), "since the window has room");

    let mut lateness = begun(9);
    send(&mut lateness, 100, 5);
    assert!(is_near(lateness.take(), 0.098), "it had room before");
}

#[test]
fn a_host_with_nothing_to_send_is_not_late() {
    let blocked = |now, inflight| PathState {
        is_blocked: true,
        ..path(now, inflight)
    };
    let mut lateness = begun(0);
    lateness.on_sent(&blocked(100, 1), KB, CONTROL.cwnd);
    assert!(is_near(lateness.take(), 0.0), "it ran out of data");
    send(&mut lateness, 200, 1);
    assert!(is_near(lateness.take(), 0.099), "it has more since then");

    lateness.on_control(&blocked(210, 1), &CONTROL);
    lateness.on_control(&path(300, 1), &CONTROL);
    assert!(is_near(lateness.take(), 0.0));
}

#[test]
fn a_late_host_delivers_in_the_time_in_which_it_was_not() {
    let round = Round {
        time: 0.04,
        late: 0.01,
        acked: 30e3,
        ..Round::default()
    };
    assert!(is_near(round.rate(), 750e3) && is_near(round.rate_on_time(), 1e6));
}
