use crate::result::{
    Comparison, Decision, MatrixAxis, MatrixCell, MatrixResult, MatrixVariant, Metric, Summary,
    common_senders, short_names,
};
use std::collections::BTreeMap;

/// A matrix as its figures see it: conditions along axes, and at each of them what several
/// contenders came to.
///
/// Contenders are the variants of a cell; where each cell has a single one and an axis is called
/// `cc`, they are the values of that axis.
#[derive(Debug)]
pub(crate) struct Grid<'a> {
    /// Without the one that the contenders are taken from, and without those of a single value.
    pub(crate) axes: Vec<&'a MatrixAxis>,
    pub(crate) contenders: Vec<String>,
    pub(crate) points: Vec<Point<'a>>,
}

#[derive(Debug)]
pub(crate) struct Point<'a> {
    pub(crate) at: Vec<usize>,
    /// A cell of this condition: the first, where there is one for each contender.
    pub(crate) cell: &'a MatrixCell,
    /// The figures of each contender, where it has any.
    pub(crate) summaries: Vec<Option<&'a BTreeMap<Metric, Summary>>>,
}

impl<'a> Grid<'a> {
    pub(crate) fn of(result: &'a MatrixResult) -> Self {
        let is_single = result.cells.iter().all(|cell| cell.variants.len() <= 1);
        let by_axis = result
            .axes
            .iter()
            .find(|axis| axis.name == "cc" && is_single);
        let axes: Vec<&MatrixAxis> = result
            .axes
            .iter()
            .filter(|axis| axis.values.len() > 1 && by_axis.is_none_or(|by| by.name != axis.name))
            .collect();
        let mut grid = Self {
            contenders: by_axis.map_or_else(|| variants(result), lettered),
            points: Vec::new(),
            axes,
        };
        for cell in &result.cells {
            grid.add(cell, by_axis);
        }
        grid
    }

    fn add(&mut self, cell: &'a MatrixCell, by_axis: Option<&MatrixAxis>) {
        let place = |axis: &MatrixAxis| {
            let value = cell.at.get(&axis.name)?;
            axis.values.iter().position(|other| other == value)
        };
        let at: Option<Vec<usize>> = self.axes.iter().map(|axis| place(axis)).collect();
        let Some(at) = at else { return };
        let first = match by_axis {
            Some(axis) => place(axis).unwrap_or(usize::MAX),
            None => 0,
        };
        let count = self.contenders.len();
        let known = self.points.iter().position(|point| point.at == at);
        let index = known.unwrap_or_else(|| {
            self.points.push(Point {
                at,
                cell,
                summaries: vec![None; count],
            });
            self.points.len() - 1
        });
        let summaries = self.points[index].summaries.iter_mut().skip(first);
        for (summary, variant) in summaries.zip(&cell.variants) {
            *summary = Some(&variant.summary);
        }
    }

    pub(crate) fn letter(&self, contender: usize) -> &str {
        let name = &self.contenders[contender];
        name.split(' ').next().unwrap_or(name)
    }

