use super::axis::Linear;
use super::figure::Figure;
use super::legend::LegendSymbol;
use super::panel::{Inside, Panel, Reference, XLABELS};
use super::series_style::SeriesStyle;
use super::svg::Svg;
use super::time_panel::Range;
use super::variants::{self, drawn};
use crate::result::{AbResult, Metric, Round, Summary, Variant};
use crate::text::Scale;

/// Goodput against delay: a dot per round that did not fail, and a ring at the medians of each
/// variant; each variant has a shape of its own. Up and left is better.
pub fn goodput_delay(result: &AbResult) -> Figure {
    let dots: Vec<(Dot, SeriesStyle)> = drawn(result)
        .flat_map(|(variant, style)| {
            let dots = variant.rounds.iter();
            let dots = dots.filter_map(|round| Dot::of_round(variant, round));
            dots.take(MAX_DOTS).map(move |dot| (dot, style))
        })
        .collect();
    let rate = result.link_rate_bits_per_second.map(|rate| rate as f64);
    let goodputs = Range::of(
        &sorted(dots.iter().map(|(dot, _)| dot.goodput)),
        rate,
        false,
    );
    let delays = Range::of(&sorted(dots.iter().map(|(dot, _)| dot.delay)), None, true);
    let scale = Scale::bits_per_second(goodputs.high);
    let unit = Scale::milliseconds(delays.high);
    let panel = Panel::new(
        format!("Goodput, {}", scale.unit),
        0.0,
        HEIGHT,
        Linear::exact(delays.low / unit.divisor, delays.high / unit.divisor, 6),
        Linear::exact(0.0, goodputs.high / scale.divisor, 5),
    );
    let mut svg = Svg::default();
    panel.frame(&mut svg);
    if let Some(rate) = rate {
        panel.labelled_reference(&mut svg, &Reference::ceiling("link", rate, scale));
    }
    let at = |inside: &Inside<'_>, dot: &Dot| {
        inside.point(dot.delay / unit.divisor, dot.goodput / scale.divisor)
    };
    panel.area(&mut svg, |svg, inside| {
        for (dot, style) in &dots {
            svg.named(&dot.name, |svg| {
                style.mark(svg, " dot", at(inside, dot), 3.0);
            });
        }
        for (variant, style) in drawn(result) {
            if let Some(dot) = Dot::of_medians(variant) {
                style.ring(svg, at(inside, &dot), 7.0);
            }
        }
    });
    panel.note(&mut svg, "↖ better");
    let delay = format!("95th percentile of the RTT, {}", unit.unit);
    panel.x_labels(&mut svg, &delay);
    let height = panel.bottom() + XLABELS;
    let legend = variants::legend(&mut svg, result, LegendSymbol::Mark, 0.0, height);
    let title = "Goodput against RTT: a dot per round, a ring at the medians".to_owned();
    Figure::new(title, height + legend, svg)
}

struct Dot {
    name: String,
    delay: f64,
    goodput: f64,
}

impl Dot {
    fn of_round(variant: &Variant, round: &Round) -> Option<Self> {
        round.succeeded().then_some(())?;
        let delay = Metric::RttMsP95.of(round)?.get();
        let goodput = Metric::GoodputBitsPerSecond.of(round)?.get();
        let (rate, time) = (Scale::bits_per_second(goodput), Scale::milliseconds(delay));
        let name = format!(
            "{}, round {}: {} {}, p95 RTT {} {}",
            variant.name,
            round.block + 1,
            rate.show(goodput),
            rate.unit,
            time.show(delay),
            time.unit
        );
        Some(Self {
            name,
            delay,
            goodput,
        })
    }

    fn of_medians(variant: &Variant) -> Option<Self> {
        let median = |metric| {
            let summary: &Summary = variant.summary.get(&metric)?;
            Some(summary.median.get())
        };
        Some(Self {
            name: String::new(),
            delay: median(Metric::RttMsP95)?,
            goodput: median(Metric::GoodputBitsPerSecond)?,
        })
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

const HEIGHT: f64 = 190.0;
/// Of one variant: more would hide each other.
const MAX_DOTS: usize = 200;
