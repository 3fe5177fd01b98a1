use super::chance::Chance;
use crate::spec::error::SpecError;
use crate::spec::trace::{LossTrace, Recorded};
use crate::spec::values::{PERCENT, Percent, percent};
use crate::spec::words::Words;
use core::fmt::{self, Display as _};
use core::ops::RangeInclusive;
use std::sync::Arc;
use units::Gain;

/// `loss MODEL [ecn]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Loss {
    pub(crate) model: LossModel,
    /// An ECN-capable packet is marked instead.
    pub(crate) ecn: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LossModel {
    Random(Chance),
    GilbertElliott(GilbertElliott),
    FourState(FourState),
    /// By their number, the first being 1; ascending, disjoint.
    Packets(Arc<[RangeInclusive<u64>]>),
    /// One after another, from the first packet of the link on.
    Trace(Recorded<LossTrace>),
}

/// A chain of two states, with netem's names for its four probabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GilbertElliott {
    /// From good to bad.
    pub(crate) p: Gain,
    /// From bad to good.
    pub(crate) r: Gain,
    /// Loss in the bad state, 1−h.
    pub(crate) loss_in_bad: Gain,
    /// Loss in the good state, 1−k.
    pub(crate) loss_in_good: Gain,
}

/// netem's chain of four states, with its names for the transitions: 1 is reception in a gap, 2
/// reception in a burst, 3 loss in a burst, 4 a single loss in a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FourState {
    pub(crate) p13: Gain,
    pub(crate) p31: Gain,
    pub(crate) p32: Gain,
    pub(crate) p23: Gain,
    pub(crate) p14: Gain,
}

impl Loss {
    pub(in crate::spec) fn read(words: &mut Words<'_>) -> Result<Self, SpecError> {
        let word = words.next_of(&["random", "gemodel", "state", "packets", "trace"]);
        let model = match word.map(|word| word.text) {
            Some("gemodel") => GilbertElliott::read(words).map(LossModel::GilbertElliott),
            Some("state") => FourState::read(words).map(LossModel::FourState),
            Some("packets") => words.value(LIST, list).map(LossModel::Packets),
            Some("trace") => words
                .trace(|known| &mut known.losses, LossTrace::parse)
                .map(LossModel::Trace),
            _ => Chance::read(words).map(LossModel::Random),
        }?;
        let ecn = words.next_of(&["ecn"]).is_some();
        Ok(Self { model, ecn })
    }
}

impl GilbertElliott {
    /// tc's defaults: r = 1 − p, everything lost in the bad state and nothing in the good one.
    pub(crate) const fn new(p: Gain) -> Self {
        Self {
            p,
            r: p.complement(),
            loss_in_bad: Gain::ONE,
            loss_in_good: Gain::ZERO,
        }
    }

    fn read(words: &mut Words<'_>) -> Result<Self, SpecError> {
        let mut model = Self::new(words.value(PERCENT, percent)?);
        let Self {
            r,
            loss_in_bad,
            loss_in_good,
            ..
        } = &mut model;
        read_if_any(words, [r, loss_in_bad, loss_in_good])?;
        Ok(model)
    }
}

impl FourState {
    /// tc's defaults: p31 = 1 − p13, p23 = 1, no way into state 2 or 4.
    pub(crate) const fn new(p13: Gain) -> Self {
        Self {
            p13,
            p31: p13.complement(),
            p32: Gain::ZERO,
            p23: Gain::ONE,
            p14: Gain::ZERO,
        }
    }

    fn read(words: &mut Words<'_>) -> Result<Self, SpecError> {
        let mut model = Self::new(words.value(PERCENT, percent)?);
        let Self {
            p31, p32, p23, p14, ..
        } = &mut model;
        read_if_any(words, [p31, p32, p23, p14])?;
        for (sum, what) in [
            (
                model.p13.millionths() + model.p14.millionths(),
                "P13 and P14",
            ),
            (
                model.p31.millionths() + model.p32.millionths(),
                "P31 and P32",
            ),
        ] {
            if sum > Gain::ONE.millionths() {
                let problem = format!(
                    "{what} leave the same state and must not exceed 100% in \
                     total"
                );
                return Err(words.error(words.last, problem));
            }
        }
        Ok(model)
    }
}

/// Reads as many percentages as follow, at most so many.
fn read_if_any<const N: usize>(
    words: &mut Words<'_>,
    probabilities: [&mut Gain; N],
) -> Result<(), SpecError> {
    for probability in probabilities {
        match words.value_if_any(PERCENT, percent)? {
            Some(value) => *probability = value,
            None => break,
        }
    }
    Ok(())
}

/// `3,10-12`, ascending.
fn list(text: &str) -> Option<Arc<[RangeInclusive<u64>]>> {
    let mut ranges: Vec<RangeInclusive<u64>> = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        let after = ranges.last().map_or(0, |range| *range.end());
        if first <= after || last < first {
            return None;
        }
        ranges.push(first..=last);
    }
    Some(ranges.into())
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.model {
            LossModel::Random(chance) => chance.fmt(f),
            LossModel::GilbertElliott(model) => write!(f, "gemodel {model}"),
            LossModel::FourState(model) => write!(f, "state {model}"),
            LossModel::Packets(ranges) => {
                let parts: Vec<String> = ranges.iter().map(range_text).collect();
                write!(f, "packets {}", parts.join(","))
            }
            LossModel::Trace(recorded) => write!(f, "trace {}", recorded.name),
        }?;
        if self.ecn {
            f.write_str(" ecn")
        } else {
            Ok(())
        }
    }
}

fn range_text(range: &RangeInclusive<u64>) -> String {
    match (range.start(), range.end()) {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first}-{last}"),
    }
}

impl fmt::Display for GilbertElliott {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |model: Self| [model.p, model.r, model.loss_in_bad, model.loss_in_good];
        write_given(f, of(*self), of(Self::new(self.p)))
    }
}

impl fmt::Display for FourState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |model: Self| [model.p13, model.p31, model.p32, model.p23, model.p14];
        write_given(f, of(*self), of(Self::new(self.p13)))
    }
}

/// Trailing values equal to their defaults need not be written.
fn write_given<const N: usize>(
    f: &mut fmt::Formatter<'_>,
    given: [Gain; N],
    defaults: [Gain; N],
) -> fmt::Result {
    let redundant = (1..N).rev().take_while(|i| given[*i] == defaults[*i]);
    let written = N - redundant.count();
    Percent(given[0]).fmt(f)?;
    given[1..written]
        .iter()
        .try_for_each(|probability| write!(f, " {}", Percent(*probability)))
}

const LIST: &str = "packet numbers in ascending order, such as 3,10-12,";
