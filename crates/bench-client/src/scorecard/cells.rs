//! From a criterion to the tests behind its figure.

use super::file::{AGAINST, CC, CriterionFile, fill};
use super::plan::ScorecardPlan;
use crate::ab::Backend;
use crate::matrix::{CellPlan, MatrixFile, MatrixPlan, VariantFile};
use bench_kit::cli::values;
use bench_report::stats::CriterionMeasure;

/// A row to be.
#[derive(Debug)]
pub(super) struct CriterionCells<'a> {
    pub(super) criterion: &'a CriterionFile,
    pub(super) cc: String,
    pub(super) against: String,
    pub(super) measure: CriterionMeasure,
    /// One, or in the order of its axes as many as their values have combinations.
    pub(super) cells: Vec<CriterionCell>,
    /// The command that measures this criterion alone.
    pub(super) command: String,
}

/// The tests of one figure.
#[derive(Debug)]
pub(super) struct CriterionCell {
    /// With the controller.
    pub(super) own: CellPlan,
    /// With the neighbour's in its place. `None` where variants do not compete: variant `a` of
    /// the same test is the reference then. `None` too in one of several cells whose figure is
    /// neither a ratio nor a difference.
    pub(super) reference: Option<CellPlan>,
}

impl CriterionCells<'_> {
    /// All tests, those of references too.
    pub(super) fn tests(&self) -> impl Iterator<Item = &CellPlan> {
        self.cells.iter().flat_map(CriterionCell::tests)
    }
}

impl CriterionCell {
    pub(super) fn tests(&self) -> impl Iterator<Item = &CellPlan> {
        [Some(&self.own), self.reference.as_ref()]
            .into_iter()
            .flatten()
    }
}

/// # Errors
/// Names the key that makes no sense.
pub(super) fn plan<'a>(
    criterion: &'a CriterionFile,
    plan: &ScorecardPlan<'_>,
    against: &str,
) -> Result<CriterionCells<'a>, String> {
    let since = criterion.since.as_ref();
    let since = since
        .map(|since| values::seconds(since.as_str()))
        .transpose();
    let has_reference = !criterion.has_axes() || criterion.relative || criterion.difference;
    let own = cells(criterion, plan, &plan.cc, against)?.into_iter();
    let cells = if criterion.compete && has_reference {
        let references = cells(criterion, plan, against, against)?;
        let pairs = own.zip(references).map(|(own, reference)| CriterionCell {
            own,
            reference: Some(reference),
        });
        pairs.collect()
    } else {
        own.map(|own| CriterionCell {
            own,
            reference: None,
        })
        .collect()
    };
    Ok(CriterionCells {
        criterion,
        cc: plan.cc.clone(),
        against: against.to_owned(),
        measure: CriterionMeasure {
            measure: criterion.measure,
            variant: criterion.place()?,
            since: since.map_err(|error| format!("since: {error}"))?,
        },
        cells,
        command: plan.command_of(&criterion.id, against),
    })
}

/// The cells of a matrix with the criterion's conditions; without axes it is one.
fn cells(
    criterion: &CriterionFile,
    plan: &ScorecardPlan<'_>,
    cc: &str,
    against: &str,
) -> Result<Vec<CellPlan>, String> {
    let words = [(CC, cc), (AGAINST, against)];
    let variants = criterion.variants.iter().map(|variant| VariantFile {
        cc: fill(variant.cc.as_str(), &words).as_str().into(),
        ..variant.clone()
    });
    let matrix = MatrixFile {
        rounds: criterion.rounds.unwrap_or(plan.rounds),
        seed: plan.seed,
        link: Some(criterion.link.clone()),
        return_link: criterion.return_link.clone(),
        seconds: criterion.seconds.clone(),
        omit: criterion.omit.clone(),
        bytes: criterion.bytes.clone(),
        flows: criterion.flows.clone(),
        compete: criterion.compete,
        axes: criterion.axes.clone(),
        ..MatrixFile::of_variants(&criterion.id, variants.collect())
    };
    matrix.check()?;
    let cells = MatrixPlan::new(matrix, Backend::Simulated).cells(plan.registry);
    cells.map_err(|error| error.to_string())
}
