//! `bench-client run`.

mod live;
mod part_file;
mod screen;
mod setup;

use super::remote;
use crate::args::{JsonFormat, RunArgs};
use crate::client::{self, About, ClientSetup, Outcome, Progress, Remote, Trust};
use crate::emulated::{self, EmulatedPath, Links};
use crate::output::{self, Output};
use bench_kit::failure::Failure;
use bench_kit::plan::Direction;
use bench_kit::qlog::Qlog;
use bench_kit::token::Token;
use bench_kit::{cli, perf, runtime, terminal};
use bench_report::report;
use bench_report::result::iperf::HostPort;
use bench_report::result::{Quantity, RunResult};
use cc_core::Registry;
use link_sim::LinkSpec;
use part_file::PartFile;
use screen::Screen;
use std::net::SocketAddr;
use std::process::ExitCode;

pub(super) fn run(args: &RunArgs, registry: &Registry) -> Result<ExitCode, Failure> {
    setup::check_ports(args)?;
    args.affinity.map_or(Ok(()), runtime::keep_to_core)?;
    let file = setup::file(args)?;
    let plan = setup::plan(args, file.as_ref())?;
    let (file, part) = file.map(|file| (file.file, file.part)).unzip();
    let controllers = setup::check(&plan, args.connections, registry)?;
    let links = setup::links(args)?;
    let trust = remote::trust(args.ca.as_deref(), args.fingerprint)?;
    let files = Files::open(args)?;
    let port = args.server.port.unwrap_or(args.port);
    let server = remote::resolve(&args.server.host, port, setup::family(args))?;
    let mut path = links
        .as_ref()
        .map(|links| EmulatedPath::start(links, plan.direction, server, args.seed))
        .transpose()?;
    let target = path.as_ref().map_or(server, EmulatedPath::address);
    let duplicator = duplicator(args, target)?;
    let through = duplicator.as_ref().map_or(target, EmulatedPath::address);
    let setup = ClientSetup {
        remote: remote_of(args, server, through, trust)?,
        plan,
        connections: args.connections,
        controllers,
        file,
        is_perf: args.perf,
        cipher: args.path.cipher,
        mtu: args.path.mtu,
        kernel_pacing: args.kernel_pacing,
        connect_timeout: args.path.connect_timeout,
        idle_timeout: args.path.idle_timeout,
        seed: args.seed,
        qlog: qlog(args)?,
        makes_probes: args.rpm.is_some(),
        memories: Vec::new(),
    };
    let about = about(args, &setup, links);
    let mut screen = Screen::open(args)?;
    screen.connecting(&setup)?;
    let interrupts = cli::interrupts()?;
    let mut on_progress = |progress: Progress<'_>| {
        screen.show(&progress, &setup.plan, &about);
        if let Some(path) = &mut path
            && progress.begins_measuring(&setup.plan)
        {
            path.begin();
        }
    };
    let run = client::run(&setup, args.interval, &interrupts, &mut on_progress);
    let answer = interrupts.expect_answer();
    let outcome = runtime::current_thread()?.block_on(run);
    drop(answer);
    close_qlog(&setup);
    // Before the result, whose reader may be slow or gone.
    let kept = keep(part.flatten(), &outcome);
    let concluded = conclude(
        &setup,
        &about,
        path,
        args.duplicate,
        &mut screen,
        &outcome,
        files,
    );
    both(kept, concluded)
}

/// The server, to which packets go `through` another address where a link is emulated.
fn remote_of(
    args: &RunArgs,
    server: SocketAddr,
    through: SocketAddr,
    trust: Trust,
) -> Result<Remote, Failure> {
    Ok(Remote {
        target: through,
        server: Some(server),
        host: args.server.host.clone(),
        port: server.port(),
        trust,
        token: Token::find(args.token.as_deref())?,
        bind: args.bind,
        first_port: args.cport,
        turn: remote::turn(args.wait),
    })
}

/// Gives what was received its name, if that is all.
fn keep(part: Option<PartFile>, outcome: &Outcome) -> Result<(), Failure> {
    part.map_or(Ok(()), |part| part.finish(outcome.error.is_none()))
}

/// Both failures are said, the second one as the program's.
fn both(
    kept: Result<(), Failure>,
    concluded: Result<ExitCode, Failure>,
) -> Result<ExitCode, Failure> {
    match (kept, concluded) {
        (Ok(()), concluded) => concluded,
        (Err(failure), Ok(_)) => Err(failure),
        (Err(failure), Err(other)) => {
            terminal::failure(&failure);
            Err(other)
        }
    }
}

fn qlog(args: &RunArgs) -> Result<Option<Qlog>, Failure> {
    let path = args.qlog.as_deref();
    path.map(|path| Qlog::open(path, "run", false)).transpose()
}

