//! Undoing the response to spurious losses (draft-ietf-ccwg-bbr-06 §5.5.11).

use super::machine::Bbr;
use super::recovery::{RecoveryPolicy, Undo, UndoState};
use super::revision::Revision;
use super::state::State;
use crate::events::LostPacket;
use crate::parts::transition::EventContext;
use units::Bandwidth;

impl<R: Revision> Bbr<R> {
    /// A packet that had been declared lost has arrived; where its whole episode has arrived,
    /// HandleSpuriousLossDetection.
    pub(super) fn handle_late_packet(
        &mut self,
        context: &mut EventContext<'_>,
        packet: &LostPacket,
    ) {
        let age = context.path.now.since(packet.stamp.sent_at);
        if self.late.on_arrival(age, packet, self.mss) {
            return;
        }
        if let Some(undo) = self.recovery.on_late_arrival(packet) {
            self.undo(context, &undo);
        }
    }

    /// HandleSpuriousLossDetection.
    fn undo(&mut self, context: &mut EventContext<'_>, undo: &Undo) {
        let bounds = undo.bounds;
        self.restore_cwnd();
        self.congestion.forget_losses();
        self.full_bw.restart(Bandwidth::ZERO);
        self.rate.shortterm = self.rate.shortterm.max(bounds.bw_shortterm);
        self.volume.shortterm = self.volume.shortterm.max(bounds.inflight_shortterm);
        self.volume.longterm = self.volume.longterm.max(bounds.inflight_longterm);
        let is_probe_rtt = matches!(self.state, State::ProbeRtt(_));
        match undo.state {
            Some(UndoState::Startup) if !matches!(self.state, State::Startup) => {
                self.full_bw.is_reached = false;
                if !is_probe_rtt {
                    context.transition(&mut self.state, State::Startup);
                }
            }
            Some(UndoState::ProbeBwUp) if !self.state.is_up() && !is_probe_rtt => {
                self.start_refill(context);
            }
            _ => {}
        }
    }
}
