//! The command lines. Flags have iperf3's letters and meaning wherever iperf3 has one.

mod ab;
mod manual;
mod matrix;
mod report;
mod run;
mod server;
mod values;

pub(crate) use ab::{AbArgs, RemoteArgs};
pub(crate) use manual::{CompletionsArgs, ManArgs, Program};
pub(crate) use matrix::{MatrixArgs, MatrixCommand, MatrixOutputArgs};
pub(crate) use report::ReportArgs;
pub(crate) use run::RunArgs;
pub(crate) use server::ServerArgs;
pub(crate) use values::{HostPort, hex, rate, seconds, seconds_or_none, size_up_to};

use crate::failure::Failure;
use crate::plan::{
    MAX_CONNECTIONS, MAX_LENGTH, MAX_STREAMS, MAX_WINDOW, MIN_BETWEEN_REQUESTS, MIN_RATE,
    MIN_WINDOW,
};
use crate::table::Unit;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueHint};
use link_sim::LinkSpec;
use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;
use transport::tls::Cipher;
use units::{Bandwidth, Bytes};

/// Throughput runs and A/B tests of QUIC congestion controllers
#[derive(Debug, Clone, Parser)]
#[command(name = "bench-client", version, disable_version_flag = true)]
#[command(max_term_width = HELP_WIDTH, propagate_version = true)]
pub(crate) struct ClientArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Print the version
    #[arg(short = 'v', long, action = clap::ArgAction::Version)]
    version: (),
}

/// What the client can do.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Command {
    /// Measure the throughput to a bench-server, as iperf3 does
    #[command(after_help = EXAMPLES_OF_RUN)]
    Run(Box<RunArgs>),
    /// Compare congestion controllers, over an emulated link or a real network
    #[command(after_help = EXAMPLES_OF_AB)]
    Ab(Box<AbArgs>),
    /// Run an A/B test for each combination of conditions, or go on with it
    Matrix(Box<MatrixArgs>),
    /// Show a result that was measured before: as a page, pictures and tables
    Report(ReportArgs),
    /// List controllers with their parameters, the words of a link, and matrices
    List,
    /// Write the manual pages to a folder
    Man(ManArgs),
    /// Print the script by which a shell completes command lines
    Completions(CompletionsArgs),
}

/// How much to send, and how.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Transfer")]
pub(crate) struct TransferArgs {
    /// Streams that each sender opens
    #[arg(short = 'P', long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_STREAMS)))]
    pub(crate) parallel: u32,
    /// The server sends, the client receives
    #[arg(short = 'R', long)]
    pub(crate) reverse: bool,
    /// Target rate of each stream, such as 20M [default: unlimited]
    #[arg(short = 'b', long, value_name = "RATE", value_parser = values::rate)]
    pub(crate) bitrate: Option<Bandwidth>,
    /// Bytes of one write, or of one datagram
    #[arg(short = 'l', long, value_name = "SIZE", default_value = DEFAULT_LENGTH)]
    #[arg(value_parser = values::size_up_to::<1, MAX_LENGTH>)]
    pub(crate) length: Bytes,
    /// Flow-control window of each receiver
    #[arg(short = 'w', long, value_name = "SIZE", default_value = DEFAULT_WINDOW)]
    #[arg(value_parser = values::size_up_to::<MIN_WINDOW, MAX_WINDOW>)]
    pub(crate) window: Bytes,
}

/// How packets travel.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Path")]
pub(crate) struct PathArgs {
    /// Fix the UDP payload size, 1200 to 16383, instead of discovering it
    #[arg(short = 'M', long, value_name = "BYTES")]
    #[arg(value_parser = clap::value_parser!(u16).range(i64::from(MIN_MTU)..=i64::from(MAX_MTU)))]
    pub(crate) mtu: Option<u16>,
    /// Fix the cipher: aes128, aes256 or chacha20 [default: negotiated]
    #[arg(long, value_name = "CIPHER")]
    pub(crate) cipher: Option<Cipher>,
    /// Give up when the server has not answered after this time
    #[arg(long, value_name = "MS", default_value = "5s", value_parser = values::millis)]
    pub(crate) connect_timeout: Duration,
    /// Give up when the other side has been silent for this time
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = values::seconds)]
    pub(crate) idle_timeout: Duration,
}

