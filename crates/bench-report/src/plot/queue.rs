use super::axis::Linear;
use super::bounds::MAX_POINTS;
use super::figure::Figure;
use super::panel::{Panel, Reference, TIME, XLABELS};
use super::series::{Series, duration};
use super::svg::Svg;
use crate::result::AbResult;
use crate::text::Scale;

/// What waits before the link over time, of all variants together: `queue` has seconds since the
/// start and bytes. The time axis is that of the result's other figures, and the link's
/// bandwidth-delay product is shown where it is known.
pub fn queue(result: &AbResult, queue: &[(f64, f64)]) -> Figure {
    let bdp = bandwidth_delay_product(result);
    let highest = queue.iter().map(|&(_, bytes)| bytes).fold(0.0, f64::max);
    let highest = (highest * 1.08).max(bdp.unwrap_or_default() * 1.2).max(1.0);
    let scale = Scale::bytes(highest);
    let time = Linear::exact(0.0, duration(&result.variants), 6);
    let axis = Linear::exact(0.0, highest / scale.divisor, 5);
    let panel = Panel::new(format!("Queue, {}", scale.unit), 0.0, HEIGHT, time, axis).over_time();
    let mut svg = Svg::default();
    panel.frame(&mut svg);
    panel.area(&mut svg, |svg, inside| {
        let line = Series(vec![queue.to_vec()]).thinned(MAX_POINTS);
        inside.line(svg, "bold none", &line.divided_by(scale.divisor));
    });
    match bdp.map(|bdp| Reference::ceiling("BDP", bdp, scale)) {
        Some(reference) => {
            panel.reference(&mut svg, &reference);
            panel.x_labels_and_legend(&mut svg, TIME, &reference);
        }
        None => panel.x_labels(&mut svg, TIME),
    }
    Figure::new("Queue over time".to_owned(), panel.bottom() + XLABELS, svg)
}

/// Bytes.
fn bandwidth_delay_product(result: &AbResult) -> Option<f64> {
    let rate = result.link_rate_bits_per_second? as f64;
    Some(rate / 8.0 * result.base_rtt_ms?.get() / 1e3)
}

const HEIGHT: f64 = 120.0;
