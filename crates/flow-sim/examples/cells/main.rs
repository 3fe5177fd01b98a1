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
    /// Print the courses of the flows with the first seed instead.
    #[arg(long)]
    trace: bool,
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
                    cell.trace(controller, out)?;
                }
            } else {
                let figures = figures(&cells, controller, arguments.seeds);
                report(group, &cells, controller, &figures, out)?;
            }
        }
    }
    Ok(())
}

fn report(
    group: &Group,
    cells: &[Cell],
    controller: &str,
    figures: &[f64],
    out: &mut impl Write,
) -> io::Result<()> {
    let count = figures.len();
    let mean = figures.iter().sum::<f64>() / count as f64;
    let is_kept = |figure: f64| match group.is_at_least {
        true => figure >= group.bound,
        false => figure <= group.bound,
    };
    let kept = figures.iter().filter(|&&figure| is_kept(figure)).count();
    let mut worst: Vec<_> = figures.iter().zip(cells).collect();
    worst.sort_by(|one, other| match group.is_at_least {
        true => one.0.total_cmp(other.0),
        false => other.0.total_cmp(one.0),
    });
    let sign = if group.is_at_least { '≥' } else { '≤' };
    writeln!(out, "{}: {}", group.name, group.title)?;
    writeln!(
        out,
        "  {controller}: mean {mean:.3}; {sign} {} in {kept} of {count}; the worst:",
        group.bound
    )?;
    for (figure, cell) in worst.iter().take(SHOWN) {
        writeln!(out, "    {figure:.3} {}", cell.name)?;
    }
    Ok(())
}

/// All cells, by as many threads as there are cores.
fn figures(cells: &[Cell], controller: &str, seeds: u64) -> Vec<f64> {
    let next = AtomicUsize::new(0);
    let figures = Mutex::new(vec![0.0; cells.len()]);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(cell) = cells.get(index) else { break };
                    let figure = cell.figure(controller, seeds);
                    figures.lock().expect("no thread panicked")[index] = figure;
                }
            });
        }
    });
    figures.into_inner().expect("no thread panicked")
}

const SHOWN: usize = 4;
