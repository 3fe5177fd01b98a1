//! `link-relay tun`: a whole host at either end of the link.

mod forward;
mod kernel;
mod namespace;
mod netlink;
mod process;

use crate::arguments::{parse_interval, parse_link};
use crate::failure::Failure;
use crate::report::{self, IntervalReport, PathStats};
use crate::timing::{WATCH, next_of, ticks};
use core::time::Duration;
use forward::{Forward, Gate};
use link_sim::tun::{TunConfig, TunRelay, TunStats};
use namespace::{End, Namespace, become_privileged};
use process::Process;
use rustix::process::Signal;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio::time::{Interval, MissedTickBehavior};

/// Runs a program over the emulated link: kernel TCP, iperf3, ping or anything else.
///
/// COMMAND runs in a network namespace of its own, whose device tun0 leads over the LINK to the
/// server's namespace and nowhere else. The server has 10.77.0.2 and fd77::2 (PACELINE_SERVER and
/// PACELINE_SERVER6 in the environment), COMMAND 10.77.0.1 and fd77::1 (PACELINE_CLIENT and
/// PACELINE_CLIENT6). Needs root, or user namespaces, in which COMMAND runs as root. Statistics go
/// to standard error; the exit code is COMMAND's.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    path: PathArguments,
    /// Program for the client's end, with its arguments [default: your shell]
    #[arg(last = true)]
    command: Vec<OsString>,
}

/// Runs PROGRAM with the emulated link as its network: `exec LINK -- PROGRAM ARGS...`.
///
/// PROGRAM runs in a network namespace of its own; whatever it sends passes the LINK. At the other
/// end, 10.77.0.2 and fd77::2, the kernel answers pings, --server runs a server, and --forward
/// leads to servers outside. Needs root, or user namespaces, in which PROGRAM runs as root.
/// Statistics go to standard error; SIGTERM and SIGHUP are forwarded to PROGRAM, whose exit code is
/// that of `exec`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ExecArguments {
    #[command(flatten)]
    path: PathArguments,
    /// Program to run, with its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
}

/// The link, and what is at its other end.
#[derive(Debug, clap::Args)]
struct PathArguments {
    /// Link from the client to the server
    #[arg(long)]
    link: Option<String>,
    /// Link from the server to the client [default: none]
    #[arg(
        long,
        value_name = "LINK",
        default_value = "",
        hide_default_value = true
    )]
    return_link: String,
    /// Random seed of losses and delays [default: random; printed]
    #[arg(long)]
    seed: Option<u64>,
    /// Print statistics every SECONDS seconds
    #[arg(short, value_name = "SECONDS")]
    interval: Option<String>,
    /// Shell command for the server's end; COMMAND starts once it listens, and it is stopped when
    /// COMMAND exits
    #[arg(long, value_name = "COMMAND")]
    server: Option<OsString>,
    /// Lead TCP and UDP port PORT of the server's end to a server outside, over IPv4
    #[arg(long, value_name = "PORT=HOST:PORT")]
    forward: Vec<Forward>,
    /// Same as --link, quoted or as separate words
    #[arg(value_name = "LINK", conflicts_with = "link")]
    words: Vec<String>,
}

/// Answers the exit code.
pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    run_over(&arguments.path, &arguments.command)
}

/// Answers the exit code.
pub(super) fn run_exec(arguments: &ExecArguments) -> Result<u8, Failure> {
    run_over(&arguments.path, &arguments.command)
}

fn run_over(arguments: &PathArguments, command: &[OsString]) -> Result<u8, Failure> {
    let interval = arguments.interval.as_deref().map(parse_interval);
    let interval = interval.transpose()?;
    let config = config_of(arguments)?;
    become_privileged()?;
    let client = Namespace::create(CLIENT.0, CLIENT.1)?;
    let server = Namespace::create(SERVER.0, SERVER.1)?;
    let has_ipv6 = client.has_ipv6 && server.has_ipv6;
    let path = TunPath::new(&config, client, server)?;
    print_heading(&config, has_ipv6).map_err(Failure::run)?;
    let programs = Programs {
        client: client_command(command),
        server: arguments.server.as_deref().map(server_command),
    };
    path.run_programs(
        programs.with_addresses(has_ipv6),
        &arguments.forward,
        interval,
    )
}

