use super::{Finite, Summary};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What came of a test whose variants all ran at once, through one bottleneck.
///
/// Everything counts from the measured part, which is the same for all: it begins when the warm-up
/// of the connection that started last is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Competition {
    /// In the order of their blocks; blocks in which a connection failed have none.
    pub rounds: Vec<CompetitionRound>,
    /// Over the rounds.
    pub jain_index: Summary,
    /// Each variant's share of the goodput, over the rounds.
    pub shares: BTreeMap<String, Summary>,
    /// Over the rounds that did converge; `rounds` of it says how many. `null` when none did.
    pub convergence_seconds: Option<Summary>,
    /// Over the rounds; `null` where the link has no rate.
    pub link_utilisation: Option<Summary>,
}

/// One block of a competition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompetitionRound {
    /// The block of the schedule, from 0; that of the variants' rounds.
    pub block: u32,
    /// Jain's index of fairness of the connections' goodputs: 1 when all have the same, 1/n when
    /// one of n has everything (Jain, Chiu and Hawe, 1984; RFC 5166 §2.3).
    pub jain_index: Finite,
    /// Each variant's share of the goodput, 0 to 1, by the variant's name. The sum is 1.
    pub shares: BTreeMap<String, Finite>,
    /// How long after the last start the connections' goodputs came to be, and until the end
    /// stayed, within a fifth of each other's mean; `null` when they never did. See
    /// [`convergence`](crate::stats::convergence).
    pub convergence_seconds: Option<Finite>,
    /// What the link of the data delivered in the measured part, over what its rate allows;
    /// `null` where it has no rate.
    pub link_utilisation: Option<Finite>,
}
