mod matrices;

use super::axis::Linear;
use super::bands::Bands;
use super::series::{Series, median_round};
use super::svg::{LARGE_TEXT, text_width};
use super::time_panel::Range;
use super::*;
use crate::fixtures::{self, finite};
use crate::result::{AbResult, Figures, Interval, Quantity, Round};
use crate::stats;
use roxmltree::Document;
use std::collections::BTreeSet;

fn figures(result: &AbResult) -> Vec<Figure> {
    of_ab(result)
        .into_iter()
        .map(|(_, figure)| figure)
        .collect()
}

/// Every figure of every awkward result, by the result's name.
fn awkward_figures() -> Vec<(&'static str, Figure)> {
    let ab = awkward().into_iter().flat_map(|(name, result)| {
        let figures = figures(&result).into_iter();
        figures.map(move |figure| (name, figure))
    });
    let matrices = matrices::awkward().into_iter().flat_map(|(name, result)| {
        let figures = of_matrix(&result).into_iter();
        figures.map(move |(_, figure)| (name, figure))
    });
    ab.chain(matrices).collect()
}

/// Results that are awkward to draw, by name.
fn awkward() -> Vec<(&'static str, AbResult)> {
    let mut unknown_link = fixtures::ab();
    unknown_link.link_rate_bits_per_second = None;
    unknown_link.base_rtt_ms = None;
    let mut no_series = fixtures::ab();
    for round in rounds(&mut no_series) {
        round.intervals.clear();
    }
    let mut long_names = fixtures::ab();
    for variant in &mut long_names.variants {
        variant.cc = "MWMWMWMWMWMWMWMWMWMW:parameter=1".to_owned();
    }
    let many_states = with_intervals(|interval, index| {
        interval.state = Some(format!("WonderfulLongStateName{index}"));
    });
    let no_figures = with_intervals(|interval, _| {
        *interval = Interval {
            t: interval.t,
            seconds: interval.seconds,
            ..Interval::default()
        };
    });
    let extremes = with_intervals(|interval, index| {
        interval.sender = Figures::of([
            (Quantity::Cwnd, (u64::MAX >> (index % 3)) as f64),
            (Quantity::PacingRate, 1024_f64.powf((index % 6) as f64)),
            (Quantity::SmoothedRtt, 1e-3 * 50_f64.powf(index as f64)),
            (Quantity::PacketsLost, 16_f64.powf((index % 5) as f64)),
        ]);
    });
    vec![
        ("usual", fixtures::ab()),
        ("no rounds", concluded(&[], &[])),
        ("nothing arrived", concluded(&[0; 3], &[0; 3])),
        (
            "huge ratios",
            concluded(&[1, 1, 2], &[1 << 50, 1 << 40, 1 << 45]),
        ),
        (
            "tiny ratios",
            concluded(&[1 << 50, 1 << 40, 1 << 45], &[1, 1, 2]),
        ),
        ("one round", concluded(&[999_999_999], &[1_000_000_001])),
        ("unknown link", unknown_link),
        ("no course", no_series),
        ("long names", long_names),
        ("many states", many_states),
        ("no figures", no_figures),
        ("extremes", extremes),
        ("five variants", fixtures::five()),
        ("five with long names", long_five()),
        ("a competition", fixtures::competition()),
        ("a staggered competition", staggered()),
    ]
}

fn long_five() -> AbResult {
    let mut result = fixtures::five();
    for variant in &mut result.variants {
        variant.cc = format!("MWMWMWMWMWMWMWMWMWMW:parameter={}", variant.name);
    }
    result
}

fn staggered() -> AbResult {
    let mut result = fixtures::five();
    result.competition = fixtures::competition().competition;
    for (variant, start) in result.variants.iter_mut().zip([0.0, 0.05, 0.1, 0.15, 0.2]) {
        variant.start_seconds = finite(start);
        variant.extra_delay_ms = finite(start * 1e3);
        variant.cc = "cubic".to_owned();
    }
    result
}

fn concluded(a: &[u64], b: &[u64]) -> AbResult {
    let mut result = fixtures::ab_of(a, b);
    stats::conclude(&mut result);
    result
}

/// A result whose intervals were changed, each by its place in its round.
fn with_intervals(change: impl Fn(&mut Interval, usize)) -> AbResult {
    let mut result = concluded(&[1, 2, 3], &[4, 5, 6]);
    for round in rounds(&mut result) {
        for (index, interval) in round.intervals.iter_mut().enumerate() {
            change(interval, index);
        }
    }
    result
}

fn rounds(result: &mut AbResult) -> impl Iterator<Item = &mut Round> {
    let variants = result.variants.iter_mut();
    variants.flat_map(|variant| &mut variant.rounds)
}