fn close_qlog(setup: &ClientSetup) {
    if let Some(warning) = setup.qlog.as_ref().and_then(Qlog::close) {
        terminal::note(format_args!("warning: {warning}"));
    }
}

fn about(args: &RunArgs, setup: &ClientSetup, links: Option<Links>) -> About {
    let links = links.unwrap_or_default();
    About {
        command: args.command.clone(),
        title: args.title.clone(),
        note: args.note.clone(),
        seed: args.seed,
        link: links.link.to_string(),
        return_link: links.return_link.to_string(),
        connecting_to: HostPort {
            host: setup.remote.host.clone(),
            port: setup.remote.port,
        },
        interval: args.interval,
    }
}

/// In front of `target`, where the client's datagrams are to be on the wire more than once.
fn duplicator(args: &RunArgs, target: SocketAddr) -> Result<Option<EmulatedPath>, Failure> {
    let links = Links {
        link: emulated::duplicator(args.duplicate),
        return_link: LinkSpec::default(),
    };
    let start = || EmulatedPath::start(&links, Direction::Forward, target, args.seed);
    (args.duplicate > 1).then(start).transpose()
}

struct Files {
    json: Option<Output>,
    json_format: JsonFormat,
    report: Option<Output>,
}

impl Files {
    fn open(args: &RunArgs) -> Result<Self, Failure> {
        let files = Self {
            json: Output::open_if("--json", args.json.as_deref())?,
            json_format: args.json_format,
            report: Output::open_if("--report", args.report.as_deref())?,
        };
        let outputs = [&files.json, &files.report];
        output::check_distinct(&outputs)?;
        output::check_kept(&outputs, "-F", args.file.as_deref())?;
        output::check_kept(&outputs, "--logfile", args.logfile.as_deref())?;
        Ok(files)
    }

    /// Writes both; one that fails does not keep the other from being written. A run that came to
    /// nothing leaves those of an earlier one as they are.
    fn write(self, result: &RunResult) -> Result<(), Failure> {
        let json = self.json.map(|file| {
            let text = self.json_format.text(result);
            (Some(file), text)
        });
        let report = self.report.map(|file| {
            let text = report::run_html(result, emulated::path(result));
            (Some(file), text)
        });
        let files = json.into_iter().chain(report);
        let is_nothing = result.intervals.is_empty() && result.result.bytes == 0;
        if is_nothing && !result.complete {
            return output::write_new(files, true);
        }
        output::write(files, result.complete, true)
    }
}

fn conclude(
    setup: &ClientSetup,
    about: &About,
    path: Option<EmulatedPath>,
    duplicate: u32,
    screen: &mut Screen,
    outcome: &Outcome,
    files: Files,
) -> Result<ExitCode, Failure> {
    let mut result = outcome.run_result(&setup.plan, about);
    result.result.count_copies(duplicate);
    if let Some(path) = &path {
        emulated::set_queue_delay(&mut result.result, &path.measured());
    }
    if setup.is_perf {
        perf::forget_unknown(&mut result, &setup.plan);
    }
    screen.end(&result, &setup.plan);
    if let Some(warning) = path.as_ref().and_then(EmulatedPath::warning) {
        terminal::note(format_args!("warning: {warning}"));
    }
    if let Some(warning) = setup.mtu.and_then(|mtu| smaller_packets(&result, mtu)) {
        terminal::note(format_args!("warning: {warning}"));
    }
    // One that fails does not keep the other from being written.
    let [logged, written] = [screen.finish(), files.write(&result)];
    let written = logged.and(written);
    match &outcome.error {
        None => written.map(|()| ExitCode::SUCCESS),
        Some(error) => {
            if let Err(failure) = written {
                terminal::failure(&failure);
            }
            Err(match error.as_str() {
                client::INTERRUPTED => Failure::interrupted(ENDED_EARLY),
                error => Failure::run(error),
            })
        }
    }
}

/// What a user is told who ends a run. The result names [`client::INTERRUPTED`].
const ENDED_EARLY: &str = "interrupted: the run was ended early, by Ctrl-C, a signal or q; the \
                           figures are of what was measured until then";

/// What is wrong with the packets of a run that was to have some of `mtu` bytes.
fn smaller_packets(result: &RunResult, mtu: u16) -> Option<String> {
    let rows = result.intervals.last()?.streams.iter();
    let sizes = rows.filter_map(|row| row.figures.whole(Quantity::Mtu));
    let size = sizes.min()?;
    (size < u64::from(mtu)).then(|| {
        format!(
            "packets have {size} bytes instead of {mtu}; the path or the sender takes no more, or \
             the run was too short to find out: give a smaller -M or a larger -t"
        )
    })
}
