//! Interval rows from samples.

use crate::plan::{Direction, Plan};
use crate::sample::{Arrivals, FrameTally, Sample, SenderState, sum_of, total};
use bench_report::result::iperf::{Interval, Row};
use bench_report::result::{Figures, Finite, FrameCounts, Quantity};
use std::collections::VecDeque;
use std::time::Duration;

/// Joins the samples of each connection until they fill an interval, and the intervals of all
/// connections to one set of rows.
#[derive(Debug)]
pub struct Rows {
    direction: Direction,
    /// Streams of each connection and direction.
    streams: usize,
    flows: Vec<FlowRows>,
}

impl Rows {
    /// Rows of `interval` over this many connections; with zero, one row for the warm-up and one
    /// for the rest.
    pub fn new(plan: &Plan, flows: usize, interval: Duration) -> Self {
        Self {
            direction: plan.direction,
            streams: plan.streams as usize,
            flows: (0..flows).map(|_| FlowRows::new(plan, interval)).collect(),
        }
    }

    /// Takes the client's next sample of a connection; gives the rows that it completes.
    pub fn client(&mut self, flow: usize, sample: &Sample) -> Option<Interval> {
        self.flows[flow].client(sample);
        self.take()
    }

    pub fn server(&mut self, flow: usize, sample: &Sample) {
        self.flows[flow].server(sample);
    }

    /// No sample of this connection will come any more; gives the rows that waited for one.
    pub fn finish(&mut self, flow: usize) -> Vec<Interval> {
        self.flows[flow].finish();
        std::iter::from_fn(|| self.take()).collect()
    }

    /// The next rows, once every connection that goes on has come so far. One that lags by several
    /// intervals, as it does while nothing arrives on it, holds the others up no more.
    fn take(&mut self) -> Option<Interval> {
        let lags = |flow: &FlowRows| flow.full.is_empty() && !flow.is_done;
        let is_close = self
            .flows
            .iter()
            .all(|flow| flow.full.len() <= MAX_INTERVALS_AHEAD);
        if self.flows.iter().any(lags) && is_close {
            return None;
        }
        let intervals = self.flows.iter_mut().map(|flow| flow.full.pop_front());
        let intervals: Vec<Option<FlowInterval>> = intervals.collect();
        intervals
            .iter()
            .any(Option::is_some)
            .then(|| self.interval(&intervals))
    }

    fn interval(&self, intervals: &[Option<FlowInterval>]) -> Interval {
        let (sends, receives) = (self.direction.client_sends(), self.direction.server_sends());
        let sent = self.rows(intervals, 0, true);
        let first = if sends {
            self.streams * self.flows.len()
        } else {
            0
        };
        let received = self.rows(intervals, first, false);
        match (sends, receives) {
            (true, true) => Interval {
                sum: sent.sum,
                streams: [sent.streams, received.streams].concat(),
                sum_bidir_reverse: Some(received.sum),
                requests: None,
            },
            (true, false) => sent.interval(),
            _ => received.interval(),
        }
    }

    /// The rows of one direction, whose streams are numbered from `first` + 1 on.
    fn rows(
        &self,
        intervals: &[Option<FlowInterval>],
        first: usize,
        sender: bool,
    ) -> DirectionRows {
        let mut streams = Vec::new();
        let mut sums = Vec::new();
        for (interval, flow) in intervals.iter().zip(0..) {
            if let Some(interval) = interval {
                let rows = interval.rows(first + flow * self.streams, sender);
                streams.extend(rows.streams);
                sums.push(rows.sum);
            }
        }
        DirectionRows {
            streams,
            sum: sum_of_connections(sums),
        }
    }
}

#[derive(Debug)]
struct FlowRows {
    interval: Duration,
    step: Duration,
    omit: Duration,
    /// What the client saw since the row before.
    pending: Option<Sample>,
    /// Where the row before ended.
    start: Duration,
    omitted: Duration,
    /// The newest state of the server's sending, with its losses since the row before.
    server: Option<SenderState>,
    /// What the server has told of the client's frames since the row before.
    tally: Option<FrameTally>,
    /// Intervals that wait for those of the other connections.
    full: VecDeque<FlowInterval>,
    is_done: bool,
}

impl FlowRows {
    fn new(plan: &Plan, interval: Duration) -> Self {
        Self {
            interval: if interval.is_zero() {
                Duration::MAX
            } else {
                interval
            },
            step: plan.step,
            omit: plan.omit,
            pending: None,
            start: Duration::ZERO,
            omitted: Duration::ZERO,
            server: None,
            tally: None,
            full: VecDeque::new(),
            is_done: false,
        }
    }

