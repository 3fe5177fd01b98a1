//! The window through a loss recovery (draft-ietf-ccwg-bbr-06 §5.6.4.4;
//! draft-cardwell-iccrg-bbr-congestion-control-02 §4.6.4.4).

use super::state::State;
use super::undo::{Bounds, Left, LossEpisode};
use super::{Bbr, Revision};
use crate::controller::PathState;
use crate::events::LostPacket;
use crate::parts::fast_recovery::Change;
use crate::sampler::RateSample;
use core::fmt;
use units::Timestamp;

/// When recovery begins and ends, and what is kept for its undo.
pub(crate) trait Recovery: fmt::Debug + Send {
    /// Nothing is lost yet.
    fn new(now: Timestamp) -> Self;

    /// InLossRecovery.
    fn is_active(&self) -> bool;

    /// Whether the loss of `packet` begins another recovery.
    fn begins_with(&self, packet: &LostPacket) -> bool;

    /// `packet` was lost while the model's bounds were `bounds`.
    fn on_lost(&mut self, now: Timestamp, packet: &LostPacket, bounds: Bounds);

    /// A state is about to be left because of loss.
    fn on_exit(&mut self, left: Left);

    /// Takes note of an ACK, once it is known what it does to the model.
    fn on_ack(&mut self, path: &PathState, sample: &RateSample) -> Option<Change>;

    /// Whether no more may leave than is delivered: `packet_conservation`.
    fn conserves(&self) -> bool;

    /// Whether a loss round that ends now has seen a whole round trip of recovery.
    fn has_seen_a_round(&self) -> bool;

    /// A packet that was declared lost has arrived. Answers the episode whose last one it was,
    /// where the model is to be as it was before.
    fn on_late(&mut self, packet: &LostPacket) -> Option<LossEpisode>;

    /// All that is in flight may be lost.
    fn on_persistent_congestion(&mut self, now: Timestamp);
}

impl<R: Revision> Bbr<R> {
    /// SaveStateUponLoss, where the packet begins a recovery.
    pub(super) fn note_loss_for_recovery(&mut self, now: Timestamp, packet: &LostPacket) {
        if self.recovery.begins_with(packet) {
            self.save_cwnd();
        }
        let bounds = Bounds {
            bw_shortterm: self.rate.shortterm,
            inflight_shortterm: self.volume.shortterm,
            inflight_longterm: self.volume.longterm,
        };
        self.recovery.on_lost(now, packet, bounds);
    }

    /// BBRModulateCwndForRecovery of -02; of -06 the end of recovery, which gives the window back.
    pub(super) fn modulate_cwnd_for_recovery(&mut self, path: &PathState, sample: &RateSample) {
        if R::RULES.deducts_losses {
            let left = self.cwnd.saturating_sub(self.newly_lost(sample));
            self.cwnd = left.max(self.mss);
        }
        match self.recovery.on_ack(path, sample) {
            Some(Change::Entered) if self.conserves_packets() => {
                self.cwnd = path.inflight + sample.newly_acked.max(self.mss);
            }
            Some(Change::Left) => self.restore_cwnd(),
            Some(Change::Entered) | None => {}
        }
        if self.conserves_packets() {
            self.cwnd = self.cwnd.max(path.inflight + sample.newly_acked);
        }
    }

    /// `packet_conservation`, but where the pipe is to be filled: what -02 §4.3.3.3 and §4.3.3.4
    /// are for cannot be had with no more in flight than loss has left.
    pub(super) fn conserves_packets(&self) -> bool {
        let is_filling = matches!(self.state, State::Refill | State::Up(_));
        self.recovery.conserves() && !is_filling
    }

    /// OnEnterRTO. QUIC has no such timeout; persistent congestion is what it knows of the kind.
    /// The losses that establish it have saved the state before.
    pub(super) fn enter_persistent_congestion(&mut self, path: &PathState) {
        self.save_cwnd();
        self.recovery.on_persistent_congestion(path.now);
        self.cwnd = path.inflight + self.mss;
    }

    /// SaveCwnd: the newest window that neither recovery nor ProbeRTT had reduced.
    pub(super) fn save_cwnd(&mut self) {
        let is_reduced = self.recovery.is_active() || matches!(self.state, State::ProbeRtt(_));
        self.prior_cwnd = if is_reduced {
            self.prior_cwnd.max(self.cwnd)
        } else {
            self.cwnd
        };
    }

    /// RestoreCwnd.
    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
}
