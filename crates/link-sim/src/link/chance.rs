use super::crandom::Crandom;
use crate::spec;
use units::Gain;

/// An event that happens to each packet with the same probability, independently unless netem's
/// correlation is asked for.
#[derive(Debug)]
pub(super) struct Chance {
    chance: spec::Chance,
    random: Crandom,
}

impl Chance {
    pub(super) fn new(chance: Option<spec::Chance>, seed: u64, label: u64) -> Self {
        Self {
            chance: chance.unwrap_or_default(),
            random: Crandom::new(seed, label),
        }
    }

    pub(super) fn set(&mut self, chance: Option<spec::Chance>) {
        self.chance = chance.unwrap_or_default();
    }

    pub(super) fn happens(&mut self) -> bool {
        let spec::Chance {
            probability,
            correlation,
        } = self.chance;
        probability > Gain::ZERO && self.random.chance(probability, correlation)
    }
}