/// Reads a client's command line; the first argument is the program's name.
///
/// # Errors
/// The program should end now: `Ok` in [`Exit::Asked`] holds what was asked for (help, version),
/// and a [`Failure`] the word that is wrong.
pub(crate) fn client(args: impl IntoIterator<Item = OsString>) -> Result<ClientArgs, Exit> {
    parse(args)
}

/// Reads a server's command line; the first argument is the program's name.
///
/// # Errors
/// As those of [`client`].
pub(crate) fn server(args: impl IntoIterator<Item = OsString>) -> Result<ServerArgs, Exit> {
    parse(args)
}

/// Why a program ends at its command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Help or the version was asked for: this text.
    Asked(String),
    /// The command line is wrong.
    Refused(Failure),
}

fn parse<T: CommandFactory + FromArgMatches>(
    args: impl IntoIterator<Item = OsString>,
) -> Result<T, Exit> {
    let matches = T::command().try_get_matches_from(args);
    let parsed = matches.and_then(|matches| T::from_arg_matches(&matches));
    parsed.map_err(|error| match error.kind() {
        clap::error::ErrorKind::DisplayHelp | clap::error::ErrorKind::DisplayVersion => {
            Exit::Asked(error.to_string())
        }
        clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Exit::Refused(Failure::usage(
                "what to do is missing: run, ab, matrix, report or list; --help tells more",
            ))
        }
        _ => Exit::Refused(Failure::usage(one_line(&error.to_string()))),
    })
}

/// clap's message without its frame: what is wrong, and the tips, in a line.
fn one_line(message: &str) -> String {
    let lines = message
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .filter(|line| !line.is_empty());
    let text = lines.collect::<Vec<_>>().join("; ");
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    text.replace(":; ", ": ")
}

const EXAMPLES_OF_RUN: &str = "\
Examples:
  bench-client run HOST -t 5 -R          download for five seconds
  bench-client run HOST -n 100M -P 4 -J  100 MiB over four streams, as JSON
  bench-client run HOST --bidir -C bbr3  both directions at once, by BBRv3
  bench-client run HOST --rpm            what load does to latency
  bench-client run HOST --link \"delay 40ms loss 1% rate 100mbit queue 1bdp\"";

const EXAMPLES_OF_AB: &str = "\
Examples:
  bench-client ab --virtual --rounds 10       in seconds, the same everywhere
  bench-client ab --virtual --compete --flows 2
  bench-client ab --b copa --link \"delay 20ms rate 20mbit queue 4bdp\"";

const EXAMPLES_OF_SERVER: &str = "\
Examples:
  bench-server --bind 127.0.0.1 --one-off
  bench-server --token FILE --max-rate 500M --max-duration 60s";

/// The port of bench-server.
pub(crate) const DEFAULT_PORT: u16 = 4433;

/// What most of the Internet's senders run.
pub(crate) const DEFAULT_CONTROLLER: &str = "cubic";

/// iperf3's write for TCP.
pub(crate) const DEFAULT_LENGTH: &str = "128K";

/// What QUIC asks of every path (RFC 9000 §14).
pub(crate) const MIN_MTU: u16 = 1_200;

/// quinn-proto pads its first packets to the whole size, and writes their length in 14 bits.
pub(crate) const MAX_MTU: u16 = (1 << 14) - 1;

/// 1 Gbit/s over 250 ms.
pub(crate) const DEFAULT_WINDOW: &str = "32M";

/// BBRv3 with the rule for random loss, of which the default link has plenty: `bbr3` alone, the
/// draft to the letter, slows down for every lost packet while it cruises (docs/bbr.md).
const DEFAULT_CHALLENGER: &str = "bbr3:ambient_loss=on";

/// A long-haul path with random loss: an RTT of 40 ms, as the return link adds nothing.
const DEFAULT_LINK: &str = "delay 40ms loss 1% rate 100mbit queue 1bdp";

const DEFAULT_REPORT: &str = "ab-report.html";

/// Narrow enough for every terminal.
const HELP_WIDTH: usize = 80;

#[cfg(test)]
mod tests;
