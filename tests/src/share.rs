//! One link, the same delay either way, and shares of what it delivers of payload.
//!
//! A packet of [`cc_core::Setup::mss`] bytes of UDP payload, 1,472 unless a flow says otherwise,
//! takes 1,514 bytes of a link's rate, so a link of 100 Mbit/s delivers 97.2 Mbit/s at most.

use crate::sim::{Outcome, Scenario};
use core::time::Duration;
use units::{Bandwidth, Gain};

/// A link of this rate, with half of the round-trip time on either way; `rest` describes what else
/// it does to data.
pub fn link(rate: &str, one_way: Duration, rest: &str) -> Scenario {
    let delay = units::duration::display(one_way);
    Scenario::new(&format!("rate {rate} delay {delay} {rest}"))
        .return_link(&format!("delay {delay}"))
}

/// What a link of this rate delivers of payload.
///
/// # Panics
/// When `rate` is none.
pub fn payload_rate(rate: &str) -> Bandwidth {
    rate.parse::<Bandwidth>().expect("a rate") * Gain::new(1_472, 1_514)
}

/// Goodput of the whole run in tenths of a percent of what a link of this rate delivers.
///
/// # Panics
/// When `rate` is none.
pub fn permille(outcome: &Outcome, rate: &str) -> u64 {
    outcome.goodput().bytes_per_sec() * 1_000 / payload_rate(rate).bytes_per_sec()
}
