//! `bench-client run`.

use super::{interrupts, runtime};
use crate::advice::advice;
use crate::args::{DEFAULT_CONTROLLER, RunArgs};
use crate::client::{self, About, ClientSetup, Outcome, Progress, Trust};
use crate::emulated::{self, EmulatedPath, Links};
use crate::failure::Failure;
use crate::output::Output;
use crate::plan::{Controllers, Direction, Limit, Limits, Plan, PlanError, step_for};
use crate::result::iperf::{HostPort, Interval};
use crate::table::{Columns, Unit, end_block, interval_header, interval_row};
use crate::terminal;
use crate::token::Token;
use cc_core::Registry;
use std::net::{SocketAddr, ToSocketAddrs};
use std::process::ExitCode;
use std::time::Duration;

/// Measures, prints and writes.
pub(super) fn run(args: &RunArgs, registry: &Registry) -> Result<ExitCode, Failure> {
    let plan = plan(args);
    let controllers = check(&plan, registry)?;
    let links = links(args)?;
    let trust = trust(args)?;
    let json = args
        .json
        .as_deref()
        .map(|path| Output::open("--json", path))
        .transpose()?;
    let port = args.server.port.unwrap_or(args.port);
    let server = resolve(args, port)?;
    let mut path = links
        .as_ref()
        .map(|links| EmulatedPath::start(links, plan.direction, server, args.seed))
        .transpose()?;
    let setup = ClientSetup {
        target: path.as_ref().map_or(server, EmulatedPath::address),
        host: args.server.host.clone(),
        port,
        plan,
        controllers,
        trust,
        token: Token::find(args.token.as_deref())?,
        cipher: args.path.cipher,
        mtu: args.path.mtu,
        bind: args.bind,
        connect_timeout: args.path.connect_timeout,
        idle_timeout: args.path.idle_timeout,
        seed: args.seed,
    };
    let screen = Screen::new(args, &setup);
    screen.connecting(&setup);
    let interrupts = interrupts()?;
    let mut on_progress = |progress: Progress<'_>| {
        screen.show(&progress);
        if let Some(path) = &mut path
            && progress.begins_measuring(&setup.plan)
        {
            path.begin();
        }
    };
    let run = client::run(&setup, args.interval, &interrupts, &mut on_progress);
    let outcome = runtime()?.block_on(run);
    conclude(args, &setup, links, path, &screen, &outcome, json)
}

/// Prints and writes what a run has come to.
fn conclude(
    args: &RunArgs,
    setup: &ClientSetup,
    links: Option<Links>,
    path: Option<EmulatedPath>,
    screen: &Screen,
    outcome: &Outcome,
    json: Option<Output>,
) -> Result<ExitCode, Failure> {
    let links = links.unwrap_or_default();
    let about = About {
        title: args.title.clone(),
        seed: args.seed,
        link: links.link.to_string(),
        return_link: links.return_link.to_string(),
        connecting_to: HostPort {
            host: setup.host.clone(),
            port: setup.port,
        },
        interval: args.interval,
    };
    let mut result = outcome.run_result(&setup.plan, about);
    if let Some(path) = &path {
        emulated::set_queue_delay(&mut result.result, &path.measured());
    }
    if args.print_json {
        terminal::text(&result.to_json());
    } else if outcome.connected.is_some() {
        screen.end(&result, &setup.plan);
    }
    if let Some(complaint) = path.as_ref().and_then(EmulatedPath::complaint) {
        terminal::note(format_args!("warning: {complaint}"));
    }
    let written = json.map_or(Ok(()), |json| json.write(&result.to_json()));
    match &outcome.error {
        None => written.map(|()| ExitCode::SUCCESS),
        Some(error) => {
            if let Err(failure) = written {
                terminal::failure(&failure);
            }
            Err(Failure::run(error))
        }
    }
}

fn plan(args: &RunArgs) -> Plan {
    let direction = match (args.transfer.reverse, args.bidir) {
        (true, _) => Direction::Reverse,
        (false, true) => Direction::Both,
        (false, false) => Direction::Forward,
    };
    let length = args.transfer.length.get();
    let limit = match (args.bytes, args.blockcount) {
        (Some(bytes), _) => Limit::Bytes(bytes.get()),
        (None, Some(blocks)) => Limit::Bytes(blocks.saturating_mul(length)),
        (None, None) => Limit::Time(args.time.unwrap_or(DEFAULT_TIME)),
    };
    // What does not send needs no controller, unless it is asked for.
    let of_side = |sends: bool| {
        if sends {
            args.congestion.clone()
        } else {
            DEFAULT_CONTROLLER.to_owned()
        }
    };
    let of_server = || of_side(direction.server_sends());
    let interval = (!args.interval.is_zero()).then_some(args.interval);
    Plan {
        direction,
        limit,
        omit: args.omit,
        streams: args.transfer.parallel,
        length,
        rate: args.transfer.bitrate.map(units::Bandwidth::bits_per_sec),
        client_congestion: of_side(direction.client_sends()),
        server_congestion: args.peer_cc.clone().unwrap_or_else(of_server),
        window: args.transfer.window.get(),
        step: step_for(limit, args.omit, interval),
    }
}

