mod marked;

pub(super) use marked::Marked;

#[derive(Debug, Clone)]
pub(super) enum Axis {
    /// With ticks at round numbers.
    Linear(Linear),
    Marked(Marked),
}

impl Axis {
    /// The same axis with its low end at coordinate `from` and its high end at `to`.
    pub(super) fn over(self, from: f64, to: f64) -> Self {
        match self {
            Self::Linear(axis) => Self::Linear(axis.over(from, to)),
            Self::Marked(axis) => Self::Marked(axis.over(from, to)),
        }
    }

    pub(super) fn at(&self, value: f64) -> f64 {
        match self {
            Self::Linear(axis) => axis.at(value),
            Self::Marked(axis) => axis.at(value),
        }
    }

    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        match self {
            Self::Linear(axis) => axis.ticks().collect(),
            Self::Marked(axis) => axis.ticks(),
        }
    }
}

impl From<Linear> for Axis {
    fn from(axis: Linear) -> Self {
        Self::Linear(axis)
    }
}

impl From<Marked> for Axis {
    fn from(axis: Marked) -> Self {
        Self::Marked(axis)
    }
}

/// A linear axis from a value to a coordinate, with ticks at round numbers.
#[derive(Debug, Clone)]
pub(super) struct Linear {
    low: f64,
    high: f64,
    step: f64,
    /// The coordinates of `low` and `high`.
    from: f64,
    to: f64,
}

impl Linear {
    /// An axis that shows at least `low ..= high` with about `ticks` ticks, the ends being ticks.
    pub(super) fn round(low: f64, high: f64, ticks: u32) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        let step = round_step((high - low) / f64::from(ticks));
        Self {
            low: (low / step + SLACK).floor() * step,
            high: (high / step - SLACK).ceil() * step,
            step,
            from: 0.0,
            to: 1.0,
        }
    }

    /// An axis that shows exactly `low ..= high`, with ticks inside.
    pub(super) fn exact(low: f64, high: f64, ticks: u32) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        Self {
            low,
            high,
            step: round_step((high - low) / f64::from(ticks)),
            from: 0.0,
            to: 1.0,
        }
    }

    /// The same axis with its low end at coordinate `from` and its high end at `to`.
    pub(super) fn over(self, from: f64, to: f64) -> Self {
        Self { from, to, ..self }
    }

    /// The lowest and the highest value shown.
    pub(super) fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    pub(super) fn at(&self, value: f64) -> f64 {
        self.from + (value - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    /// The ticks with their labels, all with the same number of decimals.
    pub(super) fn ticks(&self) -> impl Iterator<Item = (f64, String)> + '_ {
        let first = (self.low / self.step - SLACK).ceil();
        let decimals = (-self.step.log10().floor()).max(0.0) as usize;
        (0..MAX_TICKS)
            .map(move |index| (first + f64::from(index)) * self.step)
            .take_while(|value| *value <= self.high + self.step * SLACK)
            .map(move |value| (value, format!("{:.decimals$}", value + 0.0)))
    }
}

/// The smallest of 1, 2, 5 times a power of ten that is at least `step`.
fn round_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    let multiple = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|multiple| power * multiple >= step * (1.0 - SLACK))
        .unwrap_or(10.0);
    power * multiple
}

