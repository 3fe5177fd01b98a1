//! Cruise: how the estimate falls, and how a queue drains.

use super::control::PACING_MARGIN;
use super::numbers::{MICROSECOND, to_f64};
use super::probe::Overflow;
use super::reduction::REDUCTION;
use super::round::Round;
use super::signs::Signs;
use super::state::Paceline;
use super::trim::Trim;
use crate::parts::ack_aggregation::AckAggregation;
use crate::parts::transition::EventContext;
use units::Timestamp;

impl Paceline {
    /// What is acknowledged now left at `acked_factor` times the estimate.
    pub(super) fn cruise(
        &mut self,
        context: &mut EventContext<'_>,
        round: &Round,
        signs: &Signs,
        acked_factor: f64,
    ) {
        let is_limited = round.is_limited;
        let may_be_longer = self.route.is_likely();
        if signs.persists && !is_limited && !may_be_longer && self.tuning.lower {
            self.lower_by_growth(context.path.now, round, acked_factor);
        }
        // In the first round trip arrives what left below the estimate.
        let has_cruised = self.cycle.rounds >= 2;
        if signs.is_lossy && has_cruised && !is_limited && self.reductions.is_effective() {
            self.reduce(context.path.now, round, signs);
        }
        let now = context.path.now;
        if !is_limited && self.reductions.have_left_little(now, round.rate()) {
            self.ambient.verify(round.counts(to_f64(self.mss)));
        }
        self.judge_reduction(round, signs);
        if !may_be_longer {
            self.drain_queue(context.path.now, round, signs);
        }
        if self.cycle.is_cruise_over() && !is_limited && signs.permit_up() {
            self.begin_up(context, self.delivered_at_estimate());
        }
    }

    /// A queue that grows by g seconds per second is sent 1 + g times what leaves it. All senders
    /// together were too fast by that factor, and each is to be slower by it.
    pub(super) fn lower_by_growth(&mut self, now: Timestamp, round: &Round, acked_factor: f64) {
        if round.is_early {
            // What came at the old rate is no burst of the new one.
            self.aggregation = AckAggregation::new(now);
            let rate = round.rate().min(self.estimate.get());
            self.estimate.lower(rate, rate, rate);
            // What was on its way still lengthens the queue: that proves no draining in vain.
            self.trim.stop();
            return;
        }
        let time = round.time.max(MICROSECOND);
        let growth = (round.rtt - self.rounds.before().rtt - self.reference.jitter()) / time;
        let factor = (acked_factor / (1.0 + growth).max(LEAST_GROWTH)).min(1.0);
        // Where the host sends late less is delivered, too: that proves no lower rate. Since the
        // later of two round trips may be late by the earlier, this is more than would have been.
        let on_time = self.rounds.mean_of_two_on_time();
        let estimate = self.estimate.get();
        let least = (LEAST_OF_FOUR * self.rounds.mean_rate_on_time(4))
            .min(LEAST_OF_TWO * on_time)
            .min(estimate);
        // What left below the estimate, in Down or Drain, says nothing against it.
        let most = if self.has_cruised_for_two() {
            MOST_OF_TWO * on_time
        } else {
            estimate
        };
        let lowered = (estimate * factor).max(least).min(most);
        let proven = self.rounds.mean_of_two();
        self.estimate.lower(lowered.min(estimate), proven, on_time);
    }

    /// Whether all that arrived in the last two round trips left in Cruise.
    fn has_cruised_for_two(&self) -> bool {
        self.cycle.rounds >= 3
    }

    /// What the path delivers of the estimate, B/s: what an Up adds is compared with that. In Down,
    /// or while a queue was drained, less was sent, and all of it arrived. A host on time would
    /// have sent the estimate, and no more.
    fn delivered_at_estimate(&self) -> f64 {
        let on_time = self.rounds.mean_of_two_on_time().min(self.estimate.get());
        let delivered = self.rounds.mean_of_two().max(on_time);
        let was_trimmed = self.trim_factor < 1.0 || self.last_trim_factor < 1.0;
        if was_trimmed || !self.has_cruised_for_two() {
            delivered.max(self.estimate.get() * PACING_MARGIN)
        } else {
            delivered
        }
    }

