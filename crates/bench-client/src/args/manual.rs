use bench_kit::completions::Shell;
use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;

/// `bench-client man`: the manual pages.
#[derive(Debug, Clone, Args)]
pub(crate) struct ManArgs {
    /// Directory for the pages of bench-client and bench-server
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: PathBuf,
}

/// `bench-client completions`: what a shell needs to complete a command line.
#[derive(Debug, Clone, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell to complete for
    pub(crate) shell: Shell,
    /// Program to complete
    #[arg(value_enum, default_value_t = Program::BenchClient)]
    pub(crate) program: Program,
}

/// A program that this crate makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Program {
    BenchClient,
    BenchServer,
}
