//! `bench-client matrix`.

use super::{remote, terminal_width};
use crate::ab::Backend;
use crate::args::{MatrixArgs, MatrixCommand, MatrixOutputArgs};
use crate::client::{self, Trust};
use crate::matrix::{
    self, MatrixFile, MatrixPlan, MatrixProgress, MatrixRun, Merged, Network, Shard, Store,
};
use crate::output::{self, Output};
use crate::shell::quoted;
use crate::text_file;
use bench_kit::failure::Failure;
use bench_kit::{cli, terminal};
use bench_report::result::{MatrixAxis, MatrixCell, MatrixResult, Metric};
use bench_report::table::matrix_table_within;
use bench_report::text::{Unit, elided, printable};
use bench_report::{csv, report};
use cc_core::Registry;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt;
use std::io::IsTerminal;
use std::iter;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

/// Runs what is missing, or merges, and prints and writes.
pub(super) fn run(args: &MatrixArgs, registry: &Registry) -> Result<ExitCode, Failure> {
    if let Some(MatrixCommand::Merge(args)) = &args.command {
        let files = Files::open(&args.output)?;
        let Merged { result, notes } = matrix::merge(&args.folders, registry)?;
        for note in notes {
            terminal::note(format_args!("{}", printable(&note)));
        }
        print(&result, files, &args.output)?;
        return judge(&result);
    }
    let (run, shard) = prepare(args, registry)?;
    if shard.is_some() && args.output.has_any() {
        return Err(Failure::usage(
            "a part (--shard) writes no result; use `bench-client matrix merge` when all parts are \
             done",
        ));
    }
    let files = Files::open(&args.output)?;
    let interrupts = cli::interrupts()?;
    announce(&run, shard);
    let mut display = Display::new(&run);
    let result = run.run(&interrupts, &mut |event| display.show(event))?;
    display.close();
    match shard {
        None => {
            print(&result, files, &args.output)?;
            ended_early(&result, &run, "the matrix").map_or_else(|| judge(&result), Err)
        }
        Some(shard) => {
            let part = format!("part {shard}");
            let judged = || judge_shard(&result, &run, &part);
            ended_early(&result, &run, &part).map_or_else(judged, Err)
        }
    }
}

/// What to run, and which part of the whole it is.
fn prepare(args: &MatrixArgs, registry: &Registry) -> Result<(MatrixRun, Option<Shard>), Failure> {
    let name = args.matrix.as_deref().expect("clap demands it");
    let mut file = find(name)?;
    let only_cells = change(&mut file, args)?;
    let network = network(args)?;
    let backend = match &network {
        Some(network) => Backend::Network(network.remote.clone()),
        None if args.is_virtual => Backend::Simulated,
        None => Backend::Embedded,
    };
    let shard = match args.shard {
        Some(shard) => Some((shard, "--shard")),
        None => Shard::of_environment(&|name| std::env::var(name).ok())?,
    };
    if let Some((shard, name)) = shard.filter(|(_, name)| *name != "--shard") {
        terminal::note(format_args!("part {shard} (from {name})"));
    }
    let shard = shard
        .map(|(shard, _)| shard)
        .filter(|shard| !shard.is_whole());
    let mut plan = MatrixPlan::new(file, backend);
    plan.only_cells = only_cells;
    plan.command = plan.matrix.is_drawn().then(|| command(name, &plan, args));
    let mut cells = plan.cells(registry)?;
    let all_cells = cells.len();
    cells.retain(|cell| shard.is_none_or(|shard| shard.has(cell)));
    let folder = args.dir.clone();
    let folder = folder.unwrap_or_else(|| PathBuf::from(format!("{}-cells", plan.matrix.name)));
    let cores = || thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
    // In real time one disturbs the other.
    let jobs = if args.is_virtual {
        args.jobs.unwrap_or_else(cores)
    } else {
        NonZero::<usize>::MIN
    };
    let run = MatrixRun {
        plan,
        cells,
        all_cells,
        store: Store::create(&folder)?,
        jobs,
        network,
        registry: registry.clone(),
    };
    Ok((run, shard))
}

/// The network that the cells are to be run over, if any.
fn network(args: &MatrixArgs) -> Result<Option<Network>, Failure> {
    let Some((server, shaper)) = args.server.as_ref().zip(args.shape.as_ref()) else {
        return Ok(None);
    };
    Ok(Some(Network {
        remote: Box::new(remote::find(server, &args.remote)?),
        shaper: shaper.clone(),
    }))
}

