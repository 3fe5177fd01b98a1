//! A handle decides as the `Flow` of a transport in Rust does that reports the same.

use crate::handle::{Handle, SETUP, Status, names};
use cc_core::{AckedPacket, Feedback, Flow, LostPacket, Registry, Setup};
use paceline_cc::{PacelineCcControl, PacelineCcFeedback};
use std::collections::VecDeque;
use std::time::Duration;
use units::{Bytes, Timestamp};

#[test]
fn every_controller_decides_as_it_does_in_a_flow() {
    for name in names() {
        let decisions = run(&name, 20_000);
        assert!(
            decisions > 20 || name == "fixed",
            "{name}: {decisions} decisions"
        );
    }
}

/// A packet on the simulated path, and whether it will be lost, or be late.
struct Travelling {
    number: u64,
    packet: AckedPacket,
    fate: u64,
}

/// Sends as much as window and path admit, and acknowledges two packets at a time, of which some
/// are lost, late or marked. Returns how many decisions differed from the one before.
fn run(name: &str, packets: u64) -> usize {
    let handle = Handle::new(name);
    let setup = Setup::new(Timestamp::from_nanos(SETUP.now_ns), MSS, SETUP.seed);
    let choice = Registry::standard().choose(name).expect("it is a name");
    let mut flow = Flow::new(choice.build(&setup), &setup);
    let (mut now, mut number) = (SETUP.now_ns, 0);
    let mut path: VecDeque<Travelling> = VecDeque::new();
    let (mut decisions, mut former) = (0, handle.control());
    while number < packets {
        while path.len() < 200 && flow.path_state().inflight + MSS <= flow.control().cwnd {
            now += 50_000;
            // Gaps in the numbers, as packets leave them that do not count in flight.
            number += 1 + u64::from(number % 7 == 0);
            assert_eq!(handle.on_sent(now, number, MSS.get()), Status::Ok);
            let stamp = flow.on_sent(Timestamp::from_nanos(now), MSS);
            let packet = AckedPacket { stamp, bytes: MSS };
            let fate = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 57;
            path.push_back(Travelling {
                number,
                packet,
                fate,
            });
        }
        if number % 50 == 0 {
            assert_eq!(handle.on_app_limited(), Status::Ok);
            flow.on_app_limited();
        }
        now += 200_000;
        acknowledge(&handle, &mut flow, now, &mut path);
        compare(&handle, &flow, name, number);
        decisions += usize::from(handle.control() != former);
        former = handle.control();
    }
    decisions
}

fn acknowledge(handle: &Handle, flow: &mut Flow, now: u64, path: &mut VecDeque<Travelling>) {
    let (mut acked, mut lost, mut late, mut ce_marked) = (Vec::new(), Vec::new(), Vec::new(), 0);
    let mut sent_at = None;
    for Travelling {
        number,
        packet,
        fate,
    } in path.drain(..path.len().min(2))
    {
        if fate < 4 {
            assert_eq!(handle.on_lost(number), Status::Ok);
            let starts_range = lost
                .last()
                .is_none_or(|last: &LostPacket| last.stamp.sequence + 1 != packet.stamp.sequence);
            let packet = LostPacket {
                stamp: packet.stamp,
                bytes: packet.bytes,
                starts_range,
            };
            lost.push(packet);
            if fate == 0 {
                late.push((number, packet));
            }
            continue;
        }
        assert_eq!(handle.on_acked(number), Status::Ok);
        ce_marked += u64::from(fate == 5);
        sent_at = Some(packet.stamp.sent_at);
        acked.push(packet);
    }
    let at = Timestamp::from_nanos(now);
    let rtt = sent_at.map(|sent_at| at.since(sent_at));
    let feedback = PacelineCcFeedback {
        now_ns: now,
        rtt_ns: rtt.map_or(0, |rtt: Duration| rtt.as_nanos() as u64),
        ce_marked,
        is_persistent_congestion: 0,
    };
    assert_eq!(handle.end_feedback(feedback), Status::Ok);
    let feedback = Feedback {
        acked: &acked,
        lost: &lost,
        rtt,
        ce_marked,
        ..Feedback::at(at)
    };
    flow.on_feedback(&feedback, &mut ());
    for (number, packet) in late {
        assert_eq!(handle.on_spurious_loss(now, number), Status::Ok);
        flow.on_spurious_loss(at, &packet, &mut ());
    }
}

fn compare(handle: &Handle, flow: &Flow, name: &str, number: u64) {
    let control = flow.control();
    let expected = PacelineCcControl {
        cwnd: control.cwnd.get(),
        pacing_rate: control.pacing_rate.bytes_per_sec(),
        send_quantum: control.send_quantum.get(),
        wants_ect1: 0,
    };
    assert_eq!(handle.control(), expected, "{name}, packet {number}");
    let (path, state) = (handle.path(), flow.path_state());
    assert_eq!(
        path.in_flight,
        state.inflight.get(),
        "{name}, packet {number}"
    );
    assert_eq!(
        path.delivered,
        state.delivered.get(),
        "{name}, packet {number}"
    );
    assert_eq!(path.lost, state.lost.get(), "{name}, packet {number}");
    assert_eq!(
        handle.state(),
        flow.snapshot().state,
        "{name}, packet {number}"
    );
}

const MSS: Bytes = Bytes::new(1_200);
