//! Sweeps: an A/B test for each combination of conditions.
//!
//! ```text
//!  NAME or FILE.toml ──▶ file ──▶ plan ──▶ cells: links, variants, a seed of their own
//!                        axis, template        │
//!                        conditions            │ shard: every N-th, on one machine of N
//!                                              ▼
//!                   store: a file per cell ◀── ab::run, as many cells at once as there are cores
//!                              │
//!                              └──▶ MatrixResult, here or, from several folders, by merge
//! ```
//!
//! A cell's result is a function of its plan, and the matrix's of its cells', in their order: in
//! virtual time neither interruptions nor the number of machines move a byte.

mod axis;
mod builtin;
mod cell;
mod conditions;
mod file;
mod merge;
mod plan;
mod shard;
mod store;
mod template;

pub(crate) use axis::Only;
pub(crate) use builtin::{BUILT_IN, find};
pub(crate) use cell::CellPlan;
pub(crate) use file::MatrixFile;
pub(crate) use merge::{Merged, merge};
pub(crate) use plan::MatrixPlan;
pub(crate) use shard::Shard;
pub(crate) use store::Store;

use crate::ab::{self, AbProgress};
use crate::client;
use crate::failure::Failure;
use crate::interrupt::Interrupts;
use crate::result::{MatrixCell, MatrixResult};
use cc_core::Registry;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use store::Found;

/// A matrix that can be run.
#[derive(Debug)]
pub(crate) struct MatrixRun {
    pub(crate) plan: MatrixPlan,
    /// Those to be run here.
    pub(crate) cells: Vec<CellPlan>,
    /// How many there are in all.
    pub(crate) all_cells: usize,
    pub(crate) store: Store,
    /// How many cells at once; in real time it is one.
    pub(crate) jobs: NonZero<usize>,
    pub(crate) registry: Registry,
}

/// What a sweep tells while it goes on.
#[derive(Debug)]
pub(crate) enum MatrixProgress<'a> {
    /// A file is there that is no result of the cell; the cell is run again.
    Unfit { cell: &'a CellPlan, reason: String },
    /// So many cells were there already; so many, with so many rounds, are to be run.
    Found {
        kept: usize,
        due: usize,
        rounds: u64,
    },
    /// A round of some cell is over.
    RoundEnded,
    /// A cell is over, and its file is written.
    CellEnded { cell: &'a MatrixCell },
    /// The emulated link was not what it should have been.
    Complaint(String),
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
                let _ = events.send(Event::CellEnded(ended));
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
            for event in events {
                match event {
                    Event::RoundEnded => on_progress(MatrixProgress::RoundEnded),
                    Event::Complaint(text) => on_progress(MatrixProgress::Complaint(text)),
                    Event::CellEnded(Ok(cell)) => {
                        on_progress(MatrixProgress::CellEnded { cell: &cell });
                        done.push(*cell);
                    }
                    // The first one is the cause; others follow from it.
                    Event::CellEnded(Err(error)) => failure = failure.and(Err(error)),
                }
            }
            failure
        })
    }

    /// Runs a cell and keeps its result.
    fn measure(
        &self,
        cell: &CellPlan,
        workers: NonZero<usize>,
        interrupts: &Interrupts,
        events: &mpsc::Sender<Event>,
    ) -> Result<Box<MatrixCell>, Failure> {
        if interrupts.is_interrupted() {
            return Err(Failure::run(client::INTERRUPTED));
        }
        let setup = cell.ab_setup(&self.registry, workers);
        let result = ab::run(&setup, interrupts, &mut |progress| {
            let event = match progress {
                AbProgress::Ended { .. } => Event::RoundEnded,
                AbProgress::Complaint(text) => Event::Complaint(text),
                AbProgress::Begun { .. } | AbProgress::Moved { .. } => return,
            };
            let _ = events.send(event);
        })?;
        if let Some(error) = result.error {
            return Err(Failure::run(error));
        }
        self.store.write(cell, &result)?;
        Ok(Box::new(cell.summary(&result)))
    }
}

/// From the threads that run cells to the one that shows.
enum Event {
    RoundEnded,
    CellEnded(Result<Box<MatrixCell>, Failure>),
    Complaint(String),
}

/// Orders the cells of a result, and says whether there are as many as there should be.
fn conclude(result: &mut MatrixResult, all_cells: usize) {
    result.cells.sort_by_key(|cell| cell.index);
    let has_all = result.cells.len() == all_cells;
    let failed = result.cells.iter().any(|cell| cell.error.is_some());
    result.complete = result.error.is_none() && has_all && !failed;
}

#[cfg(test)]
mod tests;