/// The matrix in file `name`, or the one that is known by it.
fn find(name: &str) -> Result<MatrixFile, Failure> {
    let path = Path::new(name);
    let is_file = name.ends_with(".toml") || name.contains(std::path::MAIN_SEPARATOR);
    if !is_file && !path.is_file() {
        return matrix::find(name);
    }
    let text = text_file::read(path, "a TOML file of a matrix, or a matrix of `list`")?;
    MatrixFile::read(name, &text)
}

/// What the command line says overrules the file. Returns the drawn cells that it names.
fn change(file: &mut MatrixFile, args: &MatrixArgs) -> Result<Vec<u32>, Failure> {
    let text = |time| units::duration::display(time).to_string().as_str().into();
    file.rounds = args.rounds.unwrap_or(file.rounds);
    file.seed = args.seed.unwrap_or(file.seed);
    if let Some(time) = args.time {
        file.seconds = Some(text(time));
    }
    if let Some(omit) = args.omit {
        file.omit = Some(text(omit));
    }
    if args.draw.is_some() && !file.is_drawn() {
        let name = &file.name;
        return Err(Failure::usage(format!(
            "--draw: matrix {name} has axes, and no `[draws]` to draw from"
        )));
    }
    file.draw = args.draw.or(file.draw);
    for usage in &mut file.uses {
        usage.seconds = usage.seconds.take().filter(|_| args.time.is_none());
        usage.omit = usage.omit.take().filter(|_| args.omit.is_none());
    }
    let narrowed = file.narrow(&args.only);
    let narrowed = narrowed.map_err(|error| Failure::usage(format!("--only: {error}")))?;
    let check = file.check();
    check.map_err(|error| Failure::usage(format!("matrix {}: {error}", file.name)))?;
    Ok(narrowed)
}

/// The command that draws the cells of `plan` again, without the choice of some of them.
fn command(name: &str, plan: &MatrixPlan, args: &MatrixArgs) -> String {
    let mut words = vec!["bench-client matrix".to_owned(), quoted(name)];
    if plan.is_virtual {
        words.push("--virtual".to_owned());
    }
    let (drawn, seed) = (plan.matrix.drawn(), plan.matrix.seed);
    words.push(format!("--draw {drawn} --seed {seed}"));
    if let Some(rounds) = args.rounds {
        words.push(format!("--rounds {rounds}"));
    }
    for (flag, time) in [("-t", args.time), ("-O", args.omit)] {
        let time = time.map(|time| units::duration::display(time).to_string());
        words.extend(time.map(|time| format!("{flag} {time}")));
    }
    let others = args.only.iter().map(ToString::to_string);
    let others = others.filter(|only| !only.starts_with("cell="));
    words.extend(others.map(|only| format!("--only {}", quoted(&only))));
    words.join(" ")
}

fn announce(run: &MatrixRun, shard: Option<Shard>) {
    let MatrixPlan { matrix, .. } = &run.plan;
    if let Some(title) = &matrix.title {
        terminal::note(format_args!("{}", printable(title)));
    }
    let time_kind = if run.plan.is_virtual {
        "; virtual time"
    } else {
        ""
    };
    if let Some(network) = &run.network {
        terminal::note(format_args!("server: {}", network.remote));
        if matches!(network.remote.trust, Trust::Anyone) {
            terminal::note(format_args!("{}", remote::NOT_VERIFIED));
        }
    }
    let part = shard.map_or_else(String::new, |shard| {
        format!(", of which part {shard} runs here")
    });
    let times = run.plan.times().expect("cells were planned with them");
    let (time, omit) = (times.0.as_secs_f64(), times.1.as_secs_f64());
    terminal::note(format_args!(
        "cells: {}{part}; rounds: {} per controller, {time} s after {omit} s warm-up; seed \
         {}{time_kind}",
        run.all_cells, matrix.rounds, matrix.seed,
    ));
}

fn print(result: &MatrixResult, files: Files, args: &MatrixOutputArgs) -> Result<(), Failure> {
    if args.print_json {
        terminal::text(&result.to_json());
    } else {
        terminal::text(&matrix_table_within(result, terminal_width::columns()));
    }
    files.write(result, args.print_json)
}

