//! What the revisions of the draft decide differently; the rest of the machine is the same for all.
//!
//! "-02" is draft-cardwell-iccrg-bbr-congestion-control-02, "-06" draft-ietf-ccwg-bbr-06.

use super::recovery::RecoveryPolicy;
use core::fmt;
use units::Bandwidth;

/// A revision of the draft: it makes a controller of this machine.
///
/// All of it is known when the machine is compiled for a revision, and costs nothing when it runs.
pub(crate) trait Revision: fmt::Debug + Send + 'static {
    /// The controller's name in the registry.
    const NAME: &'static str;
    /// Its decisions.
    const RULES: Rules;
    /// What loss recovery does to the window, and what an undo brings back (-02 §4.6.4.4, -06
    /// §5.5.11 and §5.6.4.4).
    type Recovery: RecoveryPolicy;
}

/// Decisions of a revision that are not parameters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// What must grow by a quarter in a round of Startup (-02 §4.3.1.2, -06 §5.3.1.2).
    pub(crate) plateau: Plateau,
    /// Whether Startup that ends on loss leaves a long-term bound (-02 §4.3.1.3, -06 §5.3.1.3).
    pub(crate) bounds_startup: bool,
    /// Rounds after which Drain gives up, if it does; the bandwidth was overestimated then, and
    /// ProbeBW will find out (-02 §4.3.2, -06 §5.3.2).
    pub(crate) drain_rounds: Option<u64>,
    /// What ends ProbeBW_UP (-02 §4.3.3.6, -06 §5.3.3.5).
    pub(crate) up_ends: UpEnd,
    /// Whether the loss that an ACK reports ends a probe, or only that of the lost packet's own
    /// flight (-02 §4.5.6.2, -06 §5.5.10.2).
    pub(crate) acks_end_probes: bool,
    /// Whether a loss round begins anew with the first loss in it, so that it spans one whole trip
    /// after that loss (-02 §4.5.6.3, -06 §5.5.10.3).
    pub(crate) loss_begins_round: bool,
    /// Whether what is lost is deducted from the window at once (-02 §4.6.4.4; absent from -06).
    pub(crate) deducts_losses: bool,
    /// Send quanta that `offload_budget` holds (-02 §4.5.4, -06 §5.5.8).
    pub(crate) offload_quanta: u64,
    /// Pacing rate below which a send quantum may be a single packet (-02 §4.6.3; absent from -06).
    pub(crate) single_packets_below: Bandwidth,
}

/// A rate that shows whether sending faster makes the network deliver faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plateau {
    /// The greatest one known, `max_bw`.
    MaxBw,
    /// That of the ACK which ends the round.
    Sample,
}

/// When a probe that loses little has probed enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UpEnd {
    /// After a minimum round-trip time at least, with as much in flight as fills the path at the
    /// pace of the probe: there is a queue.
    Queue,
    /// When the delivery rate is flat; or, after a probe that lost too much, already with as much
    /// in flight as was too much then, to go on only if it loses little this time.
    Plateau,
}
