use clap::{Args, ValueHint};
use std::path::PathBuf;

/// `bench-client report`: results that were measured before, as a page, pictures and tables.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReportArgs {
    /// JSON result of `ab`, `matrix` or `run`; several of `ab` and `run` are shown side by side
    #[arg(value_name = "RESULT.json", value_hint = ValueHint::FilePath, required = true)]
    pub(crate) results: Vec<PathBuf>,
    /// Title of the report and of its pictures, instead of the result's own
    #[arg(short = 'T', long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Note below the title, instead of the result's own
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    /// Write the report to this file [default, if no other output is requested: RESULT.html, or of
    /// several report.html; with the time in its name where that is there]
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
