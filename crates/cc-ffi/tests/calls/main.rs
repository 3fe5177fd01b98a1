//! The functions as C calls them.

mod any_calls;
mod handle;
mod like_flow;

use cc_core::Registry;
use handle::{Handle, SETUP, Status, calls_with_null, error_in, names, status_text};
use paceline_cc::{MAX_IN_FLIGHT, MAX_LOST, PacelineCcFeedback, PacelineCcSetup};

#[test]
fn null_and_misaligned_pointers_are_errors() {
    let handle = Handle::new("bbr3");
    for (index, status) in calls_with_null(&handle).into_iter().enumerate() {
        assert_eq!(status, Status::NullPointer, "call {index}");
    }
}

#[test]
fn a_text_that_chooses_no_controller_is_answered_with_what_could_stand_there() {
    let (status, text) = Handle::with("cubik", &SETUP).unwrap_err();
    assert_eq!(status, Status::BadController);
    assert!(text.contains("did you mean `cubic`?"), "{text}");
    let (status, text) = Handle::with("bbr3:loss_thresh=200%", &SETUP).unwrap_err();
    assert_eq!(status, Status::BadController);
    assert!(text.contains("loss_thresh"), "{text}");
}

#[test]
fn messages_are_cut_to_the_buffer() {
    assert_eq!(error_in(8), *b"`nope` \0");
    assert_eq!(error_in(3), *b"`n\0#####");
    assert_eq!(error_in(1), *b"\0#######");
    assert_eq!(error_in(0), *b"########");
}

#[test]
fn every_controller_has_its_name_and_can_be_made() {
    let registry = Registry::standard();
    let known: Vec<_> = registry.specs().iter().map(|spec| spec.name).collect();
    assert_eq!(names(), known);
    for name in names() {
        let handle = Handle::new(&name);
        assert!(handle.control().cwnd >= 2_400, "{name}");
        assert!(!handle.state().is_empty(), "{name}");
    }
}

#[test]
fn every_status_has_a_text_that_says_what_to_do() {
    for status in 1..=9 {
        assert!(status_text(status).contains("; "), "{status}");
    }
    assert!(status_text(10).contains("no status"));
    assert!(status_text(-1).contains("no status"));
}

#[test]
fn setups_outside_their_ranges_are_refused() {
    let refused = |setup: PacelineCcSetup| {
        let made = Handle::with("cubic", &setup);
        made.unwrap_err().0 == Status::BadArgument
    };
    for mss in [0, 63, 65_528, u64::MAX] {
        assert!(refused(PacelineCcSetup { mss, ..SETUP }), "mss {mss}");
    }
    for initial_cwnd in [1, 2_399, u64::MAX] {
        let setup = PacelineCcSetup {
            initial_cwnd,
            ..SETUP
        };
        assert!(refused(setup), "window {initial_cwnd}");
    }
    assert!(refused(PacelineCcSetup {
        sends_ect1: 2,
        ..SETUP
    }));
    let setup = PacelineCcSetup {
        initial_cwnd: 38_400,
        ..SETUP
    };
    assert_eq!(
        Handle::with("cubic", &setup).unwrap().control().cwnd,
        38_400
    );
}

