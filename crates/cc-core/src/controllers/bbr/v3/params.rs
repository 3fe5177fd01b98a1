//! The constants: what each is, why it is that number, where the draft says so.
//!
//! Sections are those of draft-ietf-ccwg-bbr-06; a revision's parameters name its own.

use crate::registry::Params;
use core::time::Duration;
use units::{Bytes, Gain};

/// The constants that a connection may choose for itself, out of [`tunable`](super::tunable).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tuning {
    /// StartupPacingGain: 4·ln 2, the least gain that lets the sending rate double each round
    /// while the delivery rate lags a round behind (§2.5).
    pub(super) startup_pacing_gain: Gain,
    /// DrainPacingGain: the inverse of the window gain of Startup drains its queue, of up to one
    /// BDP, within a round trip (§2.5).
    pub(super) drain_pacing_gain: Gain,
    /// Pacing in ProbeBW_DOWN: the counterpart of 1.25 in ProbeBW_UP, the least that still lets
    /// flows converge on equal rates (§5.3.3.1).
    pub(super) down_pacing_gain: Gain,
    /// Pacing in ProbeBW_UP: a quarter more than the path is known to deliver (§5.3.3.5).
    pub(super) up_pacing_gain: Gain,
    /// DefaultCwndGain: twice the BDP, so that a round's delayed and bunched ACKs do not stall the
    /// sender, and the rate may double in Startup (§2.6).
    pub(super) cwnd_gain: Gain,
    /// Window gain in ProbeBW_UP: a quarter of a BDP above the default, so that the window is not
    /// what limits the probe (§5.3.3.5).
    pub(super) up_cwnd_gain: Gain,
    /// ProbeRTTCwndGain: half a BDP empties the queue at half the cost of an empty pipe (§2.16.2).
    pub(super) probe_rtt_cwnd_gain: Gain,
    /// PacingMarginPercent: pacing a little below the estimated rate drains what the estimate
    /// overstates (§5.6.2).
    pub(super) pacing_margin: Gain,
    /// LossThresh: the share of a round's flight that may be lost while probing (§2.8).
    pub(super) loss_thresh: Gain,
    /// Beta: the lowest factor by which a bound falls for a round with loss; CUBIC's (§2.8).
    pub(super) beta: Gain,
    /// Headroom: the share of the long-term bound left to others while cruising (§2.8).
    pub(super) headroom: Gain,
    /// BBRStartupFullLossCnt: separate ranges lost in a round before its loss counts as
    /// congestion and not as one burst (§5.3.1.3).
    pub(super) startup_loss_ranges: u64,
    /// MinPipeCwnd in packets: two under way to a receiver that acknowledges every other packet,
    /// and the acknowledgements of two (§2.8).
    pub(super) min_pipe_packets: u64,
    /// MinRTTFilterLen: spans two ProbeRTT intervals, so that one failed attempt to drain the
    /// queue does not raise the estimate (§2.16.1).
    pub(super) min_rtt_window: Duration,
    /// ProbeRTTInterval: the draft wants all flows to use the same, so that they drain together
    /// (§2.16.2, §5.3.4.2).
    pub(super) probe_rtt_interval: Duration,
    /// ProbeRTTDuration: long enough for flows of different round-trip times to overlap (§5.3.4.2).
    pub(super) probe_rtt_duration: Duration,
    /// Least time between two probes for bandwidth: leaves a Reno flow of 30 ms its 25 Mbit/s
    /// (§5.3.3.8.3).
    pub(super) probe_wait_min: Duration,
    /// Greatest time between two probes for bandwidth, what a person notices (§5.3.3.8.3).
    pub(super) probe_wait_max: Duration,
    /// Most round trips between two probes: more would let 1 % loss decay the rate for good, less
    /// would crowd out Reno (§5.3.3.8.3).
    pub(super) probe_wait_rounds: u64,
    /// ExtraAckedFilterLen: rounds over which the greatest aggregation is remembered (§2.12).
    pub(super) extra_acked_rounds: u64,
    /// Whether loss that the path has by itself counts as congestion no more; not the draft's.
    pub(super) ambient_loss: bool,
}

impl Tuning {
    /// The values chosen, without the rule of ours, which not every revision offers.
    pub(crate) fn new(params: &Params) -> Self {
        Self {
            startup_pacing_gain: params.gain("startup_pacing_gain"),
            drain_pacing_gain: params.gain("drain_pacing_gain"),
            down_pacing_gain: params.gain("down_pacing_gain"),
            up_pacing_gain: params.gain("up_pacing_gain"),
            cwnd_gain: params.gain("cwnd_gain"),
            up_cwnd_gain: params.gain("up_cwnd_gain"),
            probe_rtt_cwnd_gain: params.gain("probe_rtt_cwnd_gain"),
            pacing_margin: params.gain("pacing_margin"),
            loss_thresh: params.gain("loss_thresh"),
            beta: params.gain("beta"),
            headroom: params.gain("headroom"),
            startup_loss_ranges: params.count("startup_loss_ranges"),
            min_pipe_packets: params.count("min_pipe_packets"),
            min_rtt_window: params.duration("min_rtt_window"),
            probe_rtt_interval: params.duration("probe_rtt_interval"),
            probe_rtt_duration: params.duration("probe_rtt_duration"),
            probe_wait_min: params.duration("probe_wait_min"),
            probe_wait_max: params.duration("probe_wait_max"),
            probe_wait_rounds: params.count("probe_wait_rounds"),
            extra_acked_rounds: params.count("extra_acked_rounds"),
            ambient_loss: false,
        }
    }

    /// The same with or without the rule of ours.
    pub(crate) fn with_ambient_loss(self, ambient_loss: bool) -> Self {
        Self {
            ambient_loss,
            ..self
        }
    }
}

/// Bound of what `extra_acked_rounds` may ask for: the filter's memory is fixed.
pub(super) const MAX_EXTRA_ACKED_ROUNDS: usize = 32;

/// MaxBwFilterLen: the present ProbeBW cycle and the one before, so that the window holds at least
/// one whole probe (§2.11).
pub(super) const MAX_BW_CYCLES: usize = 2;

/// Doublings of the growth of `inflight_longterm`, so that its step cannot overflow (§5.3.3.9).
pub(super) const MAX_UP_ROUNDS: u32 = 30;

/// What is added to the window in ProbeBW_UP, in packets: a quarter of a very small BDP is less
/// than a packet and would not show (§5.6.4.2).
pub(super) const UP_EXTRA_PACKETS: u64 = 2;

/// Round-trip time assumed for the first flight, before any is known (§5.6.2).
pub(super) const INITIAL_RTT: Duration = Duration::from_millis(1);

/// Time at the pacing rate that one send quantum spans (§5.6.3).
pub(super) const QUANTUM_TIME: Duration = Duration::from_millis(1);

/// Greatest send quantum: what one segmentation-offload call takes (§5.6.3).
pub(super) const MAX_QUANTUM: Bytes = Bytes::new(64 * 1024);

/// Least send quantum, in packets (§5.6.3).
pub(super) const MIN_QUANTUM_PACKETS: u64 = 2;
