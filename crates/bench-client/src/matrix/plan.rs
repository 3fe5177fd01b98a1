//! From a matrix to its cells.

use super::cell::CellPlan;
use super::draw::NarrowedCells;
use super::drawn::DrawnCells;
use super::file::{CC, CONDITIONS, MatrixFile};
use super::planning::{CellPlanning, times};
use super::template::{Text, Words};
use crate::ab::Backend;
use bench_kit::failure::Failure;
use bench_report::result::{Drawn, Finite, MatrixAxis, MatrixKind, MatrixResult, SCHEMA_VERSION};
use cc_core::Registry;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::time::Duration;

/// A matrix as it is to be run. Written beside its cells, so that they can be merged without it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct MatrixPlan {
    pub(crate) schema_version: u32,
    pub(crate) kind: PlanKind,
    pub(crate) version: String,
    #[serde(rename = "virtual")]
    pub(crate) is_virtual: bool,
    /// Whether the links are those of a network outside.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) network: bool,
    pub(crate) matrix: MatrixFile,
    /// Of cells that are drawn: those that are wanted, all where it is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) only_cells: NarrowedCells,
    /// The command that draws the same cells again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum PlanKind {
    #[serde(rename = "matrix-plan")]
    MatrixPlan,
}

type Corner = Vec<(String, Text, Words)>;

