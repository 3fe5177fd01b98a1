//! What a kernel that shapes a link does to a few pings, so that a path can be checked before use.

use super::clauses::Clauses;
use super::delay::Distribution;
use super::link_spec::LinkSpec;
use super::loss::LossModel;
use super::service::Service;
use super::slot::SlotInterval;
use core::time::Duration;
use units::{Bandwidth, Bytes, Gain};

/// The RTT and the loss of [`PINGS`](Self::PINGS) pings of 98 bytes, 50 ms apart.
///
/// Changes `at` a time are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PingExpectation {
    /// No RTT is shorter.
    pub min_rtt: Duration,
    /// No RTT is longer, but for what a busy host adds.
    pub max_rtt: Duration,
    /// The share that is lost; `None` where so few pings do not tell: losses that are not
    /// independent, or pings that fill the link themselves.
    pub loss: Option<Gain>,
}

impl PingExpectation {
    /// How many there are.
    pub const PINGS: u32 = 20;

    /// Over `link`, and back over `return_link`.
    pub fn new(link: &LinkSpec, return_link: &LinkSpec) -> Self {
        let (there, back) = (Self::of(&link.clauses), Self::of(&return_link.clauses));
        let arrives = |loss: Gain| loss.complement();
        Self {
            min_rtt: there.min_rtt.saturating_add(back.min_rtt),
            max_rtt: there.max_rtt.saturating_add(back.max_rtt),
            loss: there.loss.zip(back.loss).map(|(there, back)| {
                let both = arrives(there).of(arrives(back).millionths());
                Gain::from_millionths(both).complement()
            }),
        }
    }

    /// One way.
    fn of(clauses: &Clauses) -> Self {
        let delay = clauses.delay();
        let jitter = clauses.delay.map_or(Duration::ZERO, |delay| {
            spread(delay.distribution, delay.jitter)
        });
        let slot = clauses
            .slot
            .map_or(Duration::ZERO, |slot| match slot.interval {
                SlotInterval::Between(_, max) => max,
                SlotInterval::Distributed(distribution, mean, jitter) => {
                    mean.saturating_add(spread(distribution, jitter))
                }
            });
        let transmission = clauses.rate().map_or(Duration::ZERO, |rate| SIZE / rate);
        let longest = [delay, jitter, slot, transmission];
        Self {
            // A reordered packet is not delayed.
            min_rtt: match clauses.reorder {
                Some(_) => Duration::ZERO,
                None => delay.saturating_sub(jitter),
            },
            max_rtt: longest
                .into_iter()
                .fold(Duration::ZERO, Duration::saturating_add),
            loss: loss(clauses),
        }
    }
}

fn loss(clauses: &Clauses) -> Option<Gain> {
    let policer = clauses.policer.map(|policer| policer.rate);
    let peak = match clauses.service {
        Some(Service::TokenBucket(filter)) => Some(filter.burst),
        _ => None,
    };
    let is_filled = [clauses.rate(), policer]
        .into_iter()
        .flatten()
        .any(|rate| rate < LOAD)
        || peak.is_some_and(|burst| burst < SIZE)
        || clauses
            .limit
            .is_some_and(|limit| limit < PingExpectation::PINGS);
    if is_filled || clauses.corrupt.is_some() {
        return None;
    }
    match clauses.loss.as_ref().map(|loss| &loss.model) {
        None => Some(Gain::ZERO),
        Some(LossModel::Random(chance)) if chance.correlation == Gain::ZERO => {
            Some(chance.probability)
        }
        Some(_) => None,
    }
}

/// How far from its mean a random time is at most. The tables of the distributions other than the
/// uniform one end within eight deviations.
fn spread(distribution: Distribution, jitter: Duration) -> Duration {
    match distribution {
        Distribution::Uniform => jitter,
        _ => jitter.saturating_mul(8),
    }
}

/// What ping sends unless told otherwise, with the headers of ICMP, IPv4 and Ethernet.
const SIZE: Bytes = Bytes::new(56 + 8 + 20 + 14);
/// Of one each 50 ms.
const LOAD: Bandwidth = Bandwidth::from_bytes_per_sec(SIZE.get() * 20);

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_ping(link: &str, return_link: &str, min_us: u64, max_us: u64, loss: Option<u64>) {
        let (link, back) = (link.parse().unwrap(), return_link.parse().unwrap());
        let ping = PingExpectation::new(&link, &back);
        let micros = |time: Duration| time.as_micros() as u64;
        assert_eq!(
            (micros(ping.min_rtt), micros(ping.max_rtt)),
            (min_us, max_us),
            "{link}"
        );
        assert_eq!(ping.loss.map(Gain::millionths), loss, "{link}");
    }

    #[test]
    fn both_ways_count() {
        assert_ping("", "", 0, 0, Some(0));
        assert_ping(
            "delay 20ms",
            "delay 5ms loss 1%",
            25_000,
            25_000,
            Some(10_000),
        );
        assert_ping("loss 10%", "loss 20%", 0, 0, Some(280_000));
        assert_ping("loss 100%", "", 0, 0, Some(1_000_000));
    }

    #[test]
    fn what_varies_widens_the_bounds() {
        assert_ping("delay 50ms 20ms", "", 30_000, 70_000, Some(0));
        assert_ping(
            "delay 50ms 10ms distribution normal",
            "",
            0,
            130_000,
            Some(0),
        );
        assert_ping("delay 10ms reorder 5%", "", 0, 10_000, Some(0));
        // 98 bytes at 1 Mbit/s take 784 µs.
        assert_ping(
            "delay 10ms rate 1mbit",
            "delay 1ms",
            11_000,
            11_784,
            Some(0),
        );
        assert_ping("slot 5ms 8ms", "", 0, 8_000, Some(0));
        assert_ping("slot distribution normal 5ms 1ms", "", 0, 13_000, Some(0));
    }

    #[test]
    fn a_few_pings_do_not_tell_every_loss() {
        for link in [
            "loss gemodel 1% 10%",
            "loss 10% 25%",
            "loss state 1%",
            "limit 19",
            "rate 15kbit",
            "tbf 1mbit burst 90b",
            "policer 15kbit burst 3000b",
            "corrupt 1%",
        ] {
            let ping = PingExpectation::new(&link.parse().unwrap(), &LinkSpec::default());
            assert_eq!(ping.loss, None, "{link}");
        }
    }
}
