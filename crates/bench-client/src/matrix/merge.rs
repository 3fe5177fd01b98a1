//! One result from the folders of several machines.

use super::cell::CellPlan;
use super::conclude::conclude;
use super::plan::MatrixPlan;
use super::store::{Found, Store};
use bench_kit::failure::Failure;
use bench_report::result::{MatrixCell, MatrixResult};
use cc_core::Registry;
use std::path::PathBuf;

/// What the folders hold together.
#[derive(Debug)]
pub(crate) struct Merged {
    /// As one machine would have written it, if no cell is missing.
    pub(crate) result: MatrixResult,
    /// What was found in the folders and is no part of the result.
    pub(crate) notes: Vec<String>,
}

/// Takes each cell from whichever folder has it.
///
/// # Errors
/// When a folder is of another matrix, or two folders have different results for one cell.
pub(crate) fn merge(folders: &[PathBuf], registry: &Registry) -> Result<Merged, Failure> {
    let stores: Vec<Store> = folders.iter().map(|folder| Store::at(folder)).collect();
    let plan = common_plan(&stores)?;
    let cells = plan.cells(registry)?;
    let mut merged = Merged {
        result: plan.blank()?,
        notes: Vec::new(),
    };
    for store in &stores {
        let folder = store.folder().display();
        let unknown_files = store.unknown_files(&cells)?.into_iter();
        let notes = unknown_files.map(|name| {
            format!(
                "{folder}: {name} belongs to no cell of this \
                 matrix"
            )
        });
        merged.notes.extend(notes);
    }
    let mut missing = Vec::new();
    for cell in &cells {
        match only_result(cell, &stores, &mut merged.notes)? {
            Some(found) => merged.result.cells.push(found),
            None => missing.push(cell.place()),
        }
    }
    if !missing.is_empty() {
        let (many, all) = (missing.len(), cells.len());
        let named = missing
            .iter()
            .take(NAMED)
            .cloned()
            .collect::<Vec<_>>()
            .join("; ");
        let more = if many > NAMED { "; …" } else { "" };
        let error = format!("{many} of {all} cells are missing: {named}{more}");
        merged.result.error = Some(error);
    }
    conclude(&mut merged.result, cells.len());
    Ok(merged)
}

fn common_plan(stores: &[Store]) -> Result<MatrixPlan, Failure> {
    let (first, others) = stores
        .split_first()
        .expect("the command line has one at least");
    let plan = first.read_plan()?;
    for other in others {
        let theirs = other.read_plan()?;
        if theirs == plan {
            continue;
        }
        let (name, version) = (&plan.matrix.name, &plan.version);
        let theirs = if theirs.matrix.name != *name {
            format!("of matrix {}, not {name}", theirs.matrix.name)
        } else if theirs.version != *version {
            format!("of version {}, not {version}", theirs.version)
        } else {
            format!("of {name} with other settings")
        };
        return Err(Failure::run(format!(
            "cannot merge {} and {}: the latter is {theirs}",
            first.folder().display(),
            other.folder().display()
        )));
    }
    Ok(plan)
}

/// The result of `cell` that all folders agree on, if any has one.
fn only_result(
    cell: &CellPlan,
    stores: &[Store],
    notes: &mut Vec<String>,
) -> Result<Option<MatrixCell>, Failure> {
    let mut first: Option<(&Store, MatrixCell, String)> = None;
    for store in stores {
        let folder = store.folder().display();
        match store.read(cell) {
            Found::Nothing => {}
            Found::Unfit(reason) => {
                let (place, name) = (cell.place(), cell.file_name());
                notes.push(format!("{folder}: {place}: {name} skipped: {reason}"));
            }
            Found::Result { cell: found, text } => match &first {
                None => first = Some((store, *found, text)),
                Some((_, _, before)) if *before == text => {}
                Some((other, ..)) => {
                    return Err(Failure::run(format!(
                        "{} and {folder} have different results for {}",
                        other.folder().display(),
                        cell.place()
                    )));
                }
            },
        }
    }
    Ok(first.map(|(_, found, _)| found))
}

/// How many missing cells an error names.
const NAMED: usize = 8;
