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
    /// With the controller.
    pub(super) own: CellPlan,
    /// With the neighbour's in its place. `None` where variants do not compete: variant `a` of
    /// the same test is the reference then.
    pub(super) reference: Option<CellPlan>,
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
    let own = cell(criterion, plan, &plan.cc, against)?;
    let reference = criterion
        .compete
        .then(|| cell(criterion, plan, against, against));
    Ok(CriterionCells {
        criterion,
        cc: plan.cc.clone(),
        against: against.to_owned(),
        measure: CriterionMeasure {
            measure: criterion.measure,
            variant: criterion.place()?,
            since: since.map_err(|error| format!("since: {error}"))?,
        },
        own,
        reference: reference.transpose()?,
    })
}

/// The only cell of a matrix with the criterion's conditions.
fn cell(
    criterion: &CriterionFile,
    plan: &ScorecardPlan<'_>,
    cc: &str,
    against: &str,
) -> Result<CellPlan, String> {
    let words = [(CC, cc), (AGAINST, against)];
    let variants = criterion.variants.iter().map(|variant| VariantFile {
        cc: fill(variant.cc.as_str(), &words).as_str().into(),
        ..variant.clone()
    });
    let matrix = MatrixFile {
        rounds: plan.rounds,
        seed: plan.seed,
        link: Some(criterion.link.clone()),
        return_link: criterion.return_link.clone(),
        seconds: criterion.seconds.clone(),
        omit: criterion.omit.clone(),
        bytes: criterion.bytes.clone(),
        flows: criterion.flows.clone(),
        compete: criterion.compete,
        ..MatrixFile::of_variants(&criterion.id, variants.collect())
    };
    matrix.check()?;
    let cells = MatrixPlan::new(matrix, Backend::Simulated).cells(plan.registry);
    let mut cells = cells.map_err(|error| error.to_string())?;
    Ok(cells.pop().expect("a matrix without axes has one cell"))
}
