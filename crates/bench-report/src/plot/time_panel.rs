use super::axis::Linear;
use super::bounds::MAX_POINTS;
use super::panel::{Inside, Panel, Reference};
use super::series::{Series, median_round, other_rounds, thin_limit};
use super::svg::Svg;
use crate::result::{AbResult, Quantity, Round, Variant};
use crate::text::Scale;

#[derive(Debug)]
pub(super) struct TimePanel {
    pub(super) heading: &'static str,
    pub(super) first: Line,
    /// A line drawn for the bold round alone.
    pub(super) second: Option<Line>,
    /// A line of every variant's bold round that a page shows where its reader wants it.
    switched: Option<Switched>,
    unit: fn(f64) -> Scale,
    reference: fn(&AbResult) -> Option<(f64, &'static str)>,
    /// What stands in the place of a first line that no round has.
    missing: &'static str,
    /// Why a value may be above the reference, where that needs a reason.
    above: Option<&'static str>,
    /// Whether the axis may begin above zero.
    floats: bool,
}

#[derive(Debug)]
struct Switched {
    line: Line,
    /// What the line is, and why it may be above the reference.
    note: &'static str,
    above: &'static str,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    /// Empty where the heading says it.
    pub(super) name: &'static str,
    of: fn(&Round) -> Series,
}

impl Line {
    const fn new(name: &'static str, of: fn(&Round) -> Series) -> Self {
        Self { name, of }
    }
}

/// What arrived, as its sender learned: data that waits behind a lost packet counts when it
/// arrives, and not when it can be read.
pub(super) const DELIVERY: TimePanel = TimePanel {
    heading: "Delivery rate",
    first: Line::new("", Series::delivery_rate),
    second: None,
    switched: Some(Switched {
        line: Line::new("", Series::goodput),
        note: "dotted: goodput in order",
        above: "peaks waited behind a lost packet",
    }),
    unit: Scale::bits_per_second,
    reference: link_rate,
    missing: "no delivery rate reported",
    above: Some("above the link: samples over single round trips"),
    floats: false,
};

/// Of servers and of simple senders, whose delivery rate nobody reports.
pub(super) const GOODPUT: TimePanel = TimePanel {
    heading: "Goodput",
    first: Line::new("", Series::goodput),
    second: None,
    switched: None,
    unit: Scale::bits_per_second,
    reference: link_rate,
    missing: "no intervals measured",
    above: Some("above the link: data that waited behind a lost packet"),
    floats: false,
};

pub(super) const RTT: TimePanel = TimePanel {
    heading: "Round-trip time",
    first: Line::new("", |round| Series::at_end(round, Quantity::SmoothedRtt)),
    second: None,
    switched: None,
    unit: Scale::milliseconds,
    reference: |result| Some((result.base_rtt_ms?.get(), "base RTT")),
    missing: "no RTT measured",
    above: None,
    floats: true,
};

/// Of the datagrams of `-u`, over one interval: what the network dropped, and what the receiver's
/// host did.
pub(super) const DATAGRAM_LOSS: TimePanel = TimePanel {
    heading: "Datagrams lost",
    first: Line::new("", Series::datagram_loss),
    second: None,
    switched: None,
    unit: Scale::percent,
    reference: |_| None,
    missing: "no datagrams",
    above: None,
    floats: false,
};

pub(super) const JITTER: TimePanel = TimePanel {
    heading: "Jitter of datagrams",
    first: Line::new("", Series::jitter),
    unit: Scale::milliseconds,
    ..DATAGRAM_LOSS
};

pub(super) const CWND: TimePanel = TimePanel {
    heading: "Congestion window",
    first: Line::new("", cwnd),
    second: None,
    ..WINDOW
};

pub(super) const WINDOW: TimePanel = TimePanel {
    heading: "Window",
    first: Line::new("cwnd", cwnd),
    second: Some(Line::new("in flight", |round| {
        Series::at_end(round, Quantity::InFlight)
    })),
    switched: None,
    unit: Scale::bytes,
    reference: |result| {
        let rate = result.link_rate_bits_per_second? as f64;
        Some((rate / 8.0 * result.base_rtt_ms?.get() / 1e3, "BDP"))
    },
    missing: "congestion window not reported",
    above: None,
    floats: false,
};

pub(super) const RATE: TimePanel = TimePanel {
    heading: "Rate",
    first: Line::new("pacing", |round| {
        Series::at_end(round, Quantity::PacingRate)
    }),
    second: Some(Line::new("delivery", |round| {
        Series::at_end(round, Quantity::DeliveryRate)
    })),
    switched: None,
    unit: Scale::bits_per_second,
    reference: link_rate,
    missing: "not paced",
    above: None,
    floats: false,
};

/// What arrives over time, by the delivery rate where any sender reports it.
pub(super) fn arrivals(result: &AbResult) -> &'static TimePanel {
    match reports_delivery_rate(result) {
        true => &DELIVERY,
        false => &GOODPUT,
    }
}

