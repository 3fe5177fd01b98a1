//! What a loss recovery is to a revision of the draft, and what its undo restores
//! (draft-ietf-ccwg-bbr-06 §5.5.11, §5.6.4.4; draft-cardwell-iccrg-bbr-congestion-control-02
//! §4.6.4.4).

use crate::controller::PathState;
use crate::events::LostPacket;
use crate::parts::fast_recovery::Change;
use crate::sampler::RateSample;
use core::fmt;
use units::{Bandwidth, Bytes, Timestamp};

/// When recovery begins and ends, and what is kept for its undo.
pub(crate) trait RecoveryPolicy: fmt::Debug + Send {
    /// Nothing is lost yet.
    fn new(now: Timestamp) -> Self;

    /// InLossRecovery.
    fn is_active(&self) -> bool;

    /// Whether the loss of `packet` begins another recovery.
    fn begins_with(&self, packet: &LostPacket) -> bool;

    /// `packet` was lost while the model's bounds were `bounds`.
    fn on_lost(&mut self, now: Timestamp, packet: &LostPacket, bounds: UndoBounds);

    /// A state is about to be left because of loss.
    fn on_exit(&mut self, state: UndoState);

    /// Takes note of an ACK, once it is known what it does to the model.
    fn on_ack(&mut self, path: &PathState, sample: &RateSample) -> Option<Change>;

    /// Whether no more may leave than is delivered: `packet_conservation`.
    fn conserves(&self) -> bool;

    /// Whether a loss round that ends now has seen a whole round trip of recovery.
    fn has_seen_a_round(&self) -> bool;

    /// A packet that was declared lost has arrived. Returns what to restore, where it was the last
    /// that was missing of a recovery.
    fn on_late_arrival(&mut self, packet: &LostPacket) -> Option<Undo>;

    /// All that is in flight may be lost.
    fn on_persistent_congestion(&mut self, now: Timestamp);
}

/// What is restored after a recovery that turned out to be spurious.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Undo {
    /// The state that was left because of it: `undo_state`.
    pub(super) state: Option<UndoState>,
    pub(super) bounds: UndoBounds,
}

/// A state that loss ended and an undo brings back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UndoState {
    Startup,
    ProbeBwUp,
}

/// The model's bounds before an episode.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UndoBounds {
    /// `undo_bw_shortterm`.
    pub(super) bw_shortterm: Bandwidth,
    /// `undo_inflight_shortterm`.
    pub(super) inflight_shortterm: Bytes,
    /// `undo_inflight_longterm`.
    pub(super) inflight_longterm: Bytes,
}
