//! `link-relay`: UDP in, an emulated link, UDP out.

mod figures;
#[cfg_attr(not(target_os = "linux"), path = "tun/elsewhere.rs")]
mod tun;

use clap::{Args, Parser, Subcommand};
use core::fmt::Display;
use core::time::Duration;
use figures::Figures;
use link_sim::LinkSpec;
use link_sim::relay::{Relay, RelayConfig, RelayHandle, RelayStats};
use std::io::{self, Write as _};
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::MissedTickBehavior;

/// Relays UDP between clients and a server over an emulated link.
///
/// Clients send to --listen as if it were the server. A LINK is one string in the grammar of tc's
/// netem: `delay 20ms 5ms distribution normal loss 1% rate 100mbit limit 1000`, and `queue 1bdp`,
/// `queue 100p` or `queue 250kb` for a drop-tail queue before the rate. Ctrl-C ends the relay and
/// prints what it did.
#[derive(Debug, Parser)]
#[command(name = "link-relay", version)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
struct CommandLine {
    #[command(flatten)]
    relay: Option<Arguments>,
    #[command(subcommand)]
    other: Option<Other>,
}

/// What is not a relay between sockets.
#[derive(Debug, Subcommand)]
enum Other {
    Tun(tun::Arguments),
}

#[derive(Debug, Args)]
struct Arguments {
    /// Address and port that clients send to
    #[arg(long, value_name = "ADDR")]
    listen: String,
    /// Host and port of the server
    #[arg(long, value_name = "ADDR")]
    to: String,
    /// Link from the clients to the server
    #[arg(long)]
    link: Option<String>,
    /// Link from the server to the clients; without it they are reached at once
    #[arg(long, value_name = "LINK", default_value = "")]
    return_link: String,
    /// Makes losses and delays repeatable [default: from the clock]
    #[arg(long)]
    seed: Option<u64>,
    /// Print figures every so many seconds
    #[arg(short, value_name = "SECONDS")]
    interval: Option<String>,
    /// The same as --link, its words quoted or not
    #[arg(value_name = "LINK", conflicts_with = "link")]
    words: Vec<String>,
}

fn main() -> ExitCode {
    let command_line = CommandLine::parse();
    let result = match (&command_line.other, &command_line.relay) {
        (Some(Other::Tun(arguments)), _) => tun::run(arguments),
        (None, Some(arguments)) => run(arguments).map(|()| 0),
        (None, None) => unreachable!("clap asks for --listen and --to"),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(Failure { message, code }) => {
            // When even standard error is closed, the exit code is all there is.
            let _ = writeln!(io::stderr(), "link-relay: {message}");
            ExitCode::from(code)
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    let interval = arguments.interval.as_deref().map(parse_interval);
    let interval = interval.transpose()?;
    watch(start(arguments)?, interval)
}

/// Starts the relay and says what it is.
fn start(arguments: &Arguments) -> Result<RelayHandle, Failure> {
    let words = arguments.words.join(" ");
    let (option, link) = match &arguments.link {
        Some(link) => ("--link", link),
        None => ("LINK", &words),
    };
    let config = RelayConfig {
        listen: resolve("--listen", &arguments.listen)?,
        to: resolve("--to", &arguments.to)?,
        link: parse_link(option, link)?,
        return_link: parse_link("--return-link", &arguments.return_link)?,
        seed: arguments.seed.unwrap_or_else(figures::arbitrary_seed),
    };
    config
        .link
        .base_rtt(&config.return_link)
        .map_err(Failure::usage)?;
    let relay = Relay::spawn(config.clone())
        .map_err(|error| Failure::run(format!("cannot listen on {}: {error}", arguments.listen)))?;
    let between = format!(
        "{} to {}, seed {}",
        relay.local_addr(),
        config.to,
        config.seed
    );
    let mut out = io::stdout().lock();
    figures::print_heading(&mut out, between, &config.link, &config.return_link)
        .map_err(Failure::run)?;
    Ok(relay)
}

/// Prints figures until a signal ends the program, then the totals.
#[tokio::main(flavor = "current_thread")]
async fn watch(relay: RelayHandle, interval: Option<Duration>) -> Result<(), Failure> {
    let mut terminated = signal(SignalKind::terminate()).map_err(Failure::run)?;
    let mut ticks = tokio::time::interval(interval.unwrap_or(WATCH));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut figures = Figures::begin(ticks.tick().await.into_std());
    loop {
        tokio::select! {
            at = ticks.tick() => if interval.is_some() {
                let (mut out, path) = (io::stdout().lock(), (&relay.stats()).into());
                figures.print_interval(&mut out, at.into_std(), path).map_err(Failure::run)?;
            },
            interrupted = tokio::signal::ctrl_c() => {
                interrupted.map_err(Failure::run)?;
                break;
            }
            _ = terminated.recv() => break,
        }
        if !relay.is_running() {
            break;
        }
    }
    let stats = relay.shutdown().map_err(Failure::run)?;
    let mut out = io::stdout().lock();
    figures::print_totals(&mut out, &(&stats).into(), &mishaps(&stats)).map_err(Failure::run)
}

/// What befell datagrams outside of the links.
fn mishaps(stats: &RelayStats) -> [(u64, &'static str); 3] {
    [
        (
            stats.kernel_dropped.unwrap_or(0),
            "datagrams dropped by the kernel at full socket buffers (see net.core.rmem_max)",
        ),
        (stats.unsent, "datagrams that the kernel would not send"),
        (stats.refused, "datagrams refused: too many clients"),
    ]
}

fn resolve(option: &str, address: &str) -> Result<SocketAddr, Failure> {
    let mut found = address
        .to_socket_addrs()
        .map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput => Failure::usage(format!(
                "{option} `{address}`: expected host:port, such as 127.0.0.1:4433"
            )),
            _ => Failure::run(format!("{option} `{address}`: {error}")),
        })?;
    found
        .next()
        .ok_or_else(|| Failure::run(format!("{option} `{address}`: this host has no address")))
}

fn parse_link(option: &str, link: &str) -> Result<LinkSpec, Failure> {
    link.parse()
        .map_err(|error| Failure::usage(format!("{option}: {error}")))
}

fn parse_interval(text: &str) -> Result<Duration, Failure> {
    let seconds = text.parse().ok();
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .filter(|interval| (SHORTEST..=LONGEST).contains(interval))
        .ok_or_else(|| Failure::usage(format!("-i `{text}`: expected seconds from 0.1 to 3600")))
}

/// Why the program ends, and the exit code that says so.
#[derive(Debug)]
struct Failure {
    message: String,
    code: u8,
}

impl Failure {
    /// The command line is wrong.
    fn usage(message: impl Display) -> Self {
        let message = message.to_string();
        Self { message, code: 2 }
    }

    /// The command line is right, but it does not work here.
    fn run(message: impl Display) -> Self {
        let message = message.to_string();
        Self { message, code: 1 }
    }
}

/// How often to see whether the relay still runs, when nothing is printed.
const WATCH: Duration = Duration::from_secs(1);
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(3_600);
