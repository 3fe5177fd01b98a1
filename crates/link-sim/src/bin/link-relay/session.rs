//! The life of a relay, from the first line that it prints to the last.

use crate::arguments::Arguments;
use crate::changes::{LinkFiles, lines_of_stdin, parse_line, read_file};
use crate::failure::{Failure, print_error};
use crate::output::Output;
use crate::report::{self, IntervalReport};
use crate::signals::Signals;
use crate::timing::{WATCH, next_of, ticks};
use core::time::Duration;
use link_sim::LinkSpec;
use link_sim::relay::{
    CaptureStats, Direction, Relay, RelayConfig, RelayHandle, explain_bind, explain_refusal,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::{self, Write as _};
use std::time::Instant;
use tokio::runtime::Builder;
use tokio::sync::mpsc::Receiver;
use tokio::time::{Interval, MissedTickBehavior};

/// Runs a relay until a signal ends it.
///
/// # Errors
/// Wrong arguments, an address that is taken, a capture that could not be written to its end.
pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let interval = arguments.interval()?;
    let config = arguments.config()?;
    allow_descriptors(config.max_clients);
    let files = arguments.files();
    // Whoever reads the heading may send a signal.
    let signals = Signals::listen(files.iter().next().is_some()).map_err(refused)?;
    // Without I/O, which would need three file descriptors.
    let runtime = Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(refused)?;
    let mut out = Output::default();
    let session = Session {
        relay: start(&config, &mut out)?,
        out,
        link: config.link,
        return_link: config.return_link,
        files,
        interval,
        has_failed_capture: false,
        has_unserved_clients: false,
    };
    runtime.block_on(session.run(signals))
}

/// What the system refuses, and what to do about it.
fn refused(error: io::Error) -> Failure {
    Failure::run(explain_refusal(error))
}

fn start(config: &RelayConfig, out: &mut Output) -> Result<RelayHandle, Failure> {
    let relay = Relay::spawn(config.clone()).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable => Failure::run(format!(
            "cannot listen on UDP {}: {}",
            config.listen,
            explain_bind(config.listen, error, "--listen", "--listen")
        )),
        _ => Failure::run(error),
    })?;
    let between = format!(
        "{} to {}, seed {}",
        relay.local_addr(),
        config.to,
        config.seed
    );
    report::print_heading(out, between, &config.link, &config.return_link).map_err(Failure::run)?;
    Ok(relay)
}

/// Most systems give a process 1,024 descriptors and allow it many more.
fn allow_descriptors(max_clients: usize) {
    let wanted = (max_clients + OTHER_DESCRIPTORS) as u64;
    let limit = getrlimit(Resource::Nofile);
    let allowed = limit.maximum.unwrap_or(u64::MAX);
    if limit.current.is_none_or(|current| current >= wanted) {
        return;
    }
    let raised = Rlimit {
        current: Some(wanted.min(allowed)),
        ..limit
    };
    if setrlimit(Resource::Nofile, raised).is_err() || allowed < wanted {
        print_error(format_args!(
            "--max-clients: {max_clients} clients need {wanted} file descriptors, only {} allowed; \
             raise ulimit -n",
            allowed.min(wanted)
        ));
    }
}

#[derive(Debug)]
struct Session {
    relay: RelayHandle,
    out: Output,
    link: LinkSpec,
    return_link: LinkSpec,
    files: LinkFiles,
    interval: Option<Duration>,
    has_failed_capture: bool,
    has_unserved_clients: bool,
}

impl Session {
    /// Does what comes until a signal ends the program, then prints the totals.
    async fn run(mut self, signals: Signals) -> Result<(), Failure> {
        let mut lines = Some(lines_of_stdin().map_err(refused)?);
        let mut watch = tokio::time::interval(WATCH);
        watch.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let begin = watch.tick().await;
        let mut rows = self.interval.map(|interval| ticks(begin, interval));
        let mut figures = IntervalReport::begin(begin.into_std());
        while self.relay.is_running() {
            tokio::select! {
                _ = watch.tick() => self.report_errors(),
                at = next_of(rows.as_mut().map(Interval::tick)) => {
                    self.print_interval(&mut figures, at.into_std())?;
                }
                line = next_of(lines.as_mut().map(Receiver::recv)) => match line {
                    Some(line) => self.apply_line(line)?,
                    None => lines = None,
                },
                () = signals.hang_up.notified() => self.read_files()?,
                () = signals.end.notified() => break,
            }
        }
        self.end(begin.elapsed())
    }

