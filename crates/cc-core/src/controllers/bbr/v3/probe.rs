//! The feedback of probes for bandwidth (draft-ietf-ccwg-bbr-06 §5.3.3).

/// The feedback of probes for bandwidth, across states.
#[derive(Debug, Default)]
pub(super) struct Probe {
    /// `ack_phase`.
    pub(super) ack_phase: AckPhase,
    /// Whether packets of a probe are being acknowledged: `is_bw_probe_sample`.
    pub(super) is_sample: bool,
    /// Whether the newest probe lost too much: `prev_probe_too_high`.
    pub(super) went_too_high: bool,
    /// Whether the newest probe ended early at the bound of one that lost too much:
    /// `prev_probe_precautionary`.
    pub(super) was_precautionary: bool,
    /// Whether ProbeRTT has cut the newest probe short, whose feedback still ends the cycle; only
    /// with the rule `adapts_down=on`.
    pub(super) is_cut_short: bool,
}

impl Probe {
    /// The sending of a probe, or of what took its place, has ended; its feedback still comes.
    pub(super) fn stop(&mut self) {
        self.ack_phase = AckPhase::ProbeStopping;
    }
}

/// What the acknowledgements at hand are about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    /// ACKS_INIT: no probe.
    #[default]
    Init,
    /// ACKS_REFILLING: the pipe is being filled at the estimated rate.
    Refilling,
    /// ACKS_PROBE_STARTING: a probe is being sent, its feedback not here yet.
    ProbeStarting,
    /// ACKS_PROBE_FEEDBACK: a probe is being sent and its feedback arrives.
    ProbeFeedback,
    /// ACKS_PROBE_STOPPING: a probe was sent and its feedback still arrives.
    ProbeStopping,
}
