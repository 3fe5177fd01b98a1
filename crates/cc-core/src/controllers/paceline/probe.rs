//! What one round trip above the estimate tells: the flow's share of the bottleneck, and how far to
//! go next time.

use super::counts::Counts;
use core::time::Duration;
use units::Timestamp;

/// An Up and its outcome.
#[derive(Debug)]
pub(super) struct Probe {
    /// The step taken: Up sends 1 + step times the estimate.
    pub(super) step: f64,
    /// The least step of the next Up.
    least_next: f64,
    /// Whether it follows at once an Up that found more.
    follows_growth: bool,
    ceiling: Option<Ceiling>,
    /// Delivery rate before it, B/s.
    base: f64,
    from: Timestamp,
    counts: Counts,
    /// Sums of shortfall × step and step², older ones less.
    products: (f64, f64),
    /// What the last Up overflowed, if anything.
    pub(super) overflow: Option<Overflow>,
}

/// What loses the packets that are too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Overflow {
    Queue,
    /// Without a queue, what exceeds the tokens of a bucket.
    Policer,
}

/// What was delivered when loss reduced the estimate.
#[derive(Debug, Clone, Copy)]
struct Ceiling {
    /// B/s.
    rate: f64,
    /// Until when it counts.
    until: Timestamp,
    /// What lost the packets.
    cause: Overflow,
}

/// What an Up has shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outcome {
    /// More was delivered than before by at least half of the step.
    pub(super) has_grown: bool,
    /// More was lost than the path loses by itself.
    pub(super) has_overflowed: bool,
}

/// What the step of an Up depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Conditions {
    /// What a round trip takes at the estimate, packets.
    pub(super) packets: f64,
    /// The RTT without a queue, s.
    pub(super) rtt: f64,
    /// Mean change of the delivery rate from round trip to round trip, as a share.
    pub(super) rate_jitter: f64,
    /// How far it is to the estimate before reductions of late, as a share.
    pub(super) reduced: f64,
}

impl Probe {
    pub(super) fn new() -> Self {
        Self {
            step: FIRST_STEP,
            least_next: 0.0,
            follows_growth: false,
            ceiling: None,
            base: 0.0,
            from: Timestamp::ZERO,
            counts: Counts::default(),
            products: (FIRST_WEIGHT * FIRST_SHARE, FIRST_WEIGHT),
            overflow: None,
        }
    }

    pub(super) fn begin(&mut self, now: Timestamp, base: f64, step: f64) {
        self.follows_growth = self.least_next > 0.0;
        self.least_next = 0.0;
        self.step = step;
        self.base = base;
        self.from = now;
        self.counts = Counts::default();
    }

    /// Loss has reduced the estimate where `rate` was delivered. A policer lets bursts pass until
    /// its bucket is empty, and a queue until it is full: that more is delivered for a round trip
    /// does not prove that there is more.
    pub(super) fn set_ceiling(&mut self, now: Timestamp, rate: f64, cause: Overflow) {
        let time = match cause {
            Overflow::Queue => CEILING,
            Overflow::Policer => POLICED,
        };
        self.ceiling = Some(Ceiling {
            rate,
            until: now + time,
            cause,
        });
    }

    /// The reduction was in vain.
    pub(super) fn lift_ceiling(&mut self) {
        self.ceiling = None;
    }

    /// The path loses packets by itself: what was lost without a queue was no policer's.
    pub(super) fn refute_policer(&mut self) {
        self.ceiling
            .take_if(|ceiling| ceiling.cause == Overflow::Policer);
    }

    /// The rate that Ups do not pass with more than the least step, nor one after the other, B/s.
    pub(super) fn ceiling(&self, now: Timestamp) -> f64 {
        self.ceiling_at(now).map_or(f64::INFINITY, |at| at.rate)
    }

    /// The most that a delivery proves, B/s: with tokens in the bucket of a policer any rate
    /// arrives.
    pub(super) fn most_proven(&self, now: Timestamp) -> f64 {
        self.ceiling_at(now)
            .filter(|ceiling| ceiling.cause == Overflow::Policer)
            .map_or(f64::INFINITY, |ceiling| ceiling.rate)
    }

    fn ceiling_at(&self, now: Timestamp) -> Option<Ceiling> {
        self.ceiling.filter(|ceiling| now < ceiling.until)
    }

    /// Packets arrived that left before `until`, in the Up if not before it.
    pub(super) fn on_acked(&mut self, sent_at: Timestamp, until: Timestamp, packets: f64) {
        if (self.from..until).contains(&sent_at) {
            self.counts.acked += packets;
        }
    }

    pub(super) fn on_lost(&mut self, sent_at: Timestamp, until: Timestamp, packets: f64) {
        if (self.from..until).contains(&sent_at) {
            self.counts.lost += packets;
        }
    }

