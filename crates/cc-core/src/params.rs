//! What can be tuned in a controller: each parameter's declaration, and the values chosen.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::ops::RangeInclusive;
use core::time::Duration;
use units::{Bandwidth, Bytes, Gain, ParseError};

/// One thing that can be tuned.
///
/// Made by the function of its kind of value, such as [`count`](Self::count), with
/// [`summary`](Self::summary) and [`source`](Self::source) after it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
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
    const fn new(name: &'static str, default: Value, range: Range) -> Self {
        Self {
            name,
            default,
            range,
            summary: "",
            source: "none: ours",
        }
    }

    /// On or off, ours until [`source`](Self::source) says otherwise.
    pub const fn switch(name: &'static str, default: bool) -> Self {
        Self::new(name, Value::Switch(default), Range::Any)
    }

    /// One of `words`, ours until [`source`](Self::source) says otherwise.
    pub const fn word(
        name: &'static str,
        default: &'static str,
        words: &'static [&'static str],
    ) -> Self {
        Self::new(name, Value::Word(default), Range::OneOf(words))
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

/// Declares a parameter of each kind that has an order.
macro_rules! ordered {
    ($($name:ident: $variant:ident($type:ty), $what:literal;)*) => {
        impl ParamSpec {$(
            #[doc = concat!($what, " within `range`, ours until")]
            /// [`source`](Self::source) says otherwise.
            pub const fn $name(
                name: &'static str,
                default: $type,
                range: RangeInclusive<$type>,
            ) -> Self {
                let range = Range::Between(
                    Value::$variant(*range.start()),
                    Value::$variant(*range.end()),
                );
                Self::new(name, Value::$variant(default), range)
            }
        )*}
    };
}

ordered! {
    gain: Gain(Gain), "A factor or share";
    duration: Duration(Duration), "A time";
    bytes: Bytes(Bytes), "A size";
    bandwidth: Bandwidth(Bandwidth), "A rate";
    count: Count(u64), "A count";
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
    pub(crate) specs: &'static [ParamSpec],
    pub(crate) values: Vec<Value>,
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

/// Declares the parameters of a controller, each once: its name, kind, default and range, what it
/// means, where the default comes from. Makes of them the struct that a controller reads, and the
/// list that the registry offers, in the same order.
macro_rules! tuning {
    (
        $(#[$meta:meta])*
        $vis:vis struct $Tuning:ident, $PARAMS:ident;
        $(
            $(#[$doc:meta])*
            $name:ident: $kind:ident($($value:expr),+ $(,)?), $summary:expr, $source:expr;
        )*
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy)]
        $vis struct $Tuning {
            $($(#[$doc])* $vis $name: $crate::params::type_of!($kind),)*
        }

        impl $Tuning {
            /// The values chosen.
            $vis fn new(params: &$crate::params::Params) -> Self {
                Self { $($name: params.$kind(stringify!($name)),)* }
            }
        }

        /// What the registry offers.
        $vis const $PARAMS: &[$crate::params::ParamSpec] = &[$(
            $crate::params::ParamSpec::$kind(stringify!($name), $($value),+)
                .summary($summary)
                .source($source),
        )*];
    };
}

/// The type of a kind of parameter.
macro_rules! type_of {
    (gain) => {
        units::Gain
    };
    (duration) => {
        core::time::Duration
    };
    (bytes) => {
        units::Bytes
    };
    (bandwidth) => {
        units::Bandwidth
    };
    (count) => {
        u64
    };
    (switch) => {
        bool
    };
}

pub(crate) use {tuning, type_of};

/// Two lists, one after the other; `ALL` is how long they are together.
///
/// # Panics
/// When `ALL` is another number.
pub(crate) const fn joined<const ALL: usize>(
    first: &[ParamSpec],
    second: &[ParamSpec],
) -> [ParamSpec; ALL] {
    assert!(first.len() + second.len() == ALL);
    let mut all = [ParamSpec::switch("", false); ALL];
    let mut index = 0;
    while index < ALL {
        all[index] = if index < first.len() {
            first[index]
        } else {
            second[index - first.len()]
        };
        index += 1;
    }
    all
}

/// `params` with another default of the parameter `name`.
///
/// # Panics
/// When there is none of that name, or more or fewer than `ALL` in all.
pub(crate) const fn with_default<const ALL: usize>(
    params: &[ParamSpec],
    name: &str,
    default: Value,
    source: &'static str,
) -> [ParamSpec; ALL] {
    let mut all = joined(params, &[]);
    let mut index = 0;
    while !is_same(all[index].name.as_bytes(), name.as_bytes()) {
        index += 1;
    }
    all[index].default = default;
    all[index].source = source;
    all
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    match (one, other) {
        ([], []) => true,
        ([first, one @ ..], [same, other @ ..]) => *first == *same && is_same(one, other),
        _ => false,
    }
}

/// The value of `spec` that `text` means, or what is wrong with it.
pub(crate) fn read_value(spec: &ParamSpec, text: &str) -> Result<Value, String> {
    let parsed = match spec.default {
        Value::Gain(_) => text.parse().map(Value::Gain),
        Value::Duration(_) => units::duration::parse(text).map(Value::Duration),
        Value::Bytes(_) => text.parse().map(Value::Bytes),
        Value::Bandwidth(_) if text.to_ascii_lowercase().ends_with("bps") => {
            return Err(alloc::format!(
                "`{text}` is in bytes to tc and in bits to iperf3; write mbit, kbit or gbit"
            ));
        }
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
            return word
                .map(|word| Value::Word(word))
                .ok_or_else(|| alloc::format!("`{text}` is not one of {}", words.join(", ")));
        }
    };
    let value = parsed.map_err(|error| error.to_string())?;
    match spec.range {
        Range::Between(low, high) if value < low || value > high => {
            Err(alloc::format!("`{text}` is not between {low} and {high}"))
        }
        _ => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    tuning! {
        struct Tuning, PARAMS;
        gain: gain(Gain::ONE, Gain::ZERO..=Gain::ONE), "a share", "a document";
        rounds: count(3, 1..=9), "a count", "another";
    }

    #[test]
    fn one_declaration_makes_what_is_read_and_what_is_offered() {
        let Tuning { gain, rounds } = Tuning::new(&Params::defaults(PARAMS));
        assert_eq!((gain, rounds), (Gain::ONE, 3));
        let texts = PARAMS
            .iter()
            .map(|param| (param.name, param.summary, param.source));
        let expected = [
            ("gain", "a share", "a document"),
            ("rounds", "a count", "another"),
        ];
        assert!(texts.eq(expected));
    }

    #[test]
    fn a_rate_in_bps_is_refused_since_tc_and_iperf3_mean_different_ones() {
        tuning! {
            struct Rated, RATED;
            rate: bandwidth(Bandwidth::ZERO, Bandwidth::ZERO..=Bandwidth::MAX), "a rate", "it";
        }
        let read = |text| read_value(&RATED[0], text);
        let five = Bandwidth::from_bits_per_sec(5_000_000);
        assert_eq!(Rated::new(&Params::defaults(RATED)).rate, Bandwidth::ZERO);
        assert_eq!(read("5mbit"), Ok(Value::Bandwidth(five)));
        for text in ["5Mbps", "5mbps", "5bps"] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(&alloc::format!("`{text}`")), "{error}");
            assert!(error.ends_with("write mbit, kbit or gbit"), "{error}");
        }
    }

    #[test]
    fn another_default_is_that_of_the_parameter_named() {
        let params: [ParamSpec; 2] = with_default(PARAMS, "rounds", Value::Count(5), "a third");
        assert_eq!(params[1].default, Value::Count(5));
        assert_eq!(
            (params[0].source, params[1].source),
            ("a document", "a third")
        );
    }

    #[test]
    #[should_panic(expected = "index out of bounds")]
    fn a_default_of_no_parameter_is_our_fault() {
        let _: [ParamSpec; 2] = with_default(PARAMS, "round", Value::Count(5), "");
    }
}
