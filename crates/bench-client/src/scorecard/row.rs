use super::cells::{CriterionCell, CriterionCells};
use super::command::command;
use super::file::{AGAINST, CC, FIGURE, REFERENCE, ReferenceFile, fill};
use super::results::Tests;
use bench_report::markdown::bound_text;
use bench_report::result::{
    BoundVerdict, Measure, ScorecardBound, ScorecardCell, ScorecardCells, ScorecardFigure,
    ScorecardRow,
};
use bench_report::stats::{CriterionMeasure, over_cells};
use bench_report::text::quantity;

/// What the tests of a criterion have come to.
pub(super) fn row(cells: &CriterionCells<'_>, tests: &Tests) -> ScorecardRow {
    let criterion = cells.criterion;
    let bound = criterion.bound();
    let parties = [(CC, cells.cc.as_str()), (AGAINST, cells.against.as_str())];
    let failed = cells.tests().filter_map(|cell| {
        let error = cell.summary(tests.result(cell)).error?;
        Some(if criterion.has_axes() {
            format!("{}: {error}", cell.place())
        } else {
            error
        })
    });
    let mut row = ScorecardRow {
        id: criterion.id.clone(),
        title: fill(&criterion.title, &parties),
        against: cells.against.clone(),
        measure: criterion.measure,
        unit: unit(cells).to_owned(),
        relative: criterion.relative,
        figure: None,
        reference: None,
        verdict: None,
        words: String::new(),
        commands: Vec::new(),
        cells: None,
        error: failed.into_iter().next(),
        bound,
    };
    match cells.cells.as_slice() {
        [cell] if !criterion.has_axes() => {
            (row.figure, row.reference) = figures(cells, cell, tests);
            let verdict = row.figure.zip(row.bound.as_ref());
            row.verdict = verdict.map(|(figure, bound)| bound.judge(&figure));
            row.commands = cell.tests().map(command).collect();
        }
        several => {
            over_axes(&mut row, several, cells, tests);
            row.commands = vec![cells.command.clone()];
        }
    }
    row.words = words(&row, cells);
    row
}

/// Figure and verdict of several cells. The bound is for the figure of the cell that decides: what
/// rounds or cells differ by is no doubt about what was measured.
fn over_axes(
    row: &mut ScorecardRow,
    several: &[CriterionCell],
    cells: &CriterionCells<'_>,
    tests: &Tests,
) {
    let bound = row.bound.as_ref();
    let bound = bound.expect("the file was checked: axes need a bound");
    let all = several.iter().map(|cell| {
        let (figure, reference) = figures(cells, cell, tests);
        ScorecardCell {
            at: cell.own.place(),
            figure,
            reference,
            commands: cell.tests().map(command).collect(),
        }
    });
    let all: Vec<ScorecardCell> = all.collect();
    let values = all
        .iter()
        .map(|cell| cell.figure.map(|figure| figure.value));
    let values: Vec<_> = values.collect();
    let within = values.iter().flatten().filter(|value| bound.keeps(**value));
    let within = within.count();
    let over = cells.criterion.over;
    let deciding = over_cells(over, bound, &values).and_then(|place| all.get(place));
    let figure = deciding.and_then(|cell| cell.figure);
    let keeps = figure.is_some_and(|figure| bound.keeps(figure.value));
    row.figure = figure.map(|figure| ScorecardFigure {
        low: None,
        high: None,
        ..figure
    });
    row.verdict = Some(if keeps {
        BoundVerdict::Within
    } else {
        BoundVerdict::Beyond
    });
    row.cells = Some(ScorecardCells {
        over,
        within: u32::try_from(within).unwrap_or(u32::MAX),
        cells: all,
    });
}

/// The figure of one cell, and that of the reference.
fn figures(
    cells: &CriterionCells<'_>,
    cell: &CriterionCell,
    tests: &Tests,
) -> (Option<ScorecardFigure>, Option<ScorecardFigure>) {
    let (criterion, measure) = (cells.criterion, cells.measure);
    let own = tests.result(&cell.own);
    let (of_reference, result) = match &cell.reference {
        Some(reference) => (measure, tests.result(reference)),
        None => (
            CriterionMeasure {
                variant: 0,
                ..measure
            },
            own,
        ),
    };
    if criterion.difference {
        let difference = measure.difference(own, of_reference.variant, result);
        return (difference, None);
    }
    if criterion.relative {
        let ratio = match criterion.reference {
            ReferenceFile::Neighbour => measure.ratio(own, of_reference.variant, result),
            ReferenceFile::Best => {
                let bound = criterion.bound();
                let bound = bound.expect("the file was checked: the best needs a bound");
                measure.ratio_to_best(own, bound.is_ceiling())
            }
        };
        return (ratio, None);
    }
    let is_own = criterion.compete && cell.reference.is_none();
    let reference = (!is_own).then(|| of_reference.figure(result)).flatten();
    (measure.figure(own), reference)
}

/// That of the figure.
fn unit(cells: &CriterionCells<'_>) -> &'static str {
    let criterion = cells.criterion;
    match criterion.measure.unit() {
        _ if criterion.relative => RATIO,
        "%" if criterion.difference => POINTS,
        unit => unit,
    }
}

fn words(row: &ScorecardRow, cells: &CriterionCells<'_>) -> String {
    let Some(figure) = &row.figure else {
        return match (&row.error, &row.cells) {
            (Some(error), _) => format!("No figure: {error}."),
            (None, Some(_)) => format!("**No figure in a cell**: {}.", absent(row.measure)),
            (None, None) => format!("No figure: {}.", absent(row.measure)),
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
    let own = cells.cells.first();
    let rounds = own.map_or(figure.rounds, |cell| cell.own.rounds);
    if row.cells.is_none() && figure.rounds < rounds {
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

/// The unit of a difference of percentages.
const POINTS: &str = "points";
