//! Controllers over conditions drawn at random: what each does beside the best of the cell.

use super::bootstrap::Z_975;
use super::fairness::jain_index;
use super::per_metric::{count, rounded};
use crate::result::{
    Drawn, DrawnCondition, DrawnDistribution, DrawnMeasures, DrawnMetric, DrawnShare, DrawnSummary,
    Finite, MatrixCell, MatrixResult, MatrixVariant, Metric,
};
use std::collections::{BTreeMap, BTreeSet};

/// Fills in what is said of drawn cells, from the cells that `result` has; nothing where cells are
/// the combinations of axes.
pub fn conclude_drawn(result: &mut MatrixResult) {
    let Some(command) = result.drawn.take().map(|drawn| drawn.command) else {
        return;
    };
    let mut measures: Vec<DrawnMeasures> = whole(result).filter_map(measured).collect();
    let mut best: BTreeMap<u32, f64> = BTreeMap::new();
    for one in &measures {
        let best = best.entry(one.cell).or_default();
        *best = best.max(one.goodput_bits_per_second.get());
    }
    let beside_cubic = beside_cubic(&result.cells);
    for (one, cell) in measures.iter_mut().zip(whole(result)) {
        let best = best.get(&one.cell).copied().unwrap_or_default();
        one.regret = rounded(1.0 - one.goodput_bits_per_second.get() / best);
        let beside = beside_cubic.get(&one.cell).filter(|beside| **beside > 0.0);
        let own = neighbour(cell);
        one.neighbour_over_beside_cubic = own
            .zip(beside)
            .and_then(|(own, beside)| rounded(own / beside));
    }
    let summaries = summaries(&measures);
    result.drawn = Some(Drawn {
        command,
        conditions: conditions(result, &summaries, &measures),
        summaries,
        measures,
    });
}

/// The cells that every controller has been in: of the others nobody knows the best.
fn whole(result: &MatrixResult) -> impl Iterator<Item = &MatrixCell> {
    let mut axes = result.axes.iter();
    let all = axes
        .find(|axis| axis.name == CC)
        .map_or(0, |axis| axis.values.len());
    let mut done: BTreeMap<u32, usize> = BTreeMap::new();
    for number in result.cells.iter().filter_map(number) {
        *done.entry(number).or_default() += 1;
    }
    let cells = result.cells.iter().filter(|cell| cell.at.contains_key(CC));
    cells.filter(move |cell| number(cell).is_some_and(|number| done[&number] >= all))
}

fn number(cell: &MatrixCell) -> Option<u32> {
    cell.at.get(CELL)?.parse().ok()
}

fn measured(cell: &MatrixCell) -> Option<DrawnMeasures> {
    let own: Vec<&MatrixVariant> = own(cell).collect();
    let medians = |metric: Metric| {
        let own = own
            .iter()
            .filter_map(move |variant| variant.summary.get(&metric));
        own.map(|summary| summary.median.get())
    };
    let first = |metric: Metric| medians(metric).next().and_then(Finite::new);
    let base_rtt = cell.base_rtt_ms.map(Finite::get).filter(|rtt| *rtt > 0.0);
    let over_base = |delay: Option<Finite>| rounded(delay?.get() / base_rtt?);
    // A connection that failed has carried nothing.
    let goodputs: Vec<f64> = own.iter().map(|variant| goodput(variant)).collect();
    let losses: Vec<f64> = medians(Metric::LossRate).collect();
    let (p95, p99) = (
        first(Metric::QueueDelayMsP95),
        first(Metric::QueueDelayMsP99),
    );
    Some(DrawnMeasures {
        cell: number(cell)?,
        cc: cell.at.get(CC)?.clone(),
        goodput_bits_per_second: Finite::new(goodputs.iter().sum())?,
        regret: None,
        seconds: first(Metric::Seconds),
        loss_rate: rounded(losses.iter().sum::<f64>() / losses.len() as f64),
        queue_delay_ms_p95: p95,
        queue_delay_ms_p99: p99,
        queue_delay_p95_over_base_rtt: over_base(p95),
        queue_delay_p99_over_base_rtt: over_base(p99),
        jain_index: (goodputs.len() > 1)
            .then(|| rounded(jain_index(&goodputs)?))
            .flatten(),
        neighbour_over_beside_cubic: None,
        error: cell.error.clone(),
    })
}

/// The variants of the controller that the cell is about.
fn own(cell: &MatrixCell) -> impl Iterator<Item = &MatrixVariant> {
    let variants = cell.variants.iter();
    variants.filter(|variant| !cell.neighbours.contains(&variant.name))
}

