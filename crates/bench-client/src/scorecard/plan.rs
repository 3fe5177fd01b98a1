use super::file::ScorecardFile;
use crate::shell::quoted;
use cc_core::Registry;

/// What is to be measured of one controller.
#[derive(Debug)]
pub(crate) struct ScorecardPlan<'a> {
    /// The criteria, those that are wanted.
    pub(crate) file: &'a ScorecardFile,
    /// The names of those, where they are not all.
    pub(crate) only: &'a [String],
    /// The controller.
    pub(crate) cc: String,
    /// At least one neighbour.
    pub(crate) against: &'a [String],
    pub(crate) rounds: u32,
    pub(crate) seed: u64,
    pub(crate) registry: &'a Registry,
}

impl ScorecardPlan<'_> {
    /// The command that makes the page again.
    pub(super) fn command(&self) -> String {
        let mut command = format!("bench-client scorecard {}", quoted(&self.cc));
        for (flag, words) in [("--against", self.against), ("--only", self.only)] {
            for word in words {
                command.push_str(&format!(" {flag} {}", quoted(word)));
            }
        }
        command.push_str(&format!(" --rounds {} --seed {}", self.rounds, self.seed));
        command
    }
}
