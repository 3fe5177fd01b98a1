use super::*;
use cc_core::{Registry, Setup};

const MSS: Bytes = Bytes::new(1_200);

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn path(controller: &str) -> Path {
    let setup = Setup::new(at(0), MSS, 1);
    let choice = Registry::standard()
        .choose(controller)
        .expect("it is a name");
    Path::new(Flow::new(choice.build(&setup), &setup))
}

/// Packets of a round trip, all sent at `time`.
fn send(path: &mut Path, time: u64, numbers: std::ops::Range<u64>) {
    for number in numbers {
        path.on_sent(at(time), number, MSS);
    }
}

#[test]
fn acknowledgements_and_losses_of_one_ack_are_one_feedback() {
    let mut path = path("new_reno");
    let initial = path.control().cwnd;
    send(&mut path, 0, 0..10);
    for number in 2..6 {
        path.on_acked(at(40), at(0), number, MSS);
    }
    path.on_acks_ended(at(40), MSS * 6, false);
    path.on_lost(at(40), 0, MSS);
    path.on_lost(at(40), 1, MSS);
    assert_eq!(path.flow.path_state().delivered, Bytes::ZERO);
    let starts = {
        path.pending.mark_ranges();
        let lost = path.pending.lost.iter();
        lost.map(|packet| packet.starts_range).collect::<Vec<_>>()
    };
    assert_eq!(starts, [true, false]);

    assert!(path.control().cwnd < initial);
    let state = path.flow.path_state();
    assert_eq!((state.delivered, state.lost), (MSS * 4, MSS * 2));
    assert_eq!(state.inflight, MSS * 4);
    assert_eq!(state.latest_rtt, Some(Duration::from_millis(40)));
}

#[test]
fn a_second_ack_at_the_same_time_is_another_feedback() {
    let mut path = path("cubic");
    send(&mut path, 0, 0..4);
    path.on_acked(at(40), at(0), 0, MSS);
    path.on_acks_ended(at(40), MSS * 3, false);
    path.on_acked(at(40), at(0), 1, MSS);
    assert_eq!(path.flow.path_state().delivered, MSS);
    path.on_acks_ended(at(40), MSS * 2, false);
    path.control();
    assert_eq!(path.flow.path_state().delivered, MSS * 2);
}

#[test]
fn late_packets_count_as_delivered_and_the_window_returns() {
    let mut path = path("cubic");
    let initial = path.control().cwnd;
    send(&mut path, 0, 0..10);
    path.on_acked(at(40), at(0), 3, MSS);
    path.on_acks_ended(at(40), MSS * 9, false);
    path.on_lost(at(40), 0, MSS);
    let reduced = path.control().cwnd;
    assert!(reduced < initial);
    path.on_late();
    path.on_acked(at(42), at(0), 4, MSS);
    path.on_acks_ended(at(42), MSS * 7, false);
    assert!(path.control().cwnd >= initial, "{:?}", path.control());
    let state = path.flow.path_state();
    assert_eq!((state.delivered, state.lost), (MSS * 3, Bytes::ZERO));
}

#[test]
fn what_was_lost_two_probe_timeouts_ago_was_not_late() {
    let mut path = path("cubic");
    send(&mut path, 0, 0..10);
    path.on_acked(at(40), at(0), 3, MSS);
    path.on_acks_ended(at(40), MSS * 9, false);
    path.on_lost(at(40), 0, MSS);
    path.control();
    // Two probe timeouts are 2 (40 ms + 4 · 15 ms) by then.
    path.on_sent(at(201), 10, MSS);
    path.on_acked(at(241), at(201), 10, MSS);
    path.on_acks_ended(at(241), MSS * 8, false);
    path.control();
    path.on_late();
    path.on_sent(at(242), 11, MSS);
    assert_eq!(path.flow.path_state().lost, MSS);
}

#[test]
fn packets_of_one_number_are_told_apart_by_when_they_left() {
    let mut path = path("bbr3");
    path.on_sent(at(0), 0, MSS);
    path.on_sent(at(5), 0, MSS);
    path.on_sent(at(5), 0, Bytes::new(100));
    path.on_acked(at(45), at(5), 0, Bytes::new(100));
    path.on_acked(at(45), at(0), 0, MSS);
    path.on_acks_ended(at(45), MSS, false);
    path.control();
    let state = path.flow.path_state();
    assert_eq!(state.delivered, MSS + Bytes::new(100));
    assert_eq!(state.inflight, MSS);
    // Of the newest one that was acknowledged.
    assert_eq!(state.latest_rtt, Some(Duration::from_millis(40)));
}

#[test]
fn what_noq_has_in_flight_counts() {
    let mut path = path("bbr3");
    send(&mut path, 0, 0..4);
    // Two were dropped with the keys of the handshake.
    path.on_acked(at(40), at(0), 3, MSS);
    path.on_acks_ended(at(40), MSS, false);
    path.control();
    assert_eq!(path.flow.path_state().inflight, MSS);
}

#[test]
fn marks_application_limits_and_persistent_congestion_reach_the_controller() {
    let mut marked = path("cubic");
    let initial = marked.control().cwnd;
    send(&mut marked, 0, 0..10);
    marked.on_acked(at(40), at(0), 0, MSS);
    marked.on_acks_ended(at(40), MSS * 9, true);
    marked.on_marked(at(40));
    assert!(marked.control().cwnd < initial);
    assert!(marked.flow.path_state().is_app_limited);

    let mut persistent = path("cubic");
    send(&mut persistent, 0, 0..10);
    persistent.on_lost(at(2_000), 0, MSS);
    persistent.on_persistent_congestion(at(2_000));
    assert_eq!(persistent.control().cwnd, MSS * 2);
}

#[test]
fn packets_that_are_forgotten_do_not_pile_up() {
    let mut path = path("fixed");
    send(&mut path, 0, 0..70_000);
    path.on_acked(at(40), at(0), 0, MSS);
    path.on_acked(at(40), at(0), 69_999, MSS);
    path.control();
    assert_eq!(path.flow.path_state().delivered, MSS);
}
