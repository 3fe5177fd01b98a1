//! What can be tuned.

use crate::registry::{ParamSpec, Params, Range, Value};
use core::time::Duration;
use units::Gain;

/// The values chosen from [`PARAMS`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Tuning {
    /// 1 ÷ δ of the default mode, in packets.
    pub(super) inverse_delta: Gain,
    pub(super) switches_mode: bool,
    pub(super) increase: Gain,
    pub(super) decrease: Gain,
    pub(super) rtt_min_window: Duration,
    pub(super) standing_window: Gain,
    pub(super) empty_rounds: u64,
    pub(super) max_rounds: u64,
    pub(super) empty_threshold: Gain,
    pub(super) empty_packets: Gain,
    pub(super) velocity_rounds: u64,
    pub(super) velocity_stop: bool,
    pub(super) pacing_gain: Gain,
    pub(super) loss_limit: Gain,
    pub(super) loss_reduction: Gain,
}

impl Tuning {
    pub(super) fn new(params: &Params) -> Self {
        Self {
            inverse_delta: Gain::new(MILLION, params.gain("delta").millionths()),
            switches_mode: params.switch("mode_switching"),
            increase: params.gain("competitive_increase"),
            decrease: params.gain("competitive_decrease"),
            rtt_min_window: params.duration("rtt_min_window"),
            standing_window: params.gain("standing_window"),
            empty_rounds: params.count("empty_rounds"),
            max_rounds: params.count("max_rounds"),
            empty_threshold: params.gain("empty_threshold"),
            empty_packets: params.gain("empty_packets"),
            velocity_rounds: params.count("velocity_rounds"),
            velocity_stop: params.switch("velocity_stop"),
            pacing_gain: params.gain("pacing_gain"),
            loss_limit: params.gain("loss_limit"),
            loss_reduction: params.gain("loss_reduction"),
        }
    }

    /// What loss leaves of 1 ÷ δ at least: "in competitive mode δ ≤ 0.5" (§2.2). A flow that wants
    /// more in the queue has to give way in one that is shorter, or it loses packets for good; one
    /// that wants less does not get more by loss.
    pub(super) fn min_inverse_delta(&self) -> Gain {
        self.inverse_delta.min(Gain::new(2, 1))
    }
}

/// What the registry offers for tuning.
pub(super) const PARAMS: [ParamSpec; 15] = [
    ParamSpec {
        name: "delta",
        default: Value::Gain(Gain::new(1, 2)),
        // At 0.001 a thousand packets stand in the queue, at 10 a tenth of one.
        range: Range::Between(
            Value::Gain(Gain::new(1, 1_000)),
            Value::Gain(Gain::new(10, 1)),
        ),
        summary: "dislike of delay in the default mode: 1 over the packets kept in the queue",
        source: "Copa (NSDI 2018) section 2.2",
    },
    ParamSpec {
        name: "mode_switching",
        default: Value::Switch(true),
        range: Range::Any,
        summary: "whether a flow competes with others that fill the queue",
        source: "Copa (NSDI 2018) section 2.2",
    },
    ParamSpec {
        name: "competitive_increase",
        default: Value::Gain(Gain::ONE),
        range: Range::Between(Value::Gain(Gain::ZERO), Value::Gain(Gain::new(100, 1))),
        summary: "packets added to 1 over delta per round trip without loss while competing",
        source: "none: genericCC markoviancc.cc, update_delta",
    },
    ParamSpec {
        name: "competitive_decrease",
        default: Value::Gain(Gain::new(1, 2)),
        range: Range::Between(
            Value::Gain(Gain::new(1, 10)),
            Value::Gain(Gain::new(95, 100)),
        ),
        summary: "share of 1 over delta that is left after a loss while competing",
        source: "none: genericCC markoviancc.cc, update_delta",
    },
    ParamSpec {
        name: "rtt_min_window",
        default: Value::Duration(Duration::from_secs(10)),
        range: Range::Between(
            Value::Duration(Duration::from_millis(100)),
            Value::Duration(Duration::from_secs(600)),
        ),
        summary: "time over which the least round trip is the one without a queue",
        source: "Copa (NSDI 2018) section 2.1",
    },
    ParamSpec {
        name: "standing_window",
        default: Value::Gain(Gain::new(1, 2)),
        range: Range::Between(Value::Gain(Gain::new(1, 20)), Value::Gain(Gain::new(5, 1))),
        summary: "smoothed round trips over which the least is that of the standing queue",
        source: "Copa (NSDI 2018) section 2.1",
    },
    ParamSpec {
        name: "empty_rounds",
        default: Value::Count(5),
        range: ROUNDS,
        summary: "round trips in which the queue is nearly empty once unless others fill it",
        source: "Copa (NSDI 2018) section 2.2",
    },
    ParamSpec {
        name: "max_rounds",
        default: Value::Count(4),
        range: ROUNDS,
        summary: "round trips over which the longest is RTTmax",
        source: "Copa (NSDI 2018) section 2.2",
    },
    ParamSpec {
        name: "empty_threshold",
        default: Value::Gain(Gain::percent(10)),
        range: Range::Between(Value::Gain(Gain::ZERO), Value::Gain(Gain::ONE)),
        summary: "share of RTTmax - RTTmin up to which a queue is nearly empty",
        source: "Copa (NSDI 2018) section 2.2",
    },
    ParamSpec {
        name: "empty_packets",
        default: Value::Gain(Gain::new(2, 1)),
        range: Range::Between(Value::Gain(Gain::ZERO), Value::Gain(Gain::new(10, 1))),
        summary: "packets of its own up to which a flow calls the queue nearly empty",
        source: "none: a queue is made of packets; 0 is the paper's",
    },
    ParamSpec {
        name: "velocity_rounds",
        default: Value::Count(3),
        range: Range::Between(Value::Count(0), Value::Count(1_000_000)),
        summary: "round trips in one direction before the velocity doubles",
        source: "Copa (NSDI 2018) section 2.1, step 4",
    },
    ParamSpec {
        name: "velocity_stop",
        default: Value::Switch(true),
        range: Range::Any,
        summary: "whether the velocity starts over at the window that filled the path before",
        source: "none: 3 round trips are little where a round trip is long; off is the paper's",
    },
    ParamSpec {
        name: "pacing_gain",
        default: Value::Gain(Gain::new(2, 1)),
        range: Range::Between(Value::Gain(Gain::ONE), Value::Gain(Gain::new(10, 1))),
        summary: "pacing rate over window per standing round trip",
        source: "Copa (NSDI 2018) section 2.1",
    },
    ParamSpec {
        name: "loss_limit",
        default: Value::Gain(Gain::percent(10)),
        range: Range::Between(Value::Gain(Gain::ZERO), Value::Gain(Gain::ONE)),
        summary: "share of packets lost in two round trips above which the window is cut",
        source: "none: genericCC estimators.hh says 10 % of ReduceOnLoss, its code 30 %",
    },
    ParamSpec {
        name: "loss_reduction",
        default: Value::Gain(Gain::new(7, 10)),
        range: Range::Between(Value::Gain(Gain::new(1, 10)), Value::Gain(Gain::ONE)),
        summary: "share of the window that such a cut leaves",
        source: "none: genericCC markoviancc.cc, onACK",
    },
];

const ROUNDS: Range = Range::Between(Value::Count(1), Value::Count(MODE_PERIODS as u64 - 1));
/// Round trips that the detector remembers, the present one among them.
pub(super) const MODE_PERIODS: usize = 32;
const MILLION: u64 = 1_000_000;
