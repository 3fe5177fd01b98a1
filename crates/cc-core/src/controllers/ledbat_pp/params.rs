//! Every constant of LEDBAT++: what it is, why it is that number, where it is from.
//!
//! Sections are those of draft-irtf-iccrg-ledbat-plus-plus-06 unless another document is named.

use super::delay::{MAX_FILTER, MAX_HISTORY};
use crate::parts::cwnd_pacing;
use crate::parts::loss_based;
use crate::registry::{ParamSpec, Params, Range, Value};
use core::time::Duration;
use units::Gain;

/// The constants that a connection may choose for itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tuning {
    /// TARGET: the queueing delay aimed at. Less than the 100 ms of RFC 6817, which calls and
    /// games feel.
    pub(super) target: Duration,
    /// The 16 of GAIN = 1 ÷ min(16, ⌈2 · TARGET ÷ base⌉): bounds how slow short paths are.
    pub(super) gain_divisor: u64,
    /// Constant: what share of the window goes in a round trip for a whole target of excess.
    pub(super) decrease: Gain,
    /// Share of the target at which the initial slow start ends.
    pub(super) slow_start_exit: Gain,
    /// Packets of the window to begin with.
    pub(super) initial_window: u64,
    /// Whether there are slowdowns.
    pub(super) slowdown: bool,
    /// Round trips from the end of the initial slow start to the initial slowdown, and of the
    /// minimum window in each: one for the queue to drain, one to see it empty.
    pub(super) slowdown_rtts: u32,
    /// Durations of a slowdown until the next one: nine in ten round trips are left to the flow.
    pub(super) slowdown_interval: u32,
    /// BASE_HISTORY, in minutes: a longer base delay, after a change of route, is believed so late.
    pub(super) base_history: u64,
    /// CURRENT_FILTER: newest round-trip times of which the least counts; the receiver's delay
    /// and bursts touch some of them, seldom all.
    pub(super) delay_filter: u64,
}

impl Tuning {
    /// The values chosen from [`PARAMS`].
    pub(super) fn new(params: &Params) -> Self {
        let small = |name| u32::try_from(params.count(name)).expect("its range is small");
        Self {
            target: params.duration("target"),
            gain_divisor: params.count("gain_divisor"),
            decrease: params.gain("decrease"),
            slow_start_exit: params.gain("slow_start_exit"),
            initial_window: params.count("initial_window"),
            slowdown: params.switch("slowdown"),
            slowdown_rtts: small("slowdown_rtts"),
            slowdown_interval: small("slowdown_interval"),
            base_history: params.count("base_history"),
            delay_filter: params.count("delay_filter"),
        }
    }
}

/// What the registry offers for tuning.
pub(super) const PARAMS: [ParamSpec; 14] = [
    ParamSpec {
        name: "target",
        default: Value::Duration(Duration::from_millis(60)),
        range: Range::Between(
            Value::Duration(Duration::from_millis(1)),
            Value::Duration(Duration::from_millis(100)),
        ),
        summary: "queueing delay aimed at, both directions together",
        source: "draft-irtf-iccrg-ledbat-plus-plus-06 section 4.5; most: RFC 6817 section 2.5",
    },
    ParamSpec::count("gain_divisor", 16, 1..=64)
        .summary("times slower than Reno, at most; 1 is as fast as Reno on every path")
        .source("draft-irtf-iccrg-ledbat-plus-plus-06 section 4.1 (the constant 16)"),
    ParamSpec {
        name: "decrease",
        default: Value::Gain(Gain::ONE),
        range: Range::Between(Value::Gain(Gain::new(1, 10)), Value::Gain(Gain::new(4, 1))),
        summary: "share of the window given up in a round trip at twice the target",
        source: "draft-irtf-iccrg-ledbat-plus-plus-06 section 4.2 (Constant)",
    },
    ParamSpec {
        name: "slow_start_exit",
        default: Value::Gain(Gain::new(3, 4)),
        range: Range::Between(Value::Gain(Gain::new(1, 10)), Value::Gain(Gain::ONE)),
        summary: "share of the target at which the initial slow start ends",
        source: "draft-irtf-iccrg-ledbat-plus-plus-06 section 4.3",
    },
    ParamSpec::count("initial_window", 2, 2..=10)
        .summary("window of a new connection, in packets")
        .source("draft-irtf-iccrg-ledbat-plus-plus-06 section 4.3; RFC 6817 section 2.5"),
    ParamSpec {
        name: "slowdown",
        default: Value::Switch(true),
        range: Range::Any,
        summary: "whether it slows down at times, to see the path without its own queue",
        source: "draft-irtf-iccrg-ledbat-plus-plus-06 section 4.4",
    },
    ParamSpec::count("slowdown_rtts", 2, 1..=10)
        .summary("round trips of two packets in a slowdown, and before the initial one")
        .source("draft-irtf-iccrg-ledbat-plus-plus-06 section 4.4"),
    ParamSpec::count("slowdown_interval", 9, 1..=1_000)
        .summary("durations of a slowdown until the next one")
        .source("draft-irtf-iccrg-ledbat-plus-plus-06 section 4.4"),
    ParamSpec::count("base_history", 10, 2..=MAX_HISTORY)
        .summary("minutes of round-trip times whose least is the base delay")
        .source("RFC 6817 section 2.5 (BASE_HISTORY)"),
    ParamSpec::count("delay_filter", 4, 1..=MAX_FILTER)
        .summary("newest round-trip times whose least is the current delay")
        .source("draft-irtf-iccrg-ledbat-plus-plus-06 section 4.5; RFC 6817 section 2.5"),
    loss_based::UNDO,
    cwnd_pacing::PARAMS[0],
    cwnd_pacing::PARAMS[1],
    cwnd_pacing::PARAMS[2],
];
