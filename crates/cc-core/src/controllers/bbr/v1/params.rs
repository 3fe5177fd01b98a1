//! Every constant of BBR version 1: what it is, why it is that number, where it is from.
//!
//! Names with `bbr_` are constants of Linux 5.x, `net/ipv4/tcp_bbr.c`.

use super::bandwidth::MAX_BW_ROUNDS;
use crate::registry::{ParamSpec, Params, Range, Value};
use core::time::Duration;
use units::{Bandwidth, Bytes, Gain};

/// The constants that a connection may choose for itself; the defaults are the kernel's but where
/// it says otherwise.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tuning {
    /// `bbr_high_gain`, for pacing and window in Startup: 2 ÷ ln 2, the least gain with which a
    /// paced sender doubles each round trip and sends in each what unpaced slow start would.
    pub(super) high_gain: Gain,
    /// `bbr_drain_gain`: the inverse of `high_gain` takes back in a round the queue of the last.
    pub(super) drain_gain: Gain,
    /// The first of `bbr_pacing_gain`: a quarter more than the path is known to deliver.
    pub(super) up_gain: Gain,
    /// The second of `bbr_pacing_gain`: takes back a round trip of `up_gain`.
    pub(super) down_gain: Gain,
    /// `bbr_cwnd_gain`: twice the BDP bears delayed and stretched ACKs.
    pub(super) cwnd_gain: Gain,
    /// `bbr_pacing_margin_percent`: pacing a little below the estimate drains what it overstates.
    pub(super) pacing_margin: Gain,
    /// `bbr_bw_rtts`: a cycle of eight phases and two round trips to spare.
    pub(super) bw_rounds: u64,
    /// `bbr_min_rtt_win_sec`, window of the least round-trip time and interval of ProbeRTT in one.
    pub(super) probe_rtt_interval: Duration,
    /// `bbr_probe_rtt_mode_ms`: costs a fiftieth of the interval; zero is no ProbeRTT at all.
    pub(super) probe_rtt_duration: Duration,
    /// `bbr_cwnd_min_target`: two packets under way to a receiver that acknowledges every other
    /// one, and the acknowledgements of two.
    pub(super) min_pipe_packets: u64,
    /// Whether a round of packet conservation may count as flat in Startup, as in the kernel.
    pub(super) flat_while_conserving: bool,
    /// Share of what was in flight whose loss in one flat round with a queue ends Startup; all of
    /// it is never reached.
    pub(super) full_loss_thresh: Gain,
    /// Whether policers are looked for.
    pub(super) lt_bw: bool,
    /// `bbr_lt_loss_thresh`, but as a share of what was sent, not of what was delivered.
    pub(super) lt_loss_thresh: Gain,
    /// `bbr_lt_intvl_min_rtts`: round trips of an interval at least.
    pub(super) lt_interval_rounds: u64,
    /// `bbr_lt_bw_max_rtts`: round trips for which a policer is believed in, six cycles.
    pub(super) lt_bw_rounds: u64,
    /// `bbr_extra_acked_gain`: what ACKs hold back is added to the window once; zero is never.
    pub(super) extra_acked_gain: Gain,
    /// `bbr_extra_acked_win_rtts`: it is remembered for this many round trips, and up to twice as
    /// many.
    pub(super) extra_acked_rounds: u64,
}

impl Tuning {
    /// The values chosen from [`PARAMS`].
    pub(super) fn new(params: &Params) -> Self {
        Self {
            high_gain: params.gain("high_gain"),
            drain_gain: params.gain("drain_gain"),
            up_gain: params.gain("up_gain"),
            down_gain: params.gain("down_gain"),
            cwnd_gain: params.gain("cwnd_gain"),
            pacing_margin: params.gain("pacing_margin"),
            bw_rounds: params.count("bw_rounds"),
            probe_rtt_interval: params.duration("probe_rtt_interval"),
            probe_rtt_duration: params.duration("probe_rtt_duration"),
            min_pipe_packets: params.count("min_pipe_packets"),
            flat_while_conserving: params.switch("flat_while_conserving"),
            full_loss_thresh: params.gain("full_loss_thresh"),
            lt_bw: params.switch("lt_bw"),
            lt_loss_thresh: params.gain("lt_loss_thresh"),
            lt_interval_rounds: params.count("lt_interval_rounds"),
            lt_bw_rounds: params.count("lt_bw_rounds"),
            extra_acked_gain: params.gain("extra_acked_gain"),
            extra_acked_rounds: params.count("extra_acked_rounds"),
        }
    }
}