fn judge(result: &MatrixResult) -> Result<ExitCode, Failure> {
    if result.complete {
        return Ok(ExitCode::SUCCESS);
    }
    let failed = result.cells.iter().find_map(|cell| {
        let place = cell.place(&result.axes);
        Some(format!("{place}: {}", cell.error.as_ref()?))
    });
    let error = result.error.clone().or(failed).unwrap_or_default();
    Err(Failure::run(format!("the matrix is incomplete: {error}")))
}

/// A part is whole when its cells are.
fn judge_shard(result: &MatrixResult, run: &MatrixRun, part: &str) -> Result<ExitCode, Failure> {
    let (done, due) = (result.cells.len(), run.cells.len());
    let folder = run.store.folder().display();
    if let Some(error) = &result.error {
        return Err(Failure::run(format!("{part} is incomplete: {error}")));
    }
    terminal::result(format_args!(
        "{part}: {done} of {due} cells done, in {folder}; join the directories of all parts with \
         `bench-client matrix merge`"
    ));
    Ok(ExitCode::SUCCESS)
}

/// What is said to who ends a run, if somebody did.
fn ended_early(result: &MatrixResult, run: &MatrixRun, what: &str) -> Option<Failure> {
    let (done, due) = (result.cells.len(), run.cells.len());
    let folder = run.store.folder().display();
    (result.error.as_deref() == Some(client::INTERRUPTED)).then(|| {
        Failure::interrupted(format!(
            "interrupted: {what} was ended early, by Ctrl-C or a signal; cells done, which \
             {folder} has: {done} of {due}; the same command goes on with the others"
        ))
    })
}

struct Files {
    json: Option<Output>,
    report: Option<Output>,
    csv: Option<Output>,
}

impl Files {
    fn open(args: &MatrixOutputArgs) -> Result<Self, Failure> {
        let files = Self {
            json: Output::open_if("--json", args.json.as_deref())?,
            report: Output::open_if("--report", args.report.as_deref())?,
            csv: Output::open_if("--csv", args.csv.as_deref())?,
        };
        output::check_distinct(&[&files.json, &files.report, &files.csv])?;
        Ok(files)
    }

    fn write(self, result: &MatrixResult, is_silent: bool) -> Result<(), Failure> {
        let texts = [
            (self.json, result.to_json()),
            (self.report, report::matrix_html(result)),
            (self.csv, csv::cells(result)),
        ];
        output::write(texts, result.complete, is_silent)
    }
}

/// A bar where somebody watches, a line per cell everywhere.
struct Display {
    bar: Option<ProgressBar>,
    axes: Vec<MatrixAxis>,
    /// Cells that are over, and that are to be run.
    ended: usize,
    due: usize,
}

impl Display {
    fn new(run: &MatrixRun) -> Self {
        Self {
            bar: None,
            axes: run.plan.axes(),
            ended: 0,
            due: 0,
        }
    }

    fn show(&mut self, event: MatrixProgress<'_>) {
        match event {
            MatrixProgress::Unfit { cell, reason } => {
                self.line(&format!("{}: rerunning: {reason}", cell.place()));
            }
            MatrixProgress::Found { kept, due, rounds } => {
                if kept > 0 {
                    self.line(&format!("{kept} cells already done, {due} to run"));
                }
                self.due = due;
                self.bar = bar(rounds);
                if self.bar.is_none() && due > 0 {
                    self.line(&format!("{:>4}/{due}  begun: {rounds} rounds", 0));
                }
            }
            MatrixProgress::Shaped(text) => {
                for line in text.lines() {
                    self.line(line);
                }
            }
            MatrixProgress::Unshaped { place, reason } => {
                self.line(&format!("{place}: skipped: {reason}"));
            }
            MatrixProgress::RoundEnded => {
                if let Some(bar) = &self.bar {
                    bar.inc(1);
                }
            }
            MatrixProgress::CellEnded { cell } => {
                self.ended += 1;
                let head = format!("{:>4}/{}  {}", self.ended, self.due, cell.place(&self.axes));
                let width = terminal_width::of_stderr().unwrap_or(usize::MAX);
                for line in cell_lines(&head, &figures(cell), width) {
                    self.line(&line);
                }
            }
            MatrixProgress::Waiting(ahead) => self.line(&client::waiting(ahead)),
            MatrixProgress::Warning(warning) => self.line(&format!("warning: {warning}")),
        }
    }