/// Refuses what no server would take, before any server is asked.
fn check(plan: &Plan, registry: &Registry) -> Result<Controllers, Failure> {
    plan.check(&Limits::NONE, registry)
        .map_err(|error| match error {
            PlanError::Controller { side, error } => {
                let is_peers = side == "server" && plan.direction != Direction::Reverse;
                let flag = if is_peers { "--peer-cc" } else { "-C" };
                Failure::usage(format!("{flag}: {error}"))
            }
            other => Failure::usage(other.to_string()),
        })
}

fn links(args: &RunArgs) -> Result<Option<Links>, Failure> {
    if args.link.is_none() && args.return_link.is_none() {
        return Ok(None);
    }
    let links = Links {
        link: args.link.clone().unwrap_or_default(),
        return_link: args.return_link.clone().unwrap_or_default(),
    };
    links.base_rtt()?;
    Ok(Some(links))
}

fn trust(args: &RunArgs) -> Result<Trust, Failure> {
    match (&args.ca, args.fingerprint) {
        (Some(path), _) => std::fs::read(path)
            .map(Trust::Authorities)
            .map_err(|error| Failure::run(format!("--ca {}: {error}", path.display()))),
        (None, Some(fingerprint)) => Ok(Trust::Fingerprint(fingerprint)),
        (None, None) => Ok(Trust::Anyone),
    }
}

/// The first address of the host, of the family that `-B` asks for.
fn resolve(args: &RunArgs, port: u16) -> Result<SocketAddr, Failure> {
    let host = args.server.host.as_str();
    let addresses = (host, port)
        .to_socket_addrs()
        .map_err(|error| Failure::run(format!("cannot find the host `{host}`: {error}")))?;
    let fits = |address: &SocketAddr| {
        args.bind
            .is_none_or(|bind| bind.is_ipv4() == address.is_ipv4())
    };
    let address = addresses.into_iter().find(fits);
    address.ok_or_else(|| {
        Failure::run(format!(
            "the host `{host}` has no address of the family of -B"
        ))
    })
}

/// What the user sees of a run.
struct Screen {
    is_silent: bool,
    unit: Unit,
    title: Option<String>,
}

impl Screen {
    fn new(args: &RunArgs, setup: &ClientSetup) -> Self {
        if matches!(setup.trust, Trust::Anyone) {
            terminal::note(format_args!(
                "The server's certificate is not verified; --fingerprint or --ca would."
            ));
        }
        Self {
            is_silent: args.print_json,
            unit: args.format.unwrap_or_default(),
            title: args.title.clone(),
        }
    }

    fn connecting(&self, setup: &ClientSetup) {
        self.line(&format!(
            "Connecting to host {}, port {}",
            setup.host, setup.port
        ));
    }

    fn show(&self, progress: &Progress<'_>) {
        match progress {
            Progress::Started { local, remote } => {
                self.line(&format!(
                    "[  1] local {} port {} connected to {} port {}",
                    local.ip(),
                    local.port(),
                    remote.ip().to_canonical(),
                    remote.port()
                ));
                self.line(&interval_header(Columns::Narrow));
            }
            Progress::Sample(_) => {}
            Progress::Rows(interval) => self.rows(interval),
        }
    }

    fn rows(&self, interval: &Interval) {
        for row in &interval.streams {
            self.line(&interval_row(row, self.unit, Columns::Narrow));
        }
        let sums = [Some(&interval.sum), interval.sum_bidir_reverse.as_ref()];
        let directions = sums.iter().flatten().count();
        if interval.streams.len() > directions {
            for sum in sums.into_iter().flatten() {
                self.line(&interval_row(sum, self.unit, Columns::Narrow));
            }
        }
    }

    fn end(&self, result: &crate::result::RunResult, plan: &Plan) {
        for line in end_block(&result.end, self.unit).lines() {
            self.line(line);
        }
        if let Some(advice) = advice(&result.result, plan) {
            self.line("");
            advice.lines().for_each(|line| self.line(line));
        }
    }

    fn line(&self, line: &str) {
        match &self.title {
            _ if self.is_silent => {}
            Some(title) => terminal::result(format_args!("{title}:  {line}")),
            None => terminal::result(format_args!("{line}")),
        }
    }
}

/// iperf3's `-t`.
const DEFAULT_TIME: Duration = Duration::from_secs(10);