/// What the registry offers for tuning; [`Tuning`] says why each default is what it is.
pub(crate) const PARAMS: [ParamSpec; PARAM_COUNT] = [
    ParamSpec {
        name: "high_gain",
        default: Value::Gain(Gain::new(2_885, 1_000)),
        range: UPWARD,
        summary: "pacing and window gain in Startup",
        source: "Linux 5.x tcp_bbr.c, bbr_high_gain",
    },
    ParamSpec {
        name: "drain_gain",
        default: Value::Gain(Gain::new(1_000, 2_885)),
        range: DOWNWARD,
        summary: "pacing gain in Drain",
        source: "Linux 5.x tcp_bbr.c, bbr_drain_gain",
    },
    ParamSpec {
        name: "up_gain",
        default: Value::Gain(Gain::new(5, 4)),
        range: UPWARD,
        summary: "pacing gain of the phase that probes for bandwidth",
        source: "Linux 5.x tcp_bbr.c, bbr_pacing_gain",
    },
    ParamSpec {
        name: "down_gain",
        default: Value::Gain(Gain::new(3, 4)),
        range: DOWNWARD,
        summary: "pacing gain of the phase that drains a probe's queue",
        source: "Linux 5.x tcp_bbr.c, bbr_pacing_gain",
    },
    ParamSpec {
        name: "cwnd_gain",
        default: Value::Gain(Gain::new(2, 1)),
        range: UPWARD,
        summary: "BDPs in flight at most in ProbeBW",
        source: "Linux 5.x tcp_bbr.c, bbr_cwnd_gain",
    },
    ParamSpec {
        name: "pacing_margin",
        default: Value::Gain(Gain::percent(1)),
        range: UP_TO_HALF,
        summary: "share of the estimated rate left unused by pacing",
        source: "Linux 5.x tcp_bbr.c, bbr_pacing_margin_percent",
    },
    ParamSpec {
        name: "bw_rounds",
        default: Value::Count(10),
        range: Range::Between(Value::Count(1), Value::Count(MAX_BW_ROUNDS)),
        summary: "round trips over which the greatest rate is remembered",
        source: "Linux 5.x tcp_bbr.c, bbr_bw_rtts",
    },
    ParamSpec {
        name: "probe_rtt_interval",
        default: Value::Duration(Duration::from_secs(10)),
        range: Range::Between(
            Value::Duration(Duration::from_millis(1)),
            Value::Duration(HOUR),
        ),
        summary: "time without a round trip as short as the shortest until ProbeRTT",
        source: "Linux 5.x tcp_bbr.c, bbr_min_rtt_win_sec",
    },
    ParamSpec {
        name: "probe_rtt_duration",
        default: Value::Duration(Duration::from_millis(200)),
        range: Range::Between(Value::Duration(Duration::ZERO), Value::Duration(HOUR)),
        summary: "least time in ProbeRTT once the pipe has drained; 0ms turns ProbeRTT off",
        source: "Linux 5.x tcp_bbr.c, bbr_probe_rtt_mode_ms",
    },
    ParamSpec {
        name: "min_pipe_packets",
        default: Value::Count(4),
        range: COUNT,
        summary: "packets that may be in flight outside of recovery, and in ProbeRTT",
        source: "Linux 5.x tcp_bbr.c, bbr_cwnd_min_target",
    },
    ParamSpec {
        name: "flat_while_conserving",
        default: Value::Switch(false),
        range: Range::Any,
        summary: "count a round of packet conservation as flat in Startup, as the kernel does",
        source: "ours, docs/bbr1.md; Linux 5.x tcp_bbr.c, bbr_check_full_bw_reached",
    },
    ParamSpec {
        name: "full_loss_thresh",
        default: Value::Gain(Gain::ONE),
        range: Range::Between(Value::Gain(Gain::ZERO), Value::Gain(Gain::ONE)),
        summary: "share lost in a flat, queued round that ends Startup; 100%: never, as the kernel",
        source: "ours, docs/bbr1.md; Linux 5.x tcp_bbr.c, bbr_check_full_bw_reached, has none",
    },
    ParamSpec {
        name: "lt_bw",
        default: Value::Switch(true),
        range: Range::Any,
        summary: "look for policers and send at the rate that they let through",
        source: "Linux 5.x tcp_bbr.c, bbr_lt_bw_sampling",
    },
    ParamSpec {
        name: "lt_loss_thresh",
        default: Value::Gain(Gain::percent(20)),
        range: UP_TO_HALF,
        summary: "share of what was sent that a policer drops at least",
        source: "Linux 5.x tcp_bbr.c, bbr_lt_loss_thresh; docs/bbr1.md",
    },
    ParamSpec {
        name: "lt_interval_rounds",
        default: Value::Count(4),
        range: COUNT,
        summary: "least round trips of an interval that may show a policer",
        source: "Linux 5.x tcp_bbr.c, bbr_lt_intvl_min_rtts",
    },
    ParamSpec {
        name: "lt_bw_rounds",
        default: Value::Count(48),
        range: COUNT,
        summary: "round trips for which a policer's rate is used",
        source: "Linux 5.x tcp_bbr.c, bbr_lt_bw_max_rtts",
    },
    ParamSpec {
        name: "extra_acked_gain",
        default: Value::Gain(Gain::ONE),
        range: Range::Between(Value::Gain(Gain::ZERO), Value::Gain(Gain::new(10, 1))),
        summary: "share of what ACKs hold back that is added to the window",
        source: "Linux 5.x tcp_bbr.c, bbr_extra_acked_gain",
    },
    ParamSpec {
        name: "extra_acked_rounds",
        default: Value::Count(5),
        range: COUNT,
        summary: "round trips over which aggregation is remembered, and up to twice as many",
        source: "Linux 5.x tcp_bbr.c, bbr_extra_acked_win_rtts",
    },
];

