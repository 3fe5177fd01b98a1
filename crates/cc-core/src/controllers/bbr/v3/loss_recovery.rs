//! Loss recovery of draft-ietf-ccwg-bbr-06 (§5.5.11, §5.6.4.4).

use super::recovery::{RecoveryPolicy, Undo, UndoBounds, UndoState};
use crate::controller::PathState;
use crate::events::LostPacket;
use crate::parts::fast_recovery::Change;
use crate::sampler::RateSample;
use units::{Bytes, Timestamp};

/// The newest loss episode, over or not. It reduces no window by itself; it keeps what restores
/// window and model when it turns out to be spurious.
#[derive(Debug, Default)]
pub(crate) struct LossRecovery(Option<LossEpisode>);

/// One loss recovery: it begins with the loss of a packet that left after the one before began,
/// and is over when a packet that left after its own beginning is acknowledged (RFC 9002 §7.3.2).
///
/// It keeps the state before it began, also after it is over: its packets may still arrive.
#[derive(Debug)]
struct LossEpisode {
    started_at: Timestamp,
    is_over: bool,
    /// Sequence of its first lost packet; those before belong to earlier episodes.
    first_lost: u64,
    /// Bytes declared lost in it.
    lost: Bytes,
    /// Bytes of these that have arrived after all.
    returned: Bytes,
    undo: Undo,
}

impl RecoveryPolicy for LossRecovery {
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

    fn on_lost(&mut self, now: Timestamp, packet: &LostPacket, bounds: UndoBounds) {
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
                    undo: Undo {
                        state: None,
                        bounds,
                    },
                });
            }
        }
    }

    fn on_exit(&mut self, state: UndoState) {
        if let Some(episode) = &mut self.0 {
            episode.undo.state = Some(state);
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

    fn on_late_arrival(&mut self, packet: &LostPacket) -> Option<Undo> {
        let episode = self.0.as_mut()?;
        if packet.stamp.sequence < episode.first_lost {
            return None;
        }
        episode.returned += packet.bytes;
        if episode.returned < episode.lost {
            return None;
        }
        self.0.take().map(|episode| episode.undo)
    }

    fn on_persistent_congestion(&mut self, now: Timestamp) {
        if let Some(episode) = &mut self.0 {
            episode.started_at = now;
            episode.is_over = false;
        }
    }
}
