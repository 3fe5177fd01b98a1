//! A run in figures.

use crate::trace::{Received, Sent};
use units::{Bytes, Timestamp};

/// What one run shows of its link. Only a packet's first arrival has a delay and an order; further
/// ones are copies.
#[derive(Debug)]
pub(crate) struct Figures {
    /// Delays in nanoseconds, ascending.
    pub(crate) delays: Vec<u64>,
    /// Lengths of the runs of consecutive packets that all were lost, ascending.
    pub(crate) bursts: Vec<u64>,
    sent: usize,
    copies: usize,
    /// Of each reordered packet, by how many others it was overtaken at most.
    extents: Vec<u64>,
    rate: f64,
}

/// One number of a run.
pub(crate) struct Quantity {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) of: fn(&Figures) -> f64,
    /// Whether the exactness of clocks limits it.
    pub(crate) is_time: bool,
}

pub(crate) const QUANTITIES: [Quantity; 11] = [
    time("delay, mean", |run| run.moments().0),
    time("delay, deviation", |run| run.moments().1),
    time("delay, 1st percentile", |run| run.quantile(1)),
    time("delay, median", |run| run.quantile(50)),
    time("delay, 99th percentile", |run| run.quantile(99)),
    number("lost", "%", |run| {
        share(run.sent - run.delays.len(), run.sent)
    }),
    number("lost in a row", "packets", |run| mean(&run.bursts)),
    number("reordered", "%", |run| {
        share(run.extents.len(), run.delays.len())
    }),
    number("reordering extent", "packets", |run| mean(&run.extents)),
    number("copies", "%", |run| share(run.copies, run.sent)),
    number("arrival rate", "Mbit/s", |run| run.rate),
];

impl Figures {
    pub(crate) fn new(sent: &[Sent], received: &[Received]) -> Self {
        let mut first: Vec<Option<Timestamp>> = vec![None; sent.len()];
        let mut order = Vec::with_capacity(sent.len());
        for received in received {
            let first = &mut first[received.sequence];
            if first.is_none() {
                *first = Some(received.at);
                order.push(received.sequence);
            }
        }
        let mut delays: Vec<u64> = sent
            .iter()
            .zip(&first)
            .filter_map(|(sent, arrived)| arrived.map(|at| nanos(sent.at, at)))
            .collect();
        delays.sort_unstable();
        Self {
            sent: sent.len(),
            copies: received.len() - delays.len(),
            delays,
            bursts: loss_bursts(&first),
            extents: reordering_extents(&order),
            rate: arrival_rate(sent, received),
        }
    }

    /// Mean and standard deviation of the delay in milliseconds.
    fn moments(&self) -> (f64, f64) {
        let mean = mean(&self.delays);
        let square = |delay: &u64| (*delay as f64 - mean).powi(2);
        let squares: f64 = self.delays.iter().map(square).sum();
        let variance = squares / self.delays.len().max(1) as f64;
        (mean / NANOS_PER_MS, variance.sqrt() / NANOS_PER_MS)
    }

    /// The delay, in milliseconds, that so many percent of the packets do not exceed.
    fn quantile(&self, percent: usize) -> f64 {
        let rank = (self.delays.len() * percent).div_ceil(100);
        let delay = self.delays.get(rank.saturating_sub(1));
        delay.map_or(0.0, |delay| *delay as f64 / NANOS_PER_MS)
    }
}

const fn time(name: &'static str, of: fn(&Figures) -> f64) -> Quantity {
    Quantity {
        name,
        unit: "ms",
        of,
        is_time: true,
    }
}

const fn number(name: &'static str, unit: &'static str, of: fn(&Figures) -> f64) -> Quantity {
    Quantity {
        name,
        unit,
        of,
        is_time: false,
    }
}

fn loss_bursts(first: &[Option<Timestamp>]) -> Vec<u64> {
    let runs = first.chunk_by(|one, next| one.is_none() == next.is_none());
    let lost = runs.filter(|run| run[0].is_none());
    let mut lengths: Vec<u64> = lost.map(|run| run.len() as u64).collect();
    lengths.sort_unstable();
    lengths
}

