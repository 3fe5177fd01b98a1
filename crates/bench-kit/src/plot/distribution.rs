use super::axis::{Axis, Linear, Marked};
use super::panel::{Inside, Panel, XLABELS};
use super::series::Series;
use super::svg::Svg;
use super::variants::{self, Look, drawn};
use super::{Figure, MAX_POINTS};
use crate::distribution;
use crate::result::{AbResult, DelayShare, Variant};
use crate::table::Scale;

/// The share of the round-trip times that are at most as long, for each variant over all of its
/// rounds.
pub fn rtt_cdf(result: &AbResult) -> Figure {
    let curves = curves(result);
    // The last in two hundred would press the rest together; the other figure has them.
    let high = highest(&curves, 0.995);
    let percent = Linear::exact(0.0, 100.0, 5);
    let heading = "Not longer, % of samples".to_owned();
    let title = "The distribution of the round-trip time".to_owned();
    draw(
        result,
        &curves,
        high,
        heading,
        percent.into(),
        title,
        |share| share * 100.0,
    )
}

/// The share of the round-trip times that are longer, on a logarithmic axis: the tail.
pub fn rtt_ccdf(result: &AbResult) -> Figure {
    let curves = curves(result);
    let beyond = curves.iter().flat_map(|(curve, _)| &curve.0);
    let beyond = beyond.map(|(_, share)| 1.0 - share);
    let least = beyond.filter(|b| *b > ALL).fold(0.1, f64::min);
    // Rounds keep their tail down to that share.
    let low = 10_f64.powf(least.log10().floor()).max(1e-5);
    let percent = Marked::log(low * 100.0, 100.0);
    let heading = "Longer, % of samples".to_owned();
    let title = "The tail of the round-trip time, on a logarithmic axis".to_owned();
    let high = highest(&curves, 1.0);
    draw(
        result,
        &curves,
        high,
        heading,
        percent.into(),
        title,
        |share| (1.0 - share) * 100.0,
    )
}

fn draw(
    result: &AbResult,
    curves: &[(Curve, Look)],
    high: f64,
    heading: String,
    share_axis: Axis,
    title: String,
    percent: fn(f64) -> f64,
) -> Figure {
    let low = curves.iter().filter_map(|(curve, _)| curve.0.first());
    let low = low.map(|(ms, _)| *ms).fold(f64::INFINITY, f64::min);
    let scale = Scale::milliseconds(high);
    let delays = delay_axis(low / scale.divisor, high / scale.divisor);
    let panel = Panel::new(heading, 0.0, HEIGHT, delays, share_axis);
    let mut svg = Svg::default();
    panel.frame(&mut svg);
    panel.area(&mut svg, |svg, inside: &Inside<'_>| {
        for (curve, look) in curves {
            let points = curve.0.iter();
            let points = points.map(|&(ms, share)| (ms / scale.divisor, percent(share)));
            let line = Series(vec![points.collect()]);
            inside.line(svg, &format!("bold {}", look.class), &line);
        }
    });
    if curves.is_empty() {
        panel.note(&mut svg, "no distribution was recorded");
    }
    panel.x_labels(&mut svg, &format!("Round-trip time, {}", scale.unit));
    let height = panel.bottom() + XLABELS;
    let legend = variants::legend(&mut svg, result, Look::line_key, 0.0, height);
    Figure::new(title, height + legend, svg)
}

/// Logarithmic where the longest delay is a multiple of the shortest, else from below the
/// shortest.
fn delay_axis(low: f64, high: f64) -> Axis {
    if !low.is_finite() {
        return Linear::exact(0.0, 1.0, 5).into();
    }
    if high > MULTIPLE * low && low > 0.0 {
        return Marked::log(low / 1.1, high * 1.05).into();
    }
    let margin = 0.05 * (high - low).max(0.02 * high);
    Linear::exact((low - margin).max(0.0), high + margin, 6).into()
}

/// Where the last variant has reached this share.
fn highest(curves: &[(Curve, Look)], share: f64) -> f64 {
    let reached = curves.iter().filter_map(|(curve, _)| {
        let point = curve.0.iter().find(|(_, reached)| *reached >= share - ALL);
        point.or_else(|| curve.0.last())
    });
    reached.map(|(ms, _)| *ms).fold(0.0, f64::max)
}

fn curves(result: &AbResult) -> Vec<(Curve, Look)> {
    let curves = drawn(result).map(|(variant, look)| (Curve::of(variant), look));
    curves.filter(|(curve, _)| !curve.0.is_empty()).collect()
}

/// Shares at ascending delays in milliseconds, from zero to one.
struct Curve(Vec<(f64, f64)>);

impl Curve {
    /// The mean over the rounds that did not fail.
    fn of(variant: &Variant) -> Self {
        let rounds = variant.rounds.iter().filter(|round| round.succeeded());
        let distributions = rounds.map(|round| round.rtt_distribution.as_slice());
        let distributions: Vec<&[DelayShare]> = distributions
            .filter(|distribution| !distribution.is_empty())
            .collect();
        let mean = distribution::mean(&distributions, MAX_POINTS - 1);
        let mean = mean.iter().map(|point| (point.ms.get(), point.share.get()));
        let mut points: Vec<(f64, f64)> = mean.collect();
        if let Some(&(shortest, _)) = points.first() {
            points.insert(0, (shortest, 0.0));
        }
        Self(points)
    }
}

const HEIGHT: f64 = 190.0;
/// From so many times the shortest delay on, a linear axis would be mostly empty.
const MULTIPLE: f64 = 8.0;
/// Less than the smallest share that a round can tell from none.
const ALL: f64 = 1e-7;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn a_curve_is_of_the_rounds_that_did_not_fail_and_begins_at_zero() {
        let mut result = fixtures::ab();
        result.variants[0].rounds[2].error = Some("lost".to_owned());
        let curve = Curve::of(&result.variants[0]);
        assert_eq!(curve.0[..2], [(40.0, 0.0), (40.0, 0.1)]);
        // The longest of the second round; the third's are longer.
        assert_eq!(curve.0.last(), Some(&(48.0, 1.0)));
    }

    #[test]
    fn a_variant_without_samples_has_no_curve() {
        let mut result = fixtures::ab();
        for variant in &mut result.variants {
            variant
                .rounds
                .iter_mut()
                .for_each(|round| round.rtt_distribution.clear());
        }
        assert!(curves(&result).is_empty());
        assert!(
            rtt_cdf(&result)
                .inline()
                .contains("no distribution was recorded")
        );
    }

    #[test]
    fn delays_of_many_sizes_have_a_logarithmic_axis() {
        let is_log = |axis: Axis| axis.at(10.0) - axis.at(1.0) == axis.at(100.0) - axis.at(10.0);
        assert!(is_log(delay_axis(1.0, 1_000.0)) && !is_log(delay_axis(40.0, 80.0)));
    }
}