/// Whether any sender of a test reports the rate at which its packets arrive.
pub(crate) fn reports_delivery_rate(result: &AbResult) -> bool {
    let rounds = result.variants.iter().flat_map(|variant| &variant.rounds);
    let mut intervals = rounds.flat_map(|round| &round.intervals);
    intervals.any(|interval| interval.sender.get(Quantity::DeliveryRate).is_some())
}

fn cwnd(round: &Round) -> Series {
    Series::at_end(round, Quantity::Cwnd)
}

fn link_rate(result: &AbResult) -> Option<(f64, &'static str)> {
    Some((result.link_rate_bits_per_second? as f64, "link"))
}

/// How it is shown for all variants of a result alike.
#[derive(Debug)]
pub(super) struct View {
    quantity: &'static TimePanel,
    scale: Scale,
    axis: Linear,
    reference: Option<Reference>,
    /// The value of the reference, in the quantity's own unit.
    limit: Option<f64>,
    /// Where the axis ends, when values of some variant are above it.
    cut: Option<f64>,
}

impl View {
    pub(super) fn new(quantity: &'static TimePanel, result: &AbResult, ticks: u32) -> Self {
        let reference = (quantity.reference)(result);
        let mut values = drawn_values(quantity, &result.variants);
        values.sort_unstable_by(f64::total_cmp);
        let range = Range::of(&values, reference.map(|(value, _)| value), quantity.floats);
        let scale = (quantity.unit)(range.high);
        Self {
            quantity,
            scale,
            axis: Linear::exact(range.low / scale.divisor, range.high / scale.divisor, ticks),
            reference: reference.map(|(value, name)| {
                if quantity.floats {
                    Reference::floor(name, value, scale)
                } else {
                    Reference::ceiling(name, value, scale)
                }
            }),
            limit: reference.map(|(value, _)| value),
            cut: range.peak.map(|_| range.high),
        }
    }

    pub(super) fn panel(&self, top: f64, height: f64, time: &Linear) -> Panel {
        let heading = format!("{}, {}", self.quantity.heading, self.scale.unit);
        Panel::new(heading, top, height, time.clone(), self.axis.clone()).over_time()
    }

    /// The lines of a variant in the colour of `class`: all but one round thin.
    pub(super) fn thin(&self, svg: &mut Svg, inside: &Inside<'_>, variant: &Variant, class: &str) {
        for round in other_rounds(variant) {
            let line = self.line(self.quantity.first, round, thin_limit(variant));
            inside.line(svg, &format!("thin {class}"), &line);
        }
    }

    pub(super) fn bold(&self, svg: &mut Svg, inside: &Inside<'_>, variant: &Variant, class: &str) {
        if let Some(round) = median_round(variant) {
            let line = self.line(self.quantity.first, round, MAX_POINTS);
            inside.line(svg, &format!("bold {class}"), &line);
        }
    }

    pub(super) fn second(&self, svg: &mut Svg, inside: &Inside<'_>, variant: &Variant) {
        if let (Some(line), Some(round)) = (self.quantity.second, median_round(variant)) {
            inside.line(svg, "second", &self.line(line, round, MAX_POINTS));
        }
    }

    /// The line of the bold round that a page may show, hidden elsewhere.
    pub(super) fn switched(
        &self,
        svg: &mut Svg,
        inside: &Inside<'_>,
        variant: &Variant,
        class: &str,
    ) {
        if let (Some(switched), Some(round)) = (&self.quantity.switched, median_round(variant)) {
            let line = self.line(switched.line, round, MAX_POINTS);
            inside.line(svg, &format!("switched {class}"), &line);
        }
    }

    pub(super) fn reference(&self) -> Option<&Reference> {
        self.reference.as_ref()
    }

