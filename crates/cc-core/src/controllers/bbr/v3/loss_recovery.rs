//! Loss episodes, and how to forget one that was none (draft-ietf-ccwg-bbr-06 §5.5.11).

use super::recovery::Recovery;
use super::state::State;
use super::{Bbr, Revision};
use crate::controller::PathState;
use crate::events::LostPacket;
use crate::parts::fast_recovery::Change;
use crate::parts::transition::Moment;
use crate::sampler::RateSample;
use units::{Bandwidth, Bytes, Timestamp};

/// The newest loss episode, over or not. It reduces no window by itself; what it keeps brings back
/// window and model when it turns out to have been none.
#[derive(Debug, Default)]
pub(crate) struct Episodes(Option<LossEpisode>);

/// One loss recovery: it begins with the loss of a packet that left after the one before began,
/// and is over when a packet that left after its own beginning is acknowledged (RFC 9002 §7.3.2).
///
/// It keeps what was true when it began, once, and lives on after it is over: its packets may
/// still arrive.
#[derive(Debug)]
pub(crate) struct LossEpisode {
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
    bounds: Bounds,
}

/// A state that loss ended and an undo brings back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    Startup,
    ProbeBwUp,
}

/// The model's bounds before an episode.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// `undo_bw_shortterm`.
    pub(super) bw_shortterm: Bandwidth,
    /// `undo_inflight_shortterm`.
    pub(super) inflight_shortterm: Bytes,
    /// `undo_inflight_longterm`.
    pub(super) inflight_longterm: Bytes,
}

impl Recovery for Episodes {
    fn new(_now: Timestamp) -> Self {
        Self(None)
    }

    fn is_active(&self) -> bool {
        self.0.as_ref().is_some_and(|episode| !episode.is_over)
    }

    fn begins_with(&self, packet: &LostPacket) -> bool {
        let newest = self.0.as_ref();
        newest.is_none_or(|episode| packet.stamp.sent_at > episode.started_at)
    }

    fn on_lost(&mut self, now: Timestamp, packet: &LostPacket, bounds: Bounds) {
        match &mut self.0 {
            Some(episode) if packet.stamp.sent_at <= episode.started_at => {
                episode.lost += packet.bytes;
            }
            newest => {
                *newest = Some(LossEpisode {
                    started_at: now,
                    is_over: false,
                    first_lost: packet.stamp.sequence,
                    lost: packet.bytes,
                    returned: Bytes::ZERO,
                    left: None,
                    bounds,
                });
            }
        }
    }

    fn on_exit(&mut self, left: Left) {
        if let Some(episode) = &mut self.0 {
            episode.left = Some(left);
        }
    }

    /// Ends the episode where the ACK shows that all from before it is settled.
    fn on_ack(&mut self, _path: &PathState, sample: &RateSample) -> Option<Change> {
        let episode = self.0.as_mut()?;
        let is_over = !episode.is_over && sample.newest_sent_at > episode.started_at;
        episode.is_over |= is_over;
        is_over.then_some(Change::Left)
    }

    fn conserves(&self) -> bool {
        false
    }

    /// The loss round began with the episode.
    fn has_seen_a_round(&self) -> bool {
        true
    }

    fn on_late(&mut self, packet: &LostPacket) -> Option<LossEpisode> {
        let episode = self.0.as_mut()?;
        if packet.stamp.sequence < episode.first_lost {
            return None;
        }
        episode.returned += packet.bytes;
        if episode.returned < episode.lost {
            return None;
        }
        self.0.take()
    }

    fn on_persistent_congestion(&mut self, now: Timestamp) {
        if let Some(episode) = &mut self.0 {
            episode.started_at = now;
            episode.is_over = false;
        }
    }
}

impl<R: Revision> Bbr<R> {
    /// HandleSpuriousLossDetection.
    pub(super) fn undo(&mut self, at: &mut Moment<'_>, episode: &LossEpisode) {
        let bounds = episode.bounds;
        self.restore_cwnd();
        self.congestion.forget_losses();
        self.full_pipe.restart(Bandwidth::ZERO);
        self.rate.shortterm = self.rate.shortterm.max(bounds.bw_shortterm);
        self.volume.shortterm = self.volume.shortterm.max(bounds.inflight_shortterm);
        self.volume.longterm = self.volume.longterm.max(bounds.inflight_longterm);
        let is_probe_rtt = matches!(self.state, State::ProbeRtt(_));
        match episode.left {
            Some(Left::Startup) if !matches!(self.state, State::Startup) => {
                self.full_pipe.is_reached = false;
                if !is_probe_rtt {
                    at.transition(&mut self.state, State::Startup);
                }
            }
            Some(Left::ProbeBwUp) if !self.state.is_up() && !is_probe_rtt => {
                self.start_refill(at);
            }
            _ => {}
        }
    }
}
