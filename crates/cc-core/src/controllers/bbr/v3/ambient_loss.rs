//! Telling a path's own loss from congestion's: the estimate behind `ambient_loss=on`.
//!
//! Ours, not the draft's; `docs/bbr-ambient-loss.md` has the argument. What min_rtt is to delay,
//! the ambient loss is to loss: what the path shows while the flow cannot have filled it. A cycle
//! after loss begins with a round or two at the pace of ProbeBW_DOWN, and what these lose without a
//! queue is the path's. If it is more than was known, the short-term bounds fall as ever, and what
//! is measured is what is lost then, at a pace below what the path has just delivered.

use crate::controller::PathState;
use crate::sampler::RateSample;
use core::time::Duration;
use units::{Bytes, Gain, Timestamp};

/// What is known of the path's own loss.
#[derive(Debug, Default)]
pub(super) struct AmbientLoss {
    /// What finished measurements have shown; the older, the less it counts.
    estimate: Tally,
    /// What was measured since, too little yet for the estimate.
    pending: Tally,
    measurement: Option<Measurement>,
    /// Whether the long-term bound is what Startup was left with because of loss.
    pub(super) is_bound_from_startup: bool,
    /// Cycles since something was measured.
    cycles_unmeasured: u32,
    /// The counters where the present loss round began.
    round_start: Totals,
    /// Whether the loss round that the ACK at hand ended lost no more than the path does by
    /// itself.
    pub(super) is_round_ambient: bool,
    /// Whether the newest round-trip time shows a queue.
    pub(super) has_queue: bool,
    /// Bytes lost over the connection's life when the last measurement began.
    lost_before: Bytes,
}

/// Rounds at the pace of ProbeBW_DOWN whose loss is measured.
#[derive(Debug, Clone, Copy)]
struct Measurement {
    /// When its pace began: it is about packets that left since.
    from: Timestamp,
    /// Round until which packets leave at the pace of ProbeBW_DOWN; the last of them are
    /// acknowledged a round later.
    until: u64,
    /// Rounds at that pace in all.
    rounds: u64,
    /// Whether the pace is known to be below what the path delivers, after a cut.
    is_settled: bool,
    /// The stretch without a queue that is measured at present.
    stretch: Option<Stretch>,
    /// What the stretch has shown, once its last packets are acknowledged.
    result: Option<Tally>,
}

/// Acknowledgements in a row that show no queue.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    /// Bytes delivered over the connection's life when it began.
    delivered: Bytes,
    /// When the newest packet had left that was acknowledged by then; it is about those after.
    sent_after: Timestamp,
    /// Packets of it lost so far.
    lost: u64,
}

impl Stretch {
    fn begin(path: &PathState, sample: &RateSample) -> Self {
        Self {
            delivered: path.delivered,
            sent_after: sample.newest_sent_at,
            lost: 0,
        }
    }

    fn tally(self, path: &PathState) -> Tally {
        let delivered = path.delivered.saturating_sub(self.delivered);
        Tally {
            packets: delivered.packets_ceil(path.mss) + self.lost,
            lost: self.lost,
        }
    }
}

/// The connection's counters at one moment.
#[derive(Debug, Clone, Copy, Default)]
struct Totals {
    delivered: Bytes,
    lost: Bytes,
}

impl Totals {
    fn of(path: &PathState) -> Self {
        Self {
            delivered: path.delivered,
            lost: path.lost,
        }
    }

    /// What was settled since.
    fn until(self, path: &PathState) -> Tally {
        let lost = path.lost.saturating_sub(self.lost).packets_ceil(path.mss);
        let delivered = path.delivered.saturating_sub(self.delivered);
        Tally {
            packets: lost + delivered.packets_ceil(path.mss),
            lost,
        }
    }
}

/// How many of so many packets were lost.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    packets: u64,
    lost: u64,
}

impl Tally {
    fn plus(self, other: Self) -> Self {
        Self {
            packets: self.packets + other.packets,
            lost: self.lost + other.lost,
        }
    }

    fn halved(self) -> Self {
        Self {
            packets: self.packets / 2,
            lost: self.lost / 2,
        }
    }

