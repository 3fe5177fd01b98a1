use units::{Gain, Rng};

/// An event that happens to each packet with the same probability, independently.
#[derive(Debug)]
pub(super) struct Chance {
    probability: Gain,
    rng: Rng,
}

impl Chance {
    pub(super) fn new(probability: Option<Gain>, seed: u64, label: u64) -> Self {
        Self {
            probability: probability.unwrap_or(Gain::ZERO),
            rng: Rng::derive(seed, label),
        }
    }

    pub(super) fn set(&mut self, probability: Option<Gain>) {
        self.probability = probability.unwrap_or(Gain::ZERO);
    }

    pub(super) fn happens(&mut self) -> bool {
        self.probability > Gain::ZERO && self.rng.chance(self.probability)
    }
}
