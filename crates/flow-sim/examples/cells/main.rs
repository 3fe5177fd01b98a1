//! Controllers on groups of paths in the small simulator: a change of a controller is tried on
//! hundreds of cells in a minute or two.
//!
//! ```sh
//! cargo run --release -p paceline-flow-sim --example cells -- eight loss/160ms paceline cubic
//! ```
//!
//! These paths are for tuning, and none of them is one of `scenarios/paceline.toml`.

mod cell;
mod groups;
mod paths;
mod shared;

use cell::Cell;
use clap::Parser;
use groups::{GROUPS, Group};
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Tries controllers on groups of paths, and prints of each group the mean, the worst cells and how
/// many keep the bound.
#[derive(Parser)]
struct Arguments {
    /// Controllers, `paceline` unless one is named, and groups, all unless one is named;
    /// `eight/1bdp` is those cells of `eight` that have `1bdp` in their names.
    words: Vec<String>,
    /// Seeds of each cell.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    seeds: u64,
    /// Judge each cell by its worst seed, not by the mean of all.
    #[arg(long)]
    worst: bool,
    /// Print the courses of the flows with one seed instead.
    #[arg(long, conflicts_with_all = ["seeds", "worst"])]
    trace: bool,
    /// The seed of `--trace`.
    #[arg(long, default_value_t = 1, requires = "trace")]
    seed: u64,
}

fn main() -> ExitCode {
    match run(&Arguments::parse(), &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        // Nobody reads on.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments, out: &mut impl Write) -> io::Result<()> {
    let (mut controllers, mut chosen) = (Vec::new(), Vec::new());
    for word in &arguments.words {
        let (name, path) = word.split_once('/').unwrap_or((word, ""));
        if let Some(group) = GROUPS.iter().find(|group| group.name == name) {
            chosen.push((group, path));
        } else if let Err(error) = cc_core::Registry::standard().choose(word) {
            let names: Vec<_> = GROUPS.iter().map(|group| group.name).collect();
            let names = names.join(", ");
            return Err(io::Error::other(format!(
                "{error}; it is no group either: {names}"
            )));
        } else {
            controllers.push(word.as_str());
        }
    }
    if controllers.is_empty() {
        controllers.push("paceline");
    }
    if chosen.is_empty() {
        chosen = GROUPS.iter().map(|group| (group, "")).collect();
    }
    for (group, path) in chosen {
        let mut cells = (group.cells)();
        cells.retain(|cell| cell.name.contains(path));
        if cells.is_empty() {
            let message = format!("no cell of `{}` has `{path}` in its name", group.name);
            return Err(io::Error::other(message));
        }
        for controller in &controllers {
            if arguments.trace {
                for cell in &cells {
                    cell.trace(controller, arguments.seed, out)?;
                }
            } else {
                let results = results(group, &cells, controller, arguments.seeds);
                report(group, &results, controller, arguments.worst, out)?;
            }
        }
    }
    Ok(())
}

/// What a cell has come to.
struct OfCell<'a> {
    name: &'a str,
    mean: f64,
    worst: f64,
    /// That has the worst figure.
    seed: u64,
}

impl<'a> OfCell<'a> {
    fn new(group: &Group, cell: &'a Cell, figures: &[f64]) -> Self {
        let by_figure = figures.iter().copied().zip(1..);
        let worst = by_figure.reduce(|one, other| match group.is_worse(other.0, one.0) {
            true => other,
            false => one,
        });
        let (worst, seed) = worst.expect("one seed at least");
        Self {
            name: &cell.name,
            mean: figures.iter().sum::<f64>() / figures.len() as f64,
            worst,
            seed,
        }
    }

    fn judged(&self, by_worst: bool) -> f64 {
        if by_worst { self.worst } else { self.mean }
    }
}

fn report(
    group: &Group,
    results: &[OfCell<'_>],
    controller: &str,
    by_worst: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let count = results.len();
    let judged = |result: &OfCell<'_>| result.judged(by_worst);
    let mean = results.iter().map(judged).sum::<f64>() / count as f64;
    let is_kept = |result: &&OfCell<'_>| !group.is_worse(judged(result), group.bound);
    let kept = results.iter().filter(is_kept).count();
    let mut worst: Vec<_> = results.iter().collect();
    worst.sort_by(|one, other| judged(one).total_cmp(&judged(other)));
    if !group.is_at_least {
        worst.reverse();
    }
    let sign = if group.is_at_least { '≥' } else { '≤' };
    let of = if by_worst { " of the worst seeds" } else { "" };
    writeln!(out, "{}: {}", group.name, group.title)?;
    writeln!(
        out,
        "  {controller}: mean{of} {mean:.3}; {sign} {} in {kept} of {count}; the worst:",
        group.bound
    )?;
    for OfCell {
        name,
        mean,
        worst,
        seed,
    } in worst.into_iter().take(SHOWN)
    {
        writeln!(out, "    {mean:.3}, {worst:.3} with seed {seed}: {name}")?;
    }
    Ok(())
}

/// All cells, by as many threads as there are cores.
fn results<'a>(group: &Group, cells: &'a [Cell], controller: &str, seeds: u64) -> Vec<OfCell<'a>> {
    let next = AtomicUsize::new(0);
    let figures = Mutex::new(vec![Vec::new(); cells.len()]);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(cell) = cells.get(index) else { break };
                    let of_cell = cell.figures(controller, seeds);
                    figures.lock().expect("no thread panicked")[index] = of_cell;
                }
            });
        }
    });
    let figures = figures.into_inner().expect("no thread panicked");
    let of_cells = cells.iter().zip(&figures);
    let of_cells = of_cells.map(|(cell, figures)| OfCell::new(group, cell, figures));
    of_cells.collect()
}

const SHOWN: usize = 4;
