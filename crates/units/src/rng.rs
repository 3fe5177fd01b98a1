use crate::gain::Gain;
use core::time::Duration;

/// A small seeded generator of pseudo-random numbers: xoshiro256++ (Blackman and Vigna, 2019),
/// its state filled by SplitMix64.
///
/// The same seed gives the same numbers on every machine. It is not for secrets.
#[derive(Debug, Clone)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// The generator for `seed`; every seed, zero included, is as good as another.
    pub fn new(seed: u64) -> Self {
        let mut mix = seed;
        Self {
            state: core::array::from_fn(|_| split_mix(&mut mix)),
        }
    }

    /// A generator whose numbers are independent of this one's and of those of other `label`s.
    ///
    /// One seed serves a whole run: each part takes its own label, so that a number drawn more in
    /// one part moves nothing in another.
    pub fn derive(seed: u64, label: u64) -> Self {
        let mut mix = label;
        Self::new(seed ^ split_mix(&mut mix))
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A number in `0..bound`, each equally likely.
    ///
    /// # Panics
    /// When `bound` is zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "there is no number below zero");
        // Lemire's multiplication with rejection of the few products that would be favoured.
        let threshold = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(bound);
            if product as u64 >= threshold {
                return (product >> 64) as u64;
            }
        }
    }

    /// A time in `low..high`; `low` when the range is empty.
    pub fn duration_between(&mut self, low: Duration, high: Duration) -> Duration {
        match crate::duration::nanos(high.saturating_sub(low)) {
            0 => low,
            span => low + Duration::from_nanos(self.below(span)),
        }
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: Gain) -> bool {
        self.below(1_000_000) < probability.millionths()
    }

    /// A number in `[0, 1)` with 53 random bits.
    pub fn unit_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_gives_the_published_numbers() {
        // SplitMix64 from 0, and xoshiro256++ from the state 1, 2, 3, 4 (the authors' reference).
        let mut mix = 0;
        assert_eq!(split_mix(&mut mix), 0xE220_A839_7B1D_CDAF);
        let mut rng = Rng {
            state: [1, 2, 3, 4],
        };
        assert_eq!(rng.next_u64(), 41_943_041);
        assert_eq!(rng.next_u64(), 58_720_359);
    }

    #[test]
    fn numbers_below_a_bound_are_uniform() {
        let mut rng = Rng::new(7);
        let mut counts = [0_u32; 10];
        for _ in 0..100_000 {
            counts[usize::try_from(rng.below(10)).unwrap()] += 1;
        }
        // Five standard deviations of a binomial with n = 10^5, p = 0.1.
        assert!(
            counts.iter().all(|c| c.abs_diff(10_000) < 475),
            "{counts:?}"
        );
    }

    #[test]
    fn labels_give_different_streams_of_one_seed() {
        assert_ne!(Rng::derive(1, 1).next_u64(), Rng::derive(1, 2).next_u64());
        assert_eq!(Rng::derive(1, 2).next_u64(), Rng::derive(1, 2).next_u64());
    }

    #[test]
    fn durations_stay_in_their_range() {
        let (low, high) = (Duration::from_secs(2), Duration::from_secs(3));
        let mut rng = Rng::new(3);
        assert!((0..1000).all(|_| (low..high).contains(&rng.duration_between(low, high))));
        assert_eq!(rng.duration_between(low, low), low);
    }
}
