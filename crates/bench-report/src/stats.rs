//! How an A/B test decides.
//!
//! ```text
//! Schedule     block 0: A B   block 1: B A   block 2: …   both sides of a block share one seed
//!                 │                │
//! rounds       a₀ ↔ b₀          a₁ ↔ b₁          pairs: what drifts slowly cancels
//!                 │                │
//! per metric   median of each side · median of bᵢ/aᵢ · median of bᵢ−aᵢ
//!                 └── seeded percentile bootstrap, widened for few rounds ──▶ Decision
//! ```
//!
//! The centre is the **median**, of rounds and of pairs: one stalled round must not carry the
//! result, and the interval of a median keeps its level for every shape of distribution, which
//! that of a mean does not when rounds are skewed or fall into two modes. `docs/measuring.md` has
//! the measured levels, and what an interval from three rounds can mean.

mod bootstrap;
mod design;
mod drawn;
mod fairness;
mod paired;
mod path_bounds;
mod per_metric;
mod schedule;
mod scorecard;
mod signed_rank;
mod stopping;
mod summary;
mod thresholds;
mod unpaired;
mod verdict;

pub use design::Design;
pub use drawn::conclude_drawn;
pub use fairness::{
    FAIRNESS_WINDOW, MIN_FAIR_WINDOWS, UNFAIRNESS, competition, convergence, jain_index,
};
pub use paired::compare;
pub(crate) use paired::few_ratios;
pub use schedule::{Schedule, Slot};
pub use scorecard::{CriterionMeasure, RECOVERED, over_cells};
pub use stopping::{MIN_BLOCKS, goodput_half_width, is_interim_analysis};
pub use summary::summarise;
pub(crate) use thresholds::FEW;
pub use thresholds::{CONFIDENCE, EQUAL, MIN_PAIRS, NEGLIGIBLE};
pub use unpaired::compare_unpaired;
pub(crate) use verdict::machine_was_busy;
pub use verdict::{Ranking, headline, ranking, verdict};

use crate::result::{AbResult, Variant};
use path_bounds::PathBounds;
use std::collections::BTreeMap;

/// Fills in the summaries and the comparisons of `result` from its rounds and its seed.
pub fn conclude(result: &mut AbResult) {
    let seed = result.seed;
    let path = PathBounds::of(result);
    for variant in &mut result.variants {
        variant.summary = summarise(&variant.rounds, seed);
        path.narrow(variant);
    }
    result.comparison = BTreeMap::new();
    result.further_comparisons = BTreeMap::new();
    if let [a, b, further @ ..] = result.variants.as_slice() {
        let design = Design::of(result);
        result.comparison = compare(&a.rounds, &b.rounds, seed, design);
        let against_a = |variant: &Variant| compare(&a.rounds, &variant.rounds, seed, design);
        let further = further.iter().map(|c| (c.name.clone(), against_a(c)));
        result.further_comparisons = further.collect();
        path.narrow_comparison(&mut result.comparison, [&a.rounds, &b.rounds]);
        for (name, comparison) in &mut result.further_comparisons {
            if let Some(variant) = result.variants.iter().find(|variant| variant.name == *name) {
                path.narrow_comparison(comparison, [&a.rounds, &variant.rounds]);
            }
        }
    }
}

#[cfg(test)]
mod tests;