#[test]
fn a_forest_is_as_recorded() {
    insta::assert_snapshot!(forest(&fixtures::ab()).inline().replace("/><", "/>\n<"));
}

#[test]
fn a_time_series_is_as_recorded() {
    let figure = time_series(&fixtures::ab(), 1).unwrap();
    insta::assert_snapshot!(figure.inline().replace("/><", "/>\n<"));
}

#[test]
fn every_figure_is_well_formed_alone_and_in_a_page() {
    for (name, figure) in awkward_figures() {
        for svg in [figure.standalone(), figure.titled(), figure.inline()] {
            Document::parse(&svg).unwrap_or_else(|error| panic!("{name}: {error}: {svg}"));
            assert!(
                !svg.contains("NaN") && !svg.contains("inf"),
                "{name}: {svg}"
            );
        }
    }
}

#[test]
fn texts_stay_inside_their_figure_and_apart_even_at_the_larger_size() {
    for (name, figure) in awkward_figures() {
        check_texts(name, &figure);
    }
}

pub(in crate::plot) fn check_texts(name: &str, figure: &Figure) {
    let boxes = text_boxes(figure);
    let title = &figure.title;
    for (index, text) in boxes.iter().enumerate() {
        let inside = text.left >= -0.5
            && text.right <= f64::from(WIDTH) + 0.5
            && text.top >= 0.0
            && text.bottom <= figure.height;
        assert!(inside, "{name}, {title}: {text:?} leaves the figure");
        for other in &boxes[index + 1..] {
            assert!(
                !text.overlaps(other),
                "{name}, {title}: {text:?} overlaps {other:?}"
            );
        }
    }
}

