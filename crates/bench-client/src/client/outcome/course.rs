use super::side::Side;
use bench_kit::rows::{bits_per_second, gain, share};
use bench_kit::sample::{Sample, total};
use bench_report::result::{Finite, Interval};

/// The course of a run: the sum over the connections.
pub(super) fn course(senders: &[&Side], receivers: &[&Side]) -> Vec<Interval> {
    let mut courses = senders.iter().zip(receivers).map(|(sender, receiver)| {
        course_of_flow(sender.series.samples(), receiver.series.samples())
    });
    let first = courses.next().unwrap_or_default();
    let more: Vec<Vec<Interval>> = courses.collect();
    if more.is_empty() {
        return first;
    }
    first
        .into_iter()
        .enumerate()
        .map(|(index, interval)| {
            let others = more.iter().filter_map(|course| course.get(index));
            joined(interval, others.collect())
        })
        .collect()
}

/// One connection's interval with those of the others that have the same place.
fn joined(first: Interval, others: Vec<&Interval>) -> Interval {
    let all = || std::iter::once(&first).chain(others.iter().copied());
    let total = |figure: fn(&Interval) -> Option<u64>| {
        let values = all().filter_map(figure);
        values.reduce(u64::saturating_add)
    };
    let rtts: Vec<f64> = all()
        .filter_map(|interval| Some(interval.rtt_ms?.get()))
        .collect();
    let is_alike = all().all(|interval| interval.state == first.state);
    Interval {
        goodput_bits_per_second: total(|interval| Some(interval.goodput_bits_per_second))
            .unwrap_or(0),
        rtt_ms: Finite::new(rtts.iter().sum::<f64>() / rtts.len() as f64),
        cwnd_bytes: total(|interval| interval.cwnd_bytes),
        bytes_in_flight: total(|interval| interval.bytes_in_flight),
        pacing_rate_bits_per_second: total(|interval| interval.pacing_rate_bits_per_second),
        delivery_rate_bits_per_second: total(|interval| interval.delivery_rate_bits_per_second),
        packets_lost: total(|interval| interval.packets_lost),
        ecn_ce_packets: total(|interval| interval.ecn_ce_packets),
        min_rtt_ms: all()
            .filter_map(|interval| interval.min_rtt_ms)
            .min_by(|a, b| a.get().total_cmp(&b.get())),
        pacing_gain: None,
        cwnd_gain: None,
        application_limited: None,
        state: first.state.clone().filter(|_| is_alike),
        ..first
    }
}

/// The course of a connection: the sender's samples beside the receiver's of the same place. Each
/// side counts time from its own begin, which is half a round trip apart.
fn course_of_flow(sender: &[Sample], receiver: &[Sample]) -> Vec<Interval> {
    let mut senders = sender.iter();
    let interval = |received: &Sample| {
        let sending = senders.next().and_then(|sample| sample.sending.as_ref());
        let seconds = Finite::seconds(received.length);
        let bytes = total(&received.received);
        Interval {
            t: Finite::seconds(received.at),
            seconds,
            omitted: received.omitted,
            goodput_bits_per_second: bits_per_second(bytes, seconds).get() as u64,
            rtt_ms: sending.and_then(|sending| Some(Finite::millis(sending.srtt?))),
            cwnd_bytes: sending.map(|sending| sending.cwnd),
            bytes_in_flight: sending.map(|sending| sending.in_flight),
            pacing_rate_bits_per_second: sending.and_then(|sending| sending.pacing_rate),
            delivery_rate_bits_per_second: sending.and_then(|sending| sending.delivery_rate),
            packets_lost: sending.map(|sending| sending.packets_lost),
            ecn_ce_packets: sending.map(|sending| sending.ce_marked),
            min_rtt_ms: sending.and_then(|sending| Some(Finite::millis(sending.min_rtt?))),
            pacing_gain: sending.and_then(|sending| gain(sending.pacing_gain)),
            cwnd_gain: sending.and_then(|sending| gain(sending.cwnd_gain)),
            application_limited: sending
                .and_then(|sending| share(sending.application_limited, seconds)),
            state: sending.map(|sending| sending.state.clone()),
        }
    };
    receiver.iter().map(interval).collect()
}
