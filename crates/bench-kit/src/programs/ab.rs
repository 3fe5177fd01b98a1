//! `bench-client ab`.

use super::interrupts;
use crate::ab::{self, AbProgress, AbSetup, Venue};
use crate::args::{AbArgs, DEFAULT_CONTROLLER};
use crate::csv::csv;
use crate::emulated::Links;
use crate::failure::Failure;
use crate::output::Output;
use crate::plan::{Direction, Limit, Limits, Plan, step_for};
use crate::report;
use crate::result::AbResult;
use crate::table::{Unit, ab_table};
use crate::terminal;
use cc_core::Registry;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

/// Compares, prints and writes.
pub(super) fn run(args: &AbArgs, registry: &Registry) -> Result<ExitCode, Failure> {
    let setup = setup(args, registry)?;
    let files = Files::open(args)?;
    let interrupts = interrupts()?;
    announce(args);
    let mut progress = Display::new(args);
    let result = ab::run(&setup, &interrupts, &mut |event| progress.show(event))?;
    progress.close();
    if args.print_json {
        terminal::text(&result.to_json());
    } else {
        terminal::text(&ab_table(&result));
    }
    files.write(&result, args.print_json)?;
    if result.complete {
        return Ok(ExitCode::SUCCESS);
    }
    let failed = result.variants.iter().flat_map(|variant| &variant.rounds);
    let error = result
        .error
        .clone()
        .or_else(|| failed.rev().find_map(|round| round.error.clone()));
    Err(Failure::run(format!(
        "the test is incomplete: {}",
        error.unwrap_or_default()
    )))
}

fn setup(args: &AbArgs, registry: &Registry) -> Result<AbSetup, Failure> {
    let links = Links {
        link: args.link.clone(),
        return_link: args.return_link.clone().unwrap_or_default(),
    };
    let base_rtt = links.base_rtt()?;
    if args.is_virtual && base_rtt.is_none() {
        return Err(Failure::usage(format!(
            "--virtual: the link `{}` takes no time; give it a delay",
            args.link
        )));
    }
    let mut variants = Vec::new();
    for (flag, cc) in [("--a", &args.a), ("--b", &args.b)] {
        let choice = registry
            .choose(cc)
            .map_err(|error| Failure::usage(format!("{flag}: {error}")))?;
        let plan = plan(args, cc);
        plan.check(&Limits::NONE, registry)
            .map_err(|error| Failure::usage(error.to_string()))?;
        variants.push((choice.to_string(), plan));
    }
    Ok(AbSetup {
        variants,
        rounds: args.rounds,
        venue: if args.is_virtual {
            Venue::Simulated
        } else {
            Venue::Embedded
        },
        links,
        seed: args.seed,
        title: args.title.clone(),
        cipher: args.path.cipher,
        mtu: args.path.mtu,
        connect_timeout: args.path.connect_timeout,
        idle_timeout: args.path.idle_timeout,
        registry: registry.clone(),
    })
}

fn plan(args: &AbArgs, cc: &str) -> Plan {
    let limit = Limit::Time(args.time);
    let (direction, client, server) = if args.transfer.reverse {
        (Direction::Reverse, DEFAULT_CONTROLLER, cc)
    } else {
        (Direction::Forward, cc, DEFAULT_CONTROLLER)
    };
    Plan {
        direction,
        limit,
        omit: args.omit,
        streams: args.transfer.parallel,
        length: args.transfer.length.get(),
        rate: args.transfer.bitrate.map(units::Bandwidth::bits_per_sec),
        client_congestion: client.to_owned(),
        server_congestion: server.to_owned(),
        window: args.transfer.window.get(),
        step: step_for(limit, args.omit, None),
    }
}

/// Says what will be done.
fn announce(args: &AbArgs) {
    let AbArgs {
        a,
        b,
        link,
        rounds,
        seed,
        ..
    } = args;
    let (time, omit) = (args.time.as_secs_f64(), args.omit.as_secs_f64());
    terminal::note(format_args!("a: {a}   b: {b}\nlink: {link}"));
    if let Some(return_link) = &args.return_link {
        terminal::note(format_args!("return link: {return_link}"));
    }
    let time_kind = if args.is_virtual {
        ", in virtual time"
    } else {
        ""
    };
    terminal::note(format_args!(
        "rounds: {rounds} of each, {time} s after {omit} s of warm-up, interleaved; seed {seed}\
         {time_kind}"
    ));
}

