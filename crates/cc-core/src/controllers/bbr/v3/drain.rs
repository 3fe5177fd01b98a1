//! Drain (draft-ietf-ccwg-bbr-06 §5.3.2).

use super::state::State;
use super::{Bbr, Revision};
use crate::parts::transition::Moment;
use units::Gain;

impl<R: Revision> Bbr<R> {
    /// EnterDrain.
    pub(super) fn enter_drain(&mut self, at: &mut Moment<'_>) {
        let start_round = self.round.count;
        at.transition(&mut self.state, State::Drain { start_round });
    }

    /// CheckDrainDone.
    pub(super) fn check_drain_done(&mut self, at: &mut Moment<'_>) {
        if let State::Drain { start_round } = self.state
            && (at.path.inflight <= self.inflight(self.rate.bw(), Gain::ONE)
                || self.has_drained_long(start_round))
        {
            self.start_down(at);
        }
    }

    fn has_drained_long(&self, start_round: u64) -> bool {
        let limit = R::RULES.drain_rounds;
        limit.is_some_and(|rounds| self.round.count > start_round + rounds)
    }
}
