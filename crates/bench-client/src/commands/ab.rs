//! `bench-client ab`.

mod display;
mod plan;
mod servers;

use super::{remote, terminal_width};
use crate::ab::{self, AbSetup, AbVariant, Backend, MAX_VARIANTS, StoppingRule};
use crate::args::AbArgs;
use crate::baseline::{self, Baseline};
use crate::client::{self, Trust};
use crate::emulated::Links;
use crate::output::{self, Directory, Output};
use bench_kit::failure::Failure;
use bench_kit::plan::{Direction, Limits};
use bench_kit::qlog::Qlog;
use bench_kit::terminal;
use bench_kit::{cli, clock};
use bench_report::result::{AbResult, Finite};
use bench_report::table::ab_table_within;
use bench_report::text::significant;
use bench_report::{csv, plot, report};
use cc_core::Registry;
use display::{Display, names};
use plan::{plan, times};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

pub(super) fn run(args: &AbArgs, registry: &Registry) -> Result<ExitCode, Failure> {
    servers::check(args)?;
    let setup = setup(args, registry)?;
    setup.check()?;
    let baseline = args.baseline.as_deref().map(Baseline::read).transpose()?;
    if let Some(baseline) = &baseline {
        let blank = ab::blank(&setup)?;
        baseline.check(&blank, setup.competes)?;
        if !args.fail_if.is_empty() {
            baseline.has_all(&blank)?;
        }
    }
    let files = Files::open(args)?;
    let interrupts = cli::interrupts()?;
    announce(args, &setup);
    let mut progress = Display::new(&setup);
    let mut result = ab::run(&setup, &interrupts, &mut |event| progress.show(event))?;
    progress.close();
    result.command.clone_from(&args.command);
    result.note.clone_from(&args.note);
    if let Some(warning) = setup.qlog.as_ref().and_then(Qlog::close) {
        terminal::note(format_args!("warning: {warning}"));
    }
    result.baseline = baseline.map(|baseline| baseline.compare(&result));
    if args.print_json {
        terminal::text(&result.to_json());
    } else {
        terminal::text(&ab_table_within(&result, terminal_width::columns()));
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
    Err(match error.unwrap_or_default().as_str() {
        client::INTERRUPTED => ended_early(&setup, &result),
        error => Failure::run(format!("the test is incomplete: {error}")),
    })
}

/// What is said to who ends a test.
fn ended_early(setup: &AbSetup, result: &AbResult) -> Failure {
    let rounds = result.variants.iter().flat_map(|variant| &variant.rounds);
    let done = rounds.filter(|round| round.succeeded()).count();
    let at_most = if result.until.is_some() {
        "at most "
    } else {
        ""
    };
    let all = setup.max_rounds() as usize * result.variants.len();
    let so_far = match done {
        0 => "before its first round was over".to_owned(),
        _ => format!("after {done} of {at_most}{all} rounds, of which the figures are"),
    };
    Failure::interrupted(format!(
        "interrupted: the test was ended early, by Ctrl-C or a signal, {so_far}; the same command \
         measures all rounds anew"
    ))
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
    if !broken.is_empty() {
        return Err(Failure::run(format!("--fail-if: {}", broken.join("; "))));
    }
    match result.until {
        Some(until) if !until.reached => Err(Failure::unreached(format!(
            "--until: the intervals of goodput are wider than {} % after {} rounds; raise \
             --max-rounds or -t",
            significant(until.half_width.get() * 100.0),
            result.variants[0].rounds.len()
        ))),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// The most rounds of a test with `--until`, unless it says.
const MAX_ROUNDS: u32 = 50;

pub(super) fn setup(args: &AbArgs, registry: &Registry) -> Result<AbSetup, Failure> {
    let links = match args.server {
        Some(_) => Links::default(),
        None => Links {
            link: args.link.clone(),
            return_link: args.return_link.clone().unwrap_or_default(),
        },
    };
    let base_rtt = links.base_rtt()?;
    if args.max_rounds.is_some() && args.until.is_none() {
        return Err(Failure::usage(
            "--max-rounds: there is no --until whose rounds it would limit; add one, such as \
             --until 5%, or give a fixed number of rounds with --rounds",
        ));
    }
    if let Some(most) = args.max_rounds.filter(|most| *most < args.rounds) {
        return Err(Failure::usage(format!(
            "--max-rounds {most} is below the {} rounds that --rounds asks for; raise it, or lower \
             --rounds",
            args.rounds
        )));
    }
    if args.is_virtual && base_rtt.is_none() {
        return Err(Failure::usage(format!(
            "--virtual: link `{}` has no delay; add one, such as `delay 20ms`",
            args.link
        )));
    }
    let qlog = args.qlog.as_deref();
    let qlog = qlog.map(|path| Qlog::open(path, "ab", args.is_virtual));
    Ok(AbSetup {
        variants: variants(args, registry)?,
        competes: args.compete,
        is_independent: args.independent,
        rounds: args.rounds,
        rejects_late: args.reject_late,
        stopping_rule: args.until.map(|half_width| StoppingRule {
            half_width: Finite::new(half_width.as_f64()).unwrap_or_default(),
            max_rounds: args.max_rounds.unwrap_or(MAX_ROUNDS),
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
        qlog: qlog.transpose()?,
    })
}

fn backend(args: &AbArgs) -> Result<Backend, Failure> {
    if !args.perf.is_empty() {
        return servers::find(args).map(Backend::Servers);
    }
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
    let mut variants = match args.perf.as_slice() {
        [] => controllers(args, registry)?,
        servers => servers::variants(servers, args),
    };
    add_own_paths(args, &mut variants)?;
    Ok(variants)
}

/// A variant for each controller, with equal paths.
fn controllers(args: &AbArgs, registry: &Registry) -> Result<Vec<AbVariant>, Failure> {
    let also = args.also.iter().map(|cc| ("--also", cc));
    let controllers = [("--a", &args.a), ("--b", &args.b)].into_iter().chain(also);
    let mut variants: Vec<AbVariant> = Vec::new();
    for (flag, cc) in controllers {
        let choice = registry
            .choose(cc)
            .map_err(|error| Failure::usage(format!("{flag}: {error}")))?;
        let direction = match args.transfer.reverse {
            true => Direction::Reverse,
            false => Direction::Forward,
        };
        let place = variants.len();
        let own = args.bitrate_of.iter().rfind(|(of, _)| *of == place);
        let rate = own.map(|(_, rate)| *rate).or(args.transfer.bitrate);
        let plan = plan(args, direction, cc, rate);
        plan.check(&Limits::NONE, registry)
            .map_err(|error| Failure::usage(error.to_string()))?;
        variants.push(AbVariant {
            cc: choice.to_string(),
            server: None,
            plan,
            flows: args.flows,
            start: args.stagger.saturating_mul(variants.len() as u32),
            extra_delay: Duration::ZERO,
            duplicate: 1,
            bulk_after: None,
            resumes: args.resume.contains(&place),
        });
    }
    if variants.len() > MAX_VARIANTS {
        return Err(Failure::usage(format!(
            "--also: {} controllers in total, at most {MAX_VARIANTS} allowed",
            variants.len()
        )));
    }
    if let Some(place) = args.resume.iter().find(|place| **place >= variants.len()) {
        let name = ab::name(*place);
        let error = format!("--resume: no variant `{name}` in this test");
        return Err(Failure::usage(error));
    }
    if let Some((place, _)) = args.bitrate_of.iter().find(|(of, _)| *of >= variants.len()) {
        let name = ab::name(*place);
        let error = format!("--bitrate-of: no variant `{name}` in this test");
        return Err(Failure::usage(error));
    }
    Ok(variants)
}

/// What `--extra-delay` and `--duplicate` ask for.
fn add_own_paths(args: &AbArgs, variants: &mut [AbVariant]) -> Result<(), Failure> {
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
    Ok(())
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
        Backend::Servers(servers) => {
            servers::announce(servers);
            terminal::note(format_args!("link: {}", args.link));
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

/// Where the report goes. Without a name it overwrites none of an earlier test.
fn report(args: &AbArgs) -> Option<PathBuf> {
    if args.no_report {
        return None;
    }
    let given = args.report.clone();
    let now = clock::since_1970().as_secs();
    Some(given.unwrap_or_else(|| output::unused(Path::new("ab-report"), "html", now, Path::exists)))
}

struct Files {
    report: Option<Output>,
    json: Option<Output>,
    csv: Option<Output>,
    rounds_csv: Option<Output>,
    svg: Option<Directory>,
}

impl Files {
    fn open(args: &AbArgs) -> Result<Self, Failure> {
        let files = Self {
            report: Output::open_if("--report", report(args).as_deref())?,
            json: Output::open_if("--json", args.json.as_deref())?,
            csv: Output::open_if("--csv", args.csv.as_deref())?,
            rounds_csv: Output::open_if("--rounds-csv", args.rounds_csv.as_deref())?,
            svg: args
                .svg
                .as_deref()
                .map(|path| Directory::create("--svg", path))
                .transpose()?,
        };
        let [report, json, csv] = [&files.report, &files.json, &files.csv];
        output::check_distinct(&[report, json, csv, &files.rounds_csv])?;
        // A new result may take the place of the one that it was compared with.
        let others = [report, csv, &files.rounds_csv];
        output::check_kept(&others, "--baseline", args.baseline.as_deref())?;
        Ok(files)
    }

    fn write(self, result: &AbResult, is_silent: bool) -> Result<(), Failure> {
        let texts = [
            (self.report, report::html(result)),
            (self.json, result.to_json()),
            (self.csv, csv::csv(result)),
            (self.rounds_csv, csv::rounds(result)),
        ];
        let rounds = result.variants.iter().flat_map(|variant| &variant.rounds);
        if rounds.filter(|round| round.succeeded()).count() == 0 {
            return output::write_new(texts, is_silent);
        }
        let drawn = self.svg.map_or(Ok(()), |directory| {
            let figures = plot::of_ab(result);
            let directory = match result.complete {
                true => directory,
                false => directory.beside(&figures)?,
            };
            directory.write(&figures, result.title.as_deref(), result.note.as_deref())?;
            if !is_silent {
                let path = directory.path().display();
                terminal::note(format_args!("Written: {path}"));
            }
            Ok(())
        });
        output::write(texts, result.complete, is_silent).and(drawn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{self, Command};

    fn refusal(line: &str) -> String {
        let words = line.split(' ').map(Into::into);
        let Ok(Command::Ab(args)) = args::parse(words).map(|args| args.command) else {
            panic!("{line}");
        };
        setup(&args, &Registry::standard()).unwrap_err().to_string()
    }

    #[test]
    fn the_most_rounds_are_those_of_a_test_that_ends_by_its_intervals() {
        assert_eq!(
            refusal("bench-client ab --virtual --max-rounds 9"),
            "--max-rounds: there is no --until whose rounds it would limit; add one, such as \
             --until 5%, or give a fixed number of rounds with --rounds"
        );
        assert_eq!(
            refusal("bench-client ab --virtual --until 5% --max-rounds 2"),
            "--max-rounds 2 is below the 3 rounds that --rounds asks for; raise it, or lower \
             --rounds"
        );
    }
}