/// RFC 4737: a packet is reordered when one with a larger number arrived before it (section 3).
/// Its extent is its distance, in arrivals, from the first of those (section 4.2).
fn reordering_extents(order: &[usize]) -> Vec<u64> {
    // Every packet that exceeded all before it, by its place.
    let mut leaders: Vec<(usize, usize)> = Vec::new();
    let mut extents = Vec::new();
    for (place, sequence) in order.iter().enumerate() {
        match leaders.last() {
            Some((_, leader)) if leader > sequence => {
                let overtook = leaders.partition_point(|(_, leader)| leader < sequence);
                extents.push((place - leaders[overtook].0) as u64);
            }
            _ => leaders.push((place, *sequence)),
        }
    }
    extents
}

/// Megabits per second at layer 2 from the first packet sent to the last.
pub(crate) fn offered_rate(sent: &[Sent]) -> f64 {
    rate(sent.iter().map(|sent| (sent.at, sent.size)))
}

/// The same of what arrived, copies included.
fn arrival_rate(sent: &[Sent], received: &[Received]) -> f64 {
    let size = |arrival: &Received| sent[arrival.sequence].size;
    rate(received.iter().map(|arrival| (arrival.at, size(arrival))))
}

/// The first packet begins the time and does not count.
fn rate(mut packets: impl Iterator<Item = (Timestamp, Bytes)>) -> f64 {
    let Some((begin, _)) = packets.next() else {
        return 0.0;
    };
    let add = |(_, sum), (at, size)| (at, sum + size);
    let (end, bytes) = packets.fold((begin, Bytes::ZERO), add);
    (bytes.get() * 8_000) as f64 / nanos(begin, end).max(1) as f64
}

fn nanos(from: Timestamp, to: Timestamp) -> u64 {
    units::duration::nanos(to.since(from))
}

fn mean(values: &[u64]) -> f64 {
    values.iter().sum::<u64>() as f64 / values.len().max(1) as f64
}

fn share(part: usize, whole: usize) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

const NANOS_PER_MS: f64 = 1e6;

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(count: u64, received: &[(u64, usize)]) -> Figures {
        let at = Timestamp::from_millis;
        let size = Bytes::new(1_000);
        let sent: Vec<_> = (0..count).map(|n| Sent { at: at(n), size }).collect();
        let arrival = |&(millis, sequence): &(u64, usize)| Received {
            at: at(millis),
            sequence,
        };
        let received: Vec<_> = received.iter().map(arrival).collect();
        Figures::new(&sent, &received)
    }

    fn value(figures: &Figures, name: &str) -> f64 {
        let quantity = QUANTITIES.iter().find(|quantity| quantity.name == name);
        (quantity.unwrap().of)(figures)
    }

    #[test]
    fn losses_in_a_row_are_one_burst_and_a_copy_is_no_arrival() {
        let figures = figures(8, &[(1, 0), (6, 2), (7, 2), (8, 6)]);
        assert_eq!(figures.bursts, [1, 1, 3]);
        assert_eq!(value(&figures, "lost"), 62.5);
        assert_eq!(value(&figures, "copies"), 12.5);
        assert_eq!(figures.delays, [1_000_000, 2_000_000, 4_000_000]);
    }

    #[test]
    fn a_packet_behind_a_larger_number_is_reordered_by_its_distance_to_the_first_such() {
        // 4 comes behind 5, 6 and 7.
        let order = [1, 2, 3, 5, 6, 7, 4, 8];
        assert_eq!(reordering_extents(&order), [3]);
        assert_eq!(reordering_extents(&[3, 1, 5, 2, 4]), [1, 3, 2]);
    }

    #[test]
    fn the_rate_is_that_of_what_arrived_behind_the_first() {
        let figures = figures(3, &[(10, 0), (11, 1), (12, 2)]);
        assert!((value(&figures, "arrival rate") - 8.0).abs() < 1e-9);
    }

    #[test]
    fn a_percentile_is_the_least_delay_that_so_many_do_not_exceed() {
        let figures = figures(4, &[(1, 0), (3, 1), (5, 2), (7, 3)]);
        assert_eq!(value(&figures, "delay, median"), 2.0);
        assert_eq!(value(&figures, "delay, 99th percentile"), 4.0);
        assert_eq!(value(&figures, "delay, mean"), 2.5);
    }
}