#[derive(Debug)]
struct Programs {
    client: Command,
    server: Option<Command>,
}

impl Programs {
    fn with_addresses(mut self, has_ipv6: bool) -> Self {
        for program in [Some(&mut self.client), self.server.as_mut()]
            .into_iter()
            .flatten()
        {
            program.env("PACELINE_CLIENT", CLIENT.0.to_string());
            program.env("PACELINE_SERVER", SERVER.0.to_string());
            if has_ipv6 {
                program.env("PACELINE_CLIENT6", CLIENT.1.to_string());
                program.env("PACELINE_SERVER6", SERVER.1.to_string());
            }
        }
        self
    }
}

#[derive(Debug)]
struct TunPath {
    relay: TunRelay,
    client: Arc<Namespace>,
    server: Arc<Namespace>,
}

impl TunPath {
    fn new(config: &TunConfig, client: End, server: End) -> Result<Self, Failure> {
        let relay = TunRelay::spawn(config, client.device, server.device).map_err(Failure::run)?;
        Ok(Self {
            relay,
            client: Arc::new(client.namespace),
            server: Arc::new(server.namespace),
        })
    }

    /// Runs the programs, prints figures until the client's ends, then the totals.
    #[tokio::main(flavor = "current_thread")]
    async fn run_programs(
        self,
        programs: Programs,
        forwards: &[Forward],
        interval: Option<Duration>,
    ) -> Result<u8, Failure> {
        let server = match programs.server {
            Some(command) => Some(self.start_server(command).await?),
            None => None,
        };
        // After the server, whose socket is the first that listens; they end with this.
        let mut forwarding = JoinSet::new();
        for forward in forwards {
            let gate = Gate::open(forward, &self.server, SERVER.0.into())?;
            forwarding.spawn(gate.serve());
        }
        let code = self.run_client(programs.client, interval).await;
        if let Some(server) = server {
            server.end_group().await;
        }
        let code = code?;
        let dropped = self.dropped();
        let stats = self.relay.shutdown().map_err(|error| {
            Failure::run(format!("the link failed, as a device is gone: {error}"))
        })?;
        let path = path_of(&stats, dropped);
        report::print_totals(&mut io::stderr().lock(), &path).map_err(Failure::run)?;
        Ok(code)
    }

    async fn start_server(&self, command: Command) -> Result<Process, Failure> {
        let mut server = Process::start(&self.server, command)
            .await
            .map_err(|error| Failure::run(format!("cannot start the server: {error}")))?;
        for _ in 0..LOOKS {
            if self.server.has_a_server().map_err(Failure::run)? {
                return Ok(server);
            }
            if server.has_ended() {
                return Err(Failure::run("the server exited before it listened"));
            }
            tokio::time::sleep(LOOK).await;
        }
        let _ = writeln!(
            io::stderr(),
            "warning: the server does not listen after 5 s; starting COMMAND anyway"
        );
        Ok(server)
    }

    async fn run_client(
        &self,
        command: Command,
        interval: Option<Duration>,
    ) -> Result<u8, Failure> {
        let mut signals = Signals::new().map_err(Failure::run)?;
        let name = command.get_program().to_owned();
        let mut client = match Process::start(&self.client, command).await {
            Ok(client) => client,
            Err(error) => return Err(cannot_start(&name, &error)),
        };
        let mut watch = tokio::time::interval(WATCH);
        watch.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let begin = watch.tick().await;
        let mut rows = interval.map(|interval| ticks(begin, interval));
        let mut figures = IntervalReport::begin(begin.into_std());
        loop {
            tokio::select! {
                code = client.end() => return code.map_err(Failure::run),
                signal = signals.next() => client.signal(signal),
                _ = watch.tick() => {}
                at = next_of(rows.as_mut().map(Interval::tick)) => {
                    let path = path_of(&self.relay.stats(), self.dropped());
                    let mut out = io::stderr().lock();
                    figures.print_interval(&mut out, at.into_std(), path).map_err(Failure::run)?;
                },
            }
            if !self.relay.is_running() {
                client.signal(Signal::TERM);
            }
        }
    }

    /// Packets that the kernel dropped before the link could read them.
    fn dropped(&self) -> u64 {
        let ends = [&self.client, &self.server];
        ends.iter().map(|end| end.dropped().unwrap_or(0)).sum()
    }
}