    fn client(&mut self, sample: &Sample) {
        match &mut self.pending {
            Some(pending) => pending.extend(sample),
            None => self.pending = Some(sample.clone()),
        }
        let covered = sample.at.saturating_sub(self.start);
        // The warm-up ends where its last sample does, whatever the interval.
        let is_warm = sample.omitted && sample.at >= self.omit;
        if is_warm || covered + self.step / 2 >= self.interval {
            self.fill();
        }
        if is_warm {
            self.omitted = self.start;
        }
    }

    fn server(&mut self, sample: &Sample) {
        if let Some(sending) = &sample.sending {
            self.server = Some(sending.after(self.server.as_ref()));
        }
        self.tally = sum_of(self.tally, sample.frames, FrameTally::then);
    }

    /// The row that is not full yet is the last one.
    fn finish(&mut self) {
        let rest = self.pending.as_ref();
        if rest.is_some_and(|sample| sample.length >= MIN_ROW) {
            self.fill();
        }
        self.is_done = true;
    }

    fn fill(&mut self) {
        let Some(sample) = self.pending.take() else {
            return;
        };
        let from = if sample.omitted {
            Duration::ZERO
        } else {
            self.omitted
        };
        let span = Span {
            start: Finite::seconds(self.start.saturating_sub(from)),
            end: Finite::seconds(sample.at.saturating_sub(from)),
            seconds: Finite::seconds(sample.at.saturating_sub(self.start)),
            omitted: sample.omitted,
        };
        self.start = sample.at;
        let server = self.server.clone();
        if let Some(server) = &mut self.server {
            server.counts.clear_amounts();
        }
        let tally = self.tally;
        self.tally = tally.map(|_| FrameTally::default());
        self.full.push_back(FlowInterval {
            span,
            sample,
            server,
            tally,
        });
    }
}

#[derive(Debug)]
struct FlowInterval {
    span: Span,
    sample: Sample,
    server: Option<SenderState>,
    tally: Option<FrameTally>,
}

impl FlowInterval {
    fn rows(&self, first: usize, sender: bool) -> DirectionRows {
        let sample = &self.sample;
        let (bytes, sending) = if sender {
            (&sample.sent, &self.sample.sending)
        } else {
            (&sample.received, &self.server)
        };
        let mut rows = direction_rows(&self.span, bytes, first, sender, sending.as_ref());
        if sender {
            count_sent(&mut rows, &sample.datagrams_sent);
        } else {
            count_arrivals(&mut rows, &sample.arrivals);
        }
        let frames = match sender {
            true => (sample.frames_sent, self.tally),
            false => (None, sample.frames),
        };
        // The video is the first stream.
        let video = rows.streams.first_mut().into_iter();
        let frames = frame_counts(frames.0, frames.1);
        video
            .chain([&mut rows.sum])
            .for_each(|row| row.frames = frames);
        rows
    }
}

/// From when to when, in seconds.
#[derive(Debug)]
struct Span {
    start: Finite,
    end: Finite,
    seconds: Finite,
    omitted: bool,
}

struct DirectionRows {
    streams: Vec<Row>,
    sum: Row,
}

impl DirectionRows {
    fn interval(self) -> Interval {
        Interval {
            streams: self.streams,
            sum: self.sum,
            ..Interval::default()
        }
    }
}

/// The rows of one direction of one connection. What belongs to the connection stands in the row of
/// every stream, but for the losses: a sum over the streams must not count them twice.
fn direction_rows(
    span: &Span,
    bytes: &[u64],
    first: usize,
    sender: bool,
    sending: Option<&SenderState>,
) -> DirectionRows {
    let row = |socket, bytes, figures| Row {
        socket,
        start: span.start,
        end: span.end,
        seconds: span.seconds,
        bytes,
        bits_per_second: bits_per_second(bytes, span.seconds),
        figures,
        omitted: Some(span.omitted),
        sender,
        state: sending.map(|sending| sending.state.clone()),
        ..Row::default()
    };
    let figures = sending.map(|sending| sending.counts.figures(span.seconds));
    let figures = figures.unwrap_or_default();
    let mut of_stream = figures;
    if bytes.len() > 1 {
        of_stream.set(Quantity::PacketsLost, None);
    }
    let streams = bytes.iter().zip(first + 1..);
    DirectionRows {
        streams: streams
            .map(|(bytes, id)| row(u32::try_from(id).ok(), *bytes, of_stream))
            .collect(),
        sum: row(None, total(bytes), figures),
    }
}

