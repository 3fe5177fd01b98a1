use super::Figure;
use super::axis::Linear;
use super::panel::{TIME, XLABELS, keys};
use super::quantity::{GOODPUT, Quantity, RTT, View};
use super::series::{duration, median_round, warm_up};
use super::svg::{Svg, fitting};
use crate::result::{AbResult, Variant};

/// Goodput over time: both variants in one panel, with the link's rate where it is known.
pub fn goodput(result: &AbResult) -> Figure {
    overlay(&GOODPUT, result)
}

/// The smoothed round-trip time over time: both variants in one panel, with that of the empty
/// path where it is known.
pub fn rtt(result: &AbResult) -> Figure {
    overlay(&RTT, result)
}

fn overlay(quantity: &'static Quantity, result: &AbResult) -> Figure {
    let time = Linear::exact(0.0, duration(&result.variants), 6);
    let view = View::new(quantity, result, 5);
    let panel = view.panel(0.0, HEIGHT, &time);
    let variants: Vec<&Variant> = result.variants.iter().take(CLASSES.len()).collect();
    let colours = || variants.iter().copied().zip(CLASSES);
    let mut svg = Svg::default();
    panel.frame(&mut svg);
    panel.area(&mut svg, |svg, inside| {
        let warm_up = result.variants.iter().filter_map(median_round).map(warm_up);
        inside.stretch(svg, "warm-up", 0.0, warm_up.fold(0.0, f64::max));
        for (variant, class) in colours() {
            view.thin(svg, inside, variant, class);
        }
        for (variant, class) in colours() {
            view.bold(svg, inside, variant, class);
        }
    });
    if let Some(reference) = view.reference() {
        panel.labelled_reference(&mut svg, reference);
    }
    view.notes(&mut svg, &panel, &variants);
    panel.x_labels(&mut svg, TIME);
    let names: Vec<(String, String)> = colours()
        .map(|(variant, class)| (format!("bold {class}"), label(variant)))
        .collect();
    keys(&mut svg, 0.0, &names);
    let title = format!(
        "{} over time, the median round bold, others thin",
        quantity.heading
    );
    Figure::new(title, panel.bottom() + XLABELS, svg)
}

/// A variant's name and its controller without parameters, short enough for a key.
pub(super) fn label(variant: &Variant) -> String {
    fitting(&format!("{} {}", variant.name, variant.controller()), NAME)
}

/// The classes of the variants that have a colour.
pub(super) const CLASSES: [&str; 2] = ["a", "b"];
/// Leaves room for two names beside the longest heading.
const NAME: f64 = 88.0;
const HEIGHT: f64 = 190.0;