#[test]
fn a_wrong_call_is_an_error_and_changes_nothing() {
    let handle = Handle::new("bbr3");
    assert_eq!(handle.on_sent(2_000, 5, 1_200), Status::Ok);
    let before = (handle.control(), handle.path());
    for (call, expected) in [
        (handle.on_sent(1_999, 6, 1_200), Status::TimeWentBack),
        (handle.on_sent(2_000, 5, 1_200), Status::NumberNotNew),
        (handle.on_sent(2_000, 4, 1_200), Status::NumberNotNew),
        (handle.on_sent(2_000, 6, 0), Status::BadArgument),
        (handle.on_sent(2_000, 6, 65_528), Status::BadArgument),
        (handle.on_acked(4), Status::UnknownPacket),
        (handle.on_acked(6), Status::UnknownPacket),
        (handle.on_lost(6), Status::UnknownPacket),
        (handle.on_discarded(6), Status::UnknownPacket),
        (handle.on_spurious_loss(2_000, 5), Status::UnknownPacket),
        (handle.on_spurious_loss(1_999, 5), Status::TimeWentBack),
        (handle.on_mss(2_000, 63), Status::BadArgument),
        (handle.on_mss(1_999, 1_400), Status::TimeWentBack),
        (handle.on_path_change(2_000, 65_528), Status::BadArgument),
        (handle.on_path_change(1_999, 1_200), Status::TimeWentBack),
        (handle.set_sends_ect1(2_000, 2), Status::BadArgument),
        (handle.set_sends_ect1(1_999, 1), Status::TimeWentBack),
        (handle.end(1_999, 0), Status::TimeWentBack),
        (handle.end(2_000, u64::MAX), Status::BadArgument),
    ] {
        assert_eq!(call, expected);
        assert_eq!((handle.control(), handle.path()), before);
    }
}

#[test]
fn reported_packets_are_ended_before_anything_else_happens() {
    let handle = Handle::new("bbr3");
    for number in 0..4 {
        assert_eq!(handle.on_sent(2_000, number, 1_200), Status::Ok);
    }
    assert_eq!(handle.on_acked(1), Status::Ok);
    assert_eq!(handle.on_acked(1), Status::UnknownPacket);
    assert_eq!(handle.on_lost(1), Status::UnknownPacket);
    assert_eq!(handle.on_lost(0), Status::Ok);
    let open = Status::FeedbackNotEnded;
    assert_eq!(handle.on_sent(3_000, 4, 1_200), open);
    assert_eq!(handle.on_discarded(2), open);
    assert_eq!(handle.on_app_limited(), open);
    assert_eq!(handle.on_spurious_loss(3_000, 0), open);
    assert_eq!(handle.on_mss(3_000, 1_400), open);
    assert_eq!(handle.on_path_change(3_000, 1_200), open);
    assert_eq!(handle.set_sends_ect1(3_000, 1), open);
    // Nothing has taken effect so far.
    assert_eq!(handle.path().in_flight, 4_800);
    assert_eq!(handle.end(3_000, 1_000), Status::Ok);
    let path = handle.path();
    assert_eq!(
        (path.in_flight, path.delivered, path.lost),
        (2_400, 1_200, 1_200)
    );
    assert_eq!((path.srtt_ns, path.min_rtt_ns), (1_000, 1_000));
    assert_eq!(handle.on_spurious_loss(3_000, 0), Status::Ok);
    assert_eq!(handle.on_spurious_loss(3_000, 0), Status::UnknownPacket);
    let path = handle.path();
    assert_eq!((path.delivered, path.lost), (2_400, 0));
    assert_eq!(handle.on_discarded(2), Status::Ok);
    assert_eq!(handle.path().in_flight, 1_200);
}

#[test]
fn no_more_packets_are_in_flight_than_a_handle_can_hold() {
    let handle = Handle::new("cubic");
    let most = MAX_IN_FLIGHT as u64;
    for number in 0..most {
        assert_eq!(handle.on_sent(1_000, number, 1_200), Status::Ok);
    }
    assert_eq!(handle.on_sent(1_000, most, 1_200), Status::TooManyPackets);
    assert_eq!(handle.path().in_flight, most * 1_200);
    assert_eq!(handle.on_discarded(0), Status::Ok);
    assert_eq!(handle.on_sent(1_000, most, 1_200), Status::Ok);
}

