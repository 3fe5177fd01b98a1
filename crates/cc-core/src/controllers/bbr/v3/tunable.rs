//! What a connection may choose for itself, whatever the revision of the draft.

use super::params::MAX_EXTRA_ACKED_ROUNDS;
use crate::registry::{ParamSpec, Range, Value};
use core::time::Duration;
use units::Gain;

/// A parameter but for its default and where that is from, which are the revision's.
///
/// [`Tuning`](super::Tuning) says what each is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tunable {
    name: &'static str,
    range: Range,
    summary: &'static str,
}

impl Tunable {
    pub(crate) const fn defaults_to(self, default: Value, source: &'static str) -> ParamSpec {
        ParamSpec {
            name: self.name,
            default,
            range: self.range,
            summary: self.summary,
            source,
        }
    }
}

pub(crate) const STARTUP_PACING_GAIN: Tunable = Tunable {
    name: "startup_pacing_gain",
    range: UPWARD,
    summary: "pacing gain in Startup",
};

pub(crate) const DRAIN_PACING_GAIN: Tunable = Tunable {
    name: "drain_pacing_gain",
    range: DOWNWARD,
    summary: "pacing gain in Drain",
};

pub(crate) const DOWN_PACING_GAIN: Tunable = Tunable {
    name: "down_pacing_gain",
    range: DOWNWARD,
    summary: "pacing gain in ProbeBW_DOWN",
};

pub(crate) const UP_PACING_GAIN: Tunable = Tunable {
    name: "up_pacing_gain",
    range: UPWARD,
    summary: "pacing gain in ProbeBW_UP",
};

pub(crate) const CWND_GAIN: Tunable = Tunable {
    name: "cwnd_gain",
    range: UPWARD,
    summary: "BDPs in flight at most, but for ProbeBW_UP and ProbeRTT",
};

pub(crate) const UP_CWND_GAIN: Tunable = Tunable {
    name: "up_cwnd_gain",
    range: UPWARD,
    summary: "BDPs in flight at most in ProbeBW_UP",
};

pub(crate) const PROBE_RTT_CWND_GAIN: Tunable = Tunable {
    name: "probe_rtt_cwnd_gain",
    range: SHARE,
    summary: "BDPs in flight at most in ProbeRTT",
};

pub(crate) const PACING_MARGIN: Tunable = Tunable {
    name: "pacing_margin",
    range: UP_TO_HALF,
    summary: "share of the estimated rate left unused by pacing",
};

pub(crate) const LOSS_THRESH: Tunable = Tunable {
    name: "loss_thresh",
    range: UP_TO_HALF,
    summary: "share of a flight that may be lost while probing",
};

pub(crate) const BETA: Tunable = Tunable {
    name: "beta",
    range: DOWNWARD,
    summary: "least factor of a cut for a round with loss",
};

pub(crate) const HEADROOM: Tunable = Tunable {
    name: "headroom",
    range: Range::Between(Value::Gain(Gain::ZERO), Value::Gain(Gain::new(9, 10))),
    summary: "share of inflight_longterm left unused while cruising",
};

pub(crate) const STARTUP_LOSS_RANGES: Tunable = Tunable {
    name: "startup_loss_ranges",
    range: COUNT,
    summary: "separate ranges lost in a round that end Startup",
};

pub(crate) const MIN_PIPE_PACKETS: Tunable = Tunable {
    name: "min_pipe_packets",
    range: COUNT,
    summary: "packets that may always be in flight",
};

pub(crate) const MIN_RTT_WINDOW: Tunable = Tunable {
    name: "min_rtt_window",
    range: INTERVAL,
    summary: "window of the least round-trip time",
};

pub(crate) const PROBE_RTT_INTERVAL: Tunable = Tunable {
    name: "probe_rtt_interval",
    range: INTERVAL,
    summary: "time without a new least round-trip time until ProbeRTT",
};

pub(crate) const PROBE_RTT_DURATION: Tunable = Tunable {
    name: "probe_rtt_duration",
    range: TIME,
    summary: "least time in ProbeRTT once the pipe has drained",
};

pub(crate) const PROBE_WAIT_MIN: Tunable = Tunable {
    name: "probe_wait_min",
    range: TIME,
    summary: "least time between two probes for bandwidth",
};

pub(crate) const PROBE_WAIT_MAX: Tunable = Tunable {
    name: "probe_wait_max",
    range: TIME,
    summary: "greatest time between two probes for bandwidth",
};

pub(crate) const PROBE_WAIT_ROUNDS: Tunable = Tunable {
    name: "probe_wait_rounds",
    range: COUNT,
    summary: "most round trips between two probes for bandwidth",
};

pub(crate) const EXTRA_ACKED_ROUNDS: Tunable = Tunable {
    name: "extra_acked_rounds",
    range: Range::Between(Value::Count(1), Value::Count(MAX_EXTRA_ACKED_ROUNDS as u64)),
    summary: "round trips over which aggregation is remembered",
};

const UPWARD: Range = Range::Between(Value::Gain(Gain::ONE), Value::Gain(Gain::new(10, 1)));
const DOWNWARD: Range = Range::Between(Value::Gain(Gain::new(1, 10)), Value::Gain(Gain::ONE));
const SHARE: Range = Range::Between(Value::Gain(Gain::ZERO), Value::Gain(Gain::ONE));
const UP_TO_HALF: Range = Range::Between(Value::Gain(Gain::ZERO), Value::Gain(Gain::new(1, 2)));
const COUNT: Range = Range::Between(Value::Count(1), Value::Count(1_000));
const TIME: Range = Range::Between(Value::Duration(Duration::ZERO), Value::Duration(HOUR));
const INTERVAL: Range = Range::Between(
    Value::Duration(Duration::from_millis(1)),
    Value::Duration(HOUR),
);
const HOUR: Duration = Duration::from_secs(3_600);