/// The goodput of the neighbours, where there are some and they are CUBIC.
fn neighbour(cell: &MatrixCell) -> Option<f64> {
    let neighbours = cell.variants.iter();
    let neighbours = neighbours.filter(|variant| cell.neighbours.contains(&variant.name));
    let neighbours: Vec<&MatrixVariant> = neighbours.collect();
    let are_cubic = neighbours.iter().all(|variant| variant.cc == CUBIC);
    (are_cubic && !neighbours.is_empty()).then(|| neighbours.iter().map(|one| goodput(one)).sum())
}

/// In bits per second; zero where every round failed.
fn goodput(variant: &MatrixVariant) -> f64 {
    let summary = variant.summary.get(&Metric::GoodputBitsPerSecond);
    summary.map_or(0.0, |summary| summary.median.get())
}

/// The same of the cells that are about CUBIC themselves.
fn beside_cubic(cells: &[MatrixCell]) -> BTreeMap<u32, f64> {
    let of_cubic = cells
        .iter()
        .filter(|cell| own(cell).all(|variant| variant.cc == CUBIC));
    let goodputs = of_cubic.filter_map(|cell| Some((number(cell)?, neighbour(cell)?)));
    goodputs.collect()
}

fn summaries(measures: &[DrawnMeasures]) -> Vec<DrawnSummary> {
    let mut controllers: Vec<&str> = Vec::new();
    for one in measures {
        if !controllers.contains(&one.cc.as_str()) {
            controllers.push(&one.cc);
        }
    }
    let best = DrawnMetric::ALL.map(|metric| (metric, best(metric, measures)));
    let of_one = controllers.into_iter().map(|cc| {
        let own: Vec<&DrawnMeasures> = measures.iter().filter(|one| one.cc == cc).collect();
        let distributions = best.iter().filter_map(|(metric, best)| {
            let distribution = distribution(*metric, &own, best)?;
            Some((*metric, distribution))
        });
        DrawnSummary {
            cc: cc.to_owned(),
            distributions: distributions.collect(),
        }
    });
    of_one.collect()
}

/// Every alternative of every axis but the cells' numbers and the controllers, where a cell has it,
/// by each metric that such a cell has.
fn conditions(
    result: &MatrixResult,
    summaries: &[DrawnSummary],
    measures: &[DrawnMeasures],
) -> Vec<DrawnCondition> {
    let axes = result.axes.iter();
    let axes = axes.filter(|axis| axis.name != CELL && axis.name != CC);
    let alternatives = axes.flat_map(|axis| axis.values.iter().map(move |value| (axis, value)));
    let alternatives = alternatives.map(|(axis, value)| {
        let cells = result.cells.iter();
        let cells = cells.filter(|cell| cell.at.get(&axis.name) == Some(value));
        let cells: BTreeSet<u32> = cells.filter_map(number).collect();
        let inside = measures.iter().filter(|one| cells.contains(&one.cell));
        (&axis.name, value, inside.collect())
    });
    let alternatives: Vec<(&String, &String, Vec<&DrawnMeasures>)> = alternatives.collect();
    let of_metric = |metric| {
        let conditions = alternatives
            .iter()
            .filter_map(move |(variable, value, inside)| {
                let (cells, within) = shares(metric, inside, summaries)?;
                Some(DrawnCondition {
                    variable: (*variable).clone(),
                    value: (*value).clone(),
                    metric,
                    cells,
                    within,
                })
            });
        conditions.collect::<Vec<_>>()
    };
    DrawnMetric::ALL.into_iter().flat_map(of_metric).collect()
}

/// How many of the cells have the metric, and the share of them in which each controller keeps its
/// looser bound. `None` where a controller has it in no cell.
fn shares(
    metric: DrawnMetric,
    inside: &[&DrawnMeasures],
    summaries: &[DrawnSummary],
) -> Option<(u32, Vec<Finite>)> {
    let [_, bound] = metric.bounds();
    let having = || inside.iter().filter(|one| metric.of(one).is_some());
    let within = summaries.iter().map(|summary| {
        let own = || having().filter(|one| one.cc == summary.cc);
        let figures = own().filter_map(|one| metric.of(one));
        let kept = figures.filter(|figure| metric.keeps(*figure, bound));
        rounded(kept.count() as f64 / own().count() as f64)
    });
    let within = within.collect::<Option<_>>()?;
    let cells: BTreeSet<u32> = having().map(|one| one.cell).collect();
    Some((count(cells.len()), within))
}

