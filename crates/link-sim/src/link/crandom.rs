use units::{Gain, Rng};

/// netem's random numbers, each a mixture of a new one and the one before.
///
/// With a correlation ρ the next number is new × (1 − ρ) + last × ρ, in 32 bits (`get_crandom`,
/// Linux 6.18, `net/sched/sch_netem.c`). Such numbers crowd around the middle, so that a small
/// probability becomes much smaller: that is netem's own distortion, kept.
#[derive(Debug)]
pub(super) struct Crandom {
    last: u32,
    rng: Rng,
}

impl Crandom {
    pub(super) fn new(seed: u64, label: u64) -> Self {
        let mut rng = Rng::derive(seed, label);
        let last = rng.next_u64() as u32;
        Self { last, rng }
    }

    /// The independent numbers behind it.
    pub(super) fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    /// True with this probability, which only holds without correlation.
    pub(super) fn chance(&mut self, probability: Gain, correlation: Gain) -> bool {
        if correlation == Gain::ZERO {
            return self.rng.chance(probability);
        }
        u64::from(self.next(correlation)) <= probability.of(u64::from(u32::MAX))
    }

    pub(super) fn next(&mut self, correlation: Gain) -> u32 {
        // netem's probabilities are 32-bit fractions of which the largest is 1.
        let old = u128::from(correlation.of(1 << 32));
        let new = (1 << 32) - old;
        let drawn = u128::from(self.rng.next_u64() as u32);
        let mixed = (drawn * new + u128::from(self.last) * old) >> 32;
        self.last = mixed as u32;
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlated_numbers_resemble_the_one_before_and_crowd_in_the_middle() {
        // With ρ = 1/2 the variance is (1 − ρ)/(1 + ρ) = 1/3 of the uniform one, the correlation ρ.
        let mut random = Crandom::new(1, 1);
        let half = Gain::percent(50);
        let numbers: Vec<f64> = (0..100_000)
            .map(|_| f64::from(random.next(half)) / f64::from(u32::MAX) - 0.5)
            .collect();
        let n = numbers.len() as f64;
        let variance = numbers.iter().map(|x| x * x).sum::<f64>() / n;
        let product = numbers
            .windows(2)
            .map(|pair| pair[0] * pair[1])
            .sum::<f64>()
            / n;
        assert!((variance * 12.0 - 1.0 / 3.0).abs() < 0.01, "{variance}");
        assert!((product / variance - 0.5).abs() < 0.02, "{product}");
    }

    #[test]
    fn fully_correlated_numbers_never_change() {
        let mut random = Crandom::new(1, 1);
        let first = random.next(Gain::ONE);
        assert!((0..100).all(|_| random.next(Gain::ONE) == first));
    }
}
