use super::file::ScorecardFile;
use crate::shell::quoted;
use cc_core::Registry;
use std::path::Path;

/// What is to be measured of one controller.
#[derive(Debug)]
pub(crate) struct ScorecardPlan<'a> {
    /// The criteria, those that are wanted.
    pub(crate) file: &'a ScorecardFile,
    /// Where the criteria were read, unless they are those that come with the program.
    pub(crate) criteria: Option<&'a Path>,
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
        let words =
            |words: &[String]| -> Vec<String> { words.iter().map(|word| quoted(word)).collect() };
        self.command_with(words(self.against), words(self.only))
    }

    /// The command that measures one criterion beside one neighbour.
    pub(super) fn command_of(&self, id: &str, against: &str) -> String {
        self.command_with(vec![quoted(against)], vec![quoted(id)])
    }

    fn command_with(&self, against: Vec<String>, only: Vec<String>) -> String {
        let mut command = format!("bench-client scorecard {}", quoted(&self.cc));
        let criteria = self.criteria.map(|path| quoted(&path.to_string_lossy()));
        let criteria: Vec<String> = criteria.into_iter().collect();
        for (flag, words) in [
            ("--criteria", criteria),
            ("--against", against),
            ("--only", only),
        ] {
            for word in words {
                command.push_str(&format!(" {flag} {word}"));
            }
        }
        command.push_str(&format!(" --rounds {} --seed {}", self.rounds, self.seed));
        command
    }
}
