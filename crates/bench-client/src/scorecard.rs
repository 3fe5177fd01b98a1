//! What RFC 9743, or other criteria, ask of a congestion controller, as tests in virtual time.
//!
//! ```text
//!  scenarios/scorecard.toml, or a file of the same keys
//!                           └──▶ file: sections, criteria, what is not covered
//!                                 │
//!                               cells: the tests of a criterion, as cells of a matrix
//!                                 │                     └──▶ command: the same as `ab`
//!                               ab::run ──▶ bench_report::stats: the figure
//!                                 │
//!                               row: figure, verdict and words ──▶ ScorecardResult
//! ```
//!
//! A criterion is data. What it needs of a simulation and of statistics, `ab` has: every figure
//! comes from A/B tests whose commands stand beside it.

mod cells;
mod command;
mod file;
mod plan;
mod row;

pub(crate) use file::ScorecardFile;
pub(crate) use plan::ScorecardPlan;

use crate::ab;
use crate::client;
use crate::matrix::CellPlan;
use bench_kit::failure::Failure;
use bench_kit::interrupt::Interrupts;
use bench_report::result::{
    AbResult, SCHEMA_VERSION, ScorecardKind, ScorecardResult, ScorecardRow, ScorecardSection,
};
use cc_core::Registry;
use cells::CriterionCells;
use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Tests that have been run, by the fingerprints of their plans: criteria share some, and the
/// references of all controllers are the same.
#[derive(Debug, Default)]
pub(crate) struct Tests(BTreeMap<String, AbResult>);

impl ScorecardPlan<'_> {
    /// Measures one criterion after the other and hands on each row; an interruption ends the page
    /// early and is named in the result.
    ///
    /// # Errors
    /// Names the criterion whose conditions make no sense.
    pub(crate) fn run(
        &self,
        workers: NonZero<usize>,
        tests: &mut Tests,
        interrupts: &Interrupts,
        on_row: &mut dyn FnMut(&ScorecardRow),
    ) -> Result<ScorecardResult, Failure> {
        let all = self.cells()?;
        let mut result = self.blank();
        for cells in &all {
            let done = tests
                .complete(cells, self.registry, workers, interrupts)
                .map(|()| row::row(cells, tests));
            match done {
                Ok(row) => {
                    on_row(&row);
                    let section = &cells.criterion.section;
                    let mut sections = result.sections.iter_mut();
                    let section = sections.find(|one| one.number == *section);
                    section.expect("the file was checked").rows.push(row);
                }
                Err(failure) => {
                    result.error = Some(failure.to_string());
                    break;
                }
            }
        }
        result.complete = result.error.is_none() && result.rows().all(|row| row.error.is_none());
        Ok(result)
    }

    /// How many rows there will be.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub(crate) fn rows(&self) -> Result<usize, Failure> {
        self.cells().map(|cells| cells.len())
    }

    /// The tests of each row, in the order of the page.
    fn cells(&self) -> Result<Vec<CriterionCells<'_>>, Failure> {
        let mut cells = Vec::new();
        for criterion in self.file.wanted(self.only) {
            for against in criterion.neighbours(self.against) {
                let planned = cells::plan(criterion, self, against);
                cells.push(planned.map_err(|error| {
                    Failure::usage(format!("criterion {}: {error}", criterion.id))
                })?);
            }
        }
        Ok(cells)
    }

    /// The tests of all rows, each with the command that stands beside its figure.
    #[cfg(test)]
    pub(crate) fn tests(&self) -> Vec<(CellPlan, String)> {
        let cells = self.cells().unwrap().into_iter();
        let cells = cells.flat_map(|cells| cells.cells);
        let tests = cells.flat_map(|cell| [Some(cell.own), cell.reference]);
        let tests = tests.flatten().map(|cell| {
            let command = command::command(&cell);
            (cell, command)
        });
        tests.collect()
    }

    fn blank(&self) -> ScorecardResult {
        let sections = self.file.section.iter().map(|section| ScorecardSection {
            number: section.number.clone(),
            title: section.title.clone(),
            rows: Vec::new(),
            not_covered: self.file.gaps(&section.number).collect(),
        });
        ScorecardResult {
            schema_version: SCHEMA_VERSION,
            kind: ScorecardKind::Scorecard,
            complete: false,
            error: None,
            cc: self.cc.clone(),
            against: self.against.to_vec(),
            version: bench_kit::VERSION.to_owned(),
            seed: self.seed,
            rounds: self.rounds,
            command: self.command(),
            url: self.file.url.clone(),
            intro: self.file.intro.clone(),
            sections: sections.collect(),
        }
    }
}

impl Tests {
    /// Runs those of `cells` that have not been run, as many at once as there are workers.
    fn complete(
        &mut self,
        cells: &CriterionCells<'_>,
        registry: &Registry,
        workers: NonZero<usize>,
        interrupts: &Interrupts,
    ) -> Result<(), Failure> {
        let tests = cells.tests().map(|cell| (cell.fingerprint(), cell));
        let due = tests.filter(|(fingerprint, _)| !self.0.contains_key(fingerprint));
        let due: BTreeMap<String, &CellPlan> = due.collect();
        let due: Vec<(String, &CellPlan)> = due.into_iter().collect();
        let outer = workers.get().min(due.len());
        // Of each test: more than one where tests are fewer than cores.
        let inner = workers.get().checked_div(outer).and_then(NonZero::new);
        let inner = inner.unwrap_or(NonZero::<usize>::MIN);
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Ok(Vec::new()));
        let work = || {
            while let Some((fingerprint, cell)) = due.get(next.fetch_add(1, Ordering::Relaxed)) {
                let result = test(cell, registry, inner, interrupts);
                let mut done = done.lock().expect("no test panics while it holds the lock");
                match (&mut *done, result) {
                    (Ok(done), Ok(result)) => done.push((fingerprint.clone(), result)),
                    (Ok(_), Err(failure)) => *done = Err(failure),
                    // The first failure is the cause; others follow from it.
                    (Err(_), _) => return,
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..outer {
                scope.spawn(work);
            }
        });
        let done = done.into_inner();
        self.0
            .extend(done.expect("no test panics while it holds the lock")?);
        Ok(())
    }

    fn result(&self, cell: &CellPlan) -> &AbResult {
        let result = self.0.get(&cell.fingerprint());
        result.expect("the cells of a criterion are completed before its figure")
    }

    /// Keeps what other controllers need too, the tests in which `cc` had no part.
    pub(crate) fn forget(&mut self, cc: &str) {
        self.0.retain(|_, result| {
            let mut variants = result.variants.iter();
            variants.all(|variant| variant.cc != cc)
        });
    }
}

/// # Errors
/// When it was interrupted, or could not begin; a round that fails is a result.
fn test(
    cell: &CellPlan,
    registry: &Registry,
    workers: NonZero<usize>,
    interrupts: &Interrupts,
) -> Result<AbResult, Failure> {
    if interrupts.is_interrupted() {
        return Err(Failure::run(client::INTERRUPTED));
    }
    let result = ab::run(&cell.ab_setup(registry, workers), interrupts, &mut |_| {})?;
    match result.error {
        Some(error) => Err(Failure::run(error)),
        None => Ok(result),
    }
}

#[cfg(test)]
mod tests;
