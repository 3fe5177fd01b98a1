use super::crandom::Crandom;
use super::label;
use crate::spec::{FourState, GilbertElliott, Loss, LossModel};
use core::ops::RangeInclusive;

/// The loss model: which packets vanish before they reach queue and transmitter.
#[derive(Debug)]
pub(super) struct LossStage {
    loss: Option<Loss>,
    /// The state of the Gilbert–Elliott chain, which begins good.
    bad: bool,
    state: FourStates,
    /// Packets seen, copies included.
    packets: u64,
    random: Crandom,
}

/// Where netem's chain of four states is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FourStates {
    ReceivingInGap,
    ReceivingInBurst,
    LosingInBurst,
    LosingInGap,
}

impl LossStage {
    pub(super) fn new(loss: Option<Loss>, seed: u64) -> Self {
        Self {
            loss,
            bad: false,
            state: FourStates::ReceivingInGap,
            packets: 0,
            random: Crandom::new(seed, label::LOSS),
        }
    }

    /// Another model from now on, which begins without a burst. Packets are counted on.
    pub(super) fn set(&mut self, loss: Option<Loss>) {
        if loss != self.loss {
            self.loss = loss;
            self.bad = false;
            self.state = FourStates::ReceivingInGap;
        }
    }

    /// Whether ECN-capable packets are marked instead of lost.
    pub(super) fn marks(&self) -> bool {
        self.loss.as_ref().is_some_and(|loss| loss.ecn)
    }

    pub(super) fn drops_packet(&mut self) -> bool {
        self.packets += 1;
        let Some(loss) = &self.loss else { return false };
        match loss.model {
            LossModel::Random(chance) => self.random.chance(chance.probability, chance.correlation),
            LossModel::GilbertElliott(model) => self.gilbert_elliott(model),
            LossModel::FourState(model) => self.four_state(model),
            LossModel::Packets(ref ranges) => is_listed(ranges, self.packets),
            LossModel::Trace(ref recorded) => recorded.trace.loses(self.packets - 1),
        }
    }

    /// As netem does it, the chain moves first and the packet's fate is that of the state before.
    fn gilbert_elliott(&mut self, model: GilbertElliott) -> bool {
        let (leaves, loss) = if self.bad {
            (model.r, model.loss_in_bad)
        } else {
            (model.p, model.loss_in_good)
        };
        let rng = self.random.rng();
        self.bad ^= rng.chance(leaves);
        rng.chance(loss)
    }

    /// As netem does it, the packet's fate is that of the state that the chain moves to, with one
    /// number for both (`loss_4state`).
    fn four_state(&mut self, model: FourState) -> bool {
        let draw = self.random.rng().below(1_000_000);
        let below = |probability: u64| draw < probability;
        let millionths = |gain: units::Gain| gain.millionths();
        self.state = match self.state {
            FourStates::ReceivingInGap if below(millionths(model.p14)) => FourStates::LosingInGap,
            FourStates::ReceivingInGap if below(millionths(model.p14) + millionths(model.p13)) => {
                FourStates::LosingInBurst
            }
            FourStates::ReceivingInGap | FourStates::LosingInGap => FourStates::ReceivingInGap,
            FourStates::ReceivingInBurst if below(millionths(model.p23)) => {
                FourStates::LosingInBurst
            }
            FourStates::ReceivingInBurst => FourStates::ReceivingInBurst,
            FourStates::LosingInBurst if below(millionths(model.p32)) => {
                FourStates::ReceivingInBurst
            }
            FourStates::LosingInBurst if below(millionths(model.p32) + millionths(model.p31)) => {
                FourStates::ReceivingInGap
            }
            FourStates::LosingInBurst => FourStates::LosingInBurst,
        };
        matches!(
            self.state,
            FourStates::LosingInBurst | FourStates::LosingInGap
        )
    }
}

fn is_listed(ranges: &[RangeInclusive<u64>], number: u64) -> bool {
    let behind = ranges.partition_point(|range| *range.end() < number);
    ranges
        .get(behind)
        .is_some_and(|range| range.contains(&number))
}