    /// A condition as `loss 1%, delay 40ms`.
    pub(crate) fn place(&self, point: &Point<'_>) -> String {
        let values = self.axes.iter().zip(&point.at);
        let words = values.map(|(axis, place)| format!("{} {}", axis.name, axis.values[*place]));
        words.collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn value(&self, axis: usize, point: &Point<'_>) -> &'a str {
        &self.axes[axis].values[point.at[axis]]
    }

    /// The points by the values of all axes but those in `along`: what each group has in common,
    /// as `delay 40ms, flows 2`, and its points.
    pub(crate) fn groups(&self, along: &[usize]) -> Vec<(String, Vec<&Point<'a>>)> {
        let mut groups: BTreeMap<Vec<usize>, Vec<&Point<'a>>> = BTreeMap::new();
        let rest: Vec<usize> = (0..self.axes.len())
            .filter(|axis| !along.contains(axis))
            .collect();
        for point in &self.points {
            let key = rest.iter().map(|axis| point.at[*axis]).collect();
            groups.entry(key).or_default().push(point);
        }
        let name = |key: &[usize]| {
            let words = rest.iter().zip(key).map(|(axis, place)| {
                let axis = self.axes[*axis];
                format!("{} {}", axis.name, axis.values[*place])
            });
            words.collect::<Vec<_>>().join(", ")
        };
        let groups = groups.into_iter();
        groups.map(|(key, points)| (name(&key), points)).collect()
    }
}

fn lettered(axis: &MatrixAxis) -> Vec<String> {
    let letters = super::series_style::CLASSES
        .iter()
        .chain(std::iter::repeat(&"–"));
    let values: Vec<&str> = axis.values.iter().map(String::as_str).collect();
    let values = short_names(&values).into_iter().zip(letters);
    values
        .map(|(value, letter)| format!("{letter} {value}"))
        .collect()
}

/// The variants by their letters, with the controller where it is the same in all cells, or with
/// the axis that says it.
fn variants(result: &MatrixResult) -> Vec<String> {
    let largest = result.cells.iter().max_by_key(|cell| cell.variants.len());
    let variants: Vec<&MatrixVariant> = largest.iter().flat_map(|cell| &cell.variants).collect();
    let senders = common_senders(&result.cells, variants.len());
    let name = |(variant, sender): (&MatrixVariant, Option<String>)| match sender {
        Some(sender) => format!("{} {sender}", variant.name),
        None => variant.name.clone(),
    };
    variants.into_iter().zip(senders).map(name).collect()
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Best {
    /// The contender at this place, so many times better than the next one.
    One(usize, f64),
    /// The best are the same within 5 %.
    Same,
    /// The rounds are too few to decide.
    Unknown,
}

impl Point<'_> {
    /// Who is better by this metric; `None` with fewer than two figures.
    ///
    /// Of two variants of one cell their paired comparison decides, of others whether their
    /// intervals lie apart.
    pub(crate) fn best(&self, metric: Metric) -> Option<Best> {
        let medians = self.summaries.iter().enumerate();
        let medians =
            medians.filter_map(|(place, summary)| Some((place, *summary.as_ref()?.get(&metric)?)));
        let mut ranked: Vec<(usize, Summary)> = medians.collect();
        ranked.sort_by(|(_, one), (_, other)| {
            let order = one.median.get().total_cmp(&other.median.get());
            if metric.higher_is_better() {
                order.reverse()
            } else {
                order
            }
        });
        let [(first, best), (_, next), ..] = ranked.as_slice() else {
            return None;
        };
        let (high, low) = if metric.higher_is_better() {
            (best, next)
        } else {
            (next, best)
        };
        let margin = high.median.get() / low.median.get();
        if let [_, _] = ranked.as_slice()
            && let Some(comparison) = self.cell.comparison.get(&metric)
            && self.cell.variants.len() == 2
        {
            return Some(decided(comparison, metric));
        }
        Some(
            if is_apart(low, high) && margin > 1.0 + crate::stats::EQUAL {
                Best::One(*first, margin)
            } else if is_same(low, high) {
                Best::Same
            } else {
                Best::Unknown
            },
        )
    }
}

/// Whether the intervals do not meet.
fn is_apart(low: &Summary, high: &Summary) -> bool {
    low.high.zip(high.low).is_some_and(|(low, high)| low < high)
}

/// Whether both intervals lie within what is the same, from end to end.
fn is_same(low: &Summary, high: &Summary) -> bool {
    let ends = [low, high].map(|summary| summary.low.zip(summary.high));
    let [Some(one), Some(other)] = ends else {
        return false;
    };
    let min = one.0.get().min(other.0.get());
    let max = one.1.get().max(other.1.get());
    max <= min * (1.0 + crate::stats::EQUAL)
}

/// What the paired comparison of b with a says.
fn decided(comparison: &Comparison, metric: Metric) -> Best {
    let b_is_higher = match comparison.decision {
        Decision::TooFewRounds => return Best::Unknown,
        Decision::Same => return Best::Same,
        Decision::BHigher => true,
        Decision::BLower => false,
    };
    let ratio = comparison
        .ratio_b_over_a
        .map_or(f64::INFINITY, |ratio| ratio.get());
    let margin = if ratio > 1.0 { ratio } else { 1.0 / ratio };
    Best::One(
        usize::from(b_is_higher == metric.higher_is_better()),
        margin,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::Finite;

    fn summary(median: f64, interval: Option<(f64, f64)>) -> Summary {
        let finite = |value| Finite::new(value).unwrap();
        Summary {
            median: finite(median),
            mean: finite(median),
            low: interval.map(|(low, _)| finite(low)),
            high: interval.map(|(_, high)| finite(high)),
            rounds: 3,
        }
    }

    #[test]
    fn only_whole_intervals_tell_what_is_the_same_and_what_is_not() {
        let narrow = summary(100.0, Some((99.0, 101.0)));
        let near = summary(102.0, Some((101.5, 103.0)));
        let wide = summary(101.0, Some((95.0, 107.0)));
        let alone = summary(100.0, None);
        assert!(is_same(&narrow, &near) && is_apart(&narrow, &near));
        assert!(!is_same(&narrow, &wide) && !is_apart(&narrow, &wide));
        // A single round has no interval, however near it is.
        assert!(!is_same(&alone, &alone) && !is_apart(&alone, &near));
    }
}
