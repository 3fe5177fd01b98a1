//! What a round trip shows of congestion.

use super::bandwidth::from_f64;
use super::cycle::Phase;
use super::loss_test::LossTest;
use super::numbers::to_f64;
use super::round::Round;
use super::state::Paceline;
use units::Timestamp;

/// What a round trip shows of congestion.
#[derive(Debug, Clone, Copy)]
pub(super) struct Signs {
    /// Its mean RTT above the reference, s.
    pub(super) queue: f64,
    /// The lesser of this and the same of the round trip before, s. What a radio held back for a
    /// while makes one round trip longer, and the next one not.
    pub(super) lasting_queue: f64,
    /// How much of that is no queue, s.
    pub(super) tolerance: f64,
    /// More than the path loses by itself, lost beside long RTTs, or marked.
    pub(super) is_lossy: bool,
    /// Whether the round trip before showed congestion, as this one does.
    pub(super) persists: bool,
}

impl Signs {
    pub(super) fn is_queued(&self) -> bool {
        self.queue > self.tolerance
    }

    /// Whether a queue shows in this round trip and in the one before.
    pub(super) fn is_queue_lasting(&self) -> bool {
        self.lasting_queue > self.tolerance
    }

    /// Whether nothing speaks against sending more for a round trip.
    pub(super) fn permit_up(&self) -> bool {
        !self.is_queue_lasting() && !self.is_lossy
    }

    pub(super) fn is_congested(&self) -> bool {
        self.is_queued() || self.is_lossy
    }
}

impl Paceline {
    /// Updates what a round trip measures.
    pub(super) fn measure(&mut self, now: Timestamp, round: &Round, last: &Round) {
        let is_calm = matches!(self.cycle.acked, Phase::Cruise | Phase::Down | Phase::Drain);
        if is_calm && last.rtt > 0.0 {
            let rate = (round.rate() - last.rate()) / self.estimate.get().max(1.0);
            self.reference
                .on_change((round.rtt - last.rtt).abs(), rate.abs());
        }
        self.reference.on_round(now, round.rtt);
        self.reductions.on_round();
        if self.cycle.phase != Phase::Startup {
            self.standing.on_round(now, round.rtt);
        }
        let is_proof = (!round.is_limited || round.rate() >= self.estimate.get())
            && self.reductions.is_effective();
        if self.cycle.phase != Phase::Startup && is_proof {
            let most = self.probe.most_proven(now);
            let delivered = self.rounds.mean_rate(2).min(most);
            if round.is_limited {
                self.estimate.raise(delivered);
            } else {
                let on_time = self.rounds.mean_rate_on_time(2).min(most);
                self.estimate.prove(from_f64(delivered), from_f64(on_time));
            }
        }
        if !round.is_limited {
            self.estimate.bound();
        }
    }

    pub(super) fn signs(&mut self, round: &Round) -> Signs {
        let is_overflow = self.rank.take_alarm() && self.tuning.rank;
        if is_overflow {
            self.ambient.suspect();
        }
        let is_lossy = is_overflow || round.marked > 0 || self.loses_more_than_path(round);
        let reference = self.reference.get();
        let queue = round.rtt - reference;
        let mut signs = Signs {
            queue,
            lasting_queue: queue.min(self.rounds.before().rtt - reference),
            tolerance: self
                .reference
                .tolerance(self.packet_time(), self.burst_wait()),
            is_lossy,
            persists: false,
        };
        signs.persists = signs.is_congested() && (self.was_congested || round.is_early);
        signs
    }

    fn loses_more_than_path(&mut self, round: &Round) -> bool {
        let counts = round.counts(to_f64(self.mss));
        let run = self.runs.mean();
        let is_known = self.cycle.acked == Phase::Cruise && self.reductions.is_effective();
        if is_known && !round.is_limited {
            let refuted = self.loss_test.refute(counts, self.ambient.loss(), run);
            if let Some(counts) = refuted {
                self.ambient.replace(counts);
            }
        }
        let path_run = self.path_run();
        let runs = if self.ambient.is_no_policer() && path_run > 1.0 {
            LossTest::runs_by_chance(path_run)
        } else {
            run
        };
        self.loss_test.has_excess(counts, self.ambient_loss(), runs)
    }

    /// What was lost beside a queue is not the path's own loss; what an application left out is not
    /// a Down.
    pub(super) fn discard_suspect(&mut self, round: &Round, signs: &Signs) {
        let was_listening = matches!(self.cycle.acked, Phase::Down | Phase::Drain);
        if round.is_limited {
            self.ambient.discard();
        } else if was_listening && (signs.is_queued() || self.has_standing_queue()) {
            self.ambient.suspect();
        }
    }
}
