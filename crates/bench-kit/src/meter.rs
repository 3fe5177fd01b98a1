//! One side's meter of a run, from counters that are read in regular steps.

use crate::plan::Plan;
use crate::role::Role;
use crate::sample::{
    Arrivals, FrameTally, RttReport, Sample, SenderReport, SenderState, SideReport, total,
};
use bench_report::distribution::Distribution;
use bench_report::result::{Counts, LimitedTimes, Quantity};
use cc_core::{ControllerChoice, Event, Observer};
use hdrhistogram::Histogram;
use paceline::ConnectionStats;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use units::{Bandwidth, Gain};

/// What one side counts, step by step. Times are those since the side's first byte; whoever reads
/// the counters knows the clock.
#[derive(Debug)]
pub struct Meter {
    role: Role,
    acks: Arc<Mutex<AckSamples>>,
    step: Duration,
    omit: Duration,
    /// When it ends at the latest, where time decides or bounds it.
    end: Option<Duration>,
    last: CounterSnapshot,
    base: Option<CounterSnapshot>,
}

#[derive(Debug, Clone, Default)]
pub struct CounterSnapshot {
    /// Since the side's first byte.
    pub at: Duration,
    /// Payload that has left, per stream.
    pub sent: Vec<u64>,
    /// Payload read by the application, per stream.
    pub received: Vec<u64>,
    /// Datagrams handed to the transport, per stream.
    pub datagrams_sent: Vec<u64>,
    /// Datagrams that have arrived, per stream.
    pub arrivals: Vec<Arrivals>,
    /// Frames handed to the transport; `None` when this side sends no video.
    pub frames_sent: Option<u64>,
    /// What is known of frames; `None` when this side receives no video.
    pub frames: Option<FrameTally>,
    pub stats: ConnectionStats,
    /// The controller's state in its own words.
    pub state: &'static str,
    /// The controller's gain of the pacing rate, where it has one.
    pub pacing_gain: Option<Gain>,
    /// The controller's gain of the window, where it has one.
    pub cwnd_gain: Option<Gain>,
    /// Processor time of the side's thread, user and system.
    pub cpu: Duration,
    /// The user's part of it, where the system tells.
    pub cpu_user: Option<Duration>,
}

impl Meter {
    /// A meter that starts from `snapshot`; nothing is measured before [`begin`](Self::begin).
    pub fn new(role: Role, snapshot: CounterSnapshot) -> Self {
        Self {
            role,
            acks: Arc::new(Mutex::new(AckSamples::new())),
            step: Duration::ZERO,
            omit: Duration::ZERO,
            end: None,
            last: snapshot,
            base: None,
        }
    }

    /// The connection's observer, which hands the samples of each ACK to the meter.
    pub fn observer(&self) -> Box<dyn Observer + Send> {
        Box::new(AckObserver(Arc::clone(&self.acks)))
    }

    /// The side's first byte is here.
    pub fn begin(&mut self, plan: &Plan) {
        self.step = plan.step;
        self.omit = plan.omit;
        self.end = plan.longest().map(|time| plan.omit.saturating_add(time));
        if plan.omit.is_zero() {
            // The first byte, whose arrival may be what began this, counts.
            self.base = Some(self.last.clone());
        }
    }

    /// When to [`tick`](Self::tick) next: at the next whole step, and at both ends of the measured
    /// part.
    pub fn next_tick(&self) -> Duration {
        let steps = units::duration::nanos(self.last.at) / units::duration::nanos(self.step) + 1;
        let whole = Duration::from_nanos(steps.saturating_mul(units::duration::nanos(self.step)));
        let edges = [self.base.is_none().then_some(self.omit), self.end];
        edges.into_iter().flatten().fold(whole, Duration::min)
    }

    /// What happened since the sample before.
    pub fn tick(&mut self, snapshot: CounterSnapshot) -> Sample {
        let at = snapshot.at;
        let sample = Sample {
            at,
            length: at.saturating_sub(self.last.at),
            omitted: self.base.is_none(),
            sent: differences(&snapshot.sent, &self.last.sent),
            received: differences(&snapshot.received, &self.last.received),
            datagrams_sent: differences(&snapshot.datagrams_sent, &self.last.datagrams_sent),
            arrivals: arrivals_since(&snapshot, &self.last),
            frames_sent: snapshot
                .frames_sent
                .map(|sent| sent.saturating_sub(self.last.frames_sent.unwrap_or(0))),
            frames: snapshot
                .frames
                .map(|tally| tally.since(self.last.frames.unwrap_or_default())),
            sending: self.role.sends.then(|| self.sending(&snapshot)),
        };
        if self.base.is_none() && at >= self.omit {
            self.base = Some(snapshot.clone());
            self.acks.lock().expect(NO_PANIC).clear();
        }
        self.last = snapshot;
        sample
    }

