use super::axis::Linear;
use super::figure::{Figure, RIGHT};
use super::series_style::SeriesStyle;
use super::svg::{Anchor, Svg, fitting, text_width};
use super::variants::{drawn, names};
use crate::distribution;
use crate::result::{AbResult, DelayShare, Variant};
use crate::text::Scale;

/// Goodput and round-trip time of each variant as boxes: the middle half of the values, a line at
/// the median, and whiskers from the 5th to the 95th percentile. Goodput is that of the intervals
/// of the time series, of all rounds that did not fail. `None` where there is neither.
pub fn boxes(result: &AbResult) -> Option<Figure> {
    let names = names(result);
    let row = |(index, (variant, style)): (usize, (&Variant, SeriesStyle))| Row {
        name: names.get(index).cloned().unwrap_or_default(),
        style,
        goodput: Quantiles::of_goodput(variant),
        rtt: Quantiles::of_rtt(variant),
    };
    let rows: Vec<Row> = drawn(result).enumerate().map(row).collect();
    let mut svg = Svg::default();
    let mut top = 0.0;
    let goodputs = rows.iter().filter_map(|row| Some((row, row.goodput?)));
    let goodputs: Vec<(&Row, Quantiles)> = goodputs.collect();
    if !goodputs.is_empty() {
        top = panel(&mut svg, top, "Goodput", Scale::bits_per_second, &goodputs);
    }
    let rtts = rows.iter().filter_map(|row| Some((row, row.rtt?)));
    let rtts: Vec<(&Row, Quantiles)> = rtts.collect();
    if !rtts.is_empty() {
        top = panel(&mut svg, top, "Round-trip time", Scale::milliseconds, &rtts);
    }
    let title = "Goodput and RTT: quartiles, median, 5th and 95th percentile".to_owned();
    (top > 0.0).then(|| Figure::new(title, top, svg))
}

struct Row {
    name: String,
    style: SeriesStyle,
    goodput: Option<Quantiles>,
    rtt: Option<Quantiles>,
}

/// The values that 5, 25, 50, 75 and 95 % do not exceed.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Quantiles([f64; 5]);

impl Quantiles {
    fn of_goodput(variant: &Variant) -> Option<Self> {
        let rounds = variant.rounds.iter().filter(|round| round.succeeded());
        let measured = rounds.flat_map(|round| &round.intervals);
        let measured = measured.filter(|interval| !interval.omitted);
        let values = measured.map(|interval| interval.goodput_bits_per_second as f64);
        let mut values: Vec<f64> = values.collect();
        values.sort_unstable_by(f64::total_cmp);
        let quantile = |share: f64| {
            let rank = (share * values.len() as f64).ceil() as usize;
            values.get(rank.saturating_sub(1)).copied()
        };
        let all: Option<Vec<f64>> = SHARES.into_iter().map(quantile).collect();
        Some(Self(all?.try_into().ok()?))
    }

    /// Of all rounds with equal weight.
    fn of_rtt(variant: &Variant) -> Option<Self> {
        let rounds = variant.rounds.iter().filter(|round| round.succeeded());
        let all = rounds.map(|round| round.rtt_distribution.as_slice());
        let all: Vec<&[DelayShare]> = all.filter(|points| !points.is_empty()).collect();
        let mean = distribution::mean(&all, POINTS);
        let quantile = |share: f64| {
            let reached = mean.iter().find(|point| point.share.get() >= share);
            reached.map(|point| point.ms.get())
        };
        let all: Option<Vec<f64>> = SHARES.into_iter().map(quantile).collect();
        Some(Self(all?.try_into().ok()?))
    }
}