impl MatrixPlan {
    pub(crate) fn new(matrix: MatrixFile, backend: Backend) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            kind: PlanKind::MatrixPlan,
            version: bench_kit::VERSION.to_owned(),
            is_virtual: matches!(backend, Backend::Simulated),
            network: matches!(backend, Backend::Network(_)),
            matrix,
            only_cells: NarrowedCells::new(),
            command: None,
        }
    }

    /// Every cell, in the order of the axes: the last of them changes first.
    ///
    /// # Errors
    /// Names the key that makes no sense, and the cell in which it does not.
    pub(crate) fn cells(&self, registry: &Registry) -> Result<Vec<CellPlan>, Failure> {
        let name = &self.matrix.name;
        let refuse = |error: String| Failure::usage(format!("matrix {name}: {error}"));
        if self.matrix.is_drawn() {
            return self.drawn_cells().plan(registry).map_err(refuse);
        }
        self.check_words().map_err(refuse)?;
        let corners = self.corners().map_err(refuse)?;
        let cells = corners.into_iter().zip(0..).map(|(corner, index)| {
            let place: Vec<String> = corner
                .iter()
                .map(|(axis, at, _)| format!("{axis}={at}"))
                .collect();
            self.cell(index, &corner, registry).map_err(|error| {
                refuse(match place.as_slice() {
                    [] => error,
                    place => format!("{}: {error}", place.join(", ")),
                })
            })
        });
        cells.collect()
    }

    /// What changes from cell to cell, as results say it.
    pub(crate) fn axes(&self) -> Vec<MatrixAxis> {
        if self.matrix.is_drawn() {
            // What was drawn stands in the cells' own `at`.
            return self.drawn_cells().axes();
        }
        let axes = self.matrix.axes.iter().filter(|axis| axis.name != CC);
        axes.map(|axis| axis.to_result()).collect()
    }

    /// The result before its first cell.
    ///
    /// # Errors
    /// When a time is none.
    pub(crate) fn blank(&self) -> Result<MatrixResult, Failure> {
        let matrix = &self.matrix;
        let (time, omit) = self.times().map_err(Failure::usage)?;
        Ok(MatrixResult {
            schema_version: SCHEMA_VERSION,
            kind: MatrixKind::Matrix,
            complete: false,
            error: None,
            name: matrix.name.clone(),
            title: matrix.title.clone(),
            source: matrix.source.clone(),
            version: self.version.clone(),
            seed: matrix.seed,
            is_virtual: self.is_virtual,
            network: self.network,
            rounds: matrix.rounds,
            round_seconds: Finite::seconds(time),
            omit_seconds: Finite::seconds(omit),
            axes: self.axes(),
            cells: Vec::new(),
            drawn: matrix
                .is_drawn()
                .then(|| Drawn::of_command(self.command.clone())),
        })
    }

    /// Every axis is used, and no word means two things.
    fn check_words(&self) -> Result<(), String> {
        let matrix = &self.matrix;
        let mut known = BTreeSet::new();
        let axes: Vec<_> = matrix.axes.iter().filter(|axis| axis.name != CC).collect();
        for axis in &axes {
            let words = axis.values.iter().flat_map(|value| value.words.keys());
            let words: BTreeSet<&str> = words.map(String::as_str).collect();
            for word in words.into_iter().chain([axis.name.as_str()]) {
                if word == CC || !known.insert(word) {
                    return Err(format!(
                        "axes: `{word}` is defined twice; rename one of the two"
                    ));
                }
                if CONDITIONS.contains(&word) && matrix.condition(word).is_some() {
                    return Err(format!(
                        "{word}: also given by axis `{}`; remove one of the two",
                        axis.name
                    ));
                }
            }
        }
        // Any text will do to see whether every word has one.
        let blank = known
            .iter()
            .map(|word| ((*word).to_owned(), Text::from("")));
        let blank: Words = blank.collect();
        for text in self.texts() {
            text.expand(&blank)?;
        }
        let used: BTreeSet<&str> = self.texts().flat_map(Text::names).collect();
        for axis in axes {
            let words = axis.values.iter().flat_map(|value| value.words.keys());
            let mut names = words.map(String::as_str).chain([axis.name.as_str()]);
            if !names.any(|name| used.contains(name) || CONDITIONS.contains(&name)) {
                let name = &axis.name;
                return Err(format!(
                    "axes: `{name}` is not used; put `{{{name}}}` where its value belongs"
                ));
            }
        }
        Ok(())
    }

    /// Every text that may hold words.
    fn texts(&self) -> impl Iterator<Item = &Text> {
        let matrix = &self.matrix;
        let conditions = CONDITIONS.iter().filter_map(|key| matrix.condition(key));
        let of_variants = matrix.variants.iter();
        let of_variants = of_variants.flat_map(|variant| variant.others().chain([&variant.cc]));
        let values = matrix.axes.iter().flat_map(|axis| &axis.values);
        let of_values = values.flat_map(|value| value.words.values().chain([&value.at]));
        conditions.chain(of_variants).chain(of_values)
    }

    /// All combinations of the axes' values.
    fn corners(&self) -> Result<Vec<Corner>, String> {
        let mut corners = vec![Corner::new()];
        for axis in self.matrix.axes.iter().filter(|axis| axis.name != CC) {
            if corners.len() * axis.values.len() > MAX_CELLS {
                return Err(format!("axes: more than {MAX_CELLS} cells; remove values"));
            }
            let longer = corners.iter().flat_map(|corner| {
                axis.values.iter().map(|value| {
                    let mut corner = corner.clone();
                    corner.push((axis.name.clone(), value.at.clone(), value.words.clone()));
                    corner
                })
            });
            corners = longer.collect();
        }
        Ok(corners)
    }

    fn cell(&self, index: u32, corner: &Corner, registry: &Registry) -> Result<CellPlan, String> {
        let mut words = Words::new();
        for (axis, at, further) in corner {
            words.insert(axis.clone(), at.clone());
            words.extend(further.clone());
        }
        let at = corner
            .iter()
            .map(|(axis, at, _)| (axis.clone(), at.to_string()));
        let planning = CellPlanning {
            matrix: &self.matrix,
            words: &words,
            is_virtual: self.is_virtual,
            network: self.network,
            step: None,
        };
        planning.plan(index, at.collect(), registry)
    }

    /// As [`planning::times`](times).
    pub(crate) fn times(&self) -> Result<(Duration, Duration), String> {
        times(&self.matrix)
    }

    fn drawn_cells(&self) -> DrawnCells<'_> {
        DrawnCells {
            matrix: &self.matrix,
            only: &self.only_cells,
            is_virtual: self.is_virtual,
            network: self.network,
        }
    }
}

/// Weeks of work; more is a slip of the pen.
const MAX_CELLS: usize = 10_000;
