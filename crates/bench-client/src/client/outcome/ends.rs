use super::side::{Side, sum};
use bench_kit::rows::{bits_per_second, set_arrivals};
use bench_kit::sample::total;
use bench_report::result::iperf::{self, Row};
use bench_report::result::{Figures, Finite, Quantity};
use std::time::Duration;

/// One direction from both of its ends.
pub(super) struct Ends {
    pub(super) streams: Vec<iperf::EndStream>,
    pub(super) sum_sent: Row,
    pub(super) sum_received: Row,
}

impl Ends {
    /// The streams of all connections, numbered from `first` on; `is_here` says whether the side
    /// that sends writes this result.
    pub(super) fn new(senders: &[&Side], receivers: &[&Side], first: usize, is_here: bool) -> Self {
        let (sent, received) = (sum(senders), sum(receivers));
        let mut streams = Vec::new();
        for (sender, receiver) in senders.iter().zip(receivers) {
            let first = first + streams.len();
            streams.extend(end_streams(sender, receiver, first, is_here));
        }
        let mut sum_received = end_row(None, received.total_received(), received.measured, is_here);
        set_arrivals(&mut sum_received, &received.arrivals);
        let packets = (!sent.datagrams_sent.is_empty()).then(|| total(&sent.datagrams_sent));
        Self {
            streams,
            sum_sent: Row {
                figures: lost_packets(sent.sender.as_ref().map(|sender| sender.packets_lost)),
                packets,
                ..maxima(
                    senders,
                    end_row(None, sent.total_sent(), sent.measured, is_here),
                )
            },
            sum_received,
        }
    }
}

/// The streams of one connection in one direction.
fn end_streams(
    sender: &Side,
    receiver: &Side,
    first: usize,
    is_here: bool,
) -> Vec<iperf::EndStream> {
    let (sent, received) = (sender.totals(), receiver.totals());
    let lost = sent.sender.as_ref().map(|sender| sender.packets_lost);
    let streams = sent.sent.len().max(received.received.len());
    let stream = |index: usize| {
        let id = u32::try_from(first + index).ok();
        let bytes = |all: &[u64]| all.get(index).copied().unwrap_or(0);
        let row = end_row(id, bytes(&sent.sent), sent.measured, is_here);
        let mut receiver = end_row(id, bytes(&received.received), received.measured, is_here);
        if let Some(arrivals) = received.arrivals.get(index) {
            set_arrivals(&mut receiver, std::slice::from_ref(arrivals));
        }
        iperf::EndStream {
            sender: Row {
                figures: lost_packets(lost.filter(|_| streams == 1)),
                packets: sent.datagrams_sent.get(index).copied(),
                ..maxima(&[sender], row)
            },
            receiver,
        }
    };
    (0..streams).map(stream).collect()
}

/// What a closing row has of the sender's quantities.
fn lost_packets(count: Option<u64>) -> Figures {
    Figures::of(count.map(|count| (Quantity::PacketsLost, count as f64)))
}

fn end_row(socket: Option<u32>, bytes: u64, measured: Duration, sender: bool) -> Row {
    let seconds = Finite::seconds(measured);
    Row {
        socket,
        start: Finite::ZERO,
        end: seconds,
        seconds,
        bytes,
        bits_per_second: bits_per_second(bytes, seconds),
        sender,
        ..Row::default()
    }
}

/// `row` with the largest window and the round-trip times of the time series; where there are
/// several connections, those of any of them.
fn maxima(sides: &[&Side], row: Row) -> Row {
    let samples = sides.iter().flat_map(|side| side.series.samples());
    let sendings = samples.filter_map(|sample| sample.sending.as_ref());
    let known = |quantity| sendings.clone().filter_map(move |s| s.counts.get(quantity));
    let rtts = || known(Quantity::SmoothedRtt).map(u128::from);
    let mean = rtts().sum::<u128>().checked_div(rtts().count() as u128);
    let micros = |nanos: u128| u64::try_from(nanos / 1_000).unwrap_or(u64::MAX);
    Row {
        max_snd_cwnd: known(Quantity::Cwnd).max(),
        max_rtt: rtts().max().map(micros),
        min_rtt: rtts().min().map(micros),
        mean_rtt: mean.map(micros),
        ..row
    }
}
