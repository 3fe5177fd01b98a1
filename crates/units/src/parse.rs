//! Decimal numbers with a unit behind them, read without floating point.

use alloc::string::{String, ToString};
use core::fmt;

/// A piece of text that is not the quantity it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    input: String,
    expected: &'static str,
}

impl ParseError {
    /// An error that says: `input` is not `expected`.
    pub fn new(input: &str, expected: &'static str) -> Self {
        Self {
            input: input.to_string(),
            expected,
        }
    }

    /// The text that was refused.
    pub fn input(&self) -> &str {
        &self.input
    }

    /// What should have stood there.
    pub fn expected(&self) -> &'static str {
        self.expected
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not {}", self.input, self.expected)
    }
}

impl core::error::Error for ParseError {}

/// Splits `text` into its number, in millionths, and the unit behind it.
///
/// `None` when there is no number, when it has more than six decimals that are not zero, or when
/// it exceeds 1.8e13.
pub(crate) fn number_and_unit(text: &str) -> Option<(u64, &str)> {
    let unit_at = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && decimals.is_empty() {
        return None;
    }
    let decimals = decimals.trim_end_matches('0');
    if decimals.len() > 6 || decimals.contains('.') {
        return None;
    }
    let whole: u64 = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    let scale = 10_u64.pow(6 - u32::try_from(decimals.len()).ok()?);
    let fraction: u64 = if decimals.is_empty() {
        0
    } else {
        decimals.parse().ok()?
    };
    Some((
        whole
            .checked_mul(1_000_000)?
            .checked_add(fraction * scale)?,
        unit.trim_start(),
    ))
}

/// `millionths × scale ÷ 10^6`, rounded down; `None` above `u64::MAX`.
pub(crate) fn scaled(millionths: u64, scale: u64) -> Option<u64> {
    u64::try_from(u128::from(millionths) * u128::from(scale) / 1_000_000).ok()
}
