use super::axis::Linear;
use super::figure::Figure;
use super::legend::LegendSymbol;
use super::panel::{TIME, XLABELS};
use super::series::{duration, median_round, warm_up};
use super::svg::Svg;
use super::time_panel::{self, CWND, DATAGRAM_LOSS, GOODPUT, JITTER, RTT, TimePanel, View};
use super::variants::{self, drawn};
use crate::result::{AbResult, Variant};

/// What arrives over time: all variants in one panel, with the link's rate where it is known. That
/// is the delivery rate, and the goodput in order a line that a page may show; of senders that do
/// not report it, the goodput.
pub fn arrivals(result: &AbResult) -> Figure {
    overlay(time_panel::arrivals(result), result)
}

/// Goodput over time: all variants in one panel, with the link's rate where it is known.
pub fn goodput(result: &AbResult) -> Figure {
    overlay(&GOODPUT, result)
}

/// The smoothed round-trip time over time: all variants in one panel, with that of the empty
/// path where it is known.
pub fn rtt(result: &AbResult) -> Figure {
    overlay(&RTT, result)
}

/// The congestion window over time: all variants in one panel, with the bandwidth-delay product
/// where it is known.
pub fn window(result: &AbResult) -> Figure {
    overlay(&CWND, result)
}

/// The share of datagrams that were lost, and their jitter, over time: two figures. `None` where no
/// datagrams were sent, or their receiver has not reported.
pub fn datagrams(result: &AbResult) -> Option<[Figure; 2]> {
    let rounds = result.variants.iter().flat_map(|variant| &variant.rounds);
    let mut intervals = rounds.flat_map(|round| &round.intervals);
    let is_any = intervals.any(|interval| interval.datagrams.is_some());
    is_any.then(|| [overlay(&DATAGRAM_LOSS, result), overlay(&JITTER, result)])
}

fn overlay(quantity: &'static TimePanel, result: &AbResult) -> Figure {
    let time = Linear::exact(0.0, duration(&result.variants), 6);
    let view = View::new(quantity, result, 5);
    let panel = view.panel(0.0, HEIGHT, &time);
    let variants: Vec<&Variant> = drawn(result).map(|(variant, _)| variant).collect();
    let mut svg = Svg::default();
    panel.frame(&mut svg);
    panel.area(&mut svg, |svg, inside| {
        let warm_up = result.variants.iter().filter_map(median_round).map(warm_up);
        inside.stretch(svg, "warm-up", 0.0, warm_up.fold(0.0, f64::max));
        // Of many variants the thin lines would hide the bold ones.
        for (variant, style) in drawn(result).filter(|_| variants.len() <= 2) {
            view.thin(svg, inside, variant, style.class);
        }
        for (variant, style) in drawn(result) {
            view.bold(svg, inside, variant, style.class);
            view.switched(svg, inside, variant, style.class);
        }
    });
    match view.reference() {
        // Beside the line its name would lie over those of the variants.
        Some(reference) => {
            panel.reference(&mut svg, reference);
            panel.x_labels_and_legend(&mut svg, TIME, reference);
        }
        None => panel.x_labels(&mut svg, TIME),
    }
    view.notes(&mut svg, &panel, &variants);
    let height = panel.bottom() + XLABELS;
    let legend = variants::legend(&mut svg, result, LegendSymbol::line, 0.0, height);
    let title = format!("{} over time{}", quantity.heading, lines(result));
    Figure::new(title, height + legend, svg)
}

/// Which rounds the lines are, where there are several.
fn lines(result: &AbResult) -> &'static str {
    let rounds = result.variants.iter().map(|variant| variant.rounds.len());
    match (rounds.max(), result.variants.len()) {
        (None | Some(0 | 1), _) => "",
        (_, 0..=2) => ", the median round bold, others thin",
        _ => " in the median round",
    }
}

const HEIGHT: f64 = 190.0;
