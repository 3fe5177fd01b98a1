use super::Side;
use bench_kit::rows::{bits_per_second, frame_counts};
use bench_kit::sample::{Arrivals, Sample, total};
use bench_report::result::{Figures, Finite, FrameCounts, Interval, IntervalDatagrams};
use std::time::Duration;

/// The intervals of a run: the sum over the connections.
pub(super) fn time_series(senders: &[&Side], receivers: &[&Side]) -> Vec<Interval> {
    let mut connections = senders.iter().zip(receivers).map(|(sender, receiver)| {
        of_connection(sender.series.samples(), receiver.series.samples())
    });
    let first = connections.next().unwrap_or_default();
    let more: Vec<Vec<Interval>> = connections.collect();
    if more.is_empty() {
        return first;
    }
    first
        .into_iter()
        .enumerate()
        .map(|(index, interval)| {
            let others = more.iter().filter_map(|series| series.get(index));
            joined(interval, others.collect())
        })
        .collect()
}

/// One connection's interval with those of the others that have the same place.
fn joined(first: Interval, others: Vec<&Interval>) -> Interval {
    let all = || std::iter::once(&first).chain(others.iter().copied());
    let goodputs = all().map(|interval| interval.goodput_bits_per_second);
    let figures: Vec<Figures> = all().map(|interval| interval.sender).collect();
    let is_alike = all().all(|interval| interval.state == first.state);
    Interval {
        goodput_bits_per_second: goodputs.fold(0, u64::saturating_add),
        sender: Figures::joined(&figures),
        state: first.state.clone().filter(|_| is_alike),
        datagrams: all().filter_map(|interval| interval.datagrams).reduce(plus),
        frames: all()
            .filter_map(|interval| interval.frames)
            .reduce(FrameCounts::plus),
        ..first
    }
}

/// The intervals of a connection: the sender's samples beside the receiver's of the same place.
/// Each side counts time from its own begin, which is half a round trip apart.
fn of_connection(sender: &[Sample], receiver: &[Sample]) -> Vec<Interval> {
    let mut senders = sender.iter();
    let interval = |received: &Sample| {
        let sent = senders.next();
        let sending = sent.and_then(|sample| sample.sending.as_ref());
        let seconds = Finite::seconds(received.length);
        let figures = sending.map(|sending| sending.counts.figures(seconds));
        Interval {
            t: Finite::seconds(received.at),
            seconds,
            omitted: received.omitted,
            goodput_bits_per_second: bits_per_second(total(&received.received), seconds).get()
                as u64,
            sender: figures.unwrap_or_default().of_interval(),
            state: sending.map(|sending| sending.state.clone()),
            datagrams: datagrams(&received.arrivals),
            frames: frame_counts(sent.and_then(|sample| sample.frames_sent), received.frames),
        }
    };
    receiver.iter().map(interval).collect()
}

/// Of all streams of a connection; `None` where no datagrams are sent, or none should have arrived.
fn datagrams(arrivals: &[Arrivals]) -> Option<IntervalDatagrams> {
    let all = arrivals
        .iter()
        .fold(Arrivals::default(), |sum, next| sum.then(next));
    let jitter = arrivals
        .iter()
        .fold(Duration::ZERO, |sum, one| sum.saturating_add(one.jitter));
    let streams = u32::try_from(arrivals.len()).ok()?;
    (all.packets > 0).then(|| IntervalDatagrams {
        packets: all.packets,
        lost: all.lost,
        jitter_ms: Finite::millis(jitter / streams),
    })
}

/// Two connections as one: the jitter is that of both, by how many datagrams each had.
fn plus(one: IntervalDatagrams, other: IntervalDatagrams) -> IntervalDatagrams {
    let packets = one.packets.saturating_add(other.packets);
    let weighted = |of: IntervalDatagrams| of.jitter_ms.get() * of.packets as f64;
    let jitter = (weighted(one) + weighted(other)) / packets as f64;
    IntervalDatagrams {
        packets,
        lost: one.lost.saturating_add(other.lost),
        jitter_ms: Finite::new(jitter).unwrap_or(one.jitter_ms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_of_streams_and_connections_add_up() {
        let arrivals = |packets, lost, jitter| Arrivals {
            packets,
            lost,
            jitter: Duration::from_millis(jitter),
            ..Arrivals::default()
        };
        assert_eq!(datagrams(&[]), None);
        assert_eq!(datagrams(&[arrivals(0, 0, 3)]), None);
        let one = datagrams(&[arrivals(30, 3, 1), arrivals(10, 0, 3)]).unwrap();
        assert_eq!((one.packets, one.lost, one.jitter_ms.get()), (40, 3, 2.0));
        let other = datagrams(&[arrivals(120, 1, 6)]).unwrap();
        let both = plus(one, other);
        assert_eq!(
            (both.packets, both.lost, both.jitter_ms.get()),
            (160, 4, 5.0)
        );
    }
}
