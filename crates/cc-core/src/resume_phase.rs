//! The phases of Careful Resume (RFC 9959 §3) as they are reported.

use core::fmt;
use units::{Bytes, Timestamp};

/// Where a connection that was given a [`SavedPath`](crate::SavedPath) is in Careful Resume
/// (RFC 9959 §3). `Display` has the names of draft-ietf-tsvwg-careful-resume-qlog-02.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum ResumePhase {
    /// The initial window is tested, and the round-trip time compared (§3.2).
    Reconnaissance,
    /// Half the saved capacity leaves, paced over a round trip (§3.3).
    Unvalidated,
    /// What left then is being acknowledged (§3.4).
    Validating,
    /// There was congestion: the path drains (§3.5).
    SafeRetreat,
    /// Careful Resume is over (§3.7).
    Normal,
}

impl ResumePhase {
    /// The name as it is written in a qlog.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reconnaissance => "reconnaissance",
            Self::Unvalidated => "unvalidated",
            Self::Validating => "validating",
            Self::SafeRetreat => "safe_retreat",
            Self::Normal => "normal",
        }
    }
}

impl fmt::Display for ResumePhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a phase of Careful Resume ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResumeTrigger {
    /// The initial data is acknowledged, and there is more to send than the window allows (§3.2).
    CongestionWindowLimited,
    /// The minimum round-trip time is not within the bounds around the saved one (§4.2.1).
    RttNotValidated,
    /// The saved path is older than its lifetime (§3.2).
    Expired,
    /// The window is as large as the jump would make it, or slow start is over.
    NotNeeded,
    /// The flight is as large as the jump (§3.3).
    LastUnvalidatedPacketSent,
    /// A packet that left after the jump was acknowledged (§3.3).
    FirstUnvalidatedPacketAcknowledged,
    /// A round trip has passed since the jump (§3.3).
    RttExceeded,
    /// There was not more to send than without the jump (§3.3).
    RateLimited,
    /// All that left in the Unvalidated Phase was acknowledged (§3.4).
    LastUnvalidatedPacketAcknowledged,
    /// The round-trip time fell to half the saved one after the jump (§3.3).
    PathChanged,
    /// A packet was lost.
    PacketLoss,
    /// A packet was marked Congestion Experienced.
    EcnCe,
    /// The packets that caused the congestion have left the path (§3.5).
    ExitRecovery,
    /// Congestion became persistent (§3.6).
    PersistentCongestion,
}

impl ResumeTrigger {
    /// The name as it is written in a qlog.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CongestionWindowLimited => "congestion_window_limited",
            Self::RttNotValidated => "rtt_not_validated",
            Self::Expired => "expired",
            Self::NotNeeded => "not_needed",
            Self::LastUnvalidatedPacketSent => "last_unvalidated_packet_sent",
            Self::FirstUnvalidatedPacketAcknowledged => "first_unvalidated_packet_acknowledged",
            Self::RttExceeded => "rtt_exceeded",
            Self::RateLimited => "rate_limited",
            Self::LastUnvalidatedPacketAcknowledged => "last_unvalidated_packet_acknowledged",
            Self::PathChanged => "path_changed",
            Self::PacketLoss => "packet_loss",
            Self::EcnCe => "ECN_CE",
            Self::ExitRecovery => "exit_recovery",
            Self::PersistentCongestion => "persistent_congestion",
        }
    }
}

impl fmt::Display for ResumeTrigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A change from one phase of Careful Resume to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResumePhaseChange {
    /// When.
    pub at: Timestamp,
    /// The phase that was left.
    pub from: ResumePhase,
    /// The phase that was entered.
    pub to: ResumePhase,
    /// Why.
    pub trigger: ResumeTrigger,
    /// PipeSize: what the path is known to carry, in bytes; zero before the jump.
    pub pipe_size: Bytes,
    /// The window that Careful Resume has set with this change, if it has.
    pub cwnd: Option<Bytes>,
    /// The threshold of slow start that it has set, if it has.
    pub ssthresh: Option<Bytes>,
}
