//! Controllers by name: `NAME` or `NAME:key=value,key=value`.

use crate::controller::{Controller, Setup};
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::ops::RangeInclusive;
use core::time::Duration;
use units::{Bandwidth, Bytes, Gain, ParseError};

/// How a kind of controller is called, tuned and made.
#[derive(Debug, Clone, Copy)]
pub struct ControllerSpec {
    /// The name to choose it by, in lower case.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// What it is, in a line, with its specification.
    pub summary: &'static str,
    /// What can be tuned.
    pub params: &'static [ParamSpec],
    /// Makes one. The parameters have been checked against `params`.
    pub build: fn(&Params, &Setup) -> Box<dyn Controller>,
}

/// One thing that can be tuned.
#[derive(Debug, Clone, Copy)]
pub struct ParamSpec {
    /// Its key in the string.
    pub name: &'static str,
    /// Its value when the string does not name it; fixes the kind of value, too.
    pub default: Value,
    /// What values it takes.
    pub range: Range,
    /// What it means, in a line.
    pub summary: &'static str,
    /// Where the default comes from: document, revision, section.
    pub source: &'static str,
}

impl ParamSpec {
    /// A count within `range`, ours until [`source`](Self::source) says otherwise.
    pub const fn count(name: &'static str, default: u64, range: RangeInclusive<u64>) -> Self {
        Self {
            name,
            default: Value::Count(default),
            range: Range::Between(Value::Count(*range.start()), Value::Count(*range.end())),
            summary: "",
            source: "none: ours",
        }
    }

    /// The same with what it means, in a line.
    #[must_use]
    pub const fn summary(self, summary: &'static str) -> Self {
        Self { summary, ..self }
    }

    /// The same with where the default comes from: document, revision, section.
    #[must_use]
    pub const fn source(self, source: &'static str) -> Self {
        Self { source, ..self }
    }
}

/// What values a parameter takes, beyond being of the default's kind.
#[derive(Debug, Clone, Copy)]
pub enum Range {
    /// From the first to the second, both included.
    Between(Value, Value),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// Whatever its kind can be.
    Any,
}

/// A parameter's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
pub enum Value {
    /// A factor or share: `2.77`, `2%`.
    Gain(Gain),
    /// A time: `200ms`.
    Duration(Duration),
    /// A size: `64k`.
    Bytes(Bytes),
    /// A rate: `100mbit`.
    Bandwidth(Bandwidth),
    /// A count: `4`.
    Count(u64),
    /// `on` or `off`.
    Switch(bool),
    /// One of the words of [`Range::OneOf`].
    Word(&'static str),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gain(gain) => gain.fmt(f),
            Self::Duration(duration) => units::duration::display(*duration).fmt(f),
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Bandwidth(rate) => rate.fmt(f),
            Self::Count(count) => count.fmt(f),
            Self::Switch(on) => f.write_str(if *on { "on" } else { "off" }),
            Self::Word(word) => f.write_str(word),
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Between(low, high) => write!(f, "{low}..{high}"),
            Self::OneOf(words) => f.write_str(&words.join("|")),
            Self::Any => f.write_str("any"),
        }
    }
}

/// A controller's parameters, every one of them set.
#[derive(Debug, Clone)]
pub struct Params {
    specs: &'static [ParamSpec],
    values: Vec<Value>,
}

impl Params {
    /// Every parameter at its default.
    pub fn defaults(specs: &'static [ParamSpec]) -> Self {
        Self {
            specs,
            values: specs.iter().map(|spec| spec.default).collect(),
        }
    }

    /// The value of parameter `name`.
    ///
    /// # Panics
    /// When the controller's spec lists no such parameter.
    pub fn get(&self, name: &str) -> Value {
        let index = self.specs.iter().position(|spec| spec.name == name);
        self.values[index.unwrap_or_else(|| panic!("`{name}` is not in the controller's spec"))]
    }
}

