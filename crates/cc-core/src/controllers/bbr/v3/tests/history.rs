//! Any history of a connection.

use super::*;
use crate::events::Feedback;
use crate::tests::flow_driver::FlowDriver;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Sends, acknowledges, loses and finds again at random, with pauses from nothing to minutes.
#[test]
fn whatever_happens_the_controls_stay_within_their_bounds() {
    for seed in 0..40 {
        let mut rng = Rng::new(seed);
        let setup = Setup::new(Timestamp::ZERO, MSS, seed);
        let adapts_down = seed % 2 == 1;
        let bbr = Bbr::<Draft06>::new(&Params::defaults(DRAFT_06), adapts_down, &setup);
        let mut driver = FlowDriver::under(Box::new(bbr), &setup);
        let mut lost = Vec::new();
        for _ in 0..5_000 {
            driver.now += Duration::from_nanos(rng.next_u64() >> (28 + rng.below(30)));
            match rng.below(10) {
                0..=4 => driver.send_one(MSS * (1 + rng.below(20))),
                5 => driver.flow.on_app_limited(),
                6 if !lost.is_empty() => {
                    let late = lost.swap_remove(rng.below(lost.len() as u64) as usize);
                    driver.arrive_late(&[late]);
                }
                _ => feed(&mut driver, &mut rng, &mut lost),
            }
            let control = driver.flow.control();
            assert!(control.cwnd >= MSS, "{seed}: {}", driver.flow.snapshot());
            assert!(!control.pacing_rate.is_zero(), "{seed}");
            assert!(control.send_quantum >= MSS * 2, "{seed}");
        }
    }
}

/// One ACK, or expiry of a timer, about some of the oldest packets.
fn feed(driver: &mut FlowDriver, rng: &mut Rng, lost: &mut Vec<LostPacket>) {
    let told = rng.below(driver.flying.len() as u64 + 1) as usize;
    let (mut acked_now, mut lost_now) = (Vec::new(), Vec::new());
    for packet in driver.flying.drain(..told) {
        if rng.chance(Gain::percent(10)) {
            lost_now.push(LostPacket {
                stamp: packet.stamp,
                bytes: packet.bytes,
                starts_range: rng.chance(Gain::percent(50)),
            });
        } else {
            acked_now.push(packet);
        }
    }
    let newest = acked_now.last();
    let now = driver.now;
    driver.tell(&Feedback {
        acked: &acked_now,
        lost: &lost_now,
        rtt: newest.map(|packet| now.since(packet.stamp.sent_at)),
        ce_marked: rng.below(20) / 19,
        is_persistent_congestion: !lost_now.is_empty() && rng.chance(Gain::percent(5)),
        ..Feedback::at(now)
    });
    lost.extend(lost_now);
    lost.truncate(100);
}
