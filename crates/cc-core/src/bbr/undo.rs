//! Loss episodes, and how to forget one that was none (draft-ietf-ccwg-bbr-06 §5.5.11, §5.6.4.4).

use super::state::State;
use super::{Bbr, Moment};
use crate::delivery_rate::RateSample;
use crate::event::LostPacket;
use units::{Bandwidth, Bytes, Timestamp};

/// One loss recovery: it begins with the loss of a packet that left after the one before began,
/// and is over when a packet that left after its own beginning is acknowledged (RFC 9002 §7.3.2).
///
/// It keeps what was true when it began, once, and lives on after it is over: its packets may
/// still arrive.
#[derive(Debug)]
pub(super) struct LossEpisode {
    started_at: Timestamp,
    is_over: bool,
    /// Sequence of its first lost packet; those before belong to earlier episodes.
    first_lost: u64,
    /// Bytes declared lost in it.
    lost: Bytes,
    /// Bytes of these that have arrived after all.
    returned: Bytes,
    /// The state that was left because of it: `undo_state`.
    left: Option<Left>,
    /// `undo_bw_shortterm`.
    bw_shortterm: Bandwidth,
    /// `undo_inflight_shortterm`.
    inflight_shortterm: Bytes,
    /// `undo_inflight_longterm`.
    inflight_longterm: Bytes,
}

/// A state that loss ended and an undo brings back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    Startup,
    ProbeBwUp,
}

impl Bbr {
    /// InLossRecovery.
    fn is_in_recovery(&self) -> bool {
        self.episode
            .as_ref()
            .is_some_and(|episode| !episode.is_over)
    }

    /// SaveStateUponLoss, where the packet begins an episode.
    pub(super) fn note_loss_episode(&mut self, now: Timestamp, packet: &LostPacket) {
        match &mut self.episode {
            Some(episode) if packet.stamp.sent_at <= episode.started_at => {
                episode.lost += packet.bytes;
            }
            _ => {
                self.save_cwnd();
                self.episode = Some(LossEpisode {
                    started_at: now,
                    is_over: false,
                    first_lost: packet.stamp.sequence,
                    lost: packet.bytes,
                    returned: Bytes::ZERO,
                    left: None,
                    bw_shortterm: self.rate.shortterm,
                    inflight_shortterm: self.volume.shortterm,
                    inflight_longterm: self.volume.longterm,
                });
            }
        }
    }

    /// The state is about to be left because of loss.
    pub(super) fn note_exit_on_loss(&mut self, left: Left) {
        if let Some(episode) = &mut self.episode {
            episode.left = Some(left);
        }
    }

    /// Ends the episode where the ACK shows that all from before it is settled.
    pub(super) fn check_recovery_done(&mut self, sample: &RateSample) {
        if let Some(episode) = &mut self.episode
            && !episode.is_over
            && sample.newest_sent_at > episode.started_at
        {
            episode.is_over = true;
            self.restore_cwnd();
        }
    }

    /// OnEnterRTO. QUIC has no such timeout; persistent congestion is what it knows of the kind.
    /// The losses that establish it have saved the state before.
    pub(super) fn enter_persistent_congestion(&mut self, now: Timestamp, inflight: Bytes) {
        self.save_cwnd();
        if let Some(episode) = &mut self.episode {
            episode.started_at = now;
            episode.is_over = false;
        }
        self.cwnd = inflight + self.mss;
    }

    /// Counts a late packet; when the whole episode has come back,
    /// HandleSpuriousLossDetection.
    pub(super) fn handle_late_packet(&mut self, at: &mut Moment<'_>, packet: &LostPacket) {
        let Some(episode) = &mut self.episode else {
            return;
        };
        if packet.stamp.sequence < episode.first_lost {
            return;
        }
        episode.returned += packet.bytes;
        if episode.returned >= episode.lost
            && let Some(episode) = self.episode.take()
        {
            self.undo(at, &episode);
        }
    }

    fn undo(&mut self, at: &mut Moment<'_>, episode: &LossEpisode) {
        self.restore_cwnd();
        self.congestion.forget_losses();
        self.full_pipe.restart(Bandwidth::ZERO);
        self.rate.shortterm = self.rate.shortterm.max(episode.bw_shortterm);
        self.volume.shortterm = self.volume.shortterm.max(episode.inflight_shortterm);
        self.volume.longterm = self.volume.longterm.max(episode.inflight_longterm);
        let is_probe_rtt = matches!(self.state, State::ProbeRtt(_));
        match episode.left {
            Some(Left::Startup) if !matches!(self.state, State::Startup) => {
                self.full_pipe.is_reached = false;
                if !is_probe_rtt {
                    self.transition_to(at, State::Startup);
                }
            }
            Some(Left::ProbeBwUp) if !self.state.is_up() && !is_probe_rtt => {
                self.start_refill(at);
            }
            _ => {}
        }
    }

    /// SaveCwnd: the newest window that neither recovery nor ProbeRTT had reduced.
    pub(super) fn save_cwnd(&mut self) {
        let is_reduced = self.is_in_recovery() || matches!(self.state, State::ProbeRtt(_));
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
