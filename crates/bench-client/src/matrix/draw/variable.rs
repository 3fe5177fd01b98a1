use super::quantity::Quantity;
use crate::matrix::template::{Text, Words};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One table of `[draws]`, as its author wrote it: a number of some distribution, or one of several
/// alternatives.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Variable {
    /// Its logarithm is uniform between those of two ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) log_uniform: Option<[Text; 2]>,
    /// Uniform between two ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) uniform: Option<[Text; 2]>,
    /// Always the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<Text>,
    /// One of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) choose: Option<Vec<Alternative>>,
    /// Variables before this one that a number is multiplied with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) times: Vec<String>,
    /// A variable before this one that is added afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) plus: Option<String>,
    /// What the number is raised to at least, and lowered to at most, in the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) at_least: Option<Text>,
    /// Where its range comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) source: Option<String>,
}

/// What a variable may be, how likely that is beside the others, and the words that come with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Alternative {
    pub(super) at: Text,
    #[serde(default = "one")]
    pub(super) weight: u32,
    #[serde(flatten)]
    pub(super) words: BTreeMap<String, Text>,
}

/// How a number is distributed.
enum Distribution {
    LogUniform(Quantity, Quantity),
    Uniform(Quantity, Quantity),
    Value(Quantity),
}

impl Variable {
    /// The variable whose value is known.
    pub(super) fn fixed(value: &str) -> Self {
        Self {
            value: Some(Text::from(value)),
            ..Self::default()
        }
    }

    /// # Errors
    /// Says which key makes no sense.
    pub(super) fn check(&self) -> Result<(), String> {
        let Some(alternatives) = &self.choose else {
            return self.distribution().map(drop);
        };
        if *self
            != (Self {
                choose: self.choose.clone(),
                source: self.source.clone(),
                ..Self::default()
            })
        {
            return Err("choose: cannot be combined with keys of a number".to_owned());
        }
        let Some((first, others)) = alternatives.split_first() else {
            return Err("choose: no alternatives".to_owned());
        };
        if weights(alternatives) == 0 {
            return Err("choose: the weights add up to 0".to_owned());
        }
        for other in others {
            if !first.words.keys().eq(other.words.keys()) {
                let (first, other) = (&first.at, &other.at);
                return Err(format!(
                    "choose: `{first}` and `{other}` define different words"
                ));
            }
        }
        Ok(())
    }

    /// The alternative at this place of the distribution, 0 to 1, and its words; `None` for a
    /// number.
    pub(super) fn choose(&self, place: f64) -> Option<&Alternative> {
        let alternatives = self.choose.as_deref()?;
        let weights = alternatives.iter().map(|alternative| alternative.weight);
        alternatives.get(weighted(weights, place))
    }

    /// The number at this place of the distribution, 0 to 1, made with those of the variables in
    /// `known`.
    ///
    /// # Errors
    /// Names the key that makes no sense.
    pub(super) fn number(&self, place: f64, known: &Words) -> Result<Quantity, String> {
        let other = |key: &str, name: &str| {
            let text = known.get(name).map(Text::as_str);
            let number = text.and_then(|text| text.parse::<Quantity>().ok());
            number.ok_or_else(|| format!("{key}: no number `{name}` is drawn before this one"))
        };
        let mut number = self.distribution()?.at(place);
        for name in &self.times {
            let product = number.times(other("times", name)?);
            number = product
                .ok_or_else(|| format!("times: the product with `{name}` is no quantity"))?;
        }
        if let Some(name) = &self.plus {
            let sum = number.plus(other("plus", name)?);
            number = sum.ok_or_else(|| format!("plus: `{name}` is of another kind"))?;
        }
        if let Some(least) = &self.at_least {
            let least = read("at_least", least)?;
            if least.kind != number.kind {
                return Err(format!("at_least: {least} is of another kind"));
            }
            number.value = number.value.max(least.value);
        }
        Ok(number)
    }

    /// The words that come with its value.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        // All alternatives have the same.
        let first = self.choose.as_deref().and_then(<[Alternative]>::first);
        let words = first.map(|alternative| &alternative.words);
        words
            .into_iter()
            .flat_map(|words| words.keys().map(String::as_str))
    }

    /// The variables that it is made from.
    pub(super) fn others(&self) -> impl Iterator<Item = &str> {
        self.times.iter().chain(&self.plus).map(String::as_str)
    }

    fn distribution(&self) -> Result<Distribution, String> {
        let ends = |key: &str, ends: &[Text; 2]| {
            let (low, high) = (read(key, &ends[0])?, read(key, &ends[1])?);
            if low.kind != high.kind || low.value > high.value {
                return Err(format!("{key}: {low} to {high} is no range"));
            }
            Ok((low, high))
        };
        match (&self.log_uniform, &self.uniform, &self.value) {
            (Some(range), None, None) => {
                let (low, high) = ends("log_uniform", range)?;
                if low.value <= 0.0 {
                    return Err("log_uniform: the lower end has to be above 0".to_owned());
                }
                Ok(Distribution::LogUniform(low, high))
            }
            (None, Some(range), None) => {
                let (low, high) = ends("uniform", range)?;
                Ok(Distribution::Uniform(low, high))
            }
            (None, None, Some(value)) => Ok(Distribution::Value(read("value", value)?)),
            _ => Err("needs one of `log_uniform`, `uniform`, `value` and `choose`".to_owned()),
        }
    }
}

impl Distribution {
    /// The quantile.
    fn at(self, place: f64) -> Quantity {
        match self {
            Self::LogUniform(low, high) => Quantity {
                value: low.value * (high.value / low.value).powf(place),
                ..low
            },
            Self::Uniform(low, high) => Quantity {
                value: low.value + (high.value - low.value) * place,
                ..low
            },
            Self::Value(value) => value,
        }
    }
}

/// The index at this place, 0 to 1, each as wide as its weight says; 0 where all are 0.
pub(super) fn weighted(weights: impl Iterator<Item = u32> + Clone, place: f64) -> usize {
    let total: u64 = weights.clone().map(u64::from).sum();
    let mut rest = place * total as f64;
    let mut is_it = |weight: u32| {
        let weight = f64::from(weight);
        let inside = rest < weight;
        rest -= weight;
        inside
    };
    weights.into_iter().position(&mut is_it).unwrap_or_default()
}

fn weights(alternatives: &[Alternative]) -> u64 {
    let weights = alternatives.iter().map(|alternative| alternative.weight);
    weights.map(u64::from).sum()
}

fn read(key: &str, text: &Text) -> Result<Quantity, String> {
    text.as_str()
        .parse()
        .map_err(|error| format!("{key}: {error}"))
}

fn one() -> u32 {
    1
}
