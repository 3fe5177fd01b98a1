//! Leaving Startup (draft-ietf-ccwg-bbr-06 §5.3.1).

use super::recovery::Recovery;
use super::state::State;
use super::{Bbr, Left, Revision};
use crate::controller::PathState;
use crate::parts::transition::Moment;
use crate::sampler::RateSample;

impl<R: Revision> Bbr<R> {
    /// CheckStartupDone.
    pub(super) fn check_startup_done(&mut self, at: &mut Moment<'_>, sample: &RateSample) {
        if !matches!(self.state, State::Startup) {
            return;
        }
        self.check_startup_high_loss(at.path, sample);
        if self.full_pipe.is_reached {
            self.enter_drain(at);
        }
    }

    /// CheckStartupHighLoss: at the end of a loss round, which is a full round of recovery, the
    /// pipe is full if the round lost too much, in too many places to be one burst.
    fn check_startup_high_loss(&mut self, path: &PathState, sample: &RateSample) {
        let flight = self.flight(path, sample);
        if self.full_pipe.is_reached
            || !self.congestion.is_round_start
            || !self.recovery.has_seen_a_round()
            || self.congestion.lost_ranges < self.tuning.startup_loss_ranges
            || !self.is_inflight_too_high(&flight)
            || self.is_bearable(&flight)
        {
            return;
        }
        self.recovery.on_exit(Left::Startup);
        self.full_pipe.set_full();
        if R::RULES.bounds_startup {
            self.volume.longterm = self.bdp().max(self.congestion.inflight_latest);
            self.note_startup_bound();
        }
    }
}
