//! What one side of a run counts, as it goes over the wire.

mod frames;
mod rtt_report;
mod sequence;

pub use frames::{FrameReport, FrameTally};
pub use rtt_report::RttReport;
pub use sequence::Sequence;

use crate::plan::MAX_STREAMS;
use bench_report::distribution::Distribution;
use bench_report::result::{Counts, LimitedTimes};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What one side did in a short stretch of a run, and how its sending stood at the end of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Sample {
    /// The end of the stretch, counted from this side's first byte.
    pub at: Duration,
    pub length: Duration,
    /// Whether it belongs to the warm-up that the figures leave out.
    pub omitted: bool,
    /// Payload that left in it, per stream; empty when this side does not send.
    pub sent: Vec<u64>,
    /// Payload read by the application in it, per stream; empty when this side does not receive.
    pub received: Vec<u64>,
    /// The state of the sending; `None` when this side does not send.
    pub sending: Option<SenderState>,
    /// Datagrams handed to the transport in it, per stream; empty when they are not in use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub datagrams_sent: Vec<u64>,
    /// Datagrams that arrived in it, per stream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arrivals: Vec<Arrivals>,
    /// Frames handed to the transport in it; `None` when this side sends no video.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames_sent: Option<u64>,
    /// Frames that were found complete or lost in it; `None` when this side receives no video.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames: Option<FrameTally>,
}

impl Sample {
    /// Makes this sample also cover `next`, the one after it: amounts add up, states are the
    /// later ones.
    pub fn extend(&mut self, next: &Self) {
        self.at = next.at;
        self.length = self.length.saturating_add(next.length);
        add_each(&mut self.sent, &next.sent);
        add_each(&mut self.received, &next.received);
        add_each(&mut self.datagrams_sent, &next.datagrams_sent);
        let known = self.arrivals.len().max(next.arrivals.len());
        self.arrivals.resize(known, Arrivals::default());
        for (sum, next) in self.arrivals.iter_mut().zip(&next.arrivals) {
            *sum = sum.then(next);
        }
        self.frames_sent = sum_of(self.frames_sent, next.frames_sent, u64::saturating_add);
        self.frames = sum_of(self.frames, next.frames, FrameTally::then);
        if let Some(sending) = &next.sending {
            self.sending = Some(sending.after(self.sending.as_ref()));
        }
    }

    /// # Errors
    /// When a time in it is longer than any run, so that sums of what passes cannot overflow, or
    /// it has more streams than a run, or a state of more than 256 bytes.
    pub fn check(&self) -> Result<(), String> {
        check_streams([
            self.sent.len(),
            self.received.len(),
            self.datagrams_sent.len(),
            self.arrivals.len(),
        ])?;
        let state = self.sending.as_ref().map_or(0, |state| state.state.len());
        if state > LONGEST_STATE {
            return Err(format!("a state of {state} bytes"));
        }
        [("time", self.at), ("length", self.length)]
            .into_iter()
            .chain(jitters(&self.arrivals))
            .try_for_each(check_time)
    }
}

/// What a stream of numbered datagrams has come to at its receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Arrivals {
    /// Datagrams that were sent, as far as their numbers show: those that arrived and those that
    /// are missing.
    pub packets: u64,
    pub lost: u64,
    /// Those that came after one with a higher number.
    pub out_of_order: u64,
    /// Jitter at the end (RFC 3550 §6.4.1).
    pub jitter: Duration,
}

