//! Leaving Startup (draft-ietf-ccwg-bbr-06 §5.3.1).

use super::machine::Bbr;
use super::recovery::{RecoveryPolicy, UndoState};
use super::revision::Revision;
use super::state::State;
use crate::controller::PathState;
use crate::parts::transition::EventContext;
use crate::sampler::RateSample;

impl<R: Revision> Bbr<R> {
    /// CheckStartupDone.
    pub(super) fn check_startup_done(
        &mut self,
        context: &mut EventContext<'_>,
        sample: &RateSample,
    ) {
        if !matches!(self.state, State::Startup) {
            return;
        }
        self.check_startup_high_loss(context.path, sample);
        if self.full_bw.is_reached {
            self.enter_drain(context);
        }
    }

    /// CheckStartupHighLoss: at the end of a loss round, which is a full round of recovery, the
    /// pipe is full if the round lost too much, in too many places to be one burst.
    fn check_startup_high_loss(&mut self, path: &PathState, sample: &RateSample) {
        let flight = self.flight(path, sample);
        if self.full_bw.is_reached
            || !self.congestion.is_round_start
            || !self.recovery.has_seen_a_round()
            || self.congestion.lost_ranges < self.tuning.startup_loss_ranges
            || !self.is_inflight_too_high(&flight)
        {
            return;
        }
        self.recovery.on_exit(UndoState::Startup);
        self.full_bw.set_full();
        if R::RULES.bounds_startup {
            self.volume.longterm = self.bdp().max(self.congestion.inflight_latest);
        }
    }
}
