//! Interval rows from samples.

use crate::plan::{Direction, Plan};
use crate::result::Finite;
use crate::result::iperf::{Interval, Row};
use crate::sample::{Sample, Sending, total};
use std::time::Duration;

/// Joins samples until they fill an interval.
#[derive(Debug)]
pub(crate) struct Rows {
    direction: Direction,
    interval: Duration,
    step: Duration,
    omit: Duration,
    /// What the client saw since the row before.
    pending: Option<Sample>,
    /// Where the row before ended.
    start: Duration,
    /// Where the warm-up ended.
    omitted: Duration,
    /// The newest state of the server's sending, with its losses since the row before.
    server: Option<Sending>,
}

impl Rows {
    /// Rows of `interval`; with zero, one row for the warm-up and one for the rest.
    pub(crate) fn new(plan: &Plan, interval: Duration) -> Self {
        Self {
            direction: plan.direction,
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
        }
    }

    /// Takes the client's next sample; gives the row that it completes.
    pub(crate) fn client(&mut self, sample: &Sample) -> Option<Interval> {
        match &mut self.pending {
            Some(pending) => pending.extend(sample),
            None => self.pending = Some(sample.clone()),
        }
        let covered = sample.at.saturating_sub(self.start);
        // The warm-up ends where its last sample does, whatever the interval.
        let is_warm = sample.omitted && sample.at >= self.omit;
        let row = (is_warm || covered + self.step / 2 >= self.interval).then(|| self.take())?;
        if is_warm {
            self.omitted = self.start;
        }
        row
    }

    /// Takes what the server has told.
    pub(crate) fn server(&mut self, sample: &Sample) {
        if let Some(sending) = &sample.sending {
            let lost = self.server.as_ref().map_or(0, |before| before.packets_lost);
            let mut sending = sending.clone();
            sending.packets_lost = sending.packets_lost.saturating_add(lost);
            self.server = Some(sending);
        }
    }

    /// The row that is not full yet.
    pub(crate) fn finish(&mut self) -> Option<Interval> {
        let is_worth_a_row = |sample: &Sample| sample.length >= LEAST_ROW;
        self.pending
            .as_ref()
            .is_some_and(is_worth_a_row)
            .then(|| self.take())?
    }

    fn take(&mut self) -> Option<Interval> {
        let sample = self.pending.take()?;
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
            server.packets_lost = 0;
        }
        let sent = direction_rows(&span, &sample.sent, 0, true, sample.sending.as_ref());
        let received = direction_rows(
            &span,
            &sample.received,
            sample.sent.len(),
            false,
            server.as_ref(),
        );
        Some(match self.direction {
            Direction::Forward => Interval {
                sum: sent.sum,
                streams: sent.streams,
                sum_bidir_reverse: None,
            },
            Direction::Reverse => Interval {
                sum: received.sum,
                streams: received.streams,
                sum_bidir_reverse: None,
            },
            Direction::Both => Interval {
                sum: sent.sum,
                streams: [sent.streams, received.streams].concat(),
                sum_bidir_reverse: Some(received.sum),
            },
        })
    }
}

/// From when to when, in seconds.
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

/// The rows of one direction. What belongs to the connection stands in the row of every stream, but
/// for the losses: a sum over the streams must not count them twice.
fn direction_rows(
    span: &Span,
    bytes: &[u64],
    first: usize,
    sender: bool,
    sending: Option<&Sending>,
) -> DirectionRows {
    let lost = sending.map(|sending| sending.packets_lost);
    let row = |socket, bytes, retransmits| Row {
        socket,
        start: span.start,
        end: span.end,
        seconds: span.seconds,
        bytes,
        bits_per_second: bits_per_second(bytes, span.seconds),
        retransmits,
        snd_cwnd: sending.map(|sending| sending.cwnd),
        rtt: sending.and_then(|sending| Some(micros(sending.srtt?))),
        rttvar: sending.and_then(|sending| Some(micros(sending.rttvar?))),
        pmtu: sending.map(|sending| sending.mtu.into()),
        omitted: Some(span.omitted),
        sender,
        pacing_rate_bits_per_second: sending.and_then(|sending| sending.pacing_rate),
        state: sending.map(|sending| sending.state.clone()),
        ..Row::default()
    };
    let lost_of_stream = if bytes.len() == 1 { lost } else { None };
    let streams = bytes.iter().zip(first + 1..);
    DirectionRows {
        streams: streams
            .map(|(bytes, id)| row(u32::try_from(id).ok(), *bytes, lost_of_stream))
            .collect(),
        sum: row(None, total(bytes), lost),
    }
}

/// `8 × bytes ÷ seconds`; zero in no time.
pub(super) fn bits_per_second(bytes: u64, seconds: Finite) -> Finite {
    Finite::new(bytes as f64 * 8.0 / seconds.get()).unwrap_or(Finite::ZERO)
}

pub(super) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// A shorter rest of an interval is an artefact of the clock.
const LEAST_ROW: Duration = Duration::from_millis(5);

#[cfg(test)]
mod tests;