impl Arrivals {
    /// What has come since `before`. Late arrivals of what was missing before can only make the
    /// figure smaller, down to none.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            packets: self.packets.saturating_sub(before.packets),
            lost: self.lost.saturating_sub(before.lost),
            out_of_order: self.out_of_order.saturating_sub(before.out_of_order),
            jitter: self.jitter,
        }
    }

    /// The stretch after this one added to it.
    pub fn then(&self, next: &Self) -> Self {
        Self {
            packets: self.packets.saturating_add(next.packets),
            lost: self.lost.saturating_add(next.lost),
            out_of_order: self.out_of_order.saturating_add(next.out_of_order),
            jitter: next.jitter,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SenderState {
    /// Amounts of the stretch, and states at its end.
    pub counts: Counts,
    /// The controller's state in its own words.
    pub state: String,
}

impl SenderState {
    /// The state of this stretch with the amounts of the one before it added.
    #[must_use]
    pub fn after(&self, before: Option<&Self>) -> Self {
        Self {
            counts: before.map_or(self.counts, |before| self.counts.after(&before.counts)),
            state: self.state.clone(),
        }
    }
}

/// What one side counted over the measured part of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SideReport {
    /// The length of the measured part on this side's clock.
    pub measured: Duration,
    /// Payload that has left, per stream; empty when this side does not send.
    pub sent: Vec<u64>,
    /// Payload read by the application, per stream; empty when this side does not receive.
    pub received: Vec<u64>,
    /// Datagrams handed to the transport, per stream; empty when they are not in use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub datagrams_sent: Vec<u64>,
    /// Datagrams that arrived, per stream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arrivals: Vec<Arrivals>,
    /// Frames of the measured part that were sent, if there is a video to be sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames_sent: Option<u64>,
    /// What became of the frames of the other side's video.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames: Option<FrameReport>,
    /// The SHA-256 of the one stream's payload, if it was asked for and the stream came to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Datagrams that the kernel dropped at this side's socket, where it counts them. A server's
    /// clients share one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket_drops: Option<u64>,
    /// The largest buffer that this side's kernel gives a socket for what it receives, in bytes,
    /// where it tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket_buffer_limit: Option<u64>,
    /// What the server has logged of the run, if it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Of the sending; `None` when this side does not send.
    pub sender: Option<SenderReport>,
    /// Processor time, user and system, of the thread that ran this side.
    pub cpu: Duration,
    /// The user's part of it, where the system tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_user: Option<Duration>,
    /// The number of that thread in its process; `None` where there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<u32>,
    /// Why this side ended before the plan was carried out; `None` when it was.
    pub error: Option<String>,
}

impl SideReport {
    /// Makes this report also cover `other`, of another connection of the same side: the streams
    /// follow each other, amounts add up, and time is the longer one, for they ran at once and in
    /// one thread.
    pub fn add(&mut self, other: Self) {
        self.measured = self.measured.max(other.measured);
        self.sent.extend(other.sent);
        self.received.extend(other.received);
        self.datagrams_sent.extend(other.datagrams_sent);
        self.arrivals.extend(other.arrivals);
        self.frames_sent = sum_of(self.frames_sent, other.frames_sent, u64::saturating_add);
        self.frames = sum_of(self.frames.take(), other.frames, |own, others| {
            own.plus(&others)
        });
        self.socket_drops = self.socket_drops.max(other.socket_drops);
        self.socket_buffer_limit = self.socket_buffer_limit.or(other.socket_buffer_limit);
        self.sender = sum_of(self.sender.take(), other.sender, SenderReport::plus);
        self.cpu = self.cpu.max(other.cpu);
        self.cpu_user = self.cpu_user.max(other.cpu_user);
        self.error = self.error.take().or(other.error);
    }

    /// # Errors
    /// As [`Sample::check`], and of frames more than there can be, and of round-trip times that are
    /// out of order.
    pub fn check(&self) -> Result<(), String> {
        check_streams([
            self.sent.len(),
            self.received.len(),
            self.datagrams_sent.len(),
            self.arrivals.len(),
        ])?;
        let rtt = self.sender.as_ref().and_then(|sender| sender.rtt);
        if rtt.is_some_and(|rtt| !rtt.is_ordered()) {
            return Err("quantiles of round-trip times out of order".to_owned());
        }
        if let Some(frames) = &self.frames {
            frames.check()?;
        }
        let sender = self.sender.iter().flat_map(|sender| {
            let rtts = sender.rtt.iter().flat_map(|rtt| {
                [
                    rtt.min, rtt.p50, rtt.p95, rtt.p99, rtt.max, rtt.mean, rtt.base,
                ]
            });
            let limited = sender.limited.parts().map(|time| ("limited time", time));
            rtts.map(|rtt| ("round-trip time", rtt)).chain(limited)
        });
        let user = self.cpu_user.map(|user| ("processor time", user));
        [("length", self.measured), ("processor time", self.cpu)]
            .into_iter()
            .chain(user)
            .chain(sender)
            .chain(jitters(&self.arrivals))
            .try_for_each(check_time)
    }

    /// All payload that has left.
    pub fn total_sent(&self) -> u64 {
        total(&self.sent)
    }

    /// All payload read by the application.
    pub fn total_received(&self) -> u64 {
        total(&self.received)
    }
}

/// What the sender of one connection counted over the measured part of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SenderReport {
    /// The controller, as the registry reads it.
    pub congestion: String,
    pub packets_sent: u64,
    pub packets_lost: u64,
    /// Those of them that have arrived after all.
    #[serde(default)]
    pub packets_spuriously_lost: u64,
    /// Bytes of the packets declared lost, headers included.
    pub bytes_lost: u64,
    /// Packets reported as marked Congestion Experienced.
    pub ce_marked: u64,
    /// Round-trip times; `None` without a sample.
    pub rtt: Option<RttReport>,
    /// All samples of the round-trip time in a few points.
    #[serde(default)]
    pub rtt_distribution: Distribution,
    /// How long each limit was the one that held.
    pub limited: LimitedTimes,
}