fn distribution(
    metric: DrawnMetric,
    own: &[&DrawnMeasures],
    best: &BTreeMap<u32, f64>,
) -> Option<DrawnDistribution> {
    let figures = own.iter().filter_map(|one| metric.of(one));
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_unstable_by(f64::total_cmp);
    let middle = figures.len() / 2;
    let (first, last) = (*figures.first()?, *figures.last()?);
    let within = metric.bounds().map(|bound| {
        let kept = figures
            .iter()
            .filter(|figure| metric.keeps(**figure, bound));
        share(bound, kept.count(), figures.len())
    });
    Some(DrawnDistribution {
        cells: count(figures.len()),
        median: rounded(f64::midpoint(
            figures[middle],
            figures[(figures.len() - 1) / 2],
        ))?,
        worst: Finite::new(if metric.lower_is_better() {
            last
        } else {
            first
        })?,
        worst_cells: worst_cells(metric, own, best),
        within: within.into_iter().collect::<Option<_>>()?,
    })
}

/// The best figure of each cell.
fn best(metric: DrawnMetric, measures: &[DrawnMeasures]) -> BTreeMap<u32, f64> {
    let mut best: BTreeMap<u32, f64> = BTreeMap::new();
    for one in measures {
        let Some(figure) = metric.of(one) else {
            continue;
        };
        let best = best.entry(one.cell).or_insert(figure);
        *best = if metric.lower_is_better() {
            best.min(figure)
        } else {
            best.max(figure)
        };
    }
    best
}

fn worst_cells(metric: DrawnMetric, own: &[&DrawnMeasures], best: &BTreeMap<u32, f64>) -> Vec<u32> {
    let behind = own.iter().filter_map(|one| {
        let behind = metric.behind(metric.of(one)?, *best.get(&one.cell)?);
        Some((behind, one.cell))
    });
    let mut behind: Vec<(f64, u32)> = behind.collect();
    behind.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    behind.iter().take(WORST).map(|(_, cell)| *cell).collect()
}

/// `part` of `all`, with Wilson's interval: unlike the normal one it stays between 0 and 1, and has
/// a width where all cells are alike.
fn share(bound: f64, part: usize, all: usize) -> Option<DrawnShare> {
    let (n, z) = (all as f64, Z_975);
    let share = part as f64 / n;
    let scale = 1.0 + z * z / n;
    let middle = (share + z * z / (2.0 * n)) / scale;
    let half = z / scale * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    Some(DrawnShare {
        bound: Finite::new(bound)?,
        share: rounded(share)?,
        low: rounded((middle - half).max(0.0))?,
        high: rounded((middle + half).min(1.0))?,
    })
}

