//! The cells of a matrix whose conditions are drawn at random.

use super::cell::CellPlan;
use super::draw::{self, Sample, USE};
use super::file::{CC, CONDITIONS, MatrixFile};
use super::planning::CellPlanning;
use super::template::{Text, Words};
use super::variant_file::VariantFile;
use bench_report::result::MatrixAxis;
use cc_core::Registry;
use std::time::Duration;

/// Which cells there are. Each is drawn once, and has a plan for each controller.
pub(super) struct DrawnCells<'a> {
    pub(super) matrix: &'a MatrixFile,
    /// The numbers of those that are wanted; all where it is empty.
    pub(super) only: &'a [u32],
    pub(super) is_virtual: bool,
    pub(super) network: bool,
}

impl DrawnCells<'_> {
    /// The plans, controller by controller within a cell.
    ///
    /// # Errors
    /// Names the key that makes no sense, and the cell in which it does not.
    pub(super) fn plan(&self, registry: &Registry) -> Result<Vec<CellPlan>, String> {
        let mut plans = Vec::new();
        for number in self.numbers()? {
            let plans_of_one = self.plan_one(number, registry);
            plans.extend(plans_of_one.map_err(|error| format!("cell {number}: {error}"))?);
        }
        Ok(plans)
    }

    /// What tells one cell from another in tables: the values of numbers stand in the cells alone.
    pub(super) fn axes(&self) -> Vec<MatrixAxis> {
        let numbers = self.numbers().unwrap_or_default();
        let cell = MatrixAxis {
            name: CELL.to_owned(),
            values: numbers.iter().map(u32::to_string).collect(),
        };
        let uses = self.matrix.uses.iter().map(|usage| usage.at.to_string());
        let usage = MatrixAxis {
            name: USE.to_owned(),
            values: uses.collect(),
        };
        let chosen = self.matrix.draws.choices();
        let chosen = chosen.map(|(name, values)| MatrixAxis {
            name: name.to_owned(),
            values: values.map(str::to_owned).collect(),
        });
        let controllers = self.matrix.axes.get(CC).map(|axis| axis.to_result());
        [cell, usage]
            .into_iter()
            .chain(chosen)
            .chain(controllers)
            .collect()
    }

    fn numbers(&self) -> Result<Vec<u32>, String> {
        let all = self.matrix.drawn();
        if let Some(beyond) = self.only.iter().find(|number| **number >= all) {
            return Err(format!("cell {beyond}: the last of {all} is {}", all - 1));
        }
        Ok(match self.only {
            [] => (0..all).collect(),
            only => only.to_vec(),
        })
    }

    fn plan_one(&self, number: u32, registry: &Registry) -> Result<Vec<CellPlan>, String> {
        let matrix = self.matrix;
        let sample = draw::sample(&matrix.draws, &matrix.uses, matrix.seed, number)?;
        let conditions = used_as(matrix, &sample);
        let at = place(matrix, &conditions, &sample);
        let controllers = matrix.axes.get(CC).map_or(&[][..], |axis| &axis.values);
        let count = u32::try_from(controllers.len()).unwrap_or(u32::MAX);
        let plans = controllers.iter().zip(0..).map(|(controller, place)| {
            let mut words: Words = sample.words.clone();
            words.insert(CC.to_owned(), controller.at.clone());
            let cc = (CC.to_owned(), controller.at.to_string());
            let at = at.iter().cloned().chain([cc]);
            let planning = CellPlanning {
                matrix: &conditions,
                words: &words,
                is_virtual: self.is_virtual,
                network: self.network,
                step: Some(STEP),
            };
            planning.plan(number * count + place, at.collect(), registry)
        });
        plans.collect()
    }
}

/// The matrix that this cell is the only one of.
fn used_as(matrix: &MatrixFile, sample: &Sample<'_>) -> MatrixFile {
    let usage = sample.usage;
    let own =
        |of_use: &Option<Text>, usual: &Option<Text>| of_use.clone().or_else(|| usual.clone());
    let variants = match usage.variants.as_slice() {
        [] => vec![VariantFile::of_controller("{cc}".into())],
        variants => variants.to_vec(),
    };
    MatrixFile {
        seconds: own(&usage.seconds, &matrix.seconds),
        omit: match &usage.bytes {
            None => own(&usage.omit, &matrix.omit),
            // The time of a transfer begins with its first byte.
            Some(_) => usage.omit.clone(),
        },
        bytes: own(&usage.bytes, &matrix.bytes),
        bitrate: own(&usage.bitrate, &matrix.bitrate),
        bulk_after: own(&usage.bulk_after, &matrix.bulk_after),
        compete: usage.compete,
        variants,
        axes: Default::default(),
        draw: None,
        draws: Default::default(),
        uses: Vec::new(),
        ..matrix.clone()
    }
}

/// Number and use of the cell, and the variables that it depends on.
fn place(
    matrix: &MatrixFile,
    conditions: &MatrixFile,
    sample: &Sample<'_>,
) -> Vec<(String, String)> {
    let texts = CONDITIONS
        .iter()
        .filter_map(|key| conditions.condition(key));
    let of_variants = conditions.variants.iter();
    let of_variants = of_variants.flat_map(|variant| variant.others().chain([&variant.cc]));
    let used = sample.used(&matrix.draws, texts.chain(of_variants));
    let names = [CELL, USE].into_iter().chain(used);
    let values = names.filter_map(|name| {
        let value = sample.words.get(name)?;
        Some((name.to_owned(), value.to_string()))
    });
    values.collect()
}

/// The axis of the cells' numbers.
const CELL: &str = "cell";

/// How far apart the samples of a round are: coarser than elsewhere, as a draw has thousands of
/// rounds, which then take twenty kilobytes each.
const STEP: Duration = Duration::from_secs(1);