    /// The next Up is three times as large: what this one sent was delivered without a queue.
    /// `room` is how far from the rate it is to the ceiling, as a share.
    pub(super) fn widen(&mut self, room: f64) {
        self.least_next = (WIDER * self.step).min(WIDEST).min(room);
    }

    /// The packets of the Up were delivered at `rate`; the path loses `ambient` of all by itself,
    /// in runs of `run` packets. What is lost beyond that has `cause`.
    pub(super) fn conclude(
        &mut self,
        rate: f64,
        (ambient, run): (f64, f64),
        cause: Overflow,
    ) -> Outcome {
        let margin = self.step * OVERFLOW;
        let has_overflowed = self.counts.exceeds(ambient, run, SIGMAS, margin);
        self.overflow = has_overflowed.then_some(cause);
        Outcome {
            has_grown: rate > self.base * (1.0 + self.step / 2.0),
            has_overflowed,
        }
    }

    /// The rate at which a host on time sends an Up, B/s.
    pub(super) fn sent_rate(&self) -> f64 {
        self.base * (1.0 + self.step)
    }

    /// Learns the share of the bottleneck from the Up that was delivered at `rate`, and that did
    /// not find more: where there is more, the bottleneck is not full, and shows no share.
    ///
    /// Who sends 1 + s times his share x of a full bottleneck is delivered 1 + s of 1 + s·x: the
    /// shortfall is x·s. Least squares over the Ups, older ones less, because one alone is mostly
    /// noise.
    pub(super) fn learn_share(&mut self, rate: f64) {
        let step = self.step;
        let shortfall = (1.0 + step) * self.base / rate.max(1.0) - 1.0;
        let shortfall = shortfall.max(-2.0 * step).min(3.0 * step);
        self.products.0 = self.products.0 * MEMORY + shortfall * step;
        self.products.1 = self.products.1 * MEMORY + step * step;
    }

    /// The flow's share of the bottleneck, from [`LEAST_SHARE`] to 1.
    pub(super) fn share(&self) -> f64 {
        (self.products.0 / self.products.1).clamp(LEAST_SHARE, 1.0)
    }

    /// Whether an Up that does not find more fills the bottleneck by that: it follows one that
    /// found more, and the flow has next to all of the bottleneck.
    pub(super) fn ends_rise(&self) -> bool {
        self.follows_growth && self.share() >= NEARLY_ALONE
    }

    /// The step of the next Up: so large that the path shows it, among many flows so large that all
    /// that probe reach the same rate, and after reductions so large that it tells whether what
    /// they took is there.
    pub(super) fn next_step(&self, conditions: Conditions) -> f64 {
        let share = self.share();
        let of_path = PATH_STEP / share;
        // Among others Ups are rarer where the round trip is long.
        let packets = STEP_PACKETS
            * (conditions.rtt / LONG_RTT).clamp(1.0, MOST_LONGER)
            * (2.0 * (1.0 - share)).clamp(0.25, 1.0);
        let seen = (2.0 * conditions.rate_jitter).clamp(PATH_STEP, FIRST_STEP);
        let most = if self.overflow.is_some() {
            FIRST_STEP
        } else {
            MOST_STEP
        };
        of_path
            .max(packets / conditions.packets)
            .max(seen)
            .max(conditions.reduced.min(FIRST_STEP))
            .max(self.least_next)
            .min(most)
    }
}

/// BBR's gain in ProbeBW_UP less one (draft-ietf-ccwg-bbr-06 §5.1.1).
pub(super) const FIRST_STEP: f64 = 0.25;
const CEILING: Duration = Duration::from_secs(3);
/// Of a policer's ceiling: its bucket fills between two Ups.
const POLICED: Duration = Duration::from_secs(10);
/// From the least step on a rate that rose tenfold is reached in seven Ups. With twice the step it
/// takes eight, with four times the last of them overflows.
const WIDER: f64 = 3.0;
const WIDEST: f64 = 0.5;
const FIRST_SHARE: f64 = 0.5;
/// That of two Ups with the first step.
const FIRST_WEIGHT: f64 = 2.0 * FIRST_STEP * FIRST_STEP;
const NEARLY_ALONE: f64 = 0.75;
const LEAST_SHARE: f64 = 1.0 / 16.0;
/// Of the bottleneck's rate: an Up of one round trip adds 6 % of a BDP to the queue.
const PATH_STEP: f64 = 0.06;
const STEP_PACKETS: f64 = 8.0;
/// A flow of six packets in a round trip pushes by as many as others of more do.
const MOST_STEP: f64 = 1.5;
/// s.
const LONG_RTT: f64 = 0.04;
const MOST_LONGER: f64 = 16.0;
const SIGMAS: f64 = 2.0;
/// An eighth of what Up sends more.
const OVERFLOW: f64 = 1.0 / 8.0;
const MEMORY: f64 = 1.0 - 1.0 / 16.0;