/// What the test writes.
struct Files {
    report: Option<Output>,
    json: Option<Output>,
    csv: Option<Output>,
}

impl Files {
    fn open(args: &AbArgs) -> Result<Self, Failure> {
        let open = |flag, path: Option<&std::path::Path>| {
            path.map(|path| Output::open(flag, path)).transpose()
        };
        Ok(Self {
            report: open("--report", (!args.no_report).then_some(&args.report))?,
            json: open("--json", args.json.as_deref())?,
            csv: open("--csv", args.csv.as_deref())?,
        })
    }

    fn write(self, result: &AbResult, is_silent: bool) -> Result<(), Failure> {
        let texts = [
            (self.report, report::html(result)),
            (self.json, result.to_json()),
            (self.csv, csv(result)),
        ];
        let mut failure = Ok(());
        for (file, text) in texts {
            let Some(file) = file else { continue };
            let path = file.path().to_owned();
            match file.write(&text) {
                Ok(()) if is_silent => {}
                Ok(()) => terminal::note(format_args!("Written: {}", path.display())),
                // The other files are still worth writing.
                Err(error) => failure = Err(error),
            }
        }
        failure
    }
}

/// A bar where somebody watches, a line per round elsewhere.
struct Display {
    bar: Option<ProgressBar>,
    rounds: u32,
    round_time: Duration,
    /// Time of the rounds that are over.
    passed: Duration,
    /// Their names and controllers.
    variants: [String; 2],
    /// That of the round that goes on.
    present: String,
    /// Payload and time since the bar was last written.
    recent: (u64, Duration),
}

impl Display {
    fn new(args: &AbArgs) -> Self {
        let rounds = args.rounds.saturating_mul(2);
        let round_time = args.omit.saturating_add(args.time);
        let total =
            u64::try_from(round_time.saturating_mul(rounds).as_millis()).unwrap_or(u64::MAX);
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template(BAR).expect("the template is well-formed");
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
            bar.with_style(style)
        });
        Self {
            bar,
            rounds,
            round_time,
            passed: Duration::ZERO,
            variants: [format!("a: {}", args.a), format!("b: {}", args.b)],
            present: String::new(),
            recent: (0, Duration::ZERO),
        }
    }

    fn show(&mut self, event: AbProgress<'_>) {
        match event {
            AbProgress::Begun { slot } => {
                self.present.clone_from(&self.variants[slot.variant]);
                self.passed = self.round_time.saturating_mul(slot.order);
                self.say(&self.present);
            }
            AbProgress::Moved { at, bytes, length } => self.moved(at, bytes, length),
            AbProgress::Ended { slot, round } => {
                self.passed = self.round_time.saturating_mul(slot.order + 1);
                self.move_to(self.passed);
                let figures = match &round.error {
                    None => Unit::Adaptive.rate(round.goodput_bits_per_second as f64),
                    Some(error) => format!("failed: {error}"),
                };
                let line = format!(
                    "{:>3}/{}  {:<20} {figures}",
                    slot.order + 1,
                    self.rounds,
                    self.variants[slot.variant]
                );
                self.line(&line);
            }
            AbProgress::Complaint(complaint) => self.line(&format!("warning: {complaint}")),
        }
    }

    fn moved(&mut self, at: Duration, bytes: u64, length: Duration) {
        self.move_to(self.passed + at.min(self.round_time));
        self.recent.0 += bytes;
        self.recent.1 += length;
        let (bytes, time) = self.recent;
        if time >= BETWEEN_RATES {
            let rate = Unit::Adaptive.rate(bytes as f64 * 8.0 / time.as_secs_f64());
            self.say(&format!("{:<14} {rate}", self.present));
            self.recent = (0, Duration::ZERO);
        }
    }

    fn move_to(&self, position: Duration) {
        if let Some(bar) = &self.bar {
            bar.set_position(u64::try_from(position.as_millis()).unwrap_or(u64::MAX));
        }
    }

    fn say(&self, message: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(message.to_owned());
        }
    }

    fn line(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.println(line),
            None => terminal::note(format_args!("{line}")),
        }
    }

    fn close(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// 80 columns: 30 for the bar, the rest for the controller and its rate.
const BAR: &str = "{wide_bar:30} {percent:>3} % {eta:>4} left  {msg}";

/// Often enough to look alive, seldom enough to be read.
const BETWEEN_RATES: Duration = Duration::from_millis(500);
