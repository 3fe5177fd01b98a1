mod lines;
mod measure;
mod numbers;
mod rows;
mod state;

pub use measure::Measure;

use super::bounds::MAX_FIGURES;
use super::figure::Figure;
use super::grid::Grid;
use crate::result::MatrixResult;
use numbers::Numbers;
use state::Sweep;

/// A measure along the matrix's main axis, a line per contender with its intervals: a figure for
/// each combination of the other axes' values, at most [`MAX_FIGURES`].
///
/// The main axis is the longest of those that have numbers, with the same unit, for all of their
/// values, an axis of loss before others; it is logarithmic where they span a decade. Where it is
/// a loss in percent, goodput has the bound rate × (1 − loss) as its reference. Where no axis has
/// numbers, it is the longest, with a row for each value instead.
pub fn sweeps(result: &MatrixResult, measure: Measure) -> Vec<Figure> {
    let grid = Grid::of(result);
    let Some(along) = main_axis(&grid) else {
        return Vec::new();
    };
    let Some(sweep) = Sweep::new(&grid, along, measure) else {
        return Vec::new();
    };
    let groups = grid.groups(&[along]).into_iter().take(MAX_FIGURES);
    groups
        .map(|(name, points)| match &sweep.numbers {
            Some(numbers) => sweep.lines(numbers, &name, &points),
            None => sweep.rows(&name, &points),
        })
        .collect()
}

/// The longest axis of numbers, one of loss before others, or else the longest of all.
fn main_axis(grid: &Grid<'_>) -> Option<usize> {
    let rank = |axis: &usize| {
        let axis = grid.axes[*axis];
        let is_loss = axis.name.contains("loss");
        (Numbers::of(axis).is_some(), is_loss, axis.values.len())
    };
    // Of equal ones the first.
    (0..grid.axes.len()).rev().max_by_key(rank)
}