    /// What a reader would miss.
    pub(super) fn notes(&self, svg: &mut Svg, panel: &Panel, variants: &[&Variant]) {
        let is_empty = |variant: &&Variant| {
            variant
                .rounds
                .iter()
                .all(|round| (self.quantity.first.of)(round).0.is_empty())
        };
        let values = drawn_values(self.quantity, variants.iter().copied());
        let peak = values.into_iter().fold(0.0, f64::max);
        let above = self.quantity.above.filter(|_| {
            let limit = self.limit.map(|limit| limit * ROUNDED);
            limit.is_some_and(|limit| peak >= limit)
        });
        if variants.iter().all(is_empty) {
            panel.note(svg, self.quantity.missing);
        } else if self.cut.is_some_and(|end| peak > end) {
            let scale = (self.quantity.unit)(peak);
            let peak = format!(
                "cut off at the top; peak {} {}",
                scale.show(peak),
                scale.unit
            );
            panel.note(
                svg,
                &above.map_or_else(|| peak.clone(), |above| format!("{peak}, {above}")),
            );
        } else if let Some(above) = above {
            panel.note(svg, above);
        }
        self.switched_note(svg, panel, variants);
    }

    fn switched_note(&self, svg: &mut Svg, panel: &Panel, variants: &[&Variant]) {
        let Some(switched) = &self.quantity.switched else {
            return;
        };
        let rounds = variants.iter().filter_map(|variant| median_round(variant));
        let values =
            rounds.flat_map(|round| (switched.line.of)(round).values().collect::<Vec<_>>());
        let peak = values.fold(0.0, f64::max);
        let is_above = self.limit.is_some_and(|limit| peak >= limit * ROUNDED);
        let scale = (self.quantity.unit)(peak);
        let mut lines = vec![switched.note.to_owned()];
        if is_above {
            let peak = scale.show(peak);
            lines.push(format!("to {peak} {}; {}", scale.unit, switched.above));
        }
        panel.switched_note(svg, &lines);
    }

    fn line(&self, line: Line, round: &Round, limit: usize) -> Series {
        (line.of)(round)
            .thinned(limit)
            .divided_by(self.scale.divisor)
    }
}

fn drawn_values<'a>(
    quantity: &TimePanel,
    variants: impl IntoIterator<Item = &'a Variant>,
) -> Vec<f64> {
    let mut values = Vec::new();
    for variant in variants {
        let median = median_round(variant);
        for round in median.into_iter().chain(other_rounds(variant)) {
            values.extend((quantity.first.of)(round).values());
        }
        if let (Some(line), Some(round)) = (quantity.second, median) {
            values.extend((line.of)(round).values());
        }
    }
    values
}

#[derive(Debug, PartialEq)]
pub(super) struct Range {
    pub(super) low: f64,
    pub(super) high: f64,
    /// The highest value, when the axis ends below it.
    pub(super) peak: Option<f64>,
}

impl Range {
    /// From zero, or when it `floats` and no value is small from below the lowest value, to above
    /// the highest.
    ///
    /// A peak more than twice as high as 98 % of the values, such as the first guess of a pacing
    /// rate, does not press everything else into a line: the axis then ends at one and a half
    /// times those.
    pub(super) fn of(sorted: &[f64], reference: Option<f64>, floats: bool) -> Self {
        let peak = sorted.last().copied().unwrap_or(0.0);
        let usual = usual_peak(sorted);
        // The label of a reference stands above it.
        let above_reference = reference.map_or(0.0, |reference| reference * 1.2);
        let usual = usual.max(above_reference);
        let (high, cut) = if peak > 2.0 * usual && usual > 0.0 {
            (1.5 * usual, Some(peak))
        } else {
            (usual.max(peak * 1.08), None)
        };
        let lowest = sorted.first().copied().into_iter().chain(reference);
        let lowest = lowest.fold(f64::INFINITY, f64::min);
        let low = if floats && lowest.is_finite() && lowest > 0.4 * high {
            // The label of a reference stands below it.
            lowest - 0.25 * (high - lowest)
        } else {
            0.0
        };
        Self {
            low,
            high,
            peak: cut,
        }
    }
}

/// A link may be this much faster over one interval: its ends lie between two packets.
const ROUNDED: f64 = 1.02;

/// What 98 % of the values do not exceed; of a few values the highest.
fn usual_peak(sorted: &[f64]) -> f64 {
    let last = sorted.len().saturating_sub(1);
    let index = if last < 20 { last } else { last * 98 / 100 };
    sorted.get(index).copied().unwrap_or(0.0)
}
