use super::shared::RemoteArgs;
use super::values::HostPort;
use crate::matrix::{Only, Shard};
use bench_kit::cli::values::{seconds, seconds_or_none, whole};
use clap::{Args, Subcommand, ValueHint};
use std::num::NonZero;
use std::path::PathBuf;
use std::time::Duration;

/// `bench-client matrix`: an A/B test for each combination of conditions.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(disable_help_subcommand = true)]
pub(crate) struct MatrixArgs {
    /// What to do with finished cells.
    #[command(subcommand)]
    pub(crate) command: Option<MatrixCommand>,
    /// Name of a matrix (see `list`), or a TOML file
    #[arg(value_name = "NAME|FILE", required = true, value_hint = ValueHint::FilePath)]
    pub(crate) matrix: Option<String>,
    /// Run in virtual time: several cells at once, same result on every machine
    #[arg(long = "virtual", help_heading = "Sweep")]
    pub(crate) is_virtual: bool,
    /// Keep finished cells in this directory [default: NAME-cells]
    #[arg(long, value_name = "DIR", help_heading = "Sweep", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    /// Draw this many cells, of a matrix whose conditions are random [default: the matrix's]
    #[arg(long, value_name = "N", help_heading = "Sweep")]
    pub(crate) draw: Option<u32>,
    /// Run only these values of a condition, such as loss=1% or cell=17; may be repeated
    #[arg(long, value_name = "AXIS=VALUE", help_heading = "Sweep")]
    pub(crate) only: Vec<Only>,
    /// Run only part I of N, such as 2/8 [default: from Slurm or Kubernetes]
    #[arg(long, value_name = "I/N", help_heading = "Sweep")]
    pub(crate) shard: Option<Shard>,
    /// Cells to run at once in virtual time [default: one per core]
    #[arg(
        long,
        value_name = "N",
        help_heading = "Sweep",
        requires = "is_virtual"
    )]
    pub(crate) jobs: Option<NonZero<usize>>,
    /// Rounds per controller in each cell [default: the matrix's]
    #[arg(long, value_name = "N", help_heading = "Rounds")]
    #[arg(value_parser = whole::<u32>(1..=1_000))]
    pub(crate) rounds: Option<u32>,
    /// Seconds measured in each round [default: the matrix's]
    #[arg(short = 't', long, value_name = "SECONDS", help_heading = "Rounds")]
    #[arg(visible_alias = "seconds", value_parser = seconds)]
    pub(crate) time: Option<Duration>,
    /// Seconds of warm-up, not counted [default: the matrix's]
    #[arg(short = 'O', long, value_name = "SECONDS", help_heading = "Rounds")]
    #[arg(value_parser = seconds_or_none)]
    pub(crate) omit: Option<Duration>,
    /// Random seed, from which each cell derives its own [default: the matrix's]
    #[arg(long, value_name = "N", help_heading = "Rounds")]
    #[arg(value_parser = whole::<u64>(0..=u64::MAX))]
    pub(crate) seed: Option<u64>,
    /// Run against this server, over a network shaped by --shape
    #[arg(
        long,
        value_name = "HOST[:PORT]",
        help_heading = "Server",
        group = "elsewhere"
    )]
    #[arg(value_hint = ValueHint::Hostname, requires = "shape", conflicts_with = "is_virtual")]
    pub(crate) server: Option<HostPort>,
    /// Program that shapes the network, run before each cell as PROGRAM LINK RETURN_LINK
    #[arg(
        long,
        value_name = "PROGRAM",
        help_heading = "Server",
        requires = "server"
    )]
    #[arg(value_hint = ValueHint::CommandName)]
    pub(crate) shape: Option<PathBuf>,
    /// Where the server is, and how it is trusted.
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
    /// What is written.
    #[command(flatten)]
    pub(crate) output: MatrixOutputArgs,
}

/// What to do with cells that are there.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum MatrixCommand {
    /// Merge the directories of several machines into one result
    Merge(MergeArgs),
}

/// `bench-client matrix merge`.
#[derive(Debug, Clone, Args)]
pub(crate) struct MergeArgs {
    /// Directories with finished cells
    #[arg(value_name = "DIR", required = true, value_hint = ValueHint::DirPath)]
    pub(crate) folders: Vec<PathBuf>,
    /// What is written.
    #[command(flatten)]
    pub(crate) output: MatrixOutputArgs,
}

/// What a matrix writes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct MatrixOutputArgs {
    /// Print the result as JSON instead of the tables
    #[arg(short = 'J')]
    pub(crate) print_json: bool,
    /// Write the result as JSON to this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) json: Option<PathBuf>,
    /// Write the report to this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) report: Option<PathBuf>,
    /// Write one CSV row per cell and variant to this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) csv: Option<PathBuf>,
}

impl MatrixOutputArgs {
    /// Whether a result is asked for beyond the tables.
    pub(crate) fn has_any(&self) -> bool {
        let files = [&self.json, &self.report, &self.csv];
        self.print_json || files.into_iter().any(Option::is_some)
    }
}