    /// How far the side's clock had come at the last tick.
    pub fn at(&self) -> Duration {
        self.last.at
    }

    /// Whether the measured part has passed.
    pub fn is_over(&self) -> bool {
        self.end.is_some_and(|end| self.last.at >= end)
    }

    /// The sum of the measured part, as far as it was ticked.
    pub fn report(&self, congestion: &ControllerChoice) -> SideReport {
        let end = &self.last;
        let base = self.base.as_ref().unwrap_or(end);
        SideReport {
            measured: end.at.saturating_sub(base.at),
            sent: differences(&end.sent, &base.sent),
            received: self.received_since(base),
            datagrams_sent: differences(&end.datagrams_sent, &base.datagrams_sent),
            arrivals: arrivals_since(end, base),
            sender: self.role.sends.then(|| self.sender(base, congestion)),
            cpu: end.cpu.saturating_sub(base.cpu),
            cpu_user: user_since(base, end),
            ..SideReport::default()
        }
    }

    /// Payload of the measured part, per stream: what was read, less what can only have arrived in
    /// the warm-up, where it waited behind a gap for a packet to be sent again.
    fn received_since(&self, base: &CounterSnapshot) -> Vec<u64> {
        let end = &self.last;
        let mut received = differences(&end.received, &base.received);
        // Without a warm-up all has arrived since; and datagrams wait for none.
        if self.omit.is_zero() || !end.arrivals.is_empty() {
            return received;
        }
        let (read, arrived) = (total(&received), payload_between(base, end));
        if read > arrived {
            for stream in &mut received {
                let share = u128::from(*stream) * u128::from(arrived) / u128::from(read);
                *stream = u64::try_from(share).expect("less than before");
            }
        }
        received
    }

    fn sending(&self, snapshot: &CounterSnapshot) -> SenderState {
        let (stats, before) = (&snapshot.stats, &self.last.stats);
        let (path, lost_before) = (&stats.path, before.path.lost_packets);
        let marked = std::mem::take(&mut self.acks.lock().expect(NO_PANIC).newly_marked);
        let mut counts = Counts::default();
        for quantity in Quantity::ALL {
            let time = |time: Duration| units::duration::nanos(time);
            let count = match quantity {
                Quantity::SmoothedRtt => stats.srtt.map(time),
                Quantity::RttVar => stats.rttvar.map(time),
                Quantity::Cwnd => Some(stats.cwnd.get()),
                Quantity::InFlight => Some(stats.in_flight.get()),
                Quantity::PacingRate => Some(stats.pacing_rate)
                    .filter(|rate| *rate != Bandwidth::MAX)
                    .map(Bandwidth::bits_per_sec),
                Quantity::DeliveryRate => stats.delivery_rate.map(Bandwidth::bits_per_sec),
                Quantity::PacketsLost => Some(path.lost_packets.saturating_sub(lost_before)),
                Quantity::SpuriouslyLost => {
                    let late = stats.spurious_losses;
                    Some(late.saturating_sub(before.spurious_losses))
                }
                Quantity::CeMarked => Some(marked),
                Quantity::MinRtt => stats.min_rtt.map(time),
                Quantity::PacingGain => snapshot.pacing_gain.map(Gain::millionths),
                Quantity::CwndGain => snapshot.cwnd_gain.map(Gain::millionths),
                Quantity::ApplicationLimited => {
                    Some(time(limited_since(before, stats).application))
                }
                Quantity::Mtu => Some(path.current_mtu.into()),
            };
            counts.set(quantity, count);
        }
        SenderState {
            counts,
            state: snapshot.state.to_owned(),
        }
    }

    fn sender(&self, base: &CounterSnapshot, congestion: &ControllerChoice) -> SenderReport {
        let (base, end) = (&base.stats, &self.last.stats);
        let (rtt, rtt_distribution, ce_marked) = {
            let acks = self.acks.lock().expect(NO_PANIC);
            (acks.report(), acks.distribution(), acks.ce_marked)
        };
        SenderReport {
            congestion: congestion.to_string(),
            packets_sent: end.path.sent_packets.saturating_sub(base.path.sent_packets),
            packets_lost: end.path.lost_packets.saturating_sub(base.path.lost_packets),
            packets_spuriously_lost: end.spurious_losses.saturating_sub(base.spurious_losses),
            bytes_lost: end.path.lost_bytes.saturating_sub(base.path.lost_bytes),
            ce_marked,
            rtt,
            rtt_distribution,
            limited: limited_since(base, end),
        }
    }
}