/// [`PARAMS`] of a controller that remembers aggregation for another number of rounds.
pub(crate) const fn params_with_extra_acked_rounds(
    rounds: u64,
    source: &'static str,
) -> [ParamSpec; PARAM_COUNT] {
    let mut params = PARAMS;
    params[PARAM_COUNT - 1].default = Value::Count(rounds);
    params[PARAM_COUNT - 1].source = source;
    params
}

/// How many parameters there are.
pub(crate) const PARAM_COUNT: usize = 18;

/// `bbr_extra_acked_max_us`: aggregation adds no more to the window than this time's worth.
pub(super) const MAX_EXTRA_ACKED_TIME: Duration = Duration::from_millis(100);

/// Halves of the memory for aggregation; one of them is always complete.
pub(super) const EXTRA_ACKED_PERIODS: usize = 2;

/// Round-trip time assumed for the first flight (`bbr_init_pacing_rate_from_rtt`).
pub(super) const INITIAL_RTT: Duration = Duration::from_millis(1);

/// Bursts in flight beyond the BDP: one in the sender's queue, one in its offload engine, one at
/// the receiver's (`bbr_quantization_budget`).
pub(super) const BUDGET_QUANTA: u64 = 3;

/// What a probing phase adds to its window, in packets, so that it shows with a small BDP
/// (`bbr_quantization_budget`).
pub(super) const UP_EXTRA_PACKETS: u64 = 2;

/// A burst is what the pacing rate carries in this part of a second (`sk_pacing_shift` of 10).
pub(super) const QUANTA_PER_SECOND: u64 = 1 << 10;

/// `bbr_min_tso_rate`: below it packets leave one by one.
pub(super) const MIN_TSO_RATE: Bandwidth = Bandwidth::from_bits_per_sec(1_200_000);

/// Most bytes of a burst: what an offload call takes, less headers (`bbr_tso_segs_goal`).
pub(super) const MAX_QUANTUM: Bytes = Bytes::new(65_535 - 320);

/// Most packets of a burst (`bbr_tso_segs_goal`).
pub(super) const MAX_QUANTUM_PACKETS: u64 = 127;

const UPWARD: Range = Range::Between(Value::Gain(Gain::ONE), Value::Gain(Gain::new(10, 1)));
const DOWNWARD: Range = Range::Between(Value::Gain(Gain::new(1, 10)), Value::Gain(Gain::ONE));
const UP_TO_HALF: Range = Range::Between(Value::Gain(Gain::ZERO), Value::Gain(Gain::new(1, 2)));
const COUNT: Range = Range::Between(Value::Count(1), Value::Count(1_000));
const HOUR: Duration = Duration::from_secs(3_600);