#[derive(Debug)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    quit: tokio::signal::unix::Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
        })
    }

    /// The next one that is to be handed on. A terminal sends the client those of its keys
    /// itself, and what ends the client ends this program.
    async fn next(&mut self) -> Signal {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return Signal::TERM,
                _ = self.hang_up.recv() => return Signal::HUP,
                _ = self.interrupt.recv() => {}
                _ = self.quit.recv() => {}
            }
        }
    }
}

fn config_of(arguments: &PathArguments) -> Result<TunConfig, Failure> {
    let words = arguments.words.join(" ");
    let (option, link) = match &arguments.link {
        Some(link) => ("--link", link),
        None => ("LINK", &words),
    };
    let config = TunConfig {
        link: parse_link(option, link)?,
        return_link: parse_link("--return-link", &arguments.return_link)?,
        seed: arguments.seed.unwrap_or_else(report::random_seed),
    };
    let base_rtt = config.link.base_rtt(&config.return_link);
    base_rtt.map_err(Failure::usage)?;
    Ok(config)
}

fn print_heading(config: &TunConfig, has_ipv6: bool) -> io::Result<()> {
    let name = |(v4, v6): (Ipv4Addr, Ipv6Addr)| match has_ipv6 {
        true => format!("{v4} {v6}"),
        false => v4.to_string(),
    };
    let (client, server, seed) = (name(CLIENT), name(SERVER), config.seed);
    let between = format!("tun, client {client}, server {server}, seed {seed}");
    let mut out = io::stderr().lock();
    report::print_heading(&mut out, between, &config.link, &config.return_link)
}

fn client_command(words: &[OsString]) -> Command {
    let Some((program, rest)) = words.split_first() else {
        return Command::new(std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into()));
    };
    let mut command = Command::new(program);
    command.args(rest);
    command
}

/// In a process group of its own, so that the keys of a terminal are the client's alone and that
/// whatever the shell starts can be ended with it.
fn server_command(words: &OsStr) -> Command {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(words).process_group(0);
    command.stdin(Stdio::null()).stdout(io::stderr());
    command
}

/// As a shell says it: 127 for a program that is not there, 126 for one that is none.
fn cannot_start(name: &OsStr, error: &io::Error) -> Failure {
    let code = match error.kind() {
        io::ErrorKind::NotFound => 127,
        _ => 126,
    };
    let message = format!("{}: {error}", name.display());
    Failure { message, code }
}

fn path_of(stats: &TunStats, dropped: u64) -> PathStats {
    PathStats {
        link: stats.link.clone(),
        return_link: stats.return_link.clone(),
        lateness: stats.lateness.clone(),
        anomalies: anomalies(stats, dropped).to_vec(),
    }
}

/// What befell packets outside of the links.
pub(super) fn anomalies(stats: &TunStats, dropped: u64) -> [(u64, &'static str); 4] {
    let arrived = stats.link.arrived + stats.return_link.arrived;
    // One in a thousand, as with those that leave late.
    let is_considerable = stats.unread * 1_000 > arrived.packets;
    [
        (
            if is_considerable { stats.unread } else { 0 },
            "packets perhaps read over 1 ms late; stop other programs",
        ),
        (
            dropped,
            "packets dropped by the kernel, unread; stop other programs",
        ),
        (stats.unsent, "packets refused by the kernel after the link"),
        (stats.malformed, "packets dropped, not IP"),
    ]
}

/// The same addresses as in `netem-scripts`, and for IPv6 such as nobody else has (RFC 4193).
const CLIENT: (Ipv4Addr, Ipv6Addr) = (
    Ipv4Addr::new(10, 77, 0, 1),
    Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 1),
);
const SERVER: (Ipv4Addr, Ipv6Addr) = (
    Ipv4Addr::new(10, 77, 0, 2),
    Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 2),
);
const EXAMPLES: &str = "Examples:
  link-relay exec delay 20ms -- ping -c 3 10.77.0.2
  link-relay exec lte-down --server 'iperf3 -s -1' -- iperf3 -c 10.77.0.2
  link-relay exec 'delay 40ms loss 1%' --forward 443=example.org:443 -- \\
    curl --connect-to ::10.77.0.2:443 https://example.org/";
/// 5 s altogether.
const LOOK: Duration = Duration::from_millis(20);
const LOOKS: u32 = 250;