/// The user's part of the processor time. The system divides it by the ticks of its clock, and what
/// it finds late may be more than was measured.
fn user_since(base: &CounterSnapshot, end: &CounterSnapshot) -> Option<Duration> {
    let user = end.cpu_user?.saturating_sub(base.cpu_user?);
    Some(user.min(end.cpu.saturating_sub(base.cpu)))
}

fn limited_since(base: &ConnectionStats, end: &ConnectionStats) -> LimitedTimes {
    let (base, end) = (&base.limited_by, &end.limited_by);
    LimitedTimes {
        application: end.application.saturating_sub(base.application),
        congestion_window: end.congestion_window.saturating_sub(base.congestion_window),
        pacing: end.pacing.saturating_sub(base.pacing),
        flow_control: end.flow_control.saturating_sub(base.flow_control),
        host: end.host.saturating_sub(base.host),
    }
}

/// The most payload of streams that the packets between two snapshots can have brought.
fn payload_between(base: &CounterSnapshot, end: &CounterSnapshot) -> u64 {
    let (udp, before) = (&end.stats.udp_rx, &base.stats.udp_rx);
    let packets = udp.datagrams.saturating_sub(before.datagrams);
    let offset = base.received.iter().min().copied().unwrap_or(0);
    let headers = packets.saturating_mul(MIN_HEADERS + varint_size(offset));
    let bytes = udp.bytes.saturating_sub(before.bytes);
    bytes.saturating_sub(headers)
}

/// The size of a variable-length integer (RFC 9000 §16).
fn varint_size(value: u64) -> u64 {
    match value {
        0..=0x3f => 1,
        0x40..=0x3fff => 2,
        0x4000..=0x3fff_ffff => 4,
        _ => 8,
    }
}

fn arrivals_since(end: &CounterSnapshot, begin: &CounterSnapshot) -> Vec<Arrivals> {
    let pairs = end.arrivals.iter().zip(&begin.arrivals);
    pairs.map(|(end, begin)| end.since(begin)).collect()
}

fn differences(now: &[u64], before: &[u64]) -> Vec<u64> {
    let pairs = now.iter().zip(before);
    pairs
        .map(|(now, before)| now.saturating_sub(*before))
        .collect()
}

/// What ACKs have shown since the measured part began.
#[derive(Debug)]
struct AckSamples {
    /// Microseconds, to three digits.
    rtts: Histogram<u64>,
    /// The least and the largest of them, exact.
    extremes: Option<(Duration, Duration)>,
    /// The least round-trip time of all, the warm-up's included.
    base: Option<Duration>,
    ce_marked: u64,
    /// Those that no sample has reported yet.
    newly_marked: u64,
}

impl AckSamples {
    fn new() -> Self {
        Self {
            rtts: Histogram::new_with_bounds(1, LONGEST_RTT_MICROS, 3)
                .expect("the bounds are in order"),
            extremes: None,
            base: None,
            ce_marked: 0,
            newly_marked: 0,
        }
    }

    fn clear(&mut self) {
        self.rtts.reset();
        self.extremes = None;
        self.ce_marked = 0;
    }

    fn record(&mut self, rtt: Duration) {
        let micros = u64::try_from(rtt.as_micros()).unwrap_or(u64::MAX);
        self.rtts.saturating_record(micros);
        let (min, max) = self.extremes.unwrap_or((rtt, rtt));
        self.extremes = Some((min.min(rtt), max.max(rtt)));
        self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
    }

    fn report(&self) -> Option<RttReport> {
        let quantile = |share| Duration::from_micros(self.rtts.value_at_quantile(share));
        self.extremes.map(|(min, max)| RttReport {
            min,
            p50: quantile(0.50),
            p95: quantile(0.95),
            p99: quantile(0.99),
            max,
            mean: Duration::from_secs_f64(self.rtts.mean() / 1e6),
            base: self.base.unwrap_or_default(),
            samples: self.rtts.len(),
        })
    }

