//! One link, the same delay either way, and shares of what it delivers of payload.
//!
//! A packet of [`cc_core::Setup::mss`] bytes of UDP payload, 1,472 unless a flow says otherwise,
//! takes 1,514 bytes of a link's rate, so a link of 100 Mbit/s delivers 97.2 Mbit/s at most.

use crate::seed::median;
use crate::sim::{Flow, Outcome, Scenario};
use core::ops::Range;
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

/// The same of a flow over 100 Mbit/s and 40 ms with a queue of one BDP and this `loss`, over 30
/// seconds; the median of three seeds.
///
/// # Panics
/// When there is no such controller or `loss` is none.
pub fn permille_under_loss(controller: &str, loss: &str) -> u64 {
    let rest = format!("queue 1bdp loss {loss}");
    let scenario = link("100mbit", Duration::from_millis(20), &rest).flow(Flow::of(controller));
    median(3, |seed| {
        let outcome = scenario.clone().seed(seed).run_for(Duration::from_secs(30));
        permille(&outcome, "100mbit")
    })
}

/// Jain's index of what the flows got in a part of the run: 1 when all is equal, 1/n when one has
/// it all; NaN when nobody got anything.
pub fn jain(outcome: &Outcome, time: Range<Duration>) -> f64 {
    let flows = outcome.flows.iter();
    let rates = flows.map(|flow| flow.goodput_between(time.start, time.end));
    let rates: Vec<f64> = rates.map(|rate| rate.bytes_per_sec() as f64).collect();
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    sum * sum / (rates.len() as f64 * squares)
}