    /// The share that was lost: nothing while it could be chance, and never more than
    /// [`MAX_AMBIENT`].
    fn rate(self) -> Gain {
        if self.lost < MIN_LOSSES {
            return Gain::ZERO;
        }
        Gain::new(self.lost, self.packets).min(MAX_AMBIENT)
    }

    /// How many of `packets` the path is expected to lose, in thousandths of a packet.
    fn expected(self, packets: u64) -> u64 {
        self.rate().of(packets.saturating_mul(1_000))
    }

    /// How many more than expected chance may lose of `packets`, in thousandths of a packet; none
    /// where no loss is expected. The chance in what the rate was estimated from is in it, too.
    fn margin(self, packets: u64) -> u64 {
        match self.rate() {
            Gain::ZERO => 0,
            rate => margin(rate, self.packets, packets),
        }
    }
}

impl AmbientLoss {
    /// ProbeBW_DOWN begins, in round `round`, with `bdp` packets to fill the path. Where nothing is
    /// lost there is nothing to measure.
    pub(super) fn on_down(&mut self, path: &PathState, round: u64, bdp: u64) {
        self.round_start = Totals::of(path);
        self.cycles_unmeasured += 1;
        if self.cycles_unmeasured > MEMORY_CYCLES {
            self.estimate = Tally::default();
        }
        let is_loss = path.lost > self.lost_before || self.estimate.lost > 0;
        self.lost_before = path.lost;
        let rounds = (MEASURED_PACKETS / bdp.max(1) + 1).min(MAX_ROUNDS);
        self.measurement = is_loss.then_some(Measurement {
            from: path.now,
            until: round + rounds,
            rounds,
            is_settled: false,
            stretch: None,
            result: None,
        });
    }

    /// A loss round has ended.
    pub(super) fn on_loss_round(&mut self, path: &PathState) {
        let round = self.round_start.until(path);
        let allowed = self.estimate.expected(round.packets) + self.estimate.margin(round.packets);
        self.is_round_ambient = round.lost * 1_000 <= allowed;
        self.round_start = Totals::of(path);
    }

    pub(super) fn on_rtt(&mut self, rtt: Duration, min_rtt: Duration) {
        self.has_queue = rtt > min_rtt + (min_rtt / QUEUE_SHARE).max(MIN_QUEUE);
    }

    /// A packet that left at `sent_at` was lost.
    pub(super) fn on_lost(&mut self, sent_at: Timestamp) {
        if let Some(Measurement {
            stretch: Some(stretch),
            ..
        }) = &mut self.measurement
        {
            stretch.lost += u64::from(sent_at > stretch.sent_after);
        }
    }

    /// A round with more loss than the path's has lowered the bounds. What was sent until now may
    /// have been too fast for a path that has become slower, so the measurement begins again; and
    /// so after each cut until the pace `is_below` what the path has delivered.
    pub(super) fn on_cut(&mut self, now: Timestamp, round: u64, is_below: bool) {
        if let Some(measurement) = &mut self.measurement
            && !measurement.is_settled
        {
            measurement.is_settled = is_below;
            measurement.from = now;
            measurement.until = round + measurement.rounds;
            measurement.stretch = None;
            measurement.result = None;
        }
    }

    /// The flow probes or has left ProbeBW: nothing is measured.
    pub(super) fn stop(&mut self) {
        self.measurement = None;
    }

    /// Measures an ACK in round `round`, which ends a loss round or not; true when the measurement
    /// is over and has shown that the path loses.
    pub(super) fn measure(
        &mut self,
        path: &PathState,
        sample: &RateSample,
        round: u64,
        is_end: bool,
    ) -> bool {
        let Some(measurement) = &mut self.measurement else {
            return false;
        };
        if sample.newest_sent_at < measurement.from {
            return false;
        }
        let begin = Stretch::begin(path, sample);
        let stretch = *measurement.stretch.get_or_insert(begin);
        if round <= measurement.until {
            if self.has_queue {
                measurement.stretch = Some(begin);
            }
            return false;
        }
        if self.has_queue && measurement.result.is_none() {
            self.measurement = None;
            return false;
        }
        let result = *measurement
            .result
            .get_or_insert_with(|| stretch.tally(path));
        // It counts only when the loss round has been judged that its losses fell into.
        if is_end {
            self.measurement = None;
            self.update(result);
        }
        is_end && self.estimate.rate() > Gain::ZERO
    }

