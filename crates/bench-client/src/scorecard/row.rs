use super::cells::CriterionCells;
use super::command::command;
use super::file::{AGAINST, CC, FIGURE, REFERENCE, fill};
use bench_report::markdown::bound_text;
use bench_report::result::{
    AbResult, BoundVerdict, Measure, ScorecardBound, ScorecardFigure, ScorecardRow,
};
use bench_report::stats::CriterionMeasure;
use bench_report::text::quantity;

/// What the tests of a criterion have come to.
pub(super) fn row(
    cells: &CriterionCells<'_>,
    own: &AbResult,
    reference: Option<&AbResult>,
) -> ScorecardRow {
    let criterion = cells.criterion;
    let failed = cells.reference.as_ref().zip(reference);
    let failed = [Some((&cells.own, own)), failed].into_iter().flatten();
    let error = failed
        .filter_map(|(cell, result)| cell.summary(result).error)
        .next();
    let (figure, reference) = figures(cells, own, reference);
    let bound = criterion.bound();
    let verdict = figure.zip(bound.as_ref());
    let verdict = verdict.map(|(figure, bound)| bound.judge(&figure));
    let unit = if criterion.relative {
        RATIO
    } else {
        criterion.measure.unit()
    };
    let parties = [(CC, cells.cc.as_str()), (AGAINST, cells.against.as_str())];
    let commands = [Some(&cells.own), cells.reference.as_ref()];
    let mut row = ScorecardRow {
        id: criterion.id.clone(),
        title: fill(&criterion.title, &parties),
        against: cells.against.clone(),
        measure: criterion.measure,
        unit: unit.to_owned(),
        relative: criterion.relative,
        figure,
        reference,
        bound,
        verdict,
        words: String::new(),
        commands: commands.into_iter().flatten().map(command).collect(),
        error,
    };
    row.words = words(&row, cells);
    row
}

/// The criterion's figure, and that of the reference.
fn figures(
    cells: &CriterionCells<'_>,
    own: &AbResult,
    reference: Option<&AbResult>,
) -> (Option<ScorecardFigure>, Option<ScorecardFigure>) {
    let measure = cells.measure;
    let (of_reference, result) = match reference {
        Some(reference) => (measure, reference),
        None => (
            CriterionMeasure {
                variant: 0,
                ..measure
            },
            own,
        ),
    };
    if !cells.criterion.relative {
        return (measure.figure(own), of_reference.figure(result));
    }
    (measure.ratio(own, of_reference.variant, result), None)
}

fn words(row: &ScorecardRow, cells: &CriterionCells<'_>) -> String {
    let Some(figure) = &row.figure else {
        return match &row.error {
            Some(error) => format!("No figure: {error}."),
            None => format!("No figure: {}.", absent(row.measure)),
        };
    };
    let text = |figure: &ScorecardFigure| quantity(figure.value.get(), &row.unit);
    let reference = row.reference.as_ref();
    let reference = reference.map_or_else(|| absent(row.measure).to_owned(), text);
    let sentence = fill(
        &cells.criterion.sentence,
        &[
            (CC, &cells.cc),
            (AGAINST, &cells.against),
            (FIGURE, &text(figure)),
            (REFERENCE, &reference),
        ],
    );
    let mut words = sentence;
    let rounds = cells.own.rounds;
    if figure.rounds < rounds {
        words.push_str(&format!(" ({} of {rounds} rounds.)", figure.rounds));
    }
    if let Some((bound, verdict)) = row.bound.as_ref().zip(row.verdict) {
        words.push_str(&judged(bound, verdict, &row.unit));
    }
    words
}

fn judged(bound: &ScorecardBound, verdict: BoundVerdict, unit: &str) -> String {
    let bound = bound_text(bound, unit);
    match verdict {
        BoundVerdict::Within => format!(" Good: {bound}."),
        BoundVerdict::Beyond => format!(" **Not {bound}.**"),
        BoundVerdict::Undecided => format!(" Undecided: {bound}?"),
    }
}

/// Why a round has no such figure.
fn absent(measure: Measure) -> &'static str {
    match measure {
        Measure::Convergence | Measure::Recovery => "not within the test",
        _ => "none",
    }
}

/// The unit of a ratio.
const RATIO: &str = "×";