    fn line(&self, line: &str) {
        let line = printable(line);
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

/// Of so many rounds, where somebody watches.
fn bar(rounds: u64) -> Option<ProgressBar> {
    std::io::stderr().is_terminal().then(|| {
        let style = ProgressStyle::with_template(BAR).expect("the template is well-formed");
        let style = style.with_key("left", left);
        let bar = ProgressBar::with_draw_target(Some(rounds), ProgressDrawTarget::stderr());
        let bar = bar.with_style(style);
        // A first round may take minutes.
        bar.enable_steady_tick(Duration::from_secs(1));
        bar
    })
}

/// A line or, where that is wider than the terminal, a line for the place of the cell and one for
/// each variant, in which names are shortened and figures are not.
fn cell_lines(head: &str, figures: &[(String, String)], width: usize) -> Vec<String> {
    let whole = figures
        .iter()
        .map(|(name, goodput)| format!("{name}: {goodput}"));
    let line = format!("{head}  {}", whole.collect::<Vec<String>>().join(", "));
    if line.chars().count() <= width {
        return vec![line];
    }
    let fitting = |text: &str, more: &str| {
        let room = width.saturating_sub(more.chars().count());
        elided(text, |text| text.chars().count() <= room) + more
    };
    let variants = figures.iter();
    let variants =
        variants.map(|(name, goodput)| fitting(&format!("  {name}"), &format!(": {goodput}")));
    iter::once(fitting(head, "")).chain(variants).collect()
}

/// Each variant with its median goodput.
fn figures(cell: &MatrixCell) -> Vec<(String, String)> {
    let variants = cell.variants.iter().map(|variant| {
        let goodput = variant.summary.get(&Metric::GoodputBitsPerSecond);
        let goodput = goodput.map(|goodput| Unit::Adaptive.rate(goodput.median.get()));
        let goodput = goodput.unwrap_or_else(|| "failed".to_owned());
        let name = format!("{} {}", variant.name, printable(&variant.sender()));
        (name, goodput)
    });
    variants.collect()
}

/// Nothing is known of what is left before a round has ended.
fn left(state: &ProgressState, out: &mut dyn fmt::Write) {
    if state.pos() > 0 {
        // Where that cannot be written there is no progress to show.
        let _ = write!(out, ", {:#} left", HumanDuration(state.eta()));
    }
}

/// 80 columns: 40 for the bar.
const BAR: &str = "{wide_bar:40} {percent:>3} % {pos}/{len} rounds, {elapsed} passed{left}";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{self, Command};
    use crate::shell;
    use std::fs;

    #[test]
    fn a_cell_has_lines_that_fit_into_the_terminal() {
        let figures = [
            ("a cubic", "94.0 Mbits/sec"),
            ("b bbr3:startup_pacing_gain=2.77,beta=0.7", "5.01 Mbits/sec"),
        ];
        let figures = figures.map(|(name, rate)| (name.to_owned(), rate.to_owned()));
        let head = "   1/12  loss=1%, delay=40ms, rate=100mbit";
        assert_eq!(cell_lines(head, &figures, 200).len(), 1);
        let lines = cell_lines(head, &figures, 40);
        assert_eq!(lines.len(), 3, "{lines:?}");
        for line in &lines {
            assert!(line.chars().count() <= 40, "{line}");
        }
        assert_eq!(lines[1], "  a cubic: 94.0 Mbits/sec");
        assert!(lines[2].ends_with("=0.7: 5.01 Mbits/sec"), "{lines:?}");
    }

    #[test]
    fn the_matrices_behind_the_pages_of_results_can_be_run_as_they_say() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let pages = ["field-tests.md", "which-controller.md"]
            .map(|page| fs::read_to_string(docs.join(page)).unwrap())
            .map(|page| page.replace("\\\n", " "));
        let lines = pages.iter().flat_map(|page| page.lines());
        let commands = lines.filter(|line| line.starts_with("bench-client matrix "));
        let commands: Vec<&str> = commands.collect();
        assert!(commands.len() >= 9, "{commands:?}");
        for command in commands {
            let command = command.split('#').next().unwrap_or_default();
            let words = shell::words(command).into_iter().map(Into::into);
            let Ok(Command::Matrix(args)) = args::parse(words).map(|args| args.command) else {
                panic!("{command}");
            };
            let mut file = find(args.matrix.as_deref().unwrap()).unwrap();
            change(&mut file, &args).unwrap();
            let cells = MatrixPlan::new(file, Backend::Simulated).cells(&Registry::standard());
            assert!(!cells.unwrap().is_empty(), "{command}");
        }
    }
}
