//! What a kernel that shapes a link does to a few pings, so that a path can be checked before use.

use super::clauses::Clauses;
use super::clauses::delay::{Delay, Distribution};
use super::clauses::loss::LossModel;
use super::clauses::slot::SlotInterval;
use super::link_spec::LinkSpec;
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
        let loss = there.loss.zip(back.loss).map(|(there, back)| {
            let both = there.complement().of(back.complement().millionths());
            Gain::from_millionths(both).complement()
        });
        Self {
            min_rtt: there.min_rtt.saturating_add(back.min_rtt),
            max_rtt: there.max_rtt.saturating_add(back.max_rtt),
            loss,
        }
    }

    fn of(clauses: &Clauses) -> Self {
        let (least, most) = bounds(clauses.delay.as_ref());
        let slot = match clauses.slot.map(|slot| slot.interval) {
            None => Duration::ZERO,
            Some(SlotInterval::Between(_, max)) => max,
            Some(SlotInterval::Distributed(distribution, mean, jitter)) => {
                mean.saturating_add(spread(distribution, jitter))
            }
        };
        let transmission = clauses.rate().map_or(Duration::ZERO, |rate| SIZE / rate);
        // A reordered packet is not delayed.
        let is_delayed = clauses.reorder.is_none();
        let longest = [most, slot, transmission];
        Self {
            min_rtt: least * u32::from(is_delayed),
            max_rtt: longest.iter().sum(),
            loss: loss(clauses),
        }
    }
}

/// The shortest and the longest propagation.
fn bounds(delay: Option<&Delay>) -> (Duration, Duration) {
    match delay {
        None => (Duration::ZERO, Duration::ZERO),
        Some(Delay::Netem(delay)) => {
            let jitter = spread(delay.distribution, delay.jitter);
            (
                delay.time.saturating_sub(jitter),
                delay.time.saturating_add(jitter),
            )
        }
        Some(Delay::Recorded(delay)) => {
            let delays = delay.recorded.trace.delays().iter().copied();
            let (least, most) = (delays.clone().min(), delays.max());
            (least.unwrap_or_default(), most.unwrap_or_default())
        }
    }
}

/// The share that is lost, where losses are independent and the pings do not fill the link.
fn loss(clauses: &Clauses) -> Option<Gain> {
    let policer = clauses.policer.map(|policer| policer.rate);
    let mut rates = [clauses.rate(), policer].into_iter().flatten();
    if rates.any(|rate| rate < LOAD)
        || clauses
            .limit
            .is_some_and(|limit| limit < PingExpectation::PINGS)
        || clauses.corrupt.is_some()
    {
        return None;
    }
    match clauses.loss.as_ref().map(|loss| &loss.model) {
        None => Some(Gain::ZERO),
        Some(LossModel::Random(chance)) => {
            (chance.correlation == Gain::ZERO).then_some(chance.probability)
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

    /// Bounds in microseconds, and the loss in millionths.
    fn ping(link: &str, return_link: &str) -> (u128, u128, Option<u64>) {
        let (link, back) = (link.parse().unwrap(), return_link.parse().unwrap());
        let ping = PingExpectation::new(&link, &back);
        let loss = ping.loss.map(Gain::millionths);
        (ping.min_rtt.as_micros(), ping.max_rtt.as_micros(), loss)
    }

    #[test]
    fn both_ways_count() {
        assert_eq!(ping("", ""), (0, 0, Some(0)));
        let back = "delay 5ms loss 1%";
        assert_eq!(ping("delay 20ms", back), (25_000, 25_000, Some(10_000)));
        assert_eq!(ping("loss 10%", "loss 20%"), (0, 0, Some(280_000)));
    }

    #[test]
    fn what_varies_widens_the_bounds() {
        for (link, min, max) in [
            ("delay 50ms 20ms", 30_000, 70_000),
            ("delay 50ms 10ms distribution normal", 0, 130_000),
            ("delay 10ms reorder 5%", 0, 10_000),
            ("delay trace starlink-delay", 7_000, 68_000),
            // 98 bytes at 1 Mbit/s take 784 µs.
            ("delay 10ms rate 1mbit", 10_000, 10_784),
            ("slot 5ms 8ms", 0, 8_000),
            ("slot distribution normal 5ms 1ms", 0, 13_000),
        ] {
            assert_eq!(ping(link, ""), (min, max, Some(0)), "{link}");
        }
    }

    #[test]
    fn a_few_pings_do_not_tell_every_loss() {
        for link in [
            "loss gemodel 1% 10%",
            "loss 10% 25%",
            "limit 19",
            "rate 15kbit",
            "policer 15kbit burst 3000b",
            "corrupt 1%",
        ] {
            assert_eq!(ping("", link).2, None, "{link}");
        }
    }
}
