use super::axis::{Axis, Linear, Marked};
use super::bounds::MAX_POINTS;
use super::figure::Figure;
use super::legend::LegendSymbol;
use super::panel::{Inside, Panel, XLABELS};
use super::series::Series;
use super::series_style::SeriesStyle;
use super::svg::Svg;
use super::variants::{self, drawn};
use crate::distribution;
use crate::result::{AbResult, DelayShare, Round, Variant};
use crate::text::Scale;

/// The share of the round-trip times that are at most as long, for each variant over all of its
/// rounds.
pub fn rtt_cdf(result: &AbResult) -> Figure {
    Distribution::of(&RTT, result).cdf()
}

/// The share of the round-trip times that are longer, on a logarithmic axis: the tail.
pub fn rtt_ccdf(result: &AbResult) -> Figure {
    Distribution::of(&RTT, result).ccdf()
}

/// The share of the packets that waited at most as long in the emulated link's queue; `None` where
/// no queue was timed.
pub fn queue_cdf(result: &AbResult) -> Option<Figure> {
    let distribution = Distribution::of(&QUEUE, result);
    (!distribution.curves.is_empty()).then(|| distribution.cdf())
}

/// The share of the requests whose answers took at most as long, where those are what `result` has
/// in the place of round-trip times.
pub(crate) fn answer_cdf(result: &AbResult) -> Figure {
    Distribution::of(&ANSWER, result).cdf()
}

/// The share of the requests whose answers took longer, in the same way.
pub(crate) fn answer_ccdf(result: &AbResult) -> Figure {
    Distribution::of(&ANSWER, result).ccdf()
}

/// A time that many packets have each their own of.
struct Delay {
    axis: &'static str,
    title: &'static str,
    of: fn(&Round) -> &[DelayShare],
}

const RTT: Delay = Delay {
    axis: "Round-trip time",
    title: "RTT",
    of: |round| &round.rtt_distribution,
};

const QUEUE: Delay = Delay {
    axis: "Queueing delay at the link",
    title: "queue delay",
    of: |round| &round.queue_delay_distribution,
};

const ANSWER: Delay = Delay {
    axis: "Response time",
    title: "response time",
    of: |round| &round.rtt_distribution,
};

struct Distribution<'a> {
    delay: &'static Delay,
    result: &'a AbResult,
    curves: Vec<(Curve, SeriesStyle)>,
}

struct Shares {
    heading: String,
    title: String,
    axis: Axis,
    /// Of the share that is at most as long.
    percent: fn(f64) -> f64,
    longest: f64,
}

impl<'a> Distribution<'a> {
    fn of(delay: &'static Delay, result: &'a AbResult) -> Self {
        let curves = drawn(result).map(|(variant, style)| (Curve::of(variant, delay.of), style));
        Self {
            delay,
            result,
            curves: curves.filter(|(curve, _)| !curve.0.is_empty()).collect(),
        }
    }

    fn cdf(&self) -> Figure {
        self.draw(Shares {
            heading: format!("CDF of {}, %", self.delay.title),
            title: format!("CDF of {}", self.delay.title),
            axis: Linear::exact(0.0, 100.0, 5).into(),
            percent: |share| share * 100.0,
            // The last in two hundred would press the rest together; the other figure has them.
            longest: self.longest(0.995),
        })
    }

    fn ccdf(&self) -> Figure {
        let beyond = self.curves.iter().flat_map(|(curve, _)| &curve.0);
        let beyond = beyond.map(|(_, share)| 1.0 - share);
        let min = beyond.filter(|b| *b > ALL).fold(0.1, f64::min);
        // Rounds keep their tail down to that share.
        let low = 10_f64.powf(min.log10().floor()).max(1e-5);
        self.draw(Shares {
            heading: format!("CCDF of {}, %", self.delay.title),
            title: format!("CCDF (complementary CDF) of {}", self.delay.title),
            axis: Marked::log(low * 100.0, 100.0).into(),
            percent: |share| (1.0 - share) * 100.0,
            longest: self.longest(1.0),
        })
    }

