use super::label;
use crate::spec::{GilbertElliott, Loss};
use units::Rng;

/// The loss model: which packets vanish before they reach queue and transmitter.
#[derive(Debug)]
pub(super) struct LossStage {
    model: Option<Loss>,
    /// The state of the Gilbert–Elliott chain, which begins good.
    bad: bool,
    rng: Rng,
}

impl LossStage {
    pub(super) fn new(model: Option<Loss>, seed: u64) -> Self {
        Self {
            model,
            bad: false,
            rng: Rng::derive(seed, label::LOSS),
        }
    }

    pub(super) fn set(&mut self, model: Option<Loss>) {
        self.model = model;
    }

    /// Whether the next packet is lost.
    pub(super) fn takes_packet(&mut self) -> bool {
        match self.model {
            None => false,
            Some(Loss::Random(probability)) => self.rng.chance(probability),
            Some(Loss::GilbertElliott(model)) => self.gilbert_elliott(model),
        }
    }

    /// As netem does it, the chain moves first and the packet's fate is that of the state before.
    fn gilbert_elliott(&mut self, model: GilbertElliott) -> bool {
        let (leaves, loss) = if self.bad {
            (model.r, model.loss_in_bad)
        } else {
            (model.p, model.loss_in_good)
        };
        self.bad ^= self.rng.chance(leaves);
        self.rng.chance(loss)
    }
}
