use super::parameters::{set, write_changed};
use crate::spec::clauses::queue::Capacity;
use crate::spec::clauses::unsupported::{Unsupported, in_packets};
use crate::spec::error::SpecError;
use crate::spec::values::{PERCENT, POSITIVE_TIME, Percent, percent, positive, positive_time};
use crate::spec::words::Words;
use core::fmt;
use core::time::Duration;
use units::{Gain, duration};

/// `aqm dualpi2 …` (RFC 9332, appendix A, in tc-dualpi2's words).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DualPi2 {
    /// The delay that the classic queue is held at.
    pub(crate) target: Duration,
    /// How often the base probability is computed anew.
    pub(crate) tupdate: Duration,
    /// By how much it grows per second, for each second above the target.
    pub(crate) alpha: Gain,
    /// By how much it grows for each second more of delay than at the last update.
    pub(crate) beta: Gain,
    /// Marks in the low-latency queue come with so many times the base probability.
    pub(crate) coupling_factor: u8,
    /// Beyond it every packet in the low-latency queue is marked.
    pub(crate) step_thresh: StepThreshold,
    /// Only packets that found so many ahead of them in that queue: `Th_len` of RFC 9332, so that a
    /// link on which a packet takes longer than `step_thresh` does not mark every one.
    pub(crate) min_qlen_step: u32,
    /// What happens when the low-latency queue's probability reaches one.
    pub(crate) on_overload: OnOverload,
    /// Packets are dropped and marked when they come instead of when they leave.
    pub(crate) drop_enqueue: bool,
    /// ECT(0) goes to the low-latency queue too.
    pub(crate) any_ect: bool,
    /// The share of the link that the classic queue has at least.
    pub(crate) classic_protection: Gain,
}

/// `step_thresh TIME|Np`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepThreshold {
    /// A packet has waited for longer.
    Time(Duration),
    /// More packets wait behind it.
    Packets(u32),
}

/// `drop_on_overload` or `overflow`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnOverload {
    /// Low-latency packets are dropped as often as classic ones.
    Drop,
    /// They are marked, all of them, until the queue is full.
    Overflow,
}

impl DualPi2 {
    /// Linux's (`dualpi2_reset_default`); `alpha` and `beta` as its manual has them, of which the
    /// kernel holds 41/256 and 819/256.
    pub(crate) const DEFAULT: Self = Self {
        target: Duration::from_millis(15),
        tupdate: Duration::from_millis(16),
        alpha: Gain::new(16, 100),
        beta: Gain::new(32, 10),
        coupling_factor: 2,
        step_thresh: StepThreshold::Time(Duration::from_millis(1)),
        min_qlen_step: 0,
        on_overload: OnOverload::Drop,
        drop_enqueue: false,
        any_ect: false,
        classic_protection: Gain::percent(10),
    };

    pub(super) fn read(words: &mut Words<'_>) -> Result<Self, SpecError> {
        let mut dual = Self::DEFAULT;
        while let Some(word) = words.next_of(&WORDS) {
            match word.text {
                "target" => dual.target = words.value(POSITIVE_TIME, positive_time)?,
                "tupdate" => dual.tupdate = words.value(POSITIVE_TIME, positive_time)?,
                "alpha" => dual.alpha = words.value(FACTOR, factor)?,
                "beta" => dual.beta = words.value(FACTOR, factor)?,
                "coupling_factor" => dual.coupling_factor = words.value(COUPLING, coupling)?,
                "step_thresh" => dual.step_thresh = words.value(STEP, StepThreshold::parse)?,
                "min_qlen_step" => dual.min_qlen_step = words.value(MIN_QLEN_STEP, whole)?,
                "drop_on_overload" => dual.on_overload = OnOverload::Drop,
                "overflow" => dual.on_overload = OnOverload::Overflow,
                "classic_protection" => dual.classic_protection = words.value(PERCENT, percent)?,
                "drop_enqueue" | "drop_dequeue" => dual.drop_enqueue = word.text == "drop_enqueue",
                flag => dual.any_ect = flag == "any_ect",
            }
        }
        Ok(dual)
    }

    /// What tc calls it; its defaults are these. It abbreviates no packets.
    pub(super) fn tc_words(&self, capacity: Capacity) -> Result<String, Unsupported> {
        let limit = in_packets(capacity, "dualpi2")?;
        let (mut rest, mut step) = (*self, String::new());
        if let StepThreshold::Packets(packets) = self.step_thresh {
            step = format!(" step_thresh {packets}packets");
            rest.step_thresh = Self::DEFAULT.step_thresh;
        }
        Ok(format!("dualpi2 limit {limit}{rest}{step}"))
    }
}

impl fmt::Display for DualPi2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = Self::DEFAULT;
        let times = [
            ("target", self.target, usual.target),
            ("tupdate", self.tupdate, usual.tupdate),
        ];
        write_changed(f, duration::display, &times)?;
        let factors = [
            ("alpha", self.alpha, usual.alpha),
            ("beta", self.beta, usual.beta),
        ];
        write_changed(f, |factor| factor, &factors)?;
        if self.coupling_factor != usual.coupling_factor {
            write!(f, " coupling_factor {}", self.coupling_factor)?;
        }
        if self.step_thresh != usual.step_thresh {
            write!(f, " step_thresh {}", self.step_thresh)?;
        }
        if self.min_qlen_step != usual.min_qlen_step {
            write!(f, " min_qlen_step {}", self.min_qlen_step)?;
        }
        if self.classic_protection != usual.classic_protection {
            let share = Percent(self.classic_protection);
            write!(f, " classic_protection {share}")?;
        }
        let mut flags = set([
            ("overflow", self.on_overload == OnOverload::Overflow),
            ("drop_enqueue", self.drop_enqueue),
            ("any_ect", self.any_ect),
        ]);
        flags.try_for_each(|flag| write!(f, " {flag}"))
    }
}

impl StepThreshold {
    fn parse(text: &str) -> Option<Self> {
        match text.strip_suffix('p') {
            Some(packets) => positive(packets).map(Self::Packets),
            None => positive_time(text).map(Self::Time),
        }
    }
}

impl fmt::Display for StepThreshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(time) => duration::display(*time).fmt(f),
            Self::Packets(packets) => write!(f, "{packets}p"),
        }
    }
}

fn factor(text: &str) -> Option<Gain> {
    let factor: Gain = text.parse().ok().filter(|_| !text.ends_with('%'))?;
    (factor > Gain::ZERO && factor <= MAX_FACTOR).then_some(factor)
}

fn coupling(text: &str) -> Option<u8> {
    text.parse().ok().filter(|factor| *factor > 0)
}

fn whole(text: &str) -> Option<u32> {
    text.parse().ok()
}

const WORDS: [&str; 14] = [
    "target",
    "tupdate",
    "alpha",
    "beta",
    "coupling_factor",
    "step_thresh",
    "min_qlen_step",
    "drop_on_overload",
    "overflow",
    "classic_protection",
    "drop_enqueue",
    "drop_dequeue",
    "l4s_ect",
    "any_ect",
];
const FACTOR: &str = "a factor above 0 and below 2^23, such as 0.16,";
const COUPLING: &str = "a whole number from 1 to 255";
const MIN_QLEN_STEP: &str = "a number of packets, such as 1,";
const STEP: &str = "a time from 1ns to 1 hour, such as 1ms, or a number of packets, such as 5p,";
/// Linux's `ALPHA_BETA_MAX`: 23 bits before the point.
const MAX_FACTOR: Gain = Gain::new((1 << 23) - 1, 1);