    fn print_interval(&mut self, figures: &mut IntervalReport, at: Instant) -> Result<(), Failure> {
        let stats = self.relay.stats();
        figures
            .print_interval(&mut self.out, at, (&stats).into())
            .map_err(Failure::run)
    }

    /// Says once, as soon as it is known, that nothing is captured any more, or that some clients
    /// are not served.
    fn report_errors(&mut self) {
        if self.has_failed_capture && self.has_unserved_clients {
            return;
        }
        let stats = self.relay.stats();
        let capture = stats.capture.and_then(|capture| capture.error);
        if let Some(error) = capture.filter(|_| !self.has_failed_capture) {
            print_error(format_args!("capture stopped, the relay goes on: {error}"));
            self.has_failed_capture = true;
        }
        if let Some(error) = stats.socket_error.filter(|_| !self.has_unserved_clients) {
            print_error(format_args!(
                "no socket for another client, the relay serves the {} that it has: {error}",
                stats.clients
            ));
            self.has_unserved_clients = true;
        }
    }

    fn apply_line(&mut self, line: Result<String, String>) -> Result<(), Failure> {
        match line.as_deref().map(parse_line) {
            Ok(None) => {}
            Ok(Some(Ok((direction, link)))) => self.change(direction, link)?,
            Ok(Some(Err(error))) => print_error(error),
            Err(error) => print_error(error),
        }
        Ok(())
    }

    fn read_files(&mut self) -> Result<(), Failure> {
        let files = self.files.clone();
        for (direction, path) in files.iter() {
            match read_file(path) {
                Ok(link) if link == *self.link(direction) => {
                    print_error(format_args!("{}: link unchanged", path.display()))
                }
                Ok(link) => self.change(direction, link)?,
                Err(error) => print_error(format_args!("{}: {error}", path.display())),
            }
        }
        Ok(())
    }

    /// Makes a link another one and says so; one that the relay refuses stays as it is.
    fn change(&mut self, direction: Direction, link: LinkSpec) -> Result<(), Failure> {
        match self.relay.reconfigure(direction, link.clone()) {
            Ok(at) => {
                report::print_change(&mut self.out, at, direction, &link).map_err(Failure::run)?;
                *self.link(direction) = link;
            }
            Err(error) => print_error(error),
        }
        Ok(())
    }

    fn link(&mut self, direction: Direction) -> &mut LinkSpec {
        match direction {
            Direction::ToServer => &mut self.link,
            Direction::ToClient => &mut self.return_link,
        }
    }

    /// Ends the relay and says what it did in `elapsed`.
    fn end(self, elapsed: Duration) -> Result<(), Failure> {
        let stats = self.relay.shutdown().map_err(Failure::run)?;
        let mut out = self.out;
        report::print_totals(&mut out, &(&stats).into()).map_err(Failure::run)?;
        let busy = stats.cpu.as_secs_f64() / elapsed.as_secs_f64();
        writeln!(out, "CPU {:.1} % of one core", 100.0 * busy).map_err(Failure::run)?;
        if let Some(capture) = &stats.capture {
            print_capture(&mut out, capture)?;
        }
        out.flush().map_err(Failure::run)?;
        out.end()
    }
}

/// # Errors
/// Why the files are not all that they should be.
fn print_capture(out: &mut impl io::Write, capture: &CaptureStats) -> Result<(), Failure> {
    let CaptureStats {
        client_side,
        server_side,
        dropped,
        error,
    } = capture;
    writeln!(
        out,
        "captured {client_side} packets on the clients' side, {server_side} on the server's; \
         {dropped} not captured"
    )
    .map_err(Failure::run)?;
    match error {
        Some(error) => Err(Failure::run(format!("capture incomplete: {error}"))),
        None => Ok(()),
    }
}

/// Those that are no client's: the listening socket, the pipes, the files of a capture.
const OTHER_DESCRIPTORS: usize = 32;
