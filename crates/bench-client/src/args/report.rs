use clap::{Args, ValueHint};
use std::path::PathBuf;

/// `bench-client report`: a result that was measured before, as a page, pictures and tables.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReportArgs {
    /// JSON result of `ab`, `matrix` or `run`
    #[arg(value_name = "RESULT.json", value_hint = ValueHint::FilePath)]
    pub(crate) result: PathBuf,
    /// Write the report to this file [default: RESULT.html, if no other output is requested]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) html: Option<PathBuf>,
    /// Write every plot as an SVG file into this directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) svg: Option<PathBuf>,
    /// Write the time series of every round as CSV; of a matrix, every cell
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) csv: Option<PathBuf>,
    /// Write one CSV row per round, with all metrics
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) rounds_csv: Option<PathBuf>,
}
