//! The command line.

use bench_kit::cli::values::{core, rate, seconds, size_up_to, whole};
use bench_kit::cli::{self, DEFAULT_CONTROLLER, DEFAULT_PORT, Exit, HELP_WIDTH};
use bench_kit::completions::Shell;
use bench_kit::plan::{MAX_WINDOW, MIN_WINDOW};
use clap::{Args, Parser, Subcommand, ValueHint};
use paceline::KernelPacing;
use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;
use units::{Bandwidth, Bytes};

/// Server for Paceline's throughput runs; waits for bench-client
#[derive(Debug, Clone, Parser)]
#[command(name = "bench-server", version, disable_version_flag = true)]
#[command(max_term_width = HELP_WIDTH, after_help = AFTER_HELP)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
#[command(propagate_version = true)]
pub(crate) struct ServerArgs {
    /// What to do instead of serving.
    #[command(subcommand)]
    pub(crate) command: Option<ServerCommand>,
    /// Local address to listen on [default: all]
    #[arg(short = 'B', long, value_name = "ADDR")]
    pub(crate) bind: Option<IpAddr>,
    /// UDP port to listen on; 0 for any free port
    #[arg(short = 'p', long, default_value_t = DEFAULT_PORT)]
    #[arg(value_parser = whole::<u16>(0..=65_535))]
    pub(crate) port: u16,
    /// Exit after one run
    #[arg(short = '1', long)]
    pub(crate) one_off: bool,
    /// Run in the background, once the port is listened on
    #[arg(short = 'D', long)]
    pub(crate) daemon: bool,
    /// Write the process's number to this file, which is removed at the end
    #[arg(short = 'I', long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) pidfile: Option<PathBuf>,
    /// Add the log to this file [default: stdout; with -D nowhere]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) logfile: Option<PathBuf>,
    /// Certificate chain in PEM [default: self-signed, created at start]
    #[arg(long, value_name = "FILE", requires = "key", value_hint = ValueHint::FilePath)]
    pub(crate) cert: Option<PathBuf>,
    /// Private key of the certificate in PEM
    #[arg(long, value_name = "FILE", requires = "cert", value_hint = ValueHint::FilePath)]
    pub(crate) key: Option<PathBuf>,
    /// Serve only clients with the token in this file [default: $PACELINE_TOKEN, if set]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) token: Option<PathBuf>,
    /// Controller for clients with ALPN `perf`, which cannot choose one
    #[arg(short = 'C', long = "cc", value_name = "CC", default_value = DEFAULT_CONTROLLER)]
    pub(crate) congestion: String,
    /// Who waits until the server's packets may leave: this program (off), or where it can (auto)
    /// or always (on) the kernel, which needs tc's qdisc fq
    #[arg(long, value_name = "MODE", default_value_t = KernelPacing::Off)]
    pub(crate) kernel_pacing: KernelPacing,
    /// Write a qlog of each connection into this directory, for qvis
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) qlog: Option<PathBuf>,
    /// Run on this core, 0 on, with one thread unless --threads says otherwise
    #[arg(short = 'A', long, value_name = "CORE", value_parser = core)]
    pub(crate) affinity: Option<u16>,
    /// Threads that serve clients, each client one of them; several need Linux [default: the cores]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = whole::<u16>(1..=u64::from(MAX_THREADS)))]
    pub(crate) threads: Option<u16>,
    /// Drop a client after this time without packets
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = seconds)]
    #[arg(help_heading = "Limits")]
    pub(crate) idle_timeout: Duration,
    /// Refuse longer runs [default: 3600s; 60s from public addresses without --token]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    #[arg(help_heading = "Limits")]
    pub(crate) max_duration: Option<Duration>,
    /// Refuse or end runs of more bytes, both directions together [default: no limit]
    #[arg(long, value_name = "SIZE", help_heading = "Limits")]
    #[arg(value_parser = size_up_to::<1, { u64::MAX }>)]
    pub(crate) max_bytes: Option<Bytes>,
    /// Refuse runs without -b or with a higher total over all streams, and end runs that are faster
    /// [default: no limit; 100M from public addresses without --token]
    #[arg(long, value_name = "RATE", help_heading = "Limits", value_parser = rate)]
    pub(crate) max_rate: Option<Bandwidth>,
    /// Refuse runs with a larger flow-control window; a client can make the server buffer twice
    /// this
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "1G",
        help_heading = "Limits"
    )]
    #[arg(value_parser = size_up_to::<MIN_WINDOW, MAX_WINDOW>)]
    pub(crate) max_window: Bytes,
    /// Refuse clients while this many are being served
    #[arg(long, value_name = "N", default_value_t = 256, help_heading = "Limits")]
    #[arg(value_parser = whole::<u32>(1..=65_536))]
    pub(crate) max_connections: u32,
    /// Carry out this many runs at once. Clients with --wait have the next turns, one for all their
    /// connections; others are refused [default: no limit]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    #[arg(value_parser = whole::<u32>(1..=65_536))]
    pub(crate) max_runs: Option<u32>,
    /// Refuse clients of an address, or of an IPv6 /64, while this many of them are being served
    /// [default: no limit]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    #[arg(value_parser = whole::<u32>(1..=65_536))]
    pub(crate) max_per_address: Option<u32>,
    /// Refuse new clients beyond this many a second
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1_000,
        help_heading = "Limits"
    )]
    #[arg(value_parser = whole::<u32>(1..=65_536))]
    pub(crate) max_per_second: u32,
    /// Print the version
    #[arg(short = 'v', short_alias = 'V', long, action = clap::ArgAction::Version)]
    version: (),
}

/// What the program does beside serving.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum ServerCommand {
    /// Print a shell completion script
    Completions(CompletionsArgs),
}

/// `bench-server completions`: what a shell needs to complete a command line.
#[derive(Debug, Clone, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell to complete for
    pub(crate) shell: Shell,
}

/// Reads the command line; the first argument is the program's name.
///
/// # Errors
/// The program should end now: `Ok` in [`Exit::Asked`] holds what was asked for (help, version),
/// and a [`Failure`](bench_kit::failure::Failure) the word that is wrong.
pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<ServerArgs, Exit> {
    cli::parse(args).map_err(|error| Exit::of(&error))
}

/// As many as the parts of a sharded endpoint.
pub(crate) const MAX_THREADS: u16 = 256;

const AFTER_HELP: &str = "\
Examples:
  bench-server --bind 127.0.0.1 --one-off
  bench-server -D -I server.pid --logfile server.log; kill $(cat server.pid)
  bench-server --token FILE --max-rate 500M --max-duration 60s
Environment:
  PACELINE_TOKEN  the token, without --token
  SSLKEYLOGFILE   file to append the TLS secrets to, for Wireshark";

#[cfg(test)]
mod tests;