const CELL: &str = "cell";
const CC: &str = "cc";
const CUBIC: &str = "cubic";
const WORST: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    fn of(cc: &str, cell: u32) -> DrawnMeasures {
        let drawn = fixtures::drawn().drawn.unwrap();
        let mut measures = drawn.measures.into_iter();
        measures
            .find(|one| one.cc == cc && one.cell == cell)
            .unwrap()
    }

    fn distribution_of(cc: &str, metric: DrawnMetric) -> DrawnDistribution {
        let drawn = fixtures::drawn().drawn.unwrap();
        let summary = drawn.summaries.iter().find(|one| one.cc == cc).unwrap();
        summary.distributions[&metric].clone()
    }

    #[test]
    fn regret_is_what_is_missing_to_the_best_of_the_cell() {
        let regret = |cc, cell| of(cc, cell).regret.unwrap().get();
        assert_eq!((regret("cubic", 0), regret("bbr1", 0)), (0.5, 0.0));
        assert_eq!((regret("cubic", 1), regret("bbr1", 1)), (0.0, 0.25));
    }

    #[test]
    fn a_neighbour_is_measured_by_what_it_has_beside_cubic() {
        // 50 − 30/2 beside CUBIC, 50 − 40/2 beside BBR.
        let neighbour = |cc, cell| of(cc, cell).neighbour_over_beside_cubic.map(Finite::get);
        assert_eq!(neighbour("cubic", 2), Some(1.0));
        let beside_bbr = neighbour("bbr1", 2).unwrap();
        assert!((beside_bbr - 30.0 / 35.0).abs() < 1e-9, "{beside_bbr}");
        assert_eq!(neighbour("bbr1", 0), None);
        // The neighbour's goodput is none of its own.
        assert_eq!(of("bbr1", 2).goodput_bits_per_second.get(), 40e6);
    }

    #[test]
    fn a_cell_that_a_controller_has_not_been_in_yet_does_not_count() {
        let mut result = fixtures::drawn();
        result
            .cells
            .retain(|cell| cell.at["cell"] != "0" || cell.at["cc"] != "bbr1");
        conclude_drawn(&mut result);
        let drawn = result.drawn.unwrap();
        assert!(drawn.measures.iter().all(|one| one.cell > 0));
        let regret = &drawn.summaries[0].distributions[&DrawnMetric::Regret];
        assert_eq!(regret.cells, 2);
    }

    #[test]
    fn queues_are_measured_by_the_base_round_trip_time() {
        let one = of("cubic", 0);
        let over_base = one.queue_delay_p95_over_base_rtt.unwrap().get();
        let p95 = one.queue_delay_ms_p95.unwrap().get();
        assert!(p95 > 0.0 && (over_base - p95 / 40.0).abs() < 1e-9);
    }

    #[test]
    fn a_connection_that_failed_has_carried_nothing() {
        let mut result = fixtures::drawn();
        let is_it = |cell: &&mut MatrixCell| cell.at["cell"] == "1" && cell.at["cc"] == "bbr1";
        let cell = result.cells.iter_mut().find(is_it).unwrap();
        cell.variants.push(cell.variants[0].clone());
        cell.variants[1].summary.clear();
        conclude_drawn(&mut result);
        let measures = result.drawn.unwrap().measures;
        let one = measures
            .iter()
            .find(|one| one.cc == "bbr1" && one.cell == 1);
        assert_eq!(one.unwrap().goodput_bits_per_second.get(), 60e6);
        assert_eq!(one.unwrap().jain_index.map(Finite::get), Some(0.5));
    }

    #[test]
    fn a_summary_counts_cells_within_bounds_and_names_the_worst() {
        let regret = distribution_of("cubic", DrawnMetric::Regret);
        assert_eq!(regret.cells, 3);
        assert_eq!((regret.worst.get(), regret.median.get()), (0.5, 0.25));
        assert_eq!(regret.worst_cells, [0, 2, 1]);
        let shares: Vec<f64> = regret
            .within
            .iter()
            .map(|share| share.share.get())
            .collect();
        assert!((shares[0] - 1.0 / 3.0).abs() < 1e-9 && (shares[1] - 2.0 / 3.0).abs() < 1e-9);
        let neighbour = distribution_of("bbr1", DrawnMetric::NeighbourOverBesideCubic);
        assert_eq!(
            (neighbour.cells, neighbour.within[0].share),
            (1, Finite::ONE)
        );
    }

    #[test]
    fn a_condition_has_the_share_of_its_cells_that_each_controller_keeps() {
        let mut result = fixtures::drawn();
        for cell in &mut result.cells {
            let loss = if cell.at["cell"] == "0" {
                "some"
            } else {
                "none"
            };
            cell.at.insert("loss".to_owned(), loss.to_owned());
        }
        let mut axis = result.axes[0].clone();
        axis.name = "loss".to_owned();
        axis.values = ["none", "some", "all"].map(str::to_owned).to_vec();
        result.axes.insert(1, axis);
        conclude_drawn(&mut result);
        let conditions = result.drawn.unwrap().conditions;
        let shares = |metric| {
            let own = conditions.iter().filter(move |one| one.metric == metric);
            let shares = own.map(|one| {
                let within: Vec<f64> = one.within.iter().map(|share| share.get()).collect();
                (one.value.as_str(), one.cells, within)
            });
            shares.collect::<Vec<_>>()
        };
        // CUBIC has half of the best in cell 0, and three quarters in cell 2.
        let expected = [("none", 2, vec![1.0, 1.0]), ("some", 1, vec![0.0, 1.0])];
        assert_eq!(shares(DrawnMetric::Regret), expected);
        // Only cell 2 has a neighbour.
        let expected = [("none", 1, vec![1.0, 1.0])];
        assert_eq!(shares(DrawnMetric::NeighbourOverBesideCubic), expected);
    }

    #[test]
    fn the_interval_of_a_share_is_wilsons() {
        // 8 of 10: 0.490 to 0.943 (Newcombe 1998, method 3).
        let eight = share(0.1, 8, 10).unwrap();
        assert!((eight.low.get() - 0.4902).abs() < 1e-4, "{eight:?}");
        assert!((eight.high.get() - 0.9433).abs() < 1e-4, "{eight:?}");
        let all = share(0.1, 10, 10).unwrap();
        assert!(all.high == Finite::ONE && all.low.get() < 0.73, "{all:?}");
    }

    #[test]
    fn the_cells_behind_the_others_come_first_not_those_in_which_all_do_badly() {
        let metric = DrawnMetric::QueueDelayP95OverBaseRtt;
        let one = |cc: &str, cell, figure| DrawnMeasures {
            cc: cc.to_owned(),
            cell,
            queue_delay_p95_over_base_rtt: Finite::new(figure),
            ..DrawnMeasures::default()
        };
        let all = [
            one("a", 0, 400.0),
            one("b", 0, 300.0),
            one("a", 1, 10.0),
            one("b", 1, 1.0),
        ];
        let best = best(metric, &all);
        assert_eq!(worst_cells(metric, &[&all[0], &all[2]], &best), [1, 0]);
        // Both are too short to be told apart.
        assert_eq!(metric.behind(0.09, 0.001), 1.0);
    }
}
