use super::side::{Side, sum};
use bench_kit::rows::{bits_per_second, micros, set_arrivals};
use bench_kit::sample::total;
use bench_report::result::Finite;
use bench_report::result::iperf::{self, Row};
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
                retransmits: sent.sender.as_ref().map(|sender| sender.packets_lost),
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
                retransmits: lost.filter(|_| streams == 1),
                packets: sent.datagrams_sent.get(index).copied(),
                ..maxima(&[sender], row)
            },
            receiver,
        }
    };
    (0..streams).map(stream).collect()
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

/// `row` with the largest window and the round-trip times of the course; where there are several
/// connections, those of any of them.
fn maxima(sides: &[&Side], row: Row) -> Row {
    let samples = sides.iter().flat_map(|side| side.series.samples());
    let sendings = samples.filter_map(|sample| sample.sending.as_ref());
    let windows = sendings.clone().map(|sending| sending.cwnd);
    let rtts: Vec<Duration> = sendings.filter_map(|sending| sending.srtt).collect();
    let count = u32::try_from(rtts.len()).unwrap_or(u32::MAX);
    let mean = rtts.iter().sum::<Duration>().checked_div(count);
    Row {
        max_snd_cwnd: windows.max(),
        max_rtt: rtts.iter().max().copied().map(micros),
        min_rtt: rtts.iter().min().copied().map(micros),
        mean_rtt: mean.map(micros),
        ..row
    }
}
