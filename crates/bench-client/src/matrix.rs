//! Sweeps: an A/B test for each combination of conditions.
//!
//! ```text
//!  NAME or FILE.toml ──▶ file ──▶ plan ──▶ cells: links, variants, a seed of their own
//!                        axis, template        │
//!                        or draw: at random    │
//!                        conditions            │ shard: every N-th, on one machine of N
//!                                              ▼
//!                   store: a file per cell ◀── ab::run, as many cells at once as there are cores,
//!                              │               or one by one over a network shaped for each
//!                              └──▶ MatrixResult, here or, from several folders, by merge
//! ```
//!
//! A cell's result is a function of its plan, and the matrix's of its cells', in their order: in
//! virtual time neither interruptions nor the number of machines move a byte.

mod axis;
mod builtin;
mod cell;
mod conclude;
mod conditions;
mod draw;
mod drawn;
mod file;
mod fnv;
mod merge;
mod network;
mod plan;
mod planning;
mod shard;
mod store;
mod template;
mod variant_file;

pub(crate) use axis::{Axes, Only};
pub(crate) use builtin::{BUILT_IN, BuiltIn, find};
pub(crate) use cell::CellPlan;
pub(crate) use file::{MatrixFile, wrong};
pub(crate) use merge::{Merged, merge};
pub(crate) use network::Network;
pub(crate) use plan::MatrixPlan;
pub(crate) use shard::Shard;
pub(crate) use store::Store;
pub(crate) use template::Text;
pub(crate) use variant_file::VariantFile;

use crate::ab::{self, AbProgress, Backend};
use crate::client;
use bench_kit::failure::Failure;
use bench_kit::interrupt::Interrupts;
use bench_report::result::{MatrixCell, MatrixResult};
use cc_core::Registry;
use conclude::conclude;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use store::Found;

#[derive(Debug)]
pub(crate) struct MatrixRun {
    pub(crate) plan: MatrixPlan,
    pub(crate) cells: Vec<CellPlan>,
    pub(crate) all_cells: usize,
    pub(crate) store: Store,
    /// How many cells at once; in real time it is one.
    pub(crate) jobs: NonZero<usize>,
    /// Where the cells are not to be in this process.
    pub(crate) network: Option<Network>,
    pub(crate) registry: Registry,
}

#[derive(Debug)]
pub(crate) enum MatrixProgress<'a> {
    /// A file is there that is no result of the cell; the cell is run again.
    Unfit {
        cell: &'a CellPlan,
        reason: String,
    },
    /// So many cells were there already; so many, with so many rounds, are to be run.
    Found {
        kept: usize,
        due: usize,
        rounds: u64,
    },
    /// The program that shapes the network has said this of a cell's links.
    Shaped(String),
    /// It could not give the network the links of a cell, which is left out.
    Unshaped {
        place: String,
        reason: String,
    },
    RoundEnded,
    /// The server is busy, and so many runs are ahead of the next round.
    Waiting(u32),
    CellEnded {
        cell: &'a MatrixCell,
    },
    /// The emulated link was not what it should have been.
    Warning(String),
}

