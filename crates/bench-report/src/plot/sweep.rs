mod lines;
mod measure;
mod numbers;
mod rows;
mod state;

pub use measure::Measure;

use super::bounds::MAX_FIGURES;
use super::figure::Figure;
use super::grid::{Grid, Point};
use crate::result::MatrixResult;
use numbers::Numbers;
use state::Sweep;

/// A measure along the matrix's main axis, a line per contender with its intervals: a figure for
/// each combination of the other axes' values, at most [`MAX_FIGURES`].
///
/// The main axis is the longest of those that have numbers, with the same unit, for all of their
/// values, an axis of loss before others; it is logarithmic where they span a decade. Where it is
/// a loss in percent, goodput has the bound rate × (1 − loss) as its reference. Where no axis has
/// numbers, it is the longest, with a row for each value instead. All figures have the same axes,
/// but where those of goodput would end more than five times apart, each has its own.
pub fn sweeps(result: &MatrixResult, measure: Measure) -> Vec<Figure> {
    let grid = Grid::of(result);
    let Some(along) = main_axis(&grid) else {
        return Vec::new();
    };
    let everywhere: Vec<&Point<'_>> = grid.points.iter().collect();
    let Some(all) = Sweep::new(&grid, along, measure, &everywhere) else {
        return Vec::new();
    };
    let groups = grid.groups(&[along]).into_iter().take(MAX_FIGURES);
    let groups = groups.map(|(name, points)| {
        let own = Sweep::new(&grid, along, measure, &points);
        (name, own, points)
    });
    let groups: Vec<_> = groups.collect();
    let ends = groups.iter().filter_map(|(_, own, _)| own.as_ref());
    let least = ends.map(|own| own.end).fold(all.end, f64::min);
    let has_own_axes = !measure.is_rtt() && all.end > APART * least;
    groups
        .iter()
        .map(|(name, own, points)| {
            let own = own.as_ref().filter(|_| has_own_axes);
            let sweep = own.unwrap_or(&all);
            match &sweep.numbers {
                Some(numbers) => sweep.lines(numbers, name, points),
                None => sweep.rows(name, points),
            }
        })
        .collect()
}

/// Figures whose axes would end this many times apart have axes of their own: nobody could read the
/// smaller ones. Those of delays are logarithmic then.
const APART: f64 = 5.0;

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
