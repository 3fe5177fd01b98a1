//! The command lines. Flags have iperf3's letters and meaning wherever iperf3 has one.

mod ab;
mod list;
mod manual;
mod matrix;
mod report;
mod run;
mod scorecard;
mod shared;
mod values;

pub(crate) use ab::AbArgs;
pub(crate) use list::ListArgs;
pub(crate) use manual::{CompletionsArgs, ManArgs, Program};
pub(crate) use matrix::{MatrixArgs, MatrixCommand, MatrixOutputArgs};
pub(crate) use report::ReportArgs;
pub(crate) use run::{JsonFormat, RunArgs};
pub(crate) use scorecard::ScorecardArgs;
pub(crate) use shared::RemoteArgs;
pub(crate) use values::{HostPort, NamedServer};

use bench_kit::cli::{self, Exit, HELP_WIDTH};
use bench_kit::failure::Failure;
use clap::{CommandFactory as _, Parser, Subcommand};
use std::ffi::OsString;

/// Throughput runs and A/B tests of QUIC congestion controllers
#[derive(Debug, Clone, Parser)]
#[command(name = "bench-client", version, disable_version_flag = true)]
#[command(max_term_width = HELP_WIDTH, propagate_version = true)]
pub(crate) struct ClientArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Print the version
    #[arg(short = 'v', short_alias = 'V', long, action = clap::ArgAction::Version)]
    version: (),
}

/// What the client can do.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Command {
    /// Measure the throughput to a bench-server, as iperf3 does
    #[command(after_help = EXAMPLES_OF_RUN)]
    Run(Box<RunArgs>),
    /// Compare congestion controllers over an emulated link or a real network
    #[command(after_help = EXAMPLES_OF_AB)]
    Ab(Box<AbArgs>),
    /// Run an A/B test for each combination of conditions; rerun to resume
    Matrix(Box<MatrixArgs>),
    /// Measure a controller by the criteria of RFC 9743, in virtual time
    #[command(after_help = EXAMPLES_OF_SCORECARD)]
    Scorecard(ScorecardArgs),
    /// Turn a saved JSON result into a report, plots and CSV files
    Report(ReportArgs),
    /// List controllers, the words of links, named links and matrices
    List(ListArgs),
    /// Write the man pages to a directory
    Man(ManArgs),
    /// Print a shell completion script
    Completions(CompletionsArgs),
}

/// The command line, for manual pages and completions.
pub(crate) fn command() -> clap::Command {
    ClientArgs::command()
}

/// Reads the command line; the first argument is the program's name.
///
/// # Errors
/// The program should end now: `Ok` in [`Exit::Asked`] holds what was asked for (help, version),
/// and a [`Failure`] the word that is wrong.
pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<ClientArgs, Exit> {
    cli::parse(args).map_err(|error| match error.kind() {
        clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Exit::Refused(Failure::usage(
                "no command given; use run, ab, matrix, scorecard, report or list, or see --help",
            ))
        }
        _ => Exit::of(&error),
    })
}

const EXAMPLES_OF_RUN: &str = "\
Examples:
  bench-client run HOST -t 5 -R          download for five seconds
  bench-client run HOST -n 100M -P 4 -J  100 MiB over four streams, as JSON
  bench-client run HOST --bidir -C bbr3  both directions at once, with BBRv3
  bench-client run HOST --rpm            latency under load
  bench-client run HOST --link \"delay 40ms loss 1% rate 100mbit queue 1bdp\"
Exit status:
  0  done
  1  failed, or ended early by Ctrl-C, a signal or q; what was measured is shown
  2  invalid command line
Environment:
  PACELINE_TOKEN  the token, without --token
  SSLKEYLOGFILE   file to append the TLS secrets to, for Wireshark";

const EXAMPLES_OF_AB: &str = "Examples:
  bench-client ab --virtual --rounds 10       fast, same result everywhere
  bench-client ab --virtual --compete --flows 2
  bench-client ab --b copa --link \"delay 20ms rate 20mbit queue 4bdp\"
  bench-client ab --perf HOST:PORT --perf HOST:PORT  two servers of any stack";

const EXAMPLES_OF_SCORECARD: &str = "Examples:
  bench-client scorecard bbr3 --output bbr3.md
  bench-client scorecard copa --against cubic --against bbr3
  bench-client scorecard paceline --only wireless-loss --only beside
  bench-client scorecard paceline --criteria scenarios/paceline.toml";

#[cfg(test)]
mod tests;
