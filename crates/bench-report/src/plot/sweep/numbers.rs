use super::super::axis::{Axis, Marked};
use crate::result::MatrixAxis;

#[derive(Debug, PartialEq)]
pub(super) struct Numbers {
    values: Vec<f64>,
    pub(super) unit: String,
    pub(super) is_log: bool,
}

impl Numbers {
    /// `None` when one of at least two is no number, or has another unit.
    pub(super) fn of(axis: &MatrixAxis) -> Option<Self> {
        let numbers: Option<Vec<(f64, &str)>> = axis.values.iter().map(|v| number(v)).collect();
        let numbers = numbers.filter(|numbers| numbers.len() > 1)?;
        let unit = numbers
            .iter()
            .map(|(_, unit)| *unit)
            .find(|unit| !unit.is_empty());
        let unit = unit.unwrap_or_default();
        // A bare zero has any unit.
        let fits = |(value, other): &(f64, &str)| *other == unit || *value == 0.0;
        if !numbers.iter().all(fits) {
            return None;
        }
        let values: Vec<f64> = numbers.into_iter().map(|(value, _)| value).collect();
        let above_zero = values.iter().copied().filter(|value| *value > 0.0);
        let low = above_zero.clone().fold(f64::INFINITY, f64::min);
        let high = above_zero.fold(0.0, f64::max);
        Some(Self {
            is_log: high >= 10.0 * low,
            values,
            unit: unit.to_owned(),
        })
    }

    /// The least value that a logarithmic axis can show, and the largest.
    pub(super) fn extent(&self) -> (f64, f64) {
        let drawn = (0..self.values.len()).map(|place| self.drawn(place));
        drawn.fold((f64::INFINITY, 0.0), |(low, high), value| {
            (low.min(value), high.max(value))
        })
    }

    /// Where the value at this place is drawn: zero half a decade below the others on a
    /// logarithmic axis.
    pub(super) fn drawn(&self, place: usize) -> f64 {
        let value = self.values[place];
        if value > 0.0 || !self.is_log {
            return value;
        }
        let above_zero = self.values.iter().copied().filter(|value| *value > 0.0);
        above_zero.fold(f64::INFINITY, f64::min) / 3.0
    }

    /// An axis whose ticks are the values as their author wrote them.
    pub(super) fn axis(&self, axis: &MatrixAxis) -> Axis {
        let drawn = (0..self.values.len()).map(|place| self.drawn(place));
        let ticks = drawn.zip(axis.values.iter().cloned()).collect();
        let (low, high) = self.extent();
        if self.is_log {
            let margin = (high / low).powf(0.04);
            Marked::log_with(low / margin, high * margin, ticks).into()
        } else {
            let margin = 0.04 * (high - low).max(f64::MIN_POSITIVE);
            Marked::linear_with(low - margin, high + margin, ticks).into()
        }
    }
}

/// `0.1%` as 0.1 and `%`; units of time, rate and size are brought to one of each kind.
fn number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(text.len());
    let value: f64 = text[..end].parse().ok()?;
    let unit = text[end..].trim_start();
    let (factor, unit) = match unit {
        "us" => (1e-3, "ms"),
        "s" => (1e3, "ms"),
        "bit" => (1e-6, "mbit"),
        "kbit" => (1e-3, "mbit"),
        "gbit" => (1e3, "mbit"),
        other if other.chars().all(|c| c.is_ascii_alphabetic() || c == '%') => (1.0, other),
        _ => return None,
    };
    Some((value * factor, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(values: &[&str]) -> Option<Numbers> {
        Numbers::of(&MatrixAxis {
            name: "any".to_owned(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
        })
    }

    #[test]
    fn values_of_one_kind_are_numbers_of_one_unit() {
        let delays = numbers(&["500us", "20ms", "1s"]).unwrap();
        assert_eq!(
            (delays.values, delays.unit.as_str()),
            (vec![0.5, 20.0, 1_000.0], "ms")
        );
        let rates = numbers(&["500kbit", "2mbit", "1gbit"]).unwrap();
        assert_eq!(rates.values, [0.5, 2.0, 1_000.0]);
        assert!(numbers(&["0.05", "16"]).unwrap().is_log);
        assert!(!numbers(&["2", "8"]).unwrap().is_log);
    }

    #[test]
    fn what_is_no_number_or_of_two_kinds_is_not() {
        for values in [
            &["cubic", "bbr3"][..],
            &["1%", "1ms"],
            &["1%", "on"],
            &["5%"],
            &["1 2", "3"],
        ] {
            assert_eq!(numbers(values), None, "{values:?}");
        }
    }

    #[test]
    fn zero_has_any_unit_and_a_place_on_a_logarithmic_axis() {
        let losses = numbers(&["0", "0.1%", "10%"]).unwrap();
        assert!(losses.is_log && losses.unit == "%");
        let (low, high) = losses.extent();
        assert!(low > 0.0 && low < 0.1 && high == 10.0);
    }
}