impl SenderReport {
    /// Both connections as one; the controller is the same.
    fn plus(self, other: Self) -> Self {
        Self {
            congestion: self.congestion,
            packets_sent: self.packets_sent.saturating_add(other.packets_sent),
            packets_lost: self.packets_lost.saturating_add(other.packets_lost),
            packets_spuriously_lost: self
                .packets_spuriously_lost
                .saturating_add(other.packets_spuriously_lost),
            bytes_lost: self.bytes_lost.saturating_add(other.bytes_lost),
            ce_marked: self.ce_marked.saturating_add(other.ce_marked),
            rtt: match (self.rtt, other.rtt) {
                (Some(rtt), Some(others)) => Some(RttReport::of_both(
                    (rtt, &self.rtt_distribution),
                    (others, &other.rtt_distribution),
                )),
                (rtt, other) => rtt.or(other),
            },
            rtt_distribution: self.rtt_distribution.plus(&other.rtt_distribution),
            limited: self.limited.plus(other.limited),
        }
    }
}

/// The time series of a run in a bounded number of samples: when it is full, neighbours are
/// joined and from then on every sample covers twice the time.
#[derive(Debug, Clone, Default)]
pub struct Series {
    samples: Vec<Sample>,
    /// How many samples of the run make one here, less one; 0, 1, 3, 7 and so on.
    joined: u32,
    /// How many samples of the run the last one here has to take up still.
    wanting: u32,
}

impl Series {
    /// Adds the next sample of the run. A rest that is far shorter than the sample before it, as
    /// the end of a run leaves it, joins that one.
    pub fn push(&mut self, sample: Sample) {
        match self.samples.last_mut() {
            Some(last) if sample.length < last.length / 4 && last.omitted == sample.omitted => {
                last.extend(&sample);
            }
            Some(last) if self.wanting > 0 && last.omitted == sample.omitted => {
                last.extend(&sample);
                self.wanting -= 1;
            }
            _ => {
                self.halve_when_full();
                self.samples.push(sample);
                self.wanting = self.joined;
            }
        }
    }

    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    fn halve_when_full(&mut self) {
        if self.samples.len() < MAX_SAMPLES {
            return;
        }
        let mut pairs: Vec<Sample> = Vec::with_capacity(MAX_SAMPLES);
        let mut is_single = false;
        for sample in std::mem::take(&mut self.samples) {
            match pairs.last_mut() {
                Some(last) if is_single && last.omitted == sample.omitted => {
                    last.extend(&sample);
                    is_single = false;
                }
                _ => {
                    pairs.push(sample);
                    is_single = true;
                }
            }
        }
        self.samples = pairs;
        self.joined = self.joined * 2 + 1;
    }
}

/// The sum of the streams' bytes, saturating: the numbers may come from the other side.
pub fn total(bytes: &[u64]) -> u64 {
    bytes
        .iter()
        .fold(0, |sum, bytes| sum.saturating_add(*bytes))
}

/// The sum of what is known of two.
pub(crate) fn sum_of<T>(one: Option<T>, other: Option<T>, sum: impl Fn(T, T) -> T) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(sum(one, other)),
        (one, other) => one.or(other),
    }
}

fn jitters(arrivals: &[Arrivals]) -> impl Iterator<Item = (&'static str, Duration)> {
    arrivals.iter().map(|arrivals| ("jitter", arrivals.jitter))
}

fn check_streams<const N: usize>(lists: [usize; N]) -> Result<(), String> {
    let longest = lists.into_iter().max().unwrap_or(0);
    if longest > MAX_STREAMS as usize {
        return Err(format!("figures of {longest} streams"));
    }
    Ok(())
}

fn check_time((what, time): (&str, Duration)) -> Result<(), String> {
    if time > LONGEST {
        return Err(format!("a {what} of {} s", time.as_secs()));
    }
    Ok(())
}

fn add_each(sums: &mut Vec<u64>, more: &[u64]) {
    sums.resize(sums.len().max(more.len()), 0);
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum = sum.saturating_add(*more);
    }
}

/// A century. Even four thousand million of them are less than the largest [`Duration`].
const LONGEST: Duration = Duration::from_secs(100 * 366 * 86_400);

/// Longer than a controller's word for its state.
const LONGEST_STATE: usize = 256;

