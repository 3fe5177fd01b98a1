//! What can be tuned in every loss-based controller.

use crate::parts::cwnd_pacing;
use crate::registry::{ParamSpec, Range, Value};
use units::Gain;

/// What the registry offers for tuning, beside what the algorithm has of its own.
pub(crate) const fn params<const OWN: usize, const ALL: usize>(
    slow_start: &'static str,
    own: [ParamSpec; OWN],
) -> [ParamSpec; ALL] {
    let prr = ParamSpec {
        name: "prr",
        // What pacing leaves to gain is little, and reordering costs more: docs/cubic.md.
        default: Value::Switch(false),
        range: Range::Any,
        summary: "whether the flight comes down to a reduced window in step with deliveries",
        source: "RFC 9937 section 6; RFC 9002 section 7.3.2",
    };
    let slow_start = ParamSpec {
        name: "slow_start",
        default: Value::Word(slow_start),
        range: Range::OneOf(&[HYSTARTPP, STANDARD]),
        summary: "how the first slow start ends: before the queue overflows, or with loss",
        source: "RFC 9406; RFC 9438 section 4.10; RFC 9002 section 7.3.1",
    };
    let mut all = [UNDO; ALL];
    let mut index = 0;
    while index < OWN {
        all[index] = own[index];
        index += 1;
    }
    all[OWN + 1] = prr;
    all[OWN + 2] = slow_start;
    let mut pacing = 0;
    while pacing < cwnd_pacing::PARAMS.len() {
        all[OWN + 3 + pacing] = cwnd_pacing::PARAMS[pacing];
        pacing += 1;
    }
    all
}

/// Of controllers without a word of their own about it.
pub(crate) const UNDO: ParamSpec = ParamSpec {
    name: "undo",
    default: Value::Switch(true),
    range: Range::Any,
    summary: "whether a reduction is taken back when all its lost packets arrive after all",
    source: "RFC 9438 section 4.9.2",
};

/// The range of the shares of the window that are left after congestion.
pub(crate) const BETAS: Range = Range::Between(
    Value::Gain(Gain::new(1, 10)),
    Value::Gain(Gain::new(95, 100)),
);

/// The words of the parameter `slow_start`.
pub(crate) const HYSTARTPP: &str = "hystartpp";
pub(crate) const STANDARD: &str = "standard";