#[derive(Debug)]
struct TextBox {
    #[expect(dead_code, reason = "shown by Debug when a test fails")]
    text: String,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl TextBox {
    fn overlaps(&self, other: &Self) -> bool {
        let apart = self.right <= other.left
            || other.right <= self.left
            || self.bottom <= other.top
            || other.bottom <= self.top;
        !apart
    }
}

fn text_boxes(figure: &Figure) -> Vec<TextBox> {
    let svg = figure.inline();
    let document = Document::parse(&svg).unwrap();
    let texts = document
        .descendants()
        .filter(|node| node.has_tag_name("text"));
    texts
        .map(|node| {
            let number = |name: &str| node.attribute(name).unwrap().parse::<f64>().unwrap();
            let text = node.text().unwrap().to_owned();
            let (width, x, y) = (text_width(&text), number("x"), number("y"));
            let class = node.attribute("class").unwrap();
            let left = if class.ends_with("middle") {
                x - width / 2.0
            } else if class.ends_with("end") {
                x - width
            } else {
                x
            };
            TextBox {
                text,
                left,
                right: left + width,
                // The height of capitals and digits.
                top: y - 0.73 * LARGE_TEXT,
                bottom: y,
            }
        })
        .collect()
}

#[test]
fn every_class_in_a_figure_has_a_style() {
    let sheet = stylesheet();
    let mut classes = BTreeSet::new();
    for (_, figure) in awkward_figures() {
        let svg = figure.inline();
        let document = Document::parse(&svg).unwrap();
        for node in document.descendants() {
            let list = node.attribute("class").unwrap_or_default();
            classes.extend(list.split_whitespace().map(str::to_owned));
        }
    }
    let colours = (0..bands::FREE_COLOURS).map(|index| format!("state-other-{index}"));
    classes.extend(colours);
    let known = bands::KNOWN
        .iter()
        .map(|(_, class)| format!("state-{class}"));
    classes.extend(known);
    for class in classes {
        assert!(
            sheet.contains(&format!(".{class}{{")) || sheet.contains(&format!(".{class},")),
            "no style for `{class}`"
        );
    }
}

#[test]
fn hostile_text_stays_text() {
    let hostile = "</text><script>alert('x')</script>\u{0}&\"";
    let mut result = fixtures::ab();
    for variant in &mut result.variants {
        variant.cc = hostile.to_owned();
        variant.name = hostile.to_owned();
        variant.rounds[0].intervals[0].state = Some(hostile.to_owned());
    }
    for figure in figures(&result) {
        let svg = figure.standalone();
        let document = Document::parse(&svg).unwrap();
        assert!(
            !document
                .descendants()
                .any(|node| node.has_tag_name("script")),
            "{svg}"
        );
    }
}

#[test]
fn a_thinned_line_keeps_its_ends_its_peaks_and_its_order() {
    let points: Vec<(f64, f64)> = (0..10_000)
        .map(|index| {
            let peak = if index == 7_777 { 1_000.0 } else { 0.0 };
            (f64::from(index), peak + f64::from(index % 10))
        })
        .collect();
    let thinned = Series(vec![points]).thinned(MAX_POINTS);
    assert!(thinned.0[0].len() <= MAX_POINTS, "{}", thinned.0[0].len());
    assert!(thinned.values().any(|value| value == 1_007.0));
    assert!(thinned.0[0].is_sorted_by(|a, b| a.0 < b.0));
    assert!(thinned.0[0].last().unwrap().0 > 9_900.0);
    let falling = (0..10_000).map(|index| (f64::from(index), -f64::from(index)));
    let thinned = Series(vec![falling.collect()]).thinned(MAX_POINTS);
    assert!(thinned.0[0].is_sorted_by(|a, b| a.0 < b.0));
}

#[test]
fn gaps_do_not_make_a_line_longer_than_its_limit() {
    let runs = (0..5_000)
        .map(|index| vec![(f64::from(index), 1.0)])
        .collect();
    let thinned = Series(runs).thinned(MAX_POINTS);
    assert!(thinned.values().count() <= MAX_POINTS);
}

#[test]
fn a_missing_figure_interrupts_its_line() {
    let mut round = fixtures::round("cubic", 0, 1);
    round.intervals[2].sender.set(Quantity::SmoothedRtt, None);
    let series = Series::at_end(&round, Quantity::SmoothedRtt);
    let lengths: Vec<usize> = series.0.iter().map(Vec::len).collect();
    assert_eq!(lengths, [2, 2]);
}

#[test]
fn the_goodput_of_a_long_round_is_the_mean_of_neighbours() {
    let mut round = fixtures::round("cubic", 0, 1);
    round.intervals = (1..=400)
        .map(|tenth| fixtures::interval(tenth, u64::from(tenth % 2) * 200))
        .collect();
    let line = Series::goodput(&round);
    assert_eq!(line.0[0].len(), 134);
    // Of three intervals one or two have 200.
    let means: Vec<f64> = line.values().map(f64::round).collect();
    assert_eq!(means[..3], [133.0, 67.0, 133.0]);
    assert!((line.0[0][0].0 - 0.15).abs() < 1e-9);
    round.intervals.clear();
    assert_eq!(Series::goodput(&round), Series::default());
}

#[test]
fn the_median_round_is_one_that_did_not_fail() {
    let mut result = fixtures::ab_of(&[50, 10, 40, 20, 30], &[]);
    let block = |result: &AbResult| median_round(&result.variants[0]).unwrap().block;
    assert_eq!(block(&result), 4);
    result.variants[0].rounds[4].error = Some("lost".to_owned());
    // Of 10, 20, 40 and 50 the slower middle one.
    assert_eq!(block(&result), 3);
    for round in &mut result.variants[0].rounds {
        round.error = Some("lost".to_owned());
    }
    assert_eq!(block(&result), 0);
}

#[test]
fn neighbouring_intervals_of_one_state_make_one_band() {
    let bands = Bands::of(&fixtures::round("bbr3", 0, 1));
    let stretches: Vec<(f64, f64, &str)> = bands
        .bands
        .iter()
        .map(|band| (band.from, band.to, bands.states[band.state].0.as_str()))
        .collect();
    assert_eq!(
        stretches,
        [(0.0, 0.2, "Startup"), (0.3 - 0.1, 0.5, "ProbeBW_CRUISE")]
    );
}

#[test]
fn states_beyond_those_that_can_be_told_apart_share_one_name() {
    let mut round = fixtures::round("mine", 0, 1);
    round.intervals = (1..=40)
        .map(|index| Interval {
            state: Some(format!("S{index:02}")),
            ..fixtures::interval(index, 1)
        })
        .collect();
    let bands = Bands::of(&round);
    assert_eq!(bands.states.len(), 12);
    assert_eq!(bands.states[11].0, "all others");
    assert!(bands.bands.iter().all(|band| band.state < 12));
}

#[test]
fn one_early_peak_does_not_press_the_rest_into_a_line() {
    let mut values = vec![100.0; 99];
    values.push(10_000.0);
    let range = Range::of(&values, Some(100.0), false);
    assert_eq!((range.high, range.peak), (180.0, Some(10_000.0)));
    values[99] = 150.0;
    assert_eq!(Range::of(&values, Some(100.0), false).peak, None);
}

#[test]
fn an_axis_begins_above_zero_only_when_no_value_is_small() {
    assert!(Range::of(&[40.0, 60.0], None, true).low > 30.0);
    assert_eq!(Range::of(&[10.0, 60.0], None, true).low, 0.0);
    assert_eq!(Range::of(&[40.0, 60.0], None, false).low, 0.0);
}

#[test]
fn a_cut_peak_is_said() {
    let mut result = fixtures::ab();
    for variant in &mut result.variants {
        let intervals = (0..200).map(|index| fixtures::interval(index, 1));
        variant.rounds[0].intervals = intervals.collect();
    }
    let interval = &mut result.variants[1].rounds[0].intervals[0];
    interval
        .sender
        .set(Quantity::PacingRate, Some(finite(40e9)));
    let svg = time_series(&result, 1).unwrap().inline();
    assert!(
        svg.contains("cut off at the top; peak 40.0 Gbit/s"),
        "{svg}"
    );
    let other = time_series(&result, 0).unwrap().inline();
    assert!(!other.contains("cut off"), "{other}");
    // Lower, and beyond the axis that both columns have.
    let interval = &mut result.variants[0].rounds[0].intervals[0];
    interval
        .sender
        .set(Quantity::PacingRate, Some(finite(20e9)));
    let other = time_series(&result, 0).unwrap().inline();
    assert!(
        other.contains("cut off at the top; peak 20.0 Gbit/s"),
        "{other}"
    );
}

#[test]
fn a_missing_variant_has_no_time_series() {
    assert!(time_series(&fixtures::ab(), 2).is_none());
}

#[test]
fn a_line_lies_where_its_axis_says() {
    let axis = Linear::exact(0.0, 5.0, 5).over(10.0, 110.0);
    assert_eq!(axis.at(0.0), 10.0);
    assert_eq!(axis.at(2.5), 60.0);
}

#[test]
fn a_mark_has_the_colour_of_who_is_better() {
    let colour = |a: [u64; 3], b: [u64; 3]| {
        let figure = forest(&concluded(&a, &b)).inline();
        let goodput = figure.split(">Goodput<").nth(1).unwrap();
        let class = goodput.split("class=\"interval ").nth(1).unwrap();
        class.split('"').next().unwrap().to_owned()
    };
    let (less, more) = ([20_000_000, 21_000_000, 22_000_000], [80_000_000; 3]);
    assert_eq!(
        (colour(less, more), colour(more, less)),
        ("b".to_owned(), "a".to_owned())
    );
    assert_eq!(colour(less, less), "none");
}

#[test]
fn rounds_that_failed_have_no_dot() {
    let dots = |result: &AbResult| goodput_delay(result).inline().matches(" dot\"").count();
    let mut result = fixtures::ab();
    assert_eq!(dots(&result), 6);
    result.variants[0].rounds[1].error = Some("lost".to_owned());
    assert_eq!(dots(&result), 5);
}

/// Of the points of the first line that has these classes.
pub(super) fn heights(figure: &str, classes: &str) -> Vec<f64> {
    let path = figure.split(&format!("{classes}\" d=\"M")).nth(1).unwrap();
    let points = path.split('"').next().unwrap().split(' ');
    let heights = points.skip(1).step_by(2);
    heights.map(|height| height.parse().unwrap()).collect()
}

#[test]
fn goodput_above_the_link_has_its_reason_in_the_picture() {
    let figure = |goodput: u64| {
        let mut result = fixtures::ab_of(&[50_000_000; 3], &[50_000_000; 3]);
        result.link_rate_bits_per_second = Some(100_000_000);
        for round in &mut result.variants[0].rounds {
            round.intervals[0].goodput_bits_per_second = goodput;
        }
        arrivals(&result).standalone()
    };
    let reason = "to 130 Mbit/s; peaks waited behind a lost packet";
    assert!(figure(130_000_000).contains(reason));
    assert!(!figure(100_000_000).contains("peaks waited"));
    // Of servers nothing else is known.
    let mut servers = fixtures::servers();
    servers.link_rate_bits_per_second = Some(1_000_000);
    let reason = "data that waited behind a lost packet";
    assert!(arrivals(&servers).standalone().contains(reason));
}

#[test]
fn what_arrives_is_the_delivery_rate_and_goodput_a_line_to_switch_on() {
    let mut result = fixtures::ab_of(&[50_000_000; 3], &[50_000_000; 3]);
    result.link_rate_bits_per_second = Some(100_000_000);
    let before = arrivals(&result).inline();
    for interval in rounds(&mut result).flat_map(|round| &mut round.intervals) {
        interval.goodput_bits_per_second = 400_000_000;
    }
    let after = arrivals(&result).inline();
    assert!(after.contains("Delivery rate"));
    assert_eq!(heights(&before, "\"bold a"), heights(&after, "\"bold a"));
    let (before, after) = (
        heights(&before, "switched a"),
        heights(&after, "switched a"),
    );
    assert!(before[0] > after[0]);
    assert!(stylesheet().contains(".switched{display:none"));
    assert_eq!(of_ab(&result)[0].0, "delivery-rate");
}
