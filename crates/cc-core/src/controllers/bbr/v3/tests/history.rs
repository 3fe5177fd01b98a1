//! Any history of a connection.

use super::super::ambient_loss::AmbientLoss;
use super::*;
use crate::{AckedPacket, Feedback, Flow, PacketStamp};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Sends, acknowledges, loses and finds again at random, with pauses from nothing to minutes.
#[test]
fn whatever_happens_the_controls_stay_within_their_bounds() {
    for seed in 0..40 {
        let mut rng = Rng::new(seed);
        let setup = Setup::new(Timestamp::ZERO, MSS, seed);
        let ambient = (seed % 2 == 1).then(AmbientLoss::default);
        let bbr = Bbr::<Draft06>::new(&Params::defaults(DRAFT_06), ambient, &setup);
        let mut flow = Flow::new(Box::new(bbr), &setup);
        let (mut flying, mut lost) = (Vec::new(), Vec::new());
        let mut now = setup.now;
        for _ in 0..5_000 {
            now += Duration::from_nanos(rng.next_u64() >> (28 + rng.below(30)));
            match rng.below(10) {
                0..=4 => {
                    let bytes = MSS * (1 + rng.below(20));
                    flying.push((flow.on_sent(now, bytes), bytes));
                }
                5 => flow.on_app_limited(),
                6 if !lost.is_empty() => {
                    let late = lost.swap_remove(rng.below(lost.len() as u64) as usize);
                    flow.on_spurious_loss(now, &late, &mut ());
                }
                _ => feed(&mut flow, now, &mut rng, &mut flying, &mut lost),
            }
            let control = flow.control();
            assert!(control.cwnd >= MSS, "{seed}: {}", flow.snapshot());
            assert!(!control.pacing_rate.is_zero(), "{seed}");
            assert!(control.send_quantum >= MSS * 2, "{seed}");
        }
    }
}

/// One ACK, or expiry of a timer, about some of the oldest packets.
fn feed(
    flow: &mut Flow,
    now: Timestamp,
    rng: &mut Rng,
    flying: &mut Vec<(PacketStamp, Bytes)>,
    lost: &mut Vec<LostPacket>,
) {
    let told = rng.below(flying.len() as u64 + 1) as usize;
    let (mut acked_now, mut lost_now) = (Vec::new(), Vec::new());
    for (stamp, bytes) in flying.drain(..told) {
        if rng.chance(Gain::percent(10)) {
            let starts_range = rng.chance(Gain::percent(50));
            lost_now.push(LostPacket {
                stamp,
                bytes,
                starts_range,
            });
        } else {
            acked_now.push(AckedPacket { stamp, bytes });
        }
    }
    let rtt = acked_now
        .last()
        .map(|packet| now.since(packet.stamp.sent_at));
    let feedback = Feedback {
        acked: &acked_now,
        lost: &lost_now,
        rtt,
        ce_marked: rng.below(20) / 19,
        is_persistent_congestion: !lost_now.is_empty() && rng.chance(Gain::percent(5)),
        ..Feedback::at(now)
    };
    flow.on_feedback(&feedback, &mut ());
    lost.extend(lost_now);
    lost.truncate(100);
}
