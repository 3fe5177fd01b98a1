//! Every constant of LEDBAT++: what it is, why it is that number, where it is from.
//!
//! Sections are those of draft-irtf-iccrg-ledbat-plus-plus-06 unless another document is named.

use crate::params::{ParamSpec, joined, tuning};
use crate::parts::cwnd_pacing::PARAMS as PACING;
use crate::parts::loss_based::UNDO;
use core::time::Duration;
use units::Gain;

tuning! {
    /// The constants that a connection may choose for itself.
    pub(super) struct Tuning, OWN;
    /// TARGET: the queueing delay aimed at. Less than the 100 ms of RFC 6817, which interactive
    /// traffic would notice.
    target: duration(ms(60), ms(1)..=ms(100)),
        "target queueing delay, both directions together",
        "draft-irtf-iccrg-ledbat-plus-plus-06 section 4.5; maximum: RFC 6817 section 2.5";
    /// The 16 of GAIN = 1 ÷ min(16, ⌈2 · TARGET ÷ base⌉): bounds how slow short paths are.
    gain_divisor: count(16, 1..=64),
        "maximum factor by which growth is slower than Reno's; 1: as fast as Reno on every path",
        "draft-irtf-iccrg-ledbat-plus-plus-06 section 4.1 (the constant 16)";
    /// Constant: what share of the window goes in a round trip for a whole target of excess.
    decrease: gain(Gain::ONE, Gain::new(1, 10)..=Gain::new(4, 1)),
        "share of cwnd given up per round trip at twice the target",
        "draft-irtf-iccrg-ledbat-plus-plus-06 section 4.2 (Constant)";
    /// Share of the target at which the initial slow start ends.
    slow_start_exit: gain(Gain::new(3, 4), Gain::new(1, 10)..=Gain::ONE),
        "share of the target at which the initial slow start ends",
        "draft-irtf-iccrg-ledbat-plus-plus-06 section 4.3";
    /// Packets of the window to begin with.
    initial_window: count(2, 2..=10), "initial cwnd, in packets",
        "draft-irtf-iccrg-ledbat-plus-plus-06 section 4.3; RFC 6817 section 2.5";
    /// Whether there are slowdowns.
    slowdown: switch(true),
        "periodic slowdowns, which measure the path without the flow's own queue",
        "draft-irtf-iccrg-ledbat-plus-plus-06 section 4.4";
    /// Round trips from the end of the initial slow start to the initial slowdown, and of the
    /// minimum window in each: one for the queue to drain, one to see it empty.
    slowdown_rtts: count(2, 1..=10),
        "round trips at two packets in a slowdown, and before the initial one",
        "draft-irtf-iccrg-ledbat-plus-plus-06 section 4.4";
    /// Durations of a slowdown until the next one: nine in ten round trips are left to the flow.
    slowdown_interval: count(9, 1..=1_000), "time between two slowdowns, in durations of a \
                                             slowdown",
        "draft-irtf-iccrg-ledbat-plus-plus-06 section 4.4";
    /// BASE_HISTORY, in minutes: a longer base delay, after a change of route, is adopted so late.
    base_history: count(10, 2..=MAX_HISTORY),
        "minutes of RTT samples whose minimum is the base delay",
        "RFC 6817 section 2.5 (BASE_HISTORY)";
    /// CURRENT_FILTER: newest round-trip times of which the minimum counts; the receiver's delay
    /// and bursts affect some of them, rarely all.
    delay_filter: count(4, 1..=MAX_FILTER),
        "newest RTT samples whose minimum is the current delay",
        "draft-irtf-iccrg-ledbat-plus-plus-06 section 4.5; RFC 6817 section 2.5";
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// What the registry offers.
pub(super) const PARAMS: [ParamSpec; OWN.len() + 1 + PACING.len()] =
    joined(OWN, &joined::<{ 1 + PACING.len() }>(&[UNDO], PACING));

/// Upper bound of `base_history`: the size of the filter is fixed.
pub(super) const MAX_HISTORY: u64 = 20;
/// Upper bound of `delay_filter`.
pub(super) const MAX_FILTER: u64 = 16;