    fn draw(&self, shares: Shares) -> Figure {
        let low = self.curves.iter().filter_map(|(curve, _)| curve.0.first());
        let low = low.map(|(ms, _)| *ms).fold(f64::INFINITY, f64::min);
        let scale = Scale::milliseconds(shares.longest);
        let delays = delay_axis(low / scale.divisor, shares.longest / scale.divisor);
        let panel = Panel::new(shares.heading, 0.0, HEIGHT, delays, shares.axis);
        let mut svg = Svg::default();
        panel.frame(&mut svg);
        panel.area(&mut svg, |svg, inside: &Inside<'_>| {
            for (curve, style) in &self.curves {
                let points = curve.0.iter();
                let points = points.map(|&(ms, at)| (ms / scale.divisor, (shares.percent)(at)));
                let line = Series(vec![points.collect()]);
                inside.line(svg, &format!("bold {}", style.class), &line);
            }
        });
        if self.curves.is_empty() {
            panel.note(&mut svg, "no samples recorded");
        }
        panel.x_labels(&mut svg, &format!("{}, {}", self.delay.axis, scale.unit));
        let height = panel.bottom() + XLABELS;
        let legend = variants::legend(&mut svg, self.result, LegendSymbol::line, 0.0, height);
        Figure::new(shares.title, height + legend, svg)
    }

    /// Where the last variant has reached this share.
    fn longest(&self, share: f64) -> f64 {
        let reached = self.curves.iter().filter_map(|(curve, _)| {
            let point = curve.0.iter().find(|(_, reached)| *reached >= share - ALL);
            point.or_else(|| curve.0.last())
        });
        reached.map(|(ms, _)| *ms).fold(0.0, f64::max)
    }
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

/// Shares at ascending delays in milliseconds, from zero to one.
struct Curve(Vec<(f64, f64)>);

impl Curve {
    /// The mean over the rounds that did not fail.
    fn of(variant: &Variant, delays: fn(&Round) -> &[DelayShare]) -> Self {
        let rounds = variant.rounds.iter().filter(|round| round.succeeded());
        let distributions = rounds.map(delays);
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
    use crate::plot::tests::heights;

    #[test]
    fn a_curve_is_of_the_rounds_that_did_not_fail_and_begins_at_zero() {
        let mut result = fixtures::ab();
        result.variants[0].rounds[2].error = Some("lost".to_owned());
        let curve = Curve::of(&result.variants[0], RTT.of);
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
        assert!(Distribution::of(&RTT, &result).curves.is_empty());
        assert!(rtt_cdf(&result).inline().contains("no samples recorded"));
    }

    #[test]
    fn one_figure_ends_at_the_longest_but_one_in_two_hundred_and_the_other_has_all() {
        let mut result = fixtures::ab();
        for round in result.variants.iter_mut().flat_map(|v| &mut v.rounds) {
            let points = [(40.0, 0.9), (50.0, 0.996), (1_000.0, 1.0)];
            round.rtt_distribution = points
                .map(|(ms, share)| DelayShare {
                    ms: fixtures::finite(ms),
                    share: fixtures::finite(share),
                })
                .to_vec();
        }
        let distribution = Distribution::of(&RTT, &result);
        assert_eq!(distribution.longest(0.995), 50.0);
        assert_eq!(distribution.longest(1.0), 1_000.0);
        let (cdf, ccdf) = (rtt_cdf(&result).inline(), rtt_ccdf(&result).inline());
        assert!(
            !cdf.contains(">500<") && ccdf.contains(">500<"),
            "{cdf} {ccdf}"
        );
        // From left to right one line rises, and the other falls.
        let ends = |figure: &str| {
            let heights = heights(figure, "bold a");
            heights[0] - heights[heights.len() - 1]
        };
        assert!(ends(&cdf) > 100.0 && ends(&ccdf) < -100.0);
    }

    #[test]
    fn delays_of_many_sizes_have_a_logarithmic_axis() {
        let is_log = |axis: Axis| axis.at(10.0) - axis.at(1.0) == axis.at(100.0) - axis.at(10.0);
        assert!(is_log(delay_axis(1.0, 1_000.0)) && !is_log(delay_axis(40.0, 80.0)));
    }
}
