//! `bench-client ab`.

mod display;

use super::remote;
use crate::ab::{self, AbSetup, AbVariant, Backend, MAX_VARIANTS, StoppingRule};
use crate::args::AbArgs;
use crate::baseline::{self, Baseline};
use crate::client::Trust;
use crate::emulated::Links;
use crate::output::{self, Directory, Output};
use bench_kit::cli::{self, DEFAULT_CONTROLLER};
use bench_kit::failure::Failure;
use bench_kit::plan::{Direction, Extras, Limit, Limits, Plan, step_for, target_rate};
use bench_kit::terminal;
use bench_report::result::{AbResult, Finite};
use bench_report::table::ab_table;
use bench_report::{csv, plot, report};
use cc_core::Registry;
use display::{Display, names};
use std::num::NonZero;
use std::process::ExitCode;
use std::time::Duration;
use units::Bandwidth;

pub(super) fn run(args: &AbArgs, registry: &Registry) -> Result<ExitCode, Failure> {
    let setup = setup(args, registry)?;
    setup.check()?;
    let baseline = args.baseline.as_deref().map(Baseline::read).transpose()?;
    if let Some(baseline) = &baseline {
        baseline.check(&ab::blank(&setup)?, setup.competes)?;
    }
    let files = Files::open(args)?;
    let interrupts = cli::interrupts()?;
    announce(args, &setup);
    let mut progress = Display::new(&setup);
    let mut result = ab::run(&setup, &interrupts, &mut |event| progress.show(event))?;
    progress.close();
    result.baseline = baseline.map(|baseline| baseline.compare(&result));
    if args.print_json {
        terminal::text(&result.to_json());
    } else {
        terminal::text(&ab_table(&result));
    }
    files.write(&result, args.print_json)?;
    if result.complete {
        return judge(args, &result);
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

/// Says what became of the baseline's variants, and whether a rule is broken.
fn judge(args: &AbArgs, result: &AbResult) -> Result<ExitCode, Failure> {
    for line in baseline::summary(result) {
        terminal::note(format_args!("{line}"));
    }
    let verdicts: Vec<_> = args.fail_if.iter().map(|rule| rule.judge(result)).collect();
    for open in verdicts.iter().flat_map(|verdict| &verdict.open) {
        terminal::note(format_args!("warning: --fail-if: {open}"));
    }
    let broken = verdicts.into_iter().flat_map(|verdict| verdict.broken);
    let broken: Vec<String> = broken.collect();
    if broken.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    Err(Failure::run(format!("--fail-if: {}", broken.join("; "))))
}

pub(super) fn setup(args: &AbArgs, registry: &Registry) -> Result<AbSetup, Failure> {
    let links = match args.server {
        Some(_) => Links::default(),
        None => Links {
            link: args.link.clone(),
            return_link: args.return_link.clone().unwrap_or_default(),
        },
    };
    let base_rtt = links.base_rtt()?;
    if args.is_virtual && base_rtt.is_none() {
        return Err(Failure::usage(format!(
            "--virtual: link `{}` has no delay; add one, such as `delay 20ms`",
            args.link
        )));
    }
    Ok(AbSetup {
        variants: variants(args, registry)?,
        competes: args.compete,
        is_independent: args.independent,
        rounds: args.rounds,
        stopping_rule: args.until.map(|half_width| StoppingRule {
            half_width: Finite::new(half_width.as_f64()).unwrap_or_default(),
            max_rounds: args.max_rounds,
        }),
        backend: backend(args)?,
        workers: std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN),
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

fn backend(args: &AbArgs) -> Result<Backend, Failure> {
    let Some(server) = &args.server else {
        return Ok(if args.is_virtual {
            Backend::Simulated
        } else {
            Backend::Embedded
        });
    };
    let remote = remote::find(server, &args.remote)?;
    Ok(Backend::Network(Box::new(remote)))
}

fn variants(args: &AbArgs, registry: &Registry) -> Result<Vec<AbVariant>, Failure> {
    let also = args.also.iter().map(|cc| ("--also", cc));
    let controllers = [("--a", &args.a), ("--b", &args.b)].into_iter().chain(also);
    let mut variants: Vec<AbVariant> = Vec::new();
    for (flag, cc) in controllers {
        let choice = registry
            .choose(cc)
            .map_err(|error| Failure::usage(format!("{flag}: {error}")))?;
        let place = variants.len();
        let own = args.bitrate_of.iter().rfind(|(of, _)| *of == place);
        let rate = own.map(|(_, rate)| *rate).or(args.transfer.bitrate);
        let plan = plan(args, cc, rate);
        plan.check(&Limits::NONE, registry)
            .map_err(|error| Failure::usage(error.to_string()))?;
        variants.push(AbVariant {
            cc: choice.to_string(),
            plan,
            flows: args.flows,
            start: args.stagger.saturating_mul(variants.len() as u32),
            extra_delay: Duration::ZERO,
            duplicate: 1,
            bulk_after: None,
        });
    }
    if variants.len() > MAX_VARIANTS {
        return Err(Failure::usage(format!(
            "--also: {} controllers in total, at most {MAX_VARIANTS} allowed",
            variants.len()
        )));
    }
    if let Some((place, _)) = args.bitrate_of.iter().find(|(of, _)| *of >= variants.len()) {
        let name = ab::name(*place);
        let error = format!("--bitrate-of: no variant `{name}` in this test");
        return Err(Failure::usage(error));
    }
    for (place, time) in &args.extra_delay {
        let variant = variants.get_mut(*place).ok_or_else(|| {
            let name = ab::name(*place);
            Failure::usage(format!("--extra-delay: no variant `{name}` in this test"))
        })?;
        variant.extra_delay = *time;
    }
    for (place, copies) in &args.duplicate {
        let of_one = place.map_or(0..variants.len(), |place| place..place + 1);
        let asked = variants.get_mut(of_one).ok_or_else(|| {
            let name = place.map(ab::name).unwrap_or_default();
            Failure::usage(format!("--duplicate: no variant `{name}` in this test"))
        })?;
        asked
            .iter_mut()
            .for_each(|variant| variant.duplicate = *copies);
    }
    Ok(variants)
}

/// Measured part and warm-up of a round; where bytes end it, the longest that it may take.
fn times(args: &AbArgs) -> (Duration, Duration) {
    let (time, omit) = match args.bytes {
        None => USUAL_TIMES,
        Some(_) => LONGEST_TRANSFER,
    };
    (args.time.unwrap_or(time), args.omit.unwrap_or(omit))
}

/// What each connection of controller `cc` does, with streams of at most `rate`.
fn plan(args: &AbArgs, cc: &str, rate: Option<Bandwidth>) -> Plan {
    let (time, omit) = times(args);
    let bytes = args.bytes.map(|bytes| Limit::Bytes(bytes.get()));
    let limit = bytes.unwrap_or(Limit::Time(time));
    let (direction, client, server) = if args.transfer.reverse {
        (Direction::Reverse, DEFAULT_CONTROLLER, cc)
    } else {
        (Direction::Forward, cc, DEFAULT_CONTROLLER)
    };
    Plan {
        direction,
        limit,
        omit,
        streams: args.transfer.parallel,
        length: args.transfer.length.get(),
        rate: target_rate(rate),
        client_congestion: client.to_owned(),
        server_congestion: server.to_owned(),
        window: args.transfer.window.get(),
        step: step_for(limit, omit, None),
        extras: Extras {
            at_most: args.bytes.map(|_| time),
            ..Extras::default()
        },
    }
}

fn announce(args: &AbArgs, setup: &AbSetup) {
    terminal::note(format_args!("{}", names(setup).join("   ")));
    match &setup.backend {
        Backend::Network(remote) => {
            terminal::note(format_args!("server: {remote}"));
            if matches!(remote.trust, Trust::Anyone) {
                terminal::note(format_args!("{}", remote::NOT_VERIFIED));
            }
        }
        _ => terminal::note(format_args!("link: {}", args.link)),
    }
    if let Some(return_link) = &args.return_link {
        terminal::note(format_args!("return link: {return_link}"));
    }
    let (time, omit) = times(args);
    let (time, omit) = (time.as_secs_f64(), omit.as_secs_f64());
    let time = match args.bytes {
        Some(bytes) => format!("{} bytes, at most {time} s", bytes.get()),
        None => format!("{time} s after {omit} s warm-up"),
    };
    let rounds = match setup.stopping_rule {
        Some(_) => format!("at most {}", setup.max_rounds()),
        None => setup.rounds.to_string(),
    };
    let order = if args.compete {
        "all at once"
    } else {
        "interleaved"
    };
    let time_kind = if args.is_virtual {
        "; virtual time"
    } else {
        ""
    };
    terminal::note(format_args!(
        "rounds: {rounds} per variant, {time}, {order}; seed {}{time_kind}",
        args.seed
    ));
}

/// Seconds that a round measures and leaves out.
const USUAL_TIMES: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(1));

/// The same where bytes end it, as those of a matrix.
const LONGEST_TRANSFER: (Duration, Duration) = (Duration::from_secs(600), Duration::ZERO);

struct Files {
    report: Option<Output>,
    json: Option<Output>,
    csv: Option<Output>,
    rounds_csv: Option<Output>,
    svg: Option<Directory>,
}

impl Files {
    fn open(args: &AbArgs) -> Result<Self, Failure> {
        Ok(Self {
            report: Output::open_if(
                "--report",
                (!args.no_report).then_some(args.report.as_path()),
            )?,
            json: Output::open_if("--json", args.json.as_deref())?,
            csv: Output::open_if("--csv", args.csv.as_deref())?,
            rounds_csv: Output::open_if("--rounds-csv", args.rounds_csv.as_deref())?,
            svg: args
                .svg
                .as_deref()
                .map(|path| Directory::create("--svg", path))
                .transpose()?,
        })
    }

    fn write(self, result: &AbResult, is_silent: bool) -> Result<(), Failure> {
        let texts = [
            (self.report, report::html(result)),
            (self.json, result.to_json()),
            (self.csv, csv::csv(result)),
            (self.rounds_csv, csv::rounds(result)),
        ];
        let mut failure = Ok(());
        if let Some(directory) = self.svg {
            match directory.write(&plot::of_ab(result)) {
                Ok(()) if is_silent => {}
                Ok(()) => {
                    let path = directory.path().display();
                    terminal::note(format_args!("Written: {path}"));
                }
                Err(error) => failure = Err(error),
            }
        }
        output::write_all(texts, is_silent).and(failure)
    }
}
