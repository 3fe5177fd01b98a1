//! What can be tuned.

use crate::parts::loss_based::BETAS;
use crate::registry::{ParamSpec, Params, Range, Value};
use core::time::Duration;
use units::Gain;

/// The values chosen from [`PARAMS`].
#[derive(Debug)]
pub(super) struct Tuning {
    pub(super) alpha_gain: Gain,
    pub(super) initial_alpha: Gain,
    pub(super) virtual_rtt: Duration,
    pub(super) rtt_transition: u64,
    pub(super) beta: Gain,
    pub(super) undo: bool,
    pub(super) burst: Duration,
    pub(super) slow_start_gain: Gain,
    pub(super) avoidance_gain: Gain,
}

impl Tuning {
    pub(super) fn new(params: &Params) -> Self {
        Self {
            alpha_gain: params.gain("alpha_gain"),
            initial_alpha: params.gain("initial_alpha"),
            virtual_rtt: params.duration("virtual_rtt"),
            rtt_transition: params.count("rtt_transition"),
            beta: params.gain("beta"),
            undo: params.switch("undo"),
            burst: params.duration("burst"),
            slow_start_gain: params.gain("pacing_gain_slow_start"),
            avoidance_gain: params.gain("pacing_gain_avoidance"),
        }
    }
}

pub(super) const PARAMS: [ParamSpec; 9] = [
    ParamSpec {
        name: "alpha_gain",
        default: Value::Gain(Gain::new(1, 16)),
        range: Range::Between(Value::Gain(Gain::new(1, 1_000)), Value::Gain(Gain::ONE)),
        summary: "weight of the newest round trip in the average share of marks",
        source: "draft-briscoe-iccrg-prague-congestion-control-04 section 2.3.2; \
                 RFC 8257 section 4.2",
    },
    ParamSpec {
        name: "initial_alpha",
        default: Value::Gain(Gain::ONE),
        range: Range::Between(Value::Gain(Gain::ZERO), Value::Gain(Gain::ONE)),
        summary: "average share of marks with which the first mark is answered",
        source: "draft-briscoe-iccrg-prague-congestion-control-04 section 2.3.2; \
                 RFC 8257 section 3.3",
    },
    ParamSpec {
        name: "virtual_rtt",
        default: Value::Duration(Duration::from_millis(25)),
        range: Range::Between(
            Value::Duration(Duration::ZERO),
            Value::Duration(Duration::from_millis(100)),
        ),
        summary: "round-trip time that a flow with a shorter one behaves as if it had",
        source: "draft-briscoe-iccrg-prague-congestion-control-04 section 2.4.4 (RTT_VIRT_MIN)",
    },
    ParamSpec::count("rtt_transition", 500, 0..=1_000_000)
        .summary("round trips after slow start from which on virtual_rtt holds")
        .source("draft-briscoe-iccrg-prague-congestion-control-04 section 2.4.4 (D)"),
    ParamSpec {
        name: "beta",
        // Growth is Reno's packet per round trip, so what is left has to be Reno's half: with 0.7
        // and that growth a flow would take 1.4 times Reno's share.
        default: Value::Gain(Gain::new(1, 2)),
        range: BETAS,
        summary: "share of the window that is left after a loss",
        source: "draft-briscoe-iccrg-prague-congestion-control-04 section 2.4.1; \
                 RFC 5681 section 3.1",
    },
    ParamSpec {
        name: "undo",
        default: Value::Switch(true),
        range: Range::Any,
        summary: "whether a loss's reduction is taken back when all its packets arrive after all",
        source: "L4STeam/linux tcp_prague.c, prague_cwnd_undo",
    },
    ParamSpec {
        name: "burst",
        default: Value::Duration(Duration::from_micros(250)),
        range: Range::Between(
            Value::Duration(Duration::ZERO),
            Value::Duration(Duration::from_millis(10)),
        ),
        summary: "what leaves at once, as time at the pacing rate; a packet at least",
        source: "draft-briscoe-iccrg-prague-congestion-control-04 section 2.5.2",
    },
    ParamSpec {
        name: "pacing_gain_slow_start",
        default: Value::Gain(Gain::new(2, 1)),
        range: GAINS,
        summary: "pacing rate over window per round trip while the window doubles",
        source: "draft-briscoe-iccrg-prague-congestion-control-04 section 2.5.1",
    },
    ParamSpec {
        name: "pacing_gain_avoidance",
        default: Value::Gain(Gain::ONE),
        range: GAINS,
        summary: "pacing rate over window per round trip otherwise",
        source: "draft-briscoe-iccrg-prague-congestion-control-04 section 2.5.1",
    },
];

const GAINS: Range = Range::Between(Value::Gain(Gain::ONE), Value::Gain(Gain::new(10, 1)));