    /// A measurement is over.
    fn update(&mut self, result: Tally) {
        if result.packets > 0 {
            self.cycles_unmeasured = 0;
        }
        self.pending = self.pending.plus(result);
        if self.pending.packets < ENOUGH_PACKETS && self.pending.lost < ENOUGH_LOSSES {
            return;
        }
        let newest = core::mem::take(&mut self.pending);
        let is_less = newest.lost * 1_000 + self.estimate.margin(newest.packets)
            < self.estimate.expected(newest.packets);
        if is_less {
            self.estimate = newest;
            return;
        }
        if self.estimate.packets >= MEMORY_PACKETS {
            self.estimate = self.estimate.halved();
        }
        self.estimate = self.estimate.plus(newest);
    }

    /// Whether packets that leave in round `round` are measured.
    pub(super) fn is_measuring(&self, round: u64) -> bool {
        self.measurement
            .is_some_and(|measurement| round < measurement.until)
    }

    /// How many of `packets` the path is expected to lose, and how many more by chance, in
    /// thousandths of a packet.
    pub(super) fn expected(&self, packets: u64) -> (u64, u64) {
        (
            self.estimate.expected(packets),
            self.estimate.margin(packets),
        )
    }

    /// What has to be sent for one packet to arrive.
    pub(super) fn compensation(&self) -> Gain {
        inverse(self.estimate.rate().complement())
    }
}

/// How many of `packets` any path may lose by itself, in thousandths of a packet.
pub(super) fn tolerable(packets: u64) -> u64 {
    MAX_AMBIENT.of(packets * 1_000) + margin(MAX_AMBIENT, CERTAIN, packets)
}

/// [`DEVIATIONS`] standard deviations of the number of losses among `packets` at a `rate` that was
/// estimated from `sample` packets, in thousandths of a packet. Rounds down.
fn margin(rate: Gain, sample: u64, packets: u64) -> u64 {
    let one = u128::from((rate * rate.complement()).millionths());
    let both = u128::from(sample) + u128::from(packets);
    // The root of millionths is thousandths.
    let variance = u128::from(packets) * one * both / u128::from(sample.max(1));
    DEVIATIONS * u64::try_from(variance).unwrap_or(u64::MAX).isqrt() + SKEW
}

/// `1 ÷ share`, rounded down.
fn inverse(share: Gain) -> Gain {
    Gain::new(Gain::ONE.millionths(), share.millionths())
}

/// Upper bound of the path's own loss. Access links lose less; a policer or a blackout loses more.
const MAX_AMBIENT: Gain = Gain::percent(20);

/// Size of a sample after which a rate is certain.
const CERTAIN: u64 = 1 << 32;

/// Losses below which a tally may be chance.
const MIN_LOSSES: u64 = 3;

/// Packets after which measurements are evaluated: at 1 % of loss they lose two or three.
const ENOUGH_PACKETS: u64 = 256;

/// Packets after which the older estimate counts half.
const MEMORY_PACKETS: u64 = 2_048;

/// Cycles after which an estimate that could not be measured again is forgotten: a flow that shares
/// its queue measures something in every second or third.
const MEMORY_CYCLES: u32 = 8;

/// Losses that are enough, too: one in three is what chance then adds or takes.
const ENOUGH_LOSSES: u64 = 8;

/// Standard deviations of chance that count as ambient: a false alarm in a thousand rounds.
const DEVIATIONS: u64 = 3;

/// Rare losses are skewed, and the quantile of [`DEVIATIONS`] lies (DEVIATIONS² − 1) ÷ 6 above the
/// normal distribution's (Cornish and Fisher): 4/3 of a packet, in thousandths.
const SKEW: u64 = 1_334;

/// Packets that one measurement should be of, in as many rounds as they take,
const MEASURED_PACKETS: u64 = 512;

/// but not in more: they are sent at nine tenths of the rate.
const MAX_ROUNDS: u64 = 4;

/// A queue is what adds more than this part of min_rtt to it,
const QUEUE_SHARE: u32 = 8;

/// and more than timers and interrupts do.
const MIN_QUEUE: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests;