/// Reads one kind of value; a panic says that the spec gives the parameter another kind.
macro_rules! typed_getter {
    ($($name:ident: $variant:ident($type:ty), $what:literal;)*) => {
        impl Params {$(
            #[doc = concat!("Parameter `name`, ", $what, ".")]
            ///
            /// # Panics
            /// When the controller's spec lists no such parameter or gives it another kind.
            pub fn $name(&self, name: &str) -> $type {
                match self.get(name) {
                    Value::$variant(value) => value,
                    other => panic!("`{name}` is {other:?} in the controller's spec"),
                }
            }
        )*}
    };
}

typed_getter! {
    gain: Gain(Gain), "a factor or share";
    duration: Duration(Duration), "a time";
    bytes: Bytes(Bytes), "a size";
    bandwidth: Bandwidth(Bandwidth), "a rate";
    count: Count(u64), "a count";
    switch: Switch(bool), "on or off";
    word: Word(&'static str), "one of the words of its range";
}

/// A controller that has been chosen and tuned; makes one per connection.
///
/// `Display` gives a string that chooses the same again.
#[derive(Debug, Clone)]
pub struct ControllerChoice {
    spec: ControllerSpec,
    params: Params,
}

impl ControllerChoice {
    /// A controller for one connection.
    pub fn build(&self, setup: &Setup) -> Box<dyn Controller> {
        (self.spec.build)(&self.params, setup)
    }

    /// The registry name, without parameters.
    pub fn name(&self) -> &'static str {
        self.spec.name
    }
}

impl fmt::Display for ControllerChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.spec.name)?;
        let mut separator = ':';
        for (spec, value) in self.params.specs.iter().zip(&self.params.values) {
            if *value != spec.default {
                write!(f, "{separator}{}={value}", spec.name)?;
                separator = ',';
            }
        }
        Ok(())
    }
}

/// The names that can be chosen.
#[derive(Debug, Clone)]
pub struct Registry {
    specs: Vec<ControllerSpec>,
}

impl Registry {
    pub(crate) fn of(specs: &[ControllerSpec]) -> Self {
        Self {
            specs: specs.to_vec(),
        }
    }

    /// Adds a controller. One of the same name is replaced.
    pub fn register(&mut self, spec: ControllerSpec) {
        self.specs.retain(|known| known.name != spec.name);
        self.specs.push(spec);
    }

    /// The same with one controller more; see [`register`](Self::register).
    #[must_use]
    pub fn with(mut self, spec: ControllerSpec) -> Self {
        self.register(spec);
        self
    }

    /// What can be chosen, in order of registration.
    pub fn specs(&self) -> &[ControllerSpec] {
        &self.specs
    }

    /// The controller that `text` names: `NAME` or `NAME:key=value,key=value`.
    ///
    /// # Errors
    /// Names the word that is wrong, what could stand there, and the nearest right word.
    pub fn choose(&self, text: &str) -> Result<ControllerChoice, ChooseError> {
        let (name, assignments) = text.split_once(':').unwrap_or((text, ""));
        let spec = *self.find(name)?;
        let mut params = Params::defaults(spec.params);
        for assignment in assignments.split(',').filter(|part| !part.is_empty()) {
            let (key, value) =
                assignment
                    .split_once('=')
                    .ok_or_else(|| ChooseError::NotAnAssignment {
                        word: assignment.to_string(),
                    })?;
            let index = spec
                .params
                .iter()
                .position(|param| param.name == key)
                .ok_or_else(|| {
                    ChooseError::unknown_param(spec.name, key, spec.params.iter().map(|p| p.name))
                })?;
            params.values[index] = read_value(&spec.params[index], value)?;
        }
        Ok(ControllerChoice { spec, params })
    }

    fn find(&self, name: &str) -> Result<&ControllerSpec, ChooseError> {
        let is_named = |spec: &&ControllerSpec| spec.name == name || spec.aliases.contains(&name);
        self.specs.iter().find(is_named).ok_or_else(|| {
            let names = || self.specs.iter().map(|spec| spec.name);
            let all = self
                .specs
                .iter()
                .flat_map(|spec| spec.aliases)
                .copied()
                .chain(names());
            ChooseError::UnknownController {
                word: name.to_string(),
                nearest: units::nearest(name, all).map(ToString::to_string),
                known: names().collect::<Vec<_>>().join(", "),
            }
        })
    }
}

