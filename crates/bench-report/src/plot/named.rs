use super::figure::Figure;
use super::series_style::CLASSES;
use super::time_panel::reports_delivery_rate;
use super::{
    Measure, arrivals, boxes, datagrams, drawn, forest, goodput_delay, heat_maps, limits,
    queue_cdf, rtt, rtt_ccdf, rtt_cdf, share, sweeps, time_series, window,
};
use crate::result::{AbResult, DrawnMetric, MatrixResult, Metric};

/// A figure and the name of its file without `.svg`: lower-case letters, digits and hyphens.
pub type NamedFigure = (String, Figure);

/// Every figure of an A/B test or, as one without a comparison, of a run.
pub fn of_ab(result: &AbResult) -> Vec<NamedFigure> {
    let first = match reports_delivery_rate(result) {
        true => "delivery-rate",
        false => "goodput",
    };
    let mut figures = vec![(first.to_owned(), arrivals(result))];
    if !result.compares_servers() {
        figures.extend(of_senders(result));
    }
    figures.extend(boxes(result).map(|figure| ("boxes".to_owned(), figure)));
    if result.variants.len() > 1 {
        figures.push(("forest".to_owned(), forest(result)));
    }
    if let Some([loss, jitter]) = datagrams(result) {
        figures.push(("datagram-loss".to_owned(), loss));
        figures.push(("jitter".to_owned(), jitter));
    }
    figures.extend(queue_cdf(result).map(|figure| ("queue-cdf".to_owned(), figure)));
    figures.extend(share(result).map(|figure| ("share".to_owned(), figure)));
    figures
}

/// The figures of what only a sender knows.
fn of_senders(result: &AbResult) -> Vec<NamedFigure> {
    let mut figures = vec![
        ("rtt".to_owned(), rtt(result)),
        ("window".to_owned(), window(result)),
        ("rtt-cdf".to_owned(), rtt_cdf(result)),
        ("rtt-ccdf".to_owned(), rtt_ccdf(result)),
        ("limits".to_owned(), limits(result)),
        ("goodput-delay".to_owned(), goodput_delay(result)),
    ];
    for (index, name) in CLASSES.iter().enumerate() {
        let time_series = time_series(result, index);
        figures.extend(time_series.map(|figure| (format!("course-{name}"), figure)));
    }
    figures
}

/// Every figure of a matrix.
pub fn of_matrix(result: &MatrixResult) -> Vec<NamedFigure> {
    if let Some(all) = &result.drawn {
        let figures = DRAWN.into_iter();
        let figures =
            figures.filter_map(|(name, metric)| Some((name.to_owned(), drawn(all, metric)?)));
        return figures.collect();
    }
    let sweeps = SWEEPS.map(|(name, measure)| (format!("sweep-{name}"), sweeps(result, measure)));
    let maps = MAPS.map(|(name, metric)| (format!("heat-{name}"), heat_maps(result, metric)));
    let drawn = sweeps.into_iter().chain(maps);
    let numbered = drawn.flat_map(|(kind, figures)| {
        let numbered = (1..).zip(figures);
        numbered.map(move |(number, figure)| (format!("{kind}-{number}"), figure))
    });
    numbered.collect()
}

/// What is drawn along an axis of a matrix, and what its files are called by.
pub(crate) const SWEEPS: [(&str, Measure); 4] = [
    ("goodput", Measure::Metric(Metric::GoodputBitsPerSecond)),
    ("rtt-p95", Measure::Metric(Metric::RttMsP95)),
    ("share", Measure::Share),
    ("jain", Measure::JainIndex),
];

/// By what drawn cells are compared, and what the files are called by.
const DRAWN: [(&str, DrawnMetric); 4] = [
    ("regret", DrawnMetric::Regret),
    ("queue", DrawnMetric::QueueDelayP95OverBaseRtt),
    ("jain", DrawnMetric::JainIndex),
    ("neighbour", DrawnMetric::NeighbourOverBesideCubic),
];

/// By what a matrix has maps of who is better, and what their files are called by.
pub(crate) const MAPS: [(&str, Metric); 2] = [
    ("goodput", Metric::GoodputBitsPerSecond),
    ("rtt-p95", Metric::RttMsP95),
];