    fn reduce(&mut self, now: Timestamp, round: &Round, signs: &Signs) {
        let estimate = self.estimate.get();
        let delivered = if self.has_cruised_for_two() {
            self.rounds.mean_of_two_on_time()
        } else {
            round.rate_on_time()
        };
        let reduced = delivered.min(estimate) * REDUCTION;
        // The round trip that raised the alarm lost more than most.
        let loss = self.loss_test.recent_loss().min(round.loss());
        self.reductions
            .on_reduced(now, estimate, loss, self.tuning.trial);
        let cause = self.cause_of_loss(signs);
        self.probe.set_ceiling(now, delivered, cause);
        self.estimate.lower(reduced, reduced, reduced);
        self.calm_since = now;
    }

    /// A policer, most likely, where loss is without a queue, on a path that loses nothing by
    /// itself, and of single packets, as where a little too much is sent. Few packets show too
    /// little of a queue. The ranks of RTTs show the queue of the flow's own bursts, too, in front
    /// of a line that is faster than the policer: that one is short.
    pub(super) fn cause_of_loss(&self, signs: &Signs) -> Overflow {
        let is_beside_queue =
            self.rank.is_high() && signs.queue > LEAST_QUEUE * self.reference.get();
        let has_queue = signs.is_queued() || is_beside_queue || self.has_standing_queue();
        let is_path = self.ambient.loss() > LOSSLESS || self.runs.mean() > SINGLE;
        if has_queue || is_path || self.bdp() < LEAST_POLICED {
            Overflow::Queue
        } else {
            Overflow::Policer
        }
    }

    fn judge_reduction(&mut self, round: &Round, signs: &Signs) {
        let futile = self.reductions.try_round(round, to_f64(self.mss));
        if let Some(futile) = futile
            && !signs.is_queued()
            && !self.rank.is_high()
            && !self.is_one_before_full_queue()
            && !self.loses_seconds()
        {
            self.estimate.set(futile.estimate);
            self.ambient.replace(futile.counts);
            self.probe.lift_ceiling();
            self.cycle.probe_soon();
        }
    }

    /// What one of many flows reduces is too little to reduce the loss of all.
    fn is_one_before_full_queue(&self) -> bool {
        self.has_few_packets() && self.has_standing_queue() && !self.ambient.is_verified()
    }

    fn drain_queue(&mut self, now: Timestamp, round: &Round, signs: &Signs) {
        if !signs.is_queue_lasting() || !self.tuning.trim {
            self.trim.stop();
            return;
        }
        let time = self.round_time();
        self.trim.on_round(self.last_trim_factor, time);
        if self.trim.is_in_vain(signs.lasting_queue) {
            self.trim.stop();
            self.reference.restart(now, round.rtt);
        }
        self.trim_factor = Trim::factor(signs.lasting_queue, signs.tolerance, time);
    }
}

/// A path that loses more by itself loses without a queue, too.
const LOSSLESS: f64 = 0.002;
/// Packets in a row.
const SINGLE: f64 = 1.2;
/// Packets.
const LEAST_POLICED: f64 = 8.0;
/// Of the RTT. A buffer of 5 % of a BDP has a queue of 1 to 3 % of the RTT where it overflows, the
/// flow's own bursts have 0.1 to 0.5 %.
const LEAST_QUEUE: f64 = 1.0 / 128.0;
/// A queue cannot shrink by more than a second per second.
const LEAST_GROWTH: f64 = 0.1;
/// What four and two round trips delivered bound what one queue sample can take away.
const LEAST_OF_FOUR: f64 = 0.97;
const LEAST_OF_TWO: f64 = 1.1;
const MOST_OF_TWO: f64 = 1.5;
