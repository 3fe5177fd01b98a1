use super::Side;
use bench_kit::rows::bits_per_second;
use bench_kit::sample::{Sample, total};
use bench_report::result::{Figures, Finite, Interval};

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
        ..first
    }
}

/// The intervals of a connection: the sender's samples beside the receiver's of the same place.
/// Each side counts time from its own begin, which is half a round trip apart.
fn of_connection(sender: &[Sample], receiver: &[Sample]) -> Vec<Interval> {
    let mut senders = sender.iter();
    let interval = |received: &Sample| {
        let sending = senders.next().and_then(|sample| sample.sending.as_ref());
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
        }
    };
    receiver.iter().map(interval).collect()
}
