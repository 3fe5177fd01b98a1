use super::figure::{Figure, WIDTH};
use super::legend::{self, LegendSymbol};
use super::svg::{Anchor, Svg, fitting, text_width};
use super::variants;
use crate::result::{AbResult, LimitedBy, Variant};

/// What held each variant back: a bar of the shares of the time, in the mean over its rounds.
pub fn limits(result: &AbResult) -> Figure {
    let mut svg = Svg::default();
    svg.text(
        "heading",
        (0.0, 12.0),
        Anchor::Start,
        "Limited by, % of the time",
    );
    let names = variants::names(result);
    let variants = result.variants.iter().zip(names).take(MAX_BARS);
    let bars: Vec<([f64; 5], String)> = variants
        .filter_map(|(variant, name)| Some((shares(variant)?, name)))
        .collect();
    for (index, (shares, name)) in bars.iter().enumerate() {
        bar(&mut svg, TOP + ROW * index as f64, name, shares);
    }
    let mut height = TOP + ROW * bars.len().max(1) as f64;
    if bars.is_empty() {
        svg.text(
            "label",
            (0.0, TOP + 14.0),
            Anchor::Start,
            "no report from the sender",
        );
    } else {
        let entries =
            LIMITS.map(|(class, name)| (LegendSymbol::Area(class.to_owned()), name.to_owned()));
        height += 4.0;
        height += legend::rows(&mut svg, height, &entries);
    }
    let title = "What limited the sender, as shares of the time".to_owned();
    Figure::new(title, height, svg)
}

/// A bar with its name before it, and each share that has room written into it.
fn bar(svg: &mut Svg, top: f64, name: &str, shares: &[f64; 5]) {
    let text = top + BAR / 2.0 + 3.8;
    let name = fitting(name, LEFT - 6.0);
    svg.text("", (0.0, text), Anchor::Start, &name);
    let length = f64::from(WIDTH) - LEFT;
    let mut left = LEFT;
    for (share, (class, _)) in shares.iter().zip(LIMITS) {
        let width = share * length;
        if width > 0.0 {
            // A line of paper between neighbours, where there is room for one.
            let gap = if width > 3.0 { 1.0 } else { 0.0 };
            svg.rect(class, (left, top), (width - gap, BAR));
        }
        let number = format!("{:.0}", share * 100.0);
        if text_width(&number) + 4.0 <= width {
            let middle = left + width / 2.0;
            svg.text("on-tint", (middle, text), Anchor::Middle, &number);
        }
        left += width;
    }
}

/// The mean over the rounds that did not fail, in the order of [`LIMITS`]; `None` when no sender
/// has reported.
fn shares(variant: &Variant) -> Option<[f64; 5]> {
    let rounds = variant.rounds.iter().filter(|round| round.succeeded());
    let known: Vec<&LimitedBy> = rounds
        .filter_map(|round| round.limited_by.as_ref())
        .collect();
    let mut sums = [0.0; 5];
    for limited in &known {
        let shares = [
            limited.congestion_window,
            limited.pacing,
            limited.application,
            limited.flow_control,
            limited.host,
        ];
        for (sum, share) in sums.iter_mut().zip(shares) {
            *sum += share.get().clamp(0.0, 1.0);
        }
    }
    let total: f64 = sums.iter().sum();
    (total > 0.0).then(|| sums.map(|sum| sum / total))
}

/// Class and name, first what a controller decides.
const LIMITS: [(&str, &str); 5] = [
    ("limit-window", "congestion window"),
    ("limit-pacing", "pacing"),
    ("limit-application", "application"),
    ("limit-flow", "flow control"),
    ("limit-host", "host"),
];
const TOP: f64 = 20.0;
const ROW: f64 = 25.0;
const BAR: f64 = 19.0;
/// Behind the names.
const LEFT: f64 = 112.0;
/// More is no picture.
const MAX_BARS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn shares_are_those_of_the_rounds_that_did_not_fail_and_sum_to_one() {
        let mut result = fixtures::ab();
        let variant = &mut result.variants[0];
        variant.rounds[1].error = Some("lost".to_owned());
        variant.rounds[1].limited_by = None;
        let shares = shares(variant).unwrap();
        assert_eq!((shares[0], shares[1]), (0.8, 0.2));
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        for round in &mut variant.rounds {
            round.limited_by = None;
        }
        assert_eq!(super::shares(variant), None);
    }
}
