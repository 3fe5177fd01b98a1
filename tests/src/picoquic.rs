//! The simulations by which picoquic bounds its controllers, as far as several test files share
//! them: 10 Mbit/s, round trip 20 ms, queue of one BDP unless said.
//!
//! Its links count UDP payload, ours layer 2, so rates are converted; its packets carry some 30
//! bytes of QUIC that ours do not.

use crate::sim::{Outcome, Scenario};
use core::time::Duration;
use units::Timestamp;

/// The layer-2 rate, in netem's words, that carries so much UDP payload in packets of 1,472 bytes.
pub fn payload_rate(kbit: u64) -> String {
    format!("rate {}bit", kbit * 1_000 * 1_514 / 1_472)
}

/// 10 Mbit/s and 20 ms, as most of picoquic's cases are; `more` goes with the delay.
pub fn picoquic(more: &str) -> Scenario {
    let rate = payload_rate(10_000);
    Scenario::new(&format!("{rate} delay 10ms {more} queue 1bdp")).return_link("delay 10ms")
}

/// # Panics
/// When the first flow did not have its transfer done within `limit`.
pub fn done_within(outcome: &Outcome, limit: Duration) {
    let completed = outcome.flow(0).completed_at;
    let done = completed.unwrap_or_else(|| panic!("not done within {:?}", outcome.ended_at));
    assert!(
        done <= Timestamp::ZERO + limit,
        "done at {done}, not within {limit:?}"
    );
}
