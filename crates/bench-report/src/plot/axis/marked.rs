/// An axis whose ticks are chosen beforehand: logarithmic, or values as somebody wrote them.
#[derive(Debug, Clone)]
pub(in crate::plot) struct Marked {
    is_log: bool,
    low: f64,
    high: f64,
    /// The coordinates of `low` and `high`.
    from: f64,
    to: f64,
    ticks: Vec<(f64, String)>,
}

impl Marked {
    /// A logarithmic axis that shows exactly `low ..= high`, both above zero, with ticks at 1, 2, 5
    /// and their decimal multiples, or fewer over more than two decades.
    pub(in crate::plot) fn log(low: f64, high: f64) -> Self {
        let low = low.max(MIN_DRAWN);
        let high = if high > low { high } else { low * 10.0 };
        let decades = (high / low).log10();
        let steps: &[f64] = match decades {
            d if d <= 2.0 => &[1.0, 2.0, 5.0],
            d if d <= 3.0 => &[1.0, 3.0],
            _ => &[1.0],
        };
        let first = low.log10().floor() as i32;
        let powers = (first..first + MAX_DECADES).map(|power| 10_f64.powi(power));
        let values = powers.flat_map(|power| steps.iter().map(move |step| power * step));
        let inside = values.filter(|value| (low * ROUNDING..=high / ROUNDING).contains(value));
        let ticks = inside.map(|value| (value, plain(value))).collect();
        Self::log_with(low, high, ticks)
    }

    pub(in crate::plot) fn log_with(low: f64, high: f64, ticks: Vec<(f64, String)>) -> Self {
        Self {
            is_log: true,
            low,
            high,
            from: 0.0,
            to: 1.0,
            ticks,
        }
    }

    pub(in crate::plot) fn linear_with(low: f64, high: f64, ticks: Vec<(f64, String)>) -> Self {
        Self {
            is_log: false,
            ..Self::log_with(low, high, ticks)
        }
    }

    pub(in crate::plot) fn over(self, from: f64, to: f64) -> Self {
        Self { from, to, ..self }
    }

    pub(in crate::plot) fn at(&self, value: f64) -> f64 {
        let share = if self.is_log {
            // Zero lies at the low end.
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + share * (self.to - self.from)
    }

    pub(in crate::plot) fn ticks(&self) -> Vec<(f64, String)> {
        self.ticks.clone()
    }
}

/// `0.001`, `0.5`, `200`: without an exponent, and without the digits of rounding.
fn plain(value: f64) -> String {
    let decimals = (-value.log10().floor()).max(0.0) as usize;
    format!("{value:.decimals$}")
}

/// Below every quantity that is drawn.
const MIN_DRAWN: f64 = 1e-9;
/// What rounding may take from a multiple of ten.
const ROUNDING: f64 = 1.0 - 1e-9;
/// More than any axis here has.
const MAX_DECADES: i32 = 25;

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(low: f64, high: f64) -> Vec<String> {
        let ticks = Marked::log(low, high).ticks();
        ticks.into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn a_logarithmic_axis_has_few_round_ticks() {
        assert_eq!(labels(20.0, 600.0), ["20", "50", "100", "200", "500"]);
        assert_eq!(
            labels(0.001, 1.0),
            ["0.001", "0.003", "0.01", "0.03", "0.1", "0.3", "1"]
        );
        assert_eq!(labels(1e-5, 1.0).len(), 6);
    }

    #[test]
    fn decades_are_equally_long_and_zero_lies_at_the_low_end() {
        let axis = Marked::log(1.0, 100.0).over(0.0, 200.0);
        assert!((axis.at(10.0) - 100.0).abs() < 1e-9);
        assert_eq!(axis.at(0.0), 0.0);
    }
}
