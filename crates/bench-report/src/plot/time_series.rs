use super::axis::Linear;
use super::bands::Bands;
use super::figure::{Figure, LEFT, RIGHT};
use super::legend::{self, LegendSymbol};
use super::panel::{HEADING, Inside, Panel, TIME, XLABELS, time_attribute};
use super::series::{duration, median_round, warm_up};
use super::series_style::SeriesStyle;
use super::svg::{Anchor, Svg};
use super::time_panel::{self, RATE, RTT, TimePanel, View, WINDOW};
use crate::result::{AbResult, Quantity, Round, Variant};
use crate::text::Scale;

/// What happened in one variant, the `index`-th: delivery rate, round-trip time, window, rates and
/// lost packets over one time axis, over the states of the median round's controller. Axes are the
/// same for all variants of the result. `None` when there is no such variant or it has no round
/// with a time series.
pub fn time_series(result: &AbResult, index: usize) -> Option<Figure> {
    let variant = result.variants.get(index)?;
    let class = SeriesStyle::of(index).class;
    let median = median_round(variant)?;
    let bands = Bands::of(median);
    let time = Linear::exact(0.0, duration(&result.variants), 6);
    let mut svg = Svg::default();
    let states = match variant.rounds.len() {
        1 => "State of the controller",
        _ => "State in the median round",
    };
    let mut top = ribbon(&mut svg, states, &bands, &time);
    for (quantity, height) in panels(result) {
        let view = View::new(quantity, result, 4);
        let panel = view.panel(top, height, &time);
        draw(&mut svg, &panel, &view, &bands, variant, class);
        legend::towards_right(&mut svg, top, &names(quantity, &view, class));
        top = panel.bottom() + GAP;
    }
    let panel = lost_packets(&mut svg, top, result, median, &time, &bands);
    panel.x_labels(&mut svg, TIME);
    let mut height = panel.bottom() + XLABELS + GAP;
    height += bands.legend(&mut svg, height);
    let title = match result.variants.len() {
        1 => format!("{} over time", variant.label()),
        _ => format!("{} ({}) over time", variant.name, variant.label()),
    };
    Some(Figure::new(title, height, svg))
}

/// The strip of states at the top. Returns the height used.
fn ribbon(svg: &mut Svg, heading: &str, bands: &Bands, time: &Linear) -> f64 {
    if bands.bands.is_empty() {
        return 0.0;
    }
    let attributes = time_attribute(time);
    let time = time.clone().over(0.0, RIGHT - LEFT);
    svg.text("heading", (LEFT, 12.0), Anchor::Start, heading);
    let size = (RIGHT - LEFT, RIBBON);
    svg.clipped(&attributes, (LEFT, HEADING), size, |svg| {
        for band in &bands.bands {
            let (from, to) = (time.at(band.from), time.at(band.to));
            let class = &bands.states[band.state].1;
            svg.rect(class, (from, 0.0), (to - from, RIBBON));
        }
    });
    HEADING + RIBBON + GAP
}

fn draw(svg: &mut Svg, panel: &Panel, view: &View, bands: &Bands, variant: &Variant, class: &str) {
    backdrop(
        svg,
        panel,
        bands,
        median_round(variant).map_or(0.0, warm_up),
    );
    panel.frame(svg);
    panel.area(svg, |svg, inside| {
        view.thin(svg, inside, variant, class);
        view.bold(svg, inside, variant, class);
        view.switched(svg, inside, variant, class);
        view.second(svg, inside, variant);
    });
    if let Some(reference) = view.reference() {
        panel.reference(svg, reference);
    }
    view.notes(svg, panel, &[variant]);
}

/// The states behind a panel, and the warm-up that the figures leave out.
fn backdrop(svg: &mut Svg, panel: &Panel, bands: &Bands, warm_up: f64) {
    panel.behind(svg, |svg, inside: &Inside<'_>| {
        for band in bands.unusual() {
            let class = format!("band {}", bands.states[band.state].1);
            inside.stretch(svg, &class, band.from, band.to);
        }
        if warm_up > 0.0 {
            inside.stretch(svg, "warm-up", 0.0, warm_up);
        }
    });
}

/// The keys of a panel: its lines where it has two, and its reference.
fn names(quantity: &TimePanel, view: &View, class: &str) -> Vec<(LegendSymbol, String)> {
    let symbol = |class: &str, name: &str| (LegendSymbol::Line(class.to_owned()), name.to_owned());
    let mut entries = Vec::new();
    if let Some(second) = quantity.second {
        entries.push(symbol(&format!("bold {class}"), quantity.first.name));
        entries.push(symbol("second", second.name));
    }
    if let Some(reference) = view.reference() {
        entries.push(symbol("reference", &reference.label));
    }
    entries
}

/// Bars of the packets lost in each stretch of the bold round.
fn lost_packets(
    svg: &mut Svg,
    top: f64,
    result: &AbResult,
    round: &Round,
    time: &Linear,
    bands: &Bands,
) -> Panel {
    let rounds = result.variants.iter().filter_map(median_round);
    let highest = rounds
        .flat_map(losses)
        .map(|loss| loss.packets)
        .max()
        .unwrap_or(0);
    let scale = Scale::count(highest as f64);
    let heading = match scale.unit {
        "" => "Packets lost".to_owned(),
        unit => format!("Packets lost, {unit}"),
    };
    let axis = Linear::round(0.0, (highest.max(2) as f64) / scale.divisor, 2);
    let panel = Panel::new(heading, top, LOSS_HEIGHT, time.clone(), axis).over_time();
    backdrop(svg, &panel, bands, warm_up(round));
    panel.frame(svg);
    panel.area(svg, |svg, inside| {
        for loss in losses(round).filter(|loss| loss.packets > 0) {
            let (left, top) = inside.point(loss.from, loss.packets as f64 / scale.divisor);
            let (right, bottom) = inside.point(loss.to, 0.0);
            // Thin bars stay visible, wide ones apart.
            let width = (0.8 * (right - left)).clamp(0.8, 6.0);
            svg.rect("loss", (left, top), (width, bottom - top));
        }
    });
    panel
}

struct Loss {
    from: f64,
    to: f64,
    packets: u64,
}

/// The losses of a round in at most [`MAX_BARS`] stretches of equally many intervals.
fn losses(round: &Round) -> impl Iterator<Item = Loss> + '_ {
    let group = round.intervals.len().div_ceil(MAX_BARS).max(1);
    round.intervals.chunks(group).map(|group| {
        let (first, last) = (&group[0], &group[group.len() - 1]);
        Loss {
            from: first.t.get() - first.seconds.get(),
            to: last.t.get(),
            packets: group
                .iter()
                .filter_map(|interval| interval.sender.whole(Quantity::PacketsLost))
                .sum(),
        }
    })
}

fn panels(result: &AbResult) -> [(&'static TimePanel, f64); 4] {
    [
        (time_panel::arrivals(result), 88.0),
        (&RTT, 88.0),
        (&WINDOW, 100.0),
        (&RATE, 100.0),
    ]
}

const LOSS_HEIGHT: f64 = 40.0;
const RIBBON: f64 = 10.0;
/// Between one panel and the heading of the next.
const GAP: f64 = 8.0;
/// More would be thinner than a pixel.
const MAX_BARS: usize = 200;
