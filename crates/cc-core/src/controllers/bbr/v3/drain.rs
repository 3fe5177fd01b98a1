//! Drain (draft-ietf-ccwg-bbr-06 §5.3.2).

use super::machine::Bbr;
use super::revision::Revision;
use super::state::State;
use crate::parts::transition::EventContext;
use units::Gain;

impl<R: Revision> Bbr<R> {
    /// EnterDrain.
    pub(super) fn enter_drain(&mut self, context: &mut EventContext<'_>) {
        let start_round = self.round.count;
        context.transition(&mut self.state, State::Drain { start_round });
    }

    /// CheckDrainDone.
    pub(super) fn check_drain_done(&mut self, context: &mut EventContext<'_>) {
        let State::Drain { start_round } = self.state else {
            return;
        };
        let limit = R::RULES.drain_rounds;
        if context.path.inflight <= self.inflight(self.rate.bw(), Gain::ONE)
            || limit.is_some_and(|rounds| self.round.count > start_round + rounds)
        {
            self.start_down(context);
        }
    }
}