/// Above what a run of the usual length has, so that only very long ones are made coarser.
const MAX_SAMPLES: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;
    use bench_report::result::Quantity;

    fn sample(index: u64, omitted: bool) -> Sample {
        Sample {
            at: Duration::from_millis(100 * (index + 1)),
            length: Duration::from_millis(100),
            omitted,
            sent: vec![index],
            sending: Some(SenderState {
                counts: Counts::of([(Quantity::PacketsLost, 1), (Quantity::Cwnd, index)]),
                ..SenderState::default()
            }),
            ..Sample::default()
        }
    }

    #[test]
    fn a_long_series_gets_coarser_and_loses_nothing() {
        let mut series = Series::default();
        let pushed = 5 * MAX_SAMPLES as u64;
        (0..pushed).for_each(|index| series.push(sample(index, index < 11)));
        let samples = series.samples();
        assert!((MAX_SAMPLES / 2..=MAX_SAMPLES).contains(&samples.len()));
        let sent: u64 = samples.iter().map(|sample| sample.sent[0]).sum();
        assert_eq!(sent, pushed * (pushed - 1) / 2);
        let count = |sample: &Sample, quantity| {
            let sending = sample.sending.as_ref().unwrap();
            sending.counts.get(quantity).unwrap()
        };
        let lost = |sample| count(sample, Quantity::PacketsLost);
        assert_eq!(samples.iter().map(lost).sum::<u64>(), pushed);
        let omitted: Duration = samples
            .iter()
            .filter(|sample| sample.omitted)
            .map(|sample| sample.length)
            .sum();
        assert_eq!(omitted, Duration::from_millis(1_100));
        let last = samples.last().unwrap();
        assert_eq!(last.at, Duration::from_millis(100 * pushed));
        assert_eq!(count(last, Quantity::Cwnd), pushed - 1);
    }

    #[test]
    fn a_rest_at_the_end_is_no_sample_of_its_own() {
        let mut series = Series::default();
        series.push(sample(0, false));
        series.push(Sample {
            at: Duration::from_millis(101),
            length: Duration::from_millis(1),
            ..sample(1, false)
        });
        let [sample] = series.samples() else {
            panic!("{series:?}");
        };
        assert_eq!(sample.at, Duration::from_millis(101));
        assert_eq!((sample.length, sample.sent[0]), (sample.at, 1));
    }

    /// What a connection with these round-trip times, which rise, in microseconds, reports.
    fn report(micros: &[u64], has_distribution: bool) -> SenderReport {
        let times = || micros.iter().copied().map(Duration::from_micros);
        let rank = |share: f64| {
            times()
                .nth((micros.len() as f64 * share) as usize - 1)
                .unwrap()
        };
        let counts = times().map(|time| (time, 1));
        SenderReport {
            rtt: Some(RttReport {
                min: rank(0.001),
                p50: rank(0.50),
                p95: rank(0.95),
                p99: rank(0.99),
                max: rank(1.0),
                samples: micros.len() as u64,
                ..RttReport::default()
            }),
            rtt_distribution: if has_distribution {
                Distribution::new(counts, micros.len() as u64)
            } else {
                Distribution::default()
            },
            ..SenderReport::default()
        }
    }

    #[test]
    fn quantiles_of_two_connections_are_those_of_all_samples() {
        let growing: Vec<u64> = (1..=1_000).map(|i| i * i).collect();
        let steady: Vec<u64> = (0..1_000).map(|i| 600_000 + i).collect();
        let both = |has_distribution| {
            let [growing, steady] = [&growing, &steady].map(|all| report(all, has_distribution));
            growing.plus(steady).rtt.unwrap()
        };
        // Of the 2,000: the 1,000th is steady, the 1,900th and the 1,980th are 900² and 980².
        let exact = [600_225_u64, 810_000, 960_400].map(Duration::from_micros);
        let reported = |rtt: RttReport| [rtt.p50, rtt.p95, rtt.p99];
        for (reported, exact) in reported(both(true)).into_iter().zip(exact) {
            assert!(
                reported.abs_diff(exact) * 200 < exact,
                "{reported:?}, {exact:?}"
            );
        }
        // A peer may report quantiles alone.
        let [_, p95, _] = reported(both(false));
        assert!(p95.abs_diff(exact[1]) * 20 < exact[1], "{p95:?}");
        assert_eq!(both(true).samples, 2_000);
    }

    #[test]
    fn a_short_series_is_kept_as_it_is() {
        let mut series = Series::default();
        (0..100).for_each(|index| series.push(sample(index, false)));
        assert_eq!(series.samples().len(), 100);
        assert_eq!(series.samples()[41], sample(41, false));
    }

    #[test]
    fn what_no_run_has_is_refused() {
        let mut wide = sample(1, false);
        assert_eq!(wide.check(), Ok(()));
        wide.received = vec![0; 129];
        assert_eq!(wide.check().unwrap_err(), "figures of 129 streams");
        let mut wordy = sample(1, false);
        wordy.sending.as_mut().unwrap().state = "x".repeat(257);
        wordy.check().unwrap_err();
        let with = |p50| SideReport {
            sender: Some(SenderReport {
                rtt: Some(RttReport {
                    p50: Duration::from_millis(p50),
                    p95: Duration::from_millis(2),
                    p99: Duration::from_millis(2),
                    ..RttReport::default()
                }),
                ..SenderReport::default()
            }),
            ..SideReport::default()
        };
        assert_eq!(with(2).check(), Ok(()));
        with(3).check().unwrap_err();
    }
}
