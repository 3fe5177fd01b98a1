//! The shapes of tc's jitter.
//!
//! tc ships `normal`, `pareto` and `paretonormal` as tables of deviations in units of the jitter,
//! between −4 and 4. Ours have as many entries, the quantiles at the middle of 4,096 equal shares
//! of probability, and are computed here with +, −, × and ÷ alone: no machine rounds those
//! differently.

use crate::spec::Distribution;

/// How far from the mean a delay is, drawn from `distribution` for this jitter, both in
/// nanoseconds. `below` draws a number below its argument. Rounds toward zero.
pub(in crate::link) fn deviation(
    distribution: Distribution,
    jitter: i128,
    below: impl FnOnce(u64) -> u64,
) -> i128 {
    let table = match distribution {
        Distribution::Uniform => {
            // Anywhere in mean − jitter … mean + jitter, the upper end excluded.
            let span = u64::try_from(2 * jitter).expect("a jitter is at most an hour");
            return i128::from(below(span)) - jitter;
        }
        Distribution::Normal => &NORMAL,
        Distribution::Pareto => &PARETO,
        Distribution::ParetoNormal => &PARETO_NORMAL,
    };
    let entry = table[below(SIZE as u64) as usize];
    jitter * i128::from(entry) / i128::from(SCALE)
}

/// Quantiles of the normal distribution with mean 0 and deviation 1.
static NORMAL: Table = to_integers(&normal());
/// Quantiles of Pareto's distribution with exponent 3, moved to mean 0, stretched by 4/3 and cut
/// at 4: mean −0.033, deviation 0.82.
static PARETO: Table = to_integers(&pareto());
/// A quarter of the normal plus three quarters of the Pareto quantile of the same share: mean
/// −0.025, deviation 0.83.
static PARETO_NORMAL: Table = to_integers(&pareto_normal());

type Table = [i16; SIZE];
type Quantiles = [f64; SIZE];

/// Integrates the density from 0 upward and notes where each share is reached; the lower half
/// mirrors the upper.
const fn normal() -> Quantiles {
    let mut quantiles = [0.0; SIZE];
    let step: f64 = 1.0 / 1_024.0;
    let square = step * step;
    // exp(−step²/2) and exp(−step²): the next terms of the series are below 10⁻¹⁸.
    let mut ratio = 1.0 - square / 2.0 + square * square / 8.0;
    let shrink = 1.0 - square + square * square / 2.0;
    let mut density = INVERSE_SQRT_TWO_PI;
    let (mut x, mut share) = (0.0, 0.5);
    let mut index = SIZE / 2;
    while index < SIZE {
        let wanted = middle(index);
        let next_density = density * ratio;
        let slice = (density + next_density) / 2.0 * step;
        if share + slice < wanted {
            share += slice;
            x += step;
            density = next_density;
            ratio *= shrink;
        } else {
            let quantile = x + (wanted - share) / slice * step;
            quantiles[index] = quantile;
            quantiles[SIZE - 1 - index] = -quantile;
            index += 1;
        }
    }
    quantiles
}

const fn pareto() -> Quantiles {
    let mut quantiles = [0.0; SIZE];
    let mut index = 0;
    while index < SIZE {
        let value = (1.0 / cube_root(1.0 - middle(index)) - 1.5) * (4.0 / 3.0);
        quantiles[index] = if value > 4.0 { 4.0 } else { value };
        index += 1;
    }
    quantiles
}

const fn pareto_normal() -> Quantiles {
    let (normal, pareto) = (normal(), pareto());
    let mut quantiles = [0.0; SIZE];
    let mut index = 0;
    while index < SIZE {
        quantiles[index] = normal[index] / 4.0 + pareto[index] * 3.0 / 4.0;
        index += 1;
    }
    quantiles
}

/// The middle of the share of probability that entry `index` stands for.
const fn middle(index: usize) -> f64 {
    (index as f64 + 0.5) / SIZE as f64
}

/// Newton's iteration from above, for values in 0 … 1; 40 steps suffice from 10⁻⁹ on.
const fn cube_root(value: f64) -> f64 {
    let mut root = 1.0;
    let mut steps = 0;
    while steps < 40 {
        root -= (root - value / (root * root)) / 3.0;
        steps += 1;
    }
    root
}

/// Rounds half away from zero.
const fn to_integers(quantiles: &Quantiles) -> Table {
    let mut table = [0; SIZE];
    let mut index = 0;
    while index < SIZE {
        let scaled = quantiles[index] * SCALE as f64;
        let rounded = if scaled < 0.0 {
            scaled - 0.5
        } else {
            scaled + 0.5
        };
        // 4 × 8,192 is one more than 16 bits hold; the conversion saturates.
        table[index] = rounded as i16;
        index += 1;
    }
    table
}

const SIZE: usize = 4_096;
/// One jitter, in units of a table entry (tc's NETEM_DIST_SCALE).
const SCALE: i32 = 8_192;
const INVERSE_SQRT_TWO_PI: f64 = 0.398_942_280_401_432_7;

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and standard deviation in units of the jitter.
    fn moments(table: &Table) -> (f64, f64) {
        let values = || {
            table
                .iter()
                .map(|entry| f64::from(*entry) / f64::from(SCALE))
        };
        let mean = values().sum::<f64>() / SIZE as f64;
        let square = values().map(|value| (value - mean).powi(2)).sum::<f64>() / SIZE as f64;
        (mean, square.sqrt())
    }

    fn assert_moments(table: &Table, mean: f64, deviation: f64) {
        let (m, d) = moments(table);
        assert!((m - mean).abs() < 0.001, "mean {m}, expected {mean}");
        assert!(
            (d - deviation).abs() < 0.001,
            "deviation {d}, expected {deviation}"
        );
    }

    #[test]
    fn the_normal_table_has_the_published_quantiles() {
        assert_moments(&NORMAL, 0.0, 1.0);
        let at = |share: f64| f64::from(NORMAL[(share * SIZE as f64) as usize]) / f64::from(SCALE);
        assert!((at(0.975) - 1.959_964).abs() < 0.003);
        assert!((at(0.841_345) - 1.0).abs() < 0.001);
        assert!((at(0.5)).abs() < 0.001);
    }

    #[test]
    fn the_pareto_table_has_the_moments_of_the_cut_distribution() {
        // With X = min(Pareto(3), 4.5): E X = 1 + (1 − 4.5⁻²)/2, E X² = 1 + 2(1 − 1/4.5).
        let mean: f64 = 1.0 + (1.0 - 4.5_f64.powi(-2)) / 2.0;
        let variance = 1.0 + 2.0 * (1.0 - 1.0 / 4.5) - mean * mean;
        assert_moments(
            &PARETO,
            (mean - 1.5) * 4.0 / 3.0,
            variance.sqrt() * 4.0 / 3.0,
        );
        assert_eq!(PARETO.iter().max(), Some(&i16::MAX));
    }

    #[test]
    fn the_mixed_table_is_a_quarter_normal() {
        let entry = |table: &Table, index: usize| f64::from(table[index]);
        for index in [0, 100, 2_048, 4_000, SIZE - 1] {
            let mixed = entry(&NORMAL, index) / 4.0 + entry(&PARETO, index) * 0.75;
            assert!((entry(&PARETO_NORMAL, index) - mixed).abs() <= 2.0);
        }
        assert_moments(&PARETO_NORMAL, -0.0247, 0.8349);
    }
}