    fn distribution(&self) -> Distribution {
        // The highest bucket reaches beyond the largest sample.
        let (_, max) = self.extremes.unwrap_or_default();
        let counts = self.rtts.iter_recorded().map(|bucket| {
            let highest = Duration::from_micros(bucket.value_iterated_to());
            (highest.min(max), bucket.count_since_last_iteration())
        });
        Distribution::new(counts, self.rtts.len())
    }
}

struct AckObserver(Arc<Mutex<AckSamples>>);

impl Observer for AckObserver {
    fn on_event(&mut self, event: &Event) {
        let Event::Sampled { sample, .. } = event else {
            return;
        };
        let mut samples = self.0.lock().expect(NO_PANIC);
        samples.ce_marked += sample.ce_marked;
        samples.newly_marked += sample.ce_marked;
        if let Some(rtt) = sample.rtt {
            samples.record(rtt);
        }
    }
}

/// The least that a UDP datagram of payload has besides it and the offset in the stream: of the
/// packet the first byte, the connection ID of eight, one byte of the number and the tag of 16
/// (RFC 9000 §17.3.1); of the STREAM frame its type and the stream's ID (§19.8).
const MIN_HEADERS: u64 = 1 + 8 + 1 + 16 + 1 + 1;

const NO_PANIC: &str = "no listener panics";

/// Two minutes: longer than any connection lives without an answer.
const LONGEST_RTT_MICROS: u64 = 120_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waited_behind_a_gap_in_the_warm_up_does_not_count() {
        let role = Role {
            sends: false,
            receives: true,
            asks: false,
        };
        let snapshot = |seconds, received: [u64; 2], packets: u64| {
            let mut snapshot = CounterSnapshot {
                at: Duration::from_secs(seconds),
                received: received.into(),
                ..CounterSnapshot::default()
            };
            snapshot.stats.udp_rx.datagrams = packets;
            snapshot.stats.udp_rx.bytes = packets * 1_032;
            snapshot
        };
        let received = |omit: u64, snapshots: [CounterSnapshot; 2]| {
            // What begins the meter has come in packets already counted.
            let begin = snapshot(0, [0, 0], 90);
            let mut meter = Meter::new(role, begin);
            meter.omit = Duration::from_secs(omit);
            meter.base = (omit == 0).then(|| meter.last.clone());
            for snapshot in snapshots {
                meter.tick(snapshot);
            }
            meter.received_since(meter.base.as_ref().unwrap())
        };
        // 1,000 bytes of payload in each packet: 32 are of headers, four of them the offset.
        let even = || {
            [
                snapshot(1, [20_000, 20_000], 40),
                snapshot(2, [30_000, 40_000], 70),
            ]
        };
        assert_eq!(received(1, even()), [10_000, 20_000]);
        let fewer = || {
            [
                snapshot(1, [20_000, 20_000], 40),
                snapshot(2, [25_000, 30_000], 70),
            ]
        };
        assert_eq!(received(1, fewer()), [5_000, 10_000]);
        let gap = || {
            [
                snapshot(1, [20_000, 20_000], 80),
                snapshot(2, [60_000, 40_000], 110),
            ]
        };
        assert_eq!(received(1, gap()), [20_000, 10_000]);
        assert_eq!(received(0, gap()), [60_000, 40_000]);
        // Datagrams wait for none.
        let datagrams = gap().map(|snapshot| CounterSnapshot {
            arrivals: vec![Arrivals::default(); 2],
            ..snapshot
        });
        assert_eq!(received(1, datagrams), [40_000, 20_000]);
    }

    #[test]
    fn quantiles_are_of_the_measured_part_and_the_base_of_all() {
        let mut samples = AckSamples::new();
        samples.record(Duration::from_millis(10));
        samples.clear();
        assert_eq!(samples.report(), None);
        (1..=100).for_each(|n| samples.record(Duration::from_millis(20 + n)));
        let report = samples.report().unwrap();
        assert_eq!(report.base, Duration::from_millis(10));
        assert_eq!(report.min, Duration::from_millis(21));
        // Three digits of the histogram.
        assert!(report.p50.abs_diff(Duration::from_millis(70)) < Duration::from_micros(100));
        assert!(report.p99.abs_diff(Duration::from_millis(119)) < Duration::from_micros(200));
        assert_eq!(report.max, Duration::from_millis(120));
        let shares = samples.distribution().shares();
        let (first, last) = (shares[0], shares[shares.len() - 1]);
        assert!((first.ms.get() - 21.0).abs() < 0.1 && first.share.get() == 0.01);
        assert_eq!((last.ms.get(), last.share.get()), (120.0, 1.0));
    }
}