#[test]
fn the_oldest_lost_packets_are_forgotten() {
    let handle = Handle::new("cubic");
    let lost = MAX_LOST as u64 + 1;
    for number in 0..lost {
        assert_eq!(handle.on_sent(1_000, number, 1_200), Status::Ok);
    }
    for number in 0..lost {
        assert_eq!(handle.on_lost(number), Status::Ok);
    }
    assert_eq!(handle.end(2_000, 0), Status::Ok);
    assert_eq!(handle.on_spurious_loss(2_000, 0), Status::UnknownPacket);
    assert_eq!(handle.on_spurious_loss(2_000, 1), Status::Ok);
}

#[test]
fn another_path_begins_anew_and_ignores_what_left_before() {
    let handle = Handle::new("cubic");
    let initial = handle.control();
    for number in 0..20 {
        assert_eq!(handle.on_sent(1_000, number, 1_200), Status::Ok);
    }
    for number in 0..10 {
        assert_eq!(handle.on_acked(number), Status::Ok);
    }
    assert_eq!(handle.end(2_000, 1_000), Status::Ok);
    assert!(handle.control().cwnd > initial.cwnd);
    assert_eq!(handle.on_path_change(3_000, 1_200), Status::Ok);
    assert_eq!(handle.control().cwnd, initial.cwnd);
    assert_eq!((handle.path().in_flight, handle.path().delivered), (0, 0));

    assert_eq!(handle.on_acked(10), Status::Ok);
    assert_eq!(handle.on_lost(11), Status::Ok);
    assert_eq!(handle.end(4_000, 0), Status::Ok);
    assert_eq!(handle.on_discarded(12), Status::Ok);
    assert_eq!(handle.on_spurious_loss(4_000, 11), Status::Ok);
    assert_eq!((handle.path().delivered, handle.path().lost), (0, 0));
    assert_eq!(handle.control().cwnd, initial.cwnd);
    assert_eq!(handle.on_sent(4_000, 19, 1_200), Status::NumberNotNew);
    assert_eq!(handle.on_sent(4_000, 20, 1_200), Status::Ok);
}

#[test]
fn marks_are_answered_and_ect1_is_asked_for_where_it_is_sent() {
    let handle = Handle::new("prague");
    assert_eq!(handle.control().wants_ect1, 0);
    assert_eq!(handle.set_sends_ect1(1_000, 1), Status::Ok);
    assert_eq!(handle.control().wants_ect1, 1);
    let window_after = |ce_marked| {
        let handle = Handle::new("cubic");
        for number in 0..10 {
            assert_eq!(handle.on_sent(1_000, number, 1_200), Status::Ok);
        }
        assert_eq!(handle.on_acked(0), Status::Ok);
        let feedback = PacelineCcFeedback {
            now_ns: 2_000,
            rtt_ns: 1_000,
            ce_marked,
            is_persistent_congestion: 0,
        };
        assert_eq!(handle.end_feedback(feedback), Status::Ok);
        handle.control().cwnd
    };
    assert!(window_after(1) < window_after(0));
}

/// As ngtcp2 does, which tells of it after what its loss timer declares lost.
#[test]
fn persistent_congestion_counts_in_a_feedback_of_its_own() {
    let window = |is_apart: bool| {
        let handle = Handle::new("cubic");
        for number in 0..10 {
            assert_eq!(handle.on_sent(2_000, number, 1_200), Status::Ok);
        }
        assert_eq!(handle.on_acked(0), Status::Ok);
        assert_eq!(handle.end(50_000_000, 49_998_000), Status::Ok);
        for number in 1..10 {
            assert_eq!(handle.on_lost(number), Status::Ok);
        }
        if is_apart {
            assert_eq!(handle.end(900_000_000, 0), Status::Ok);
            assert!(handle.control().cwnd > 2 * 1_200);
        }
        let feedback = PacelineCcFeedback {
            now_ns: 900_000_000,
            rtt_ns: 0,
            ce_marked: 0,
            is_persistent_congestion: 1,
        };
        assert_eq!(handle.end_feedback(feedback), Status::Ok);
        handle.control().cwnd
    };
    assert_eq!(window(true), 2 * 1_200);
    assert_eq!(window(false), window(true));
}