/// Why a string chooses no controller.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChooseError {
    /// No controller has this name.
    UnknownController {
        /// The name.
        word: String,
        /// A name that is spelt much like it.
        nearest: Option<String>,
        /// All names.
        known: String,
    },
    /// The controller has no such parameter.
    UnknownParam {
        /// The controller.
        controller: &'static str,
        /// The key.
        word: String,
        /// A key that is spelt much like it.
        nearest: Option<String>,
        /// All keys of the controller.
        known: String,
    },
    /// A part of the parameter list is not `key=value`.
    NotAnAssignment {
        /// The part.
        word: String,
    },
    /// A value is of the wrong kind or out of range.
    BadValue {
        /// The key.
        param: &'static str,
        /// The value, and what it is not.
        error: String,
    },
}

impl ChooseError {
    fn unknown_param(
        controller: &'static str,
        word: &str,
        known: impl Iterator<Item = &'static str> + Clone,
    ) -> Self {
        Self::UnknownParam {
            controller,
            word: word.to_string(),
            nearest: units::nearest(word, known.clone()).map(ToString::to_string),
            known: known.collect::<Vec<_>>().join(", "),
        }
    }
}

impl fmt::Display for ChooseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hint = |f: &mut fmt::Formatter<'_>, nearest: &Option<String>, known: &str| match nearest
        {
            Some(nearest) => write!(f, "; did you mean `{nearest}`? (known: {known})"),
            None if known.is_empty() => write!(f, "; it has none"),
            None => write!(f, "; known: {known}"),
        };
        match self {
            Self::UnknownController {
                word,
                nearest,
                known,
            } => {
                write!(f, "`{word}` is not a congestion controller")?;
                hint(f, nearest, known)
            }
            Self::UnknownParam {
                controller,
                word,
                nearest,
                known,
            } => {
                write!(f, "`{word}` is not a parameter of {controller}")?;
                hint(f, nearest, known)
            }
            Self::NotAnAssignment { word } => {
                write!(f, "`{word}` is not a parameter: expected key=value")
            }
            Self::BadValue { param, error } => write!(f, "parameter `{param}`: {error}"),
        }
    }
}

impl core::error::Error for ChooseError {}

fn read_value(spec: &ParamSpec, text: &str) -> Result<Value, ChooseError> {
    let bad = |error: String| ChooseError::BadValue {
        param: spec.name,
        error,
    };
    let parsed = match spec.default {
        Value::Gain(_) => text.parse().map(Value::Gain),
        Value::Duration(_) => units::duration::parse(text).map(Value::Duration),
        Value::Bytes(_) => text.parse().map(Value::Bytes),
        Value::Bandwidth(_) => text.parse().map(Value::Bandwidth),
        Value::Count(_) => text
            .parse()
            .map(Value::Count)
            .map_err(|_| ParseError::new(text, "a whole number")),
        Value::Switch(_) => match text {
            "on" => Ok(Value::Switch(true)),
            "off" => Ok(Value::Switch(false)),
            _ => Err(ParseError::new(text, "`on` or `off`")),
        },
        Value::Word(_) => {
            let Range::OneOf(words) = spec.range else {
                unreachable!("a word has a list of words")
            };
            let word = words.iter().find(|word| **word == text);
            return word.map(|word| Value::Word(word)).ok_or_else(|| {
                bad(alloc::format!(
                    "`{text}` is not one of {}",
                    words.join(", ")
                ))
            });
        }
    };
    let value = parsed.map_err(|error| bad(error.to_string()))?;
    match spec.range {
        Range::Between(low, high) if value < low || value > high => Err(bad(alloc::format!(
            "`{text}` is not between {low} and {high}"
        ))),
        _ => Ok(value),
    }
}

#[cfg(test)]
mod tests;
