use bench_kit::cli::values::whole;
use clap::{Args, ValueHint};
use std::path::PathBuf;

/// `bench-client scorecard`: what RFC 9743, or other criteria, ask of a congestion controller.
#[derive(Debug, Clone, Args)]
pub(crate) struct ScorecardArgs {
    /// Congestion controller: NAME[:key=value,...]
    #[arg(value_name = "CC", required_unless_present = "all")]
    pub(crate) cc: Option<String>,
    /// Criteria of this file instead of RFC 9743's, as in scenarios/paceline.toml
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Criteria",
        conflicts_with = "all"
    )]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) criteria: Option<PathBuf>,
    /// Neighbour to measure beside; may be repeated [default: cubic]
    #[arg(long, value_name = "CC", help_heading = "Criteria")]
    pub(crate) against: Vec<String>,
    /// Measure only this criterion, such as bufferbloat; may be repeated
    #[arg(long, value_name = "ID", help_heading = "Criteria")]
    pub(crate) only: Vec<String>,
    /// Rounds of each test, where the criterion does not say how many
    #[arg(long, value_name = "N", default_value_t = 5, help_heading = "Criteria")]
    #[arg(value_parser = whole::<u32>(1..=1_000))]
    pub(crate) rounds: u32,
    /// Random seed, from which each criterion derives its own
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Criteria")]
    #[arg(value_parser = whole::<u64>(0..=u64::MAX))]
    pub(crate) seed: u64,
    /// Write the page to this file instead of the terminal
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Write the result as JSON to this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) json: Option<PathBuf>,
    /// Write a page for every known controller, and README.md, into this directory
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    #[arg(value_hint = ValueHint::DirPath, conflicts_with_all = ["cc", "output", "json"])]
    pub(crate) all: Option<PathBuf>,
}
