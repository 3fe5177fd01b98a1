//! Controllers on groups of paths in the small simulator: a change of a controller is tried on
//! hundreds of cells in a minute or two.
//!
//! ```sh
//! cargo run --release -p paceline-flow-sim --example cells -- [--trace] [--seeds=N] [CONTROLLER…] [GROUP[/PATH]…]
//! ```
//!
//! A word that is no group is a controller, `paceline` unless one is named; without a group all of
//! them run. `eight/1bdp` runs the cells of `eight` with `1bdp` in their names. Of each group it
//! prints the mean, the worst cells and how many keep the bound, each of two seeds unless said, and `--trace` prints the courses of
//! the flows instead. These paths are for tuning, and none of them is one of
//! `scenarios/paceline.toml`.

mod cell;
mod groups;

use cell::Cell;
use groups::{GROUPS, Group};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

fn main() -> ExitCode {
    let (mut is_traced, mut seeds) = (false, 2);
    let (mut controllers, mut chosen) = (Vec::new(), Vec::new());
    for word in std::env::args().skip(1) {
        let (name, path) = word.split_once('/').unwrap_or((&word, ""));
        if word == "--trace" {
            is_traced = true;
        } else if let Some(number) = word.strip_prefix("--seeds=") {
            seeds = match number.parse() {
                Ok(number @ 1..=1_000) => number,
                _ => {
                    eprintln!("error: `{number}` seeds: expected a number from 1 to 1000");
                    return ExitCode::from(2);
                }
            };
        } else if let Some(group) = GROUPS.iter().find(|group| group.name == name) {
            chosen.push((group, path.to_owned()));
        } else if let Err(error) = cc_core::Registry::standard().choose(&word) {
            let names: Vec<_> = GROUPS.iter().map(|group| group.name).collect();
            eprintln!(
                "error: `{word}` is neither a group ({}) nor a controller: {error}",
                names.join(", ")
            );
            return ExitCode::from(2);
        } else {
            controllers.push(word);
        }
    }
    if controllers.is_empty() {
        controllers.push("paceline".to_owned());
    }
    if chosen.is_empty() {
        chosen = GROUPS.iter().map(|group| (group, String::new())).collect();
    }
    for (group, path) in chosen {
        let mut cells = (group.cells)();
        cells.retain(|cell| cell.name.contains(&path));
        for cell in &mut cells {
            cell.seeds = seeds;
        }
        for controller in &controllers {
            if is_traced {
                for cell in &cells {
                    cell.trace(controller);
                }
            } else {
                report(group, &cells, controller);
            }
        }
    }
    ExitCode::SUCCESS
}

fn report(group: &Group, cells: &[Cell], controller: &str) {
    let figures = run(cells, controller);
    let count = figures.len().max(1);
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
    println!(
        "{:<10} {controller:<24} mean {mean:.3}  {sign} {} in {kept} of {count}: {}",
        group.name, group.bound, group.title
    );
    for (figure, cell) in worst.iter().take(SHOWN) {
        println!("    {figure:.3} {}", cell.name);
    }
}

/// All cells, by as many threads as there are cores.
fn run(cells: &[Cell], controller: &str) -> Vec<f64> {
    let next = AtomicUsize::new(0);
    let figures = Mutex::new(vec![0.0; cells.len()]);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(cell) = cells.get(index) else { break };
                    let figure = cell.figure(controller);
                    figures.lock().expect("no thread panicked")[index] = figure;
                }
            });
        }
    });
    figures.into_inner().expect("no thread panicked")
}

const SHOWN: usize = 4;
