//! Drain (draft-ietf-ccwg-bbr-06 §5.3.2).

use super::params::DRAIN_ROUNDS;
use super::state::State;
use super::{Bbr, Moment};

impl Bbr {
    /// EnterDrain.
    pub(super) fn enter_drain(&mut self, at: &mut Moment<'_>) {
        let start_round = self.round.count;
        self.transition_to(at, State::Drain { start_round });
    }

    /// CheckDrainDone.
    pub(super) fn check_drain_done(&mut self, at: &mut Moment<'_>) {
        if let State::Drain { start_round } = self.state
            && (at.path.inflight <= self.inflight(self.rate.bw())
                || self.round.count > start_round + DRAIN_ROUNDS)
        {
            self.start_down(at);
        }
    }
}