impl MatrixRun {
    /// Runs the cells that the folder has not got; an interruption or a full disk ends the sweep
    /// early and is named in the result.
    ///
    /// # Errors
    /// When the folder does not take the plan.
    pub(crate) fn run(
        &self,
        interrupts: &Interrupts,
        on_progress: &mut dyn FnMut(MatrixProgress<'_>),
    ) -> Result<MatrixResult, Failure> {
        let mut result = self.plan.blank()?;
        self.store.write_plan(&self.plan)?;
        let mut due = Vec::new();
        for cell in &self.cells {
            match self.store.read(cell) {
                Found::Result { cell, .. } => result.cells.push(*cell),
                Found::Nothing => due.push(cell),
                Found::Unfit(reason) => {
                    on_progress(MatrixProgress::Unfit { cell, reason });
                    due.push(cell);
                }
            }
        }
        on_progress(MatrixProgress::Found {
            kept: result.cells.len(),
            due: due.len(),
            rounds: due.iter().map(|cell| cell.work()).sum(),
        });
        let ended = self.measure_all(&due, interrupts, &mut result.cells, on_progress);
        result.error = ended.err().map(|failure| failure.to_string());
        conclude(&mut result, self.all_cells);
        Ok(result)
    }

    /// Hands each finished cell to `done`, until the first failure.
    fn measure_all(
        &self,
        due: &[&CellPlan],
        interrupts: &Interrupts,
        done: &mut Vec<MatrixCell>,
        on_progress: &mut dyn FnMut(MatrixProgress<'_>),
    ) -> Result<(), Failure> {
        let workers = self.jobs.get().min(due.len());
        // Of each cell: more than one where cells are fewer than cores.
        let inner = self.jobs.get().checked_div(workers).and_then(NonZero::new);
        let inner = inner.unwrap_or(NonZero::<usize>::MIN);
        let (next, has_failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let work = |events: mpsc::Sender<Event>| {
            while !has_failed.load(Ordering::Relaxed)
                && let Some(cell) = due.get(next.fetch_add(1, Ordering::Relaxed))
            {
                let ended = self.measure(cell, inner, interrupts, &events);
                has_failed.fetch_or(ended.is_err(), Ordering::Relaxed);
                // The receiver stays until all senders have gone.
                let _ = events.send(Event::CellEnded(cell.place(), ended));
            }
        };
        thread::scope(|scope| {
            let (sender, events) = mpsc::channel();
            for _ in 0..workers {
                let sender = sender.clone();
                scope.spawn(|| work(sender));
            }
            drop(sender);
            let mut failure = Ok(());
            let mut left_out = Vec::new();
            for event in events {
                match event {
                    Event::RoundEnded => on_progress(MatrixProgress::RoundEnded),
                    Event::Warning(text) => on_progress(MatrixProgress::Warning(text)),
                    Event::Waiting(ahead) => on_progress(MatrixProgress::Waiting(ahead)),
                    Event::Shaped(text) => on_progress(MatrixProgress::Shaped(text)),
                    Event::CellEnded(_, Ok(Measured::Result(cell))) => {
                        on_progress(MatrixProgress::CellEnded { cell: &cell });
                        done.push(*cell);
                    }
                    Event::CellEnded(place, Ok(Measured::Unshaped(reason))) => {
                        left_out.push(format!("{place}: {reason}"));
                        on_progress(MatrixProgress::Unshaped { place, reason });
                    }
                    // The first one is the cause; others follow from it.
                    Event::CellEnded(_, Err(error)) => failure = failure.and(Err(error)),
                }
            }
            failure.and_then(|()| match left_out.as_slice() {
                [] => Ok(()),
                [first, ..] => Err(Failure::run(format!(
                    "cells skipped, as --shape failed: {}; the first: {first}",
                    left_out.len()
                ))),
            })
        })
    }

    fn measure(
        &self,
        cell: &CellPlan,
        workers: NonZero<usize>,
        interrupts: &Interrupts,
        events: &mpsc::Sender<Event>,
    ) -> Result<Measured, Failure> {
        if interrupts.is_interrupted() {
            return Err(Failure::run(client::INTERRUPTED));
        }
        let mut setup = cell.ab_setup(&self.registry, workers);
        if let Some(network) = &self.network {
            match network.shape(cell) {
                Ok(said) => {
                    let _ = events.send(Event::Shaped(said));
                }
                // It has met the same signal.
                Err(_) if interrupts.is_interrupted() => {
                    return Err(Failure::run(client::INTERRUPTED));
                }
                Err(reason) => return Ok(Measured::Unshaped(reason)),
            }
            setup.backend = Backend::Network(network.remote.clone());
        }
        let result = ab::run(&setup, interrupts, &mut |progress| {
            let event = match progress {
                AbProgress::Ended { .. } => Event::RoundEnded,
                AbProgress::Warning(text) => Event::Warning(text),
                AbProgress::Waiting(ahead) => Event::Waiting(ahead),
                AbProgress::Begun { .. } | AbProgress::Transferred { .. } => return,
            };
            let _ = events.send(event);
        })?;
        if let Some(error) = result.error {
            return Err(Failure::run(error));
        }
        self.store.write(cell, &result)?;
        Ok(Measured::Result(Box::new(cell.summary(&result))))
    }
}

/// From the threads that run cells to the one that shows.
enum Event {
    Shaped(String),
    RoundEnded,
    /// The server is busy, and so many runs are ahead.
    Waiting(u32),
    /// Where the cell lies, and what became of it.
    CellEnded(String, Result<Measured, Failure>),
    Warning(String),
}

enum Measured {
    Result(Box<MatrixCell>),
    /// The network could not be given its links.
    Unshaped(String),
}

#[cfg(test)]
mod tests;
