//! A host that is late: how much of a round trip it missed, and what is delivered beside that.

use super::{at, is_near};
use crate::control::Control;
use crate::controller::PathState;
use crate::controllers::paceline::lateness::Lateness;
use crate::controllers::paceline::round::Round;
use units::{Bandwidth, Bytes};

const KB: Bytes = Bytes::new(1_000);

/// A packet of 1 kB that leaves at `now`, ms, with so many kB in flight. A millisecond is a packet,
/// the bucket holds two, the window ten.
fn send(lateness: &mut Lateness, now: u64, inflight: u64) {
    let control = Control {
        cwnd: KB * 10,
        pacing_rate: Bandwidth::from_bytes_per_sec(1_000_000),
        send_quantum: KB * 2,
    };
    let path = PathState {
        inflight: KB * inflight,
        ..PathState::new(at(now), KB)
    };
    lateness.on_sent(&path, KB, &control);
}

/// One that has sent a packet at 0 ms, with `inflight` kB in flight before it.
fn begun(inflight: u64) -> Lateness {
    let mut lateness = Lateness::new(at(0));
    send(&mut lateness, 0, inflight);
    lateness
}

#[test]
fn a_host_is_late_by_what_its_bucket_cannot_make_good() {
    let mut lateness = begun(0);
    (1..10).for_each(|now| send(&mut lateness, now, 1));
    assert!(is_near(lateness.take(), 0.0), "on time");
    // Due at 10 ms; the bucket has filled at 12.
    send(&mut lateness, 12, 1);
    send(&mut lateness, 12, 2);
    send(&mut lateness, 12, 3);
    assert!(is_near(lateness.take(), 0.0), "it catches up");
    // Due at 13 ms. Three buckets may be the fall of a rate.
    send(&mut lateness, 19, 1);
    assert!(is_near(lateness.take(), 0.0));
    // Due at 18 ms, as the bucket holds two packets.
    send(&mut lateness, 25, 1);
    assert!(is_near(lateness.take(), 0.005));
    assert!(is_near(lateness.take(), 0.0), "once");
}

#[test]
fn a_host_that_waits_for_its_window_is_not_late() {
    let mut lateness = begun(9);
    send(&mut lateness, 100, 5);
    assert!(is_near(lateness.take(), 0.0));

    let mut lateness = begun(9);
    lateness.on_window(&PathState::new(at(90), KB), KB * 5, KB * 10);
    send(&mut lateness, 100, 5);
    assert!(is_near(lateness.take(), 0.008), "since the window has room");

    let mut lateness = begun(8);
    send(&mut lateness, 100, 5);
    assert!(is_near(lateness.take(), 0.097), "it had room before");
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
