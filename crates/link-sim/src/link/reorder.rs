use super::chance::Chance;
use super::label;
use crate::spec::Reorder;

/// netem's reordering: some packets are sent at once and so overtake those that are delayed.
#[derive(Debug)]
pub(super) struct ReorderStage {
    chance: Chance,
    gap: u32,
    /// Packets delayed since the last one that was sent at once.
    delayed: u32,
}

impl ReorderStage {
    pub(super) fn new(reorder: Option<Reorder>, seed: u64) -> Self {
        let chance = reorder.map(|reorder| reorder.chance);
        Self {
            chance: Chance::new(chance, seed, label::REORDER),
            gap: reorder.map_or(1, |reorder| reorder.gap),
            delayed: 0,
        }
    }

    pub(super) fn set(&mut self, reorder: Option<Reorder>) {
        self.chance.set(reorder.map(|reorder| reorder.chance));
        self.gap = reorder.map_or(1, |reorder| reorder.gap);
    }

    /// Whether the next packet skips the delay: only behind `gap` − 1 that did not.
    pub(super) fn skips_delay(&mut self) -> bool {
        let skips_delay = self.delayed >= self.gap - 1 && self.chance.happens();
        self.delayed = if skips_delay {
            0
        } else {
            self.delayed.saturating_add(1)
        };
        skips_delay
    }
}