/// Boxes below each other. Returns the height used.
fn panel(
    svg: &mut Svg,
    top: f64,
    heading: &str,
    unit: fn(f64) -> Scale,
    rows: &[(&Row, Quantiles)],
) -> f64 {
    let ends = rows
        .iter()
        .flat_map(|(_, Quantiles(values))| [values[0], values[4]]);
    let (low, high) = ends.fold((f64::INFINITY, 0.0_f64), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    let scale = unit(high);
    // From zero, unless that would press all boxes together.
    let low = if low > 0.5 * high {
        low - 0.1 * (high - low).max(0.02 * high)
    } else {
        0.0
    };
    let axis = Linear::exact(low / scale.divisor, high * 1.02 / scale.divisor, 5);
    let axis = axis.over(LEFT, RIGHT);
    let heading = format!("{heading}, {}", scale.unit);
    svg.text("heading", (0.0, top + 12.0), Anchor::Start, &heading);
    let area = top + HEADING;
    let bottom = area + ROW * rows.len() as f64;
    for (tick, label) in axis.ticks() {
        let x = axis.at(tick);
        svg.line("grid", (x, area), (x, bottom));
        let half = text_width(&label) / 2.0;
        let middle = x.min(RIGHT + 14.0 - half);
        svg.text("label", (middle, bottom + 13.0), Anchor::Middle, &label);
    }
    svg.line("axis", (LEFT, bottom), (RIGHT, bottom));
    for (index, (row, Quantiles(values))) in rows.iter().enumerate() {
        let middle = area + ROW * (index as f64 + 0.5);
        let name = fitting(&row.name, LEFT - 8.0);
        svg.text("", (0.0, middle + 3.8), Anchor::Start, &name);
        let [p5, p25, p50, p75, p95] = values.map(|value| axis.at(value / scale.divisor));
        let class = row.style.class;
        let described = format!("{}: {}", row.name, in_words(*values, scale));
        svg.named(&described, |svg| {
            for (from, to) in [(p5, p25), (p75, p95)] {
                svg.line(class, (from, middle), (to, middle));
            }
            for end in [p5, p95] {
                svg.line(class, (end, middle - 3.5), (end, middle + 3.5));
            }
            let width = (p75 - p25).max(1.0);
            let fill = format!("{class}-fill box");
            svg.rect(&fill, (p25, middle - BOX / 2.0), (width, BOX));
            svg.line(
                "median",
                (p50, middle - BOX / 2.0),
                (p50, middle + BOX / 2.0),
            );
        });
    }
    bottom + LABELS
}

fn in_words(values: [f64; 5], scale: Scale) -> String {
    let [p5, p25, p50, p75, p95] = values.map(|value| scale.show(value));
    let unit = scale.unit;
    format!("median {p50} {unit}, half from {p25} to {p75}, 5 % to 95 % from {p5} to {p95}")
}

const SHARES: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];
/// Of a distribution that is averaged over rounds.
const POINTS: usize = 400;
const HEADING: f64 = 22.0;
const ROW: f64 = 22.0;
const BOX: f64 = 12.0;
const LABELS: f64 = 24.0;
/// Behind the names.
const LEFT: f64 = 112.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn quantiles_are_of_all_measured_intervals_and_of_the_samples() {
        let mut result = fixtures::ab();
        let variant = &mut result.variants[0];
        for (round, offset) in variant.rounds.iter_mut().zip([0, 10, 20]) {
            for (index, interval) in (1..).zip(&mut round.intervals) {
                interval.omitted = false;
                interval.goodput_bits_per_second = offset + index;
            }
        }
        let Quantiles(values) = Quantiles::of_goodput(variant).unwrap();
        assert!(values.is_sorted(), "{values:?}");
        assert!(values[0] >= 1.0 && values[4] > 20.0, "{values:?}");
        let Quantiles(rtts) = Quantiles::of_rtt(variant).unwrap();
        assert!(rtts.is_sorted() && rtts[0] >= 40.0, "{rtts:?}");
        variant.rounds.clear();
        assert_eq!(Quantiles::of_goodput(variant), None);
        assert_eq!(Quantiles::of_rtt(variant), None);
    }

    #[test]
    fn a_variant_without_values_has_no_box_and_none_no_figure() {
        let mut result = fixtures::ab();
        assert_eq!(
            boxes(&result).unwrap().inline().matches(" box\"").count(),
            4
        );
        result.variants[1].rounds.clear();
        assert_eq!(
            boxes(&result).unwrap().inline().matches(" box\"").count(),
            2
        );
        result.variants.clear();
        assert!(boxes(&result).is_none());
    }
}