/// How many datagrams each stream sent, if they are in use.
fn count_sent(rows: &mut DirectionRows, sent: &[u64]) {
    for (row, sent) in rows.streams.iter_mut().zip(sent) {
        row.packets = Some(*sent);
    }
    rows.sum.packets = (!sent.is_empty()).then(|| total(sent));
}

fn count_arrivals(rows: &mut DirectionRows, arrivals: &[Arrivals]) {
    for (row, arrivals) in rows.streams.iter_mut().zip(arrivals) {
        set_arrivals(row, std::slice::from_ref(arrivals));
    }
    set_arrivals(&mut rows.sum, arrivals);
}

/// `None` of neither.
pub fn frame_counts(sent: Option<u64>, tally: Option<FrameTally>) -> Option<FrameCounts> {
    (sent.is_some() || tally.is_some()).then(|| FrameCounts {
        sent,
        complete: tally.map(|tally| tally.complete),
        late: tally.map(|tally| tally.late),
        lost: tally.map(|tally| tally.lost),
    })
}

/// What has become of the datagrams of these streams: amounts add up, jitter is the mean.
pub fn set_arrivals(row: &mut Row, arrivals: &[Arrivals]) {
    if arrivals.is_empty() {
        return;
    }
    let all = arrivals
        .iter()
        .fold(Arrivals::default(), |sum, next| sum.then(next));
    let jitter: Duration = arrivals.iter().map(|one| one.jitter).sum();
    let percent = all.lost as f64 * 100.0 / all.packets as f64;
    row.packets = Some(all.packets);
    row.jitter_ms = Some(Finite::millis(jitter / arrivals.len() as u32));
    row.lost_packets = Some(all.lost);
    row.lost_percent = Some(Finite::new(percent).unwrap_or(Finite::ZERO));
    row.out_of_order = Some(all.out_of_order);
}

/// The sum over connections: windows and rates add up, the round-trip time is the mean, and what
/// else belongs to one connection alone is left out. Their intervals began about the same time;
/// the longest counts.
fn sum_of_connections(mut sums: Vec<Row>) -> Row {
    if sums.len() <= 1 {
        return sums.pop().unwrap_or_default();
    }
    let total = |figure: fn(&Row) -> Option<u64>| {
        let figures = sums.iter().filter_map(figure);
        figures.reduce(u64::saturating_add)
    };
    let longest = sums
        .iter()
        .max_by(|a, b| a.seconds.get().total_cmp(&b.seconds.get()));
    let longest = longest.expect("there are at least two");
    let bytes = total(|row| Some(row.bytes)).unwrap_or(0);
    let lost_percent = total(|row| row.lost_packets).and_then(|lost| {
        let packets = total(|row| row.packets)?;
        Finite::new(lost as f64 * 100.0 / packets as f64)
    });
    let jitters: Vec<f64> = sums
        .iter()
        .filter_map(|row| Some(row.jitter_ms?.get()))
        .collect();
    let figures: Vec<Figures> = sums.iter().map(|row| row.figures).collect();
    Row {
        bytes,
        bits_per_second: bits_per_second(bytes, longest.seconds),
        figures: Figures::joined(&figures),
        state: None,
        packets: total(|row| row.packets),
        lost_packets: total(|row| row.lost_packets),
        out_of_order: total(|row| row.out_of_order),
        lost_percent,
        frames: sums
            .iter()
            .map(|row| row.frames)
            .fold(None, |sum, next| sum_of(sum, next, FrameCounts::plus)),
        jitter_ms: Finite::new(jitters.iter().sum::<f64>() / jitters.len() as f64),
        ..longest.clone()
    }
}

/// `8 × bytes ÷ seconds`; zero in no time.
pub fn bits_per_second(bytes: u64, seconds: Finite) -> Finite {
    Finite::new(bytes as f64 * 8.0 / seconds.get()).unwrap_or(Finite::ZERO)
}

/// A shorter rest of an interval is an artefact of the clock.
const MIN_ROW: Duration = Duration::from_millis(5);

/// How many intervals a connection may be ahead of another before its rows are shown alone.
const MAX_INTERVALS_AHEAD: usize = 2;

#[cfg(test)]
mod tests;
