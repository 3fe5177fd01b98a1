//! What RFC 9743, or other criteria, ask of a congestion controller, as tests in virtual time.
//!
//! ```text
//!  scenarios/scorecard.toml, or a file of the same keys
//!                           └──▶ file: sections, criteria, what is not covered
//!                                 │
//!                               cells: the tests of a criterion, as cells of a matrix
//!                                 │                     └──▶ command: the same as `ab`
//!                               results: ab::run ──▶ bench_report::stats: the figure
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
mod results;
mod row;

pub(crate) use file::ScorecardFile;
pub(crate) use plan::ScorecardPlan;
pub(crate) use results::Tests;

use bench_kit::failure::Failure;
use bench_kit::interrupt::Interrupts;
use bench_report::result::{
    SCHEMA_VERSION, ScorecardKind, ScorecardResult, ScorecardRow, ScorecardSection,
};
use cells::CriterionCells;
use std::num::NonZero;

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
    pub(crate) fn tests(&self) -> Vec<(crate::matrix::CellPlan, String)> {
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

#[cfg(test)]
mod tests;