/// A logarithmic axis of ratios, with ticks at 1, 2, 5 and their decimal multiples and fractions.
#[derive(Debug, Clone)]
pub(super) struct Ratios {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Ratios {
    /// An axis over coordinates `from ..= to` that shows one and all of `values`, cut at a
    /// hundredth and a hundred times.
    pub(super) fn new(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        // At least from 0.8 to 1.25, so that a difference of a percent looks small.
        let (low, high) = values
            .filter(|value| *value > 0.0)
            .fold((0.8_f64, 1.25_f64), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        let (low, high) = (low.max(0.01), high.min(100.0));
        let margin = (high / low).powf(0.06);
        Self {
            low: low / margin,
            high: high * margin,
            from,
            to,
        }
    }

    /// The coordinate of `ratio`, at the nearer end when it lies outside.
    pub(super) fn at(&self, ratio: f64) -> f64 {
        let ratio = ratio.clamp(self.low, self.high);
        let share = (ratio / self.low).ln() / (self.high / self.low).ln();
        self.from + share * (self.to - self.from)
    }

    pub(super) fn contains(&self, ratio: f64) -> bool {
        (self.low..=self.high).contains(&ratio)
    }

    /// The finest of [`RATIO_TICKS`] whose labels have room.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let inside = |candidates: &[f64]| -> Vec<f64> {
            let ticks = candidates.iter().copied();
            ticks.filter(|&tick| self.contains(tick)).collect()
        };
        let has_room = |ticks: &Vec<f64>| {
            let close = |pair: &[f64]| self.at(pair[1]) - self.at(pair[0]) < RATIO_LABEL;
            !ticks.windows(2).any(close)
        };
        let mut choices = RATIO_TICKS.iter().map(|candidates| inside(candidates));
        let ticks = choices.find(has_room).unwrap_or_default();
        ticks
            .into_iter()
            .map(|tick| (tick, tick.to_string()))
            .collect()
    }
}

/// From the finest to the coarsest; the last has room on any axis of a figure.
const RATIO_TICKS: [&[f64]; 5] = [
    &[
        0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.6, 2.0,
    ],
    &[
        0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0,
    ],
    &[
        0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0,
    ],
    &[0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0],
    &[0.01, 0.1, 1.0, 10.0, 100.0],
];

/// What the label of a ratio needs, in units.
const RATIO_LABEL: f64 = 30.0;
/// What rounding may leave of a whole number of steps.
const SLACK: f64 = 1e-9;
/// More than any axis here has, should a step ever be lost in rounding.
const MAX_TICKS: u32 = 50;

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Linear) -> Vec<String> {
        axis.ticks().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round_and_the_ends_of_a_round_axis_are_ticks() {
        assert_eq!(labels(&Linear::round(0.0, 94.3, 4)), ["0", "50", "100"]);
        assert_eq!(
            labels(&Linear::round(0.0, 0.37, 4)),
            ["0.0", "0.1", "0.2", "0.3", "0.4"]
        );
        assert_eq!(
            labels(&Linear::round(40.0, 83.0, 4)),
            ["40", "60", "80", "100"]
        );
        assert_eq!(
            labels(&Linear::exact(0.0, 5.0, 5)),
            ["0", "1", "2", "3", "4", "5"]
        );
        assert_eq!(
            labels(&Linear::exact(0.0, 4.97, 5)),
            ["0", "1", "2", "3", "4"]
        );
    }

    #[test]
    fn an_axis_of_nothing_still_has_an_extent() {
        let axis = Linear::round(0.0, 0.0, 4).over(100.0, 0.0);
        assert_eq!(axis.at(0.0), 100.0);
        assert!(axis.at(1.0).is_finite());
    }

    #[test]
    fn twice_and_half_are_equally_far_from_one() {
        let axis = Ratios::new([0.5, 2.0].into_iter(), 0.0, 100.0);
        assert!((axis.at(1.0) - 50.0).abs() < 1e-9);
        assert!((axis.at(2.0) + axis.at(0.5) - 100.0).abs() < 1e-9);
    }

    #[test]
    fn ratios_beyond_a_hundred_lie_at_the_end() {
        let axis = Ratios::new([1e6, 0.0].into_iter(), 0.0, 100.0);
        assert!(!axis.contains(1e6));
        assert_eq!(axis.at(1e6), 100.0);
        assert!(axis.ticks().len() <= 7, "{:?}", axis.ticks());
    }

    #[test]
    fn every_range_of_ratios_has_two_to_seven_ticks() {
        for exponent in 0..60 {
            let ratio = 10_f64.powf(f64::from(exponent) / 10.0);
            for values in [[ratio, 1.0], [1.0 / ratio, 1.0], [ratio, 1.0 / ratio]] {
                let ticks = Ratios::new(values.into_iter(), 0.0, 184.0).ticks();
                assert!((2..=7).contains(&ticks.len()), "{values:?}: {ticks:?}");
            }
        }
    }
}
