//! Every constant of BBRv3: what it is, why it is that number, where the draft says so.
//!
//! Sections are those of draft-ietf-ccwg-bbr-06.

use crate::registry::{ParamSpec, Params, Range, Value};
use core::time::Duration;
use units::{Bytes, Gain};

/// The constants that a connection may choose for itself; the defaults are the draft's.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tuning {
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
    /// The values chosen from [`PARAMS`].
    pub(super) fn new(params: &Params) -> Self {
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
            ambient_loss: params.switch("ambient_loss"),
        }
    }
}

/// What the registry offers for tuning; [`Tuning`] says why each default is what it is.
pub(super) const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "startup_pacing_gain",
        default: Value::Gain(Gain::new(277, 100)),
        range: Range::Between(Value::Gain(Gain::ONE), Value::Gain(Gain::new(10, 1))),
        summary: "pacing gain in Startup",
        source: "draft-ietf-ccwg-bbr-06 section 2.5",
    },
    ParamSpec {
        name: "drain_pacing_gain",
        default: Value::Gain(Gain::new(1, 2)),
        range: Range::Between(Value::Gain(Gain::new(1, 10)), Value::Gain(Gain::ONE)),
        summary: "pacing gain in Drain",
        source: "draft-ietf-ccwg-bbr-06 section 2.5",
    },
    ParamSpec {
        name: "down_pacing_gain",
        default: Value::Gain(Gain::new(9, 10)),
        range: Range::Between(Value::Gain(Gain::new(1, 10)), Value::Gain(Gain::ONE)),
        summary: "pacing gain in ProbeBW_DOWN",
        source: "draft-ietf-ccwg-bbr-06 section 5.3.3.1",
    },
    ParamSpec {
        name: "up_pacing_gain",
        default: Value::Gain(Gain::new(5, 4)),
        range: Range::Between(Value::Gain(Gain::ONE), Value::Gain(Gain::new(10, 1))),
        summary: "pacing gain in ProbeBW_UP",
        source: "draft-ietf-ccwg-bbr-06 section 5.3.3.5",
    },
    ParamSpec {
        name: "cwnd_gain",
        default: Value::Gain(Gain::new(2, 1)),
        range: Range::Between(Value::Gain(Gain::ONE), Value::Gain(Gain::new(10, 1))),
        summary: "BDPs in flight at most, but for ProbeBW_UP and ProbeRTT",
        source: "draft-ietf-ccwg-bbr-06 section 2.6",
    },
    ParamSpec {
        name: "up_cwnd_gain",
        default: Value::Gain(Gain::new(9, 4)),
        range: Range::Between(Value::Gain(Gain::ONE), Value::Gain(Gain::new(10, 1))),
        summary: "BDPs in flight at most in ProbeBW_UP",
        source: "draft-ietf-ccwg-bbr-06 section 5.3.3.5",
    },
    ParamSpec {
        name: "probe_rtt_cwnd_gain",
        default: Value::Gain(Gain::new(1, 2)),
        range: Range::Between(Value::Gain(Gain::ZERO), Value::Gain(Gain::ONE)),
        summary: "BDPs in flight at most in ProbeRTT",
        source: "draft-ietf-ccwg-bbr-06 section 2.16.2",
    },
    ParamSpec {
        name: "pacing_margin",
        default: Value::Gain(Gain::percent(1)),
        range: Range::Between(Value::Gain(Gain::ZERO), Value::Gain(Gain::new(1, 2))),
        summary: "share of the estimated rate left unused by pacing",
        source: "draft-ietf-ccwg-bbr-06 section 2.5",
    },
    ParamSpec {
        name: "loss_thresh",
        default: Value::Gain(Gain::percent(2)),
        range: Range::Between(Value::Gain(Gain::ZERO), Value::Gain(Gain::new(1, 2))),
        summary: "share of a flight that may be lost while probing",
        source: "draft-ietf-ccwg-bbr-06 section 2.8",
    },
    ParamSpec {
        name: "beta",
        default: Value::Gain(Gain::new(7, 10)),
        range: Range::Between(Value::Gain(Gain::new(1, 10)), Value::Gain(Gain::ONE)),
        summary: "least factor of a cut for a round with loss",
        source: "draft-ietf-ccwg-bbr-06 section 2.8",
    },
    ParamSpec {
        name: "headroom",
        default: Value::Gain(Gain::percent(15)),
        range: Range::Between(Value::Gain(Gain::ZERO), Value::Gain(Gain::new(9, 10))),
        summary: "share of inflight_longterm left unused while cruising",
        source: "draft-ietf-ccwg-bbr-06 section 2.8",
    },
    ParamSpec {
        name: "startup_loss_ranges",
        default: Value::Count(6),
        range: Range::Between(Value::Count(1), Value::Count(1_000)),
        summary: "separate ranges lost in a round that end Startup",
        source: "draft-ietf-ccwg-bbr-06 section 5.3.1.3",
    },
    ParamSpec {
        name: "min_pipe_packets",
        default: Value::Count(4),
        range: Range::Between(Value::Count(1), Value::Count(1_000)),
        summary: "packets that may always be in flight",
        source: "draft-ietf-ccwg-bbr-06 section 2.8",
    },
    ParamSpec {
        name: "min_rtt_window",
        default: Value::Duration(Duration::from_secs(10)),
        range: Range::Between(
            Value::Duration(Duration::from_millis(1)),
            Value::Duration(HOUR),
        ),
        summary: "window of the least round-trip time",
        source: "draft-ietf-ccwg-bbr-06 section 2.16.1",
    },
    ParamSpec {
        name: "probe_rtt_interval",
        default: Value::Duration(Duration::from_secs(5)),
        range: Range::Between(
            Value::Duration(Duration::from_millis(1)),
            Value::Duration(HOUR),
        ),
        summary: "time without a new least round-trip time until ProbeRTT",
        source: "draft-ietf-ccwg-bbr-06 section 2.16.2",
    },
    ParamSpec {
        name: "probe_rtt_duration",
        default: Value::Duration(Duration::from_millis(200)),
        range: Range::Between(Value::Duration(Duration::ZERO), Value::Duration(HOUR)),
        summary: "least time in ProbeRTT once the pipe has drained",
        source: "draft-ietf-ccwg-bbr-06 section 2.16.2",
    },
    ParamSpec {
        name: "probe_wait_min",
        default: Value::Duration(Duration::from_secs(2)),
        range: Range::Between(Value::Duration(Duration::ZERO), Value::Duration(HOUR)),
        summary: "least time between two probes for bandwidth",
        source: "draft-ietf-ccwg-bbr-06 section 5.3.3.8.2",
    },
    ParamSpec {
        name: "probe_wait_max",
        default: Value::Duration(Duration::from_secs(3)),
        range: Range::Between(Value::Duration(Duration::ZERO), Value::Duration(HOUR)),
        summary: "greatest time between two probes for bandwidth",
        source: "draft-ietf-ccwg-bbr-06 section 5.3.3.8.2",
    },
    ParamSpec {
        name: "probe_wait_rounds",
        default: Value::Count(63),
        range: Range::Between(Value::Count(1), Value::Count(1_000)),
        summary: "most round trips between two probes for bandwidth",
        source: "draft-ietf-ccwg-bbr-06 section 5.3.3.8.2",
    },
    ParamSpec {
        name: "extra_acked_rounds",
        default: Value::Count(10),
        range: Range::Between(Value::Count(1), Value::Count(MAX_EXTRA_ACKED_ROUNDS as u64)),
        summary: "round trips over which aggregation is remembered",
        source: "draft-ietf-ccwg-bbr-06 section 2.12",
    },
    ParamSpec {
        name: "ambient_loss",
        default: Value::Switch(false),
        range: Range::Any,
        summary: "tell the path's own loss from congestion's, and make it good",
        source: "ours, docs/bbr-ambient-loss.md section The rule",
    },
];

/// Bound of what `extra_acked_rounds` may ask for: the filter's memory is fixed.
pub(super) const MAX_EXTRA_ACKED_ROUNDS: usize = 32;

/// MaxBwFilterLen: the present ProbeBW cycle and the one before, so that the window holds at least
/// one whole probe (§2.11).
pub(super) const MAX_BW_CYCLES: usize = 2;

/// Rounds after which Drain gives up; the bandwidth was overestimated then, and ProbeBW will find
/// out (§5.3.2).
pub(super) const DRAIN_ROUNDS: u64 = 3;

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

const HOUR: Duration = Duration::from_secs(3_600);
