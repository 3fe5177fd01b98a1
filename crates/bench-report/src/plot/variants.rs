use super::legend::{self, LegendSymbol};
use super::series_style::{CLASSES, SeriesStyle};
use super::svg::{Svg, text_width};
use crate::result::{AbResult, Variant, short_labels};

pub(super) fn drawn(result: &AbResult) -> impl Iterator<Item = (&Variant, SeriesStyle)> {
    let variants = result.variants.iter().take(CLASSES.len()).enumerate();
    variants.map(|(place, variant)| (variant, SeriesStyle::of(place)))
}

/// A name for each of the variants: its letter and controller, and whatever else tells it from
/// the others: those parameters of the controller, how many connections it has, how often
/// their datagrams are on the wire, when they start, and how much longer their path is. One that is
/// alone has no letter.
pub(super) fn names(result: &AbResult) -> Vec<String> {
    let variants = &result.variants;
    if let [alone] = variants.as_slice() {
        return vec![alone.short_label().to_owned()];
    }
    let differs = |of: fn(&Variant) -> f64| {
        let mut values = variants.iter().map(of);
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    let flows = differs(|variant| f64::from(variant.flows));
    let starts = differs(|variant| variant.start_seconds.get());
    let delays = differs(|variant| variant.extra_delay_ms.get());
    let copies = differs(|variant| f64::from(variant.duplicate));
    let name = |(variant, controller): (&Variant, String)| {
        let mut name = format!("{} {controller}", variant.name);
        if flows {
            name.push_str(&format!(" × {}", variant.flows));
        }
        if copies && variant.duplicate > 1 {
            name.push_str(&format!(", sent ×{}", variant.duplicate));
        }
        if starts {
            name.push_str(&format!(" at {} s", variant.start_seconds));
        }
        if delays {
            name.push_str(&format!(" + {} ms", variant.extra_delay_ms));
        }
        name
    };
    variants
        .iter()
        .zip(short_labels(variants))
        .map(name)
        .collect()
}

/// The variants' names, each behind the `symbol` of its style: in the row of the heading at `top`
/// where two have room there, else from `bottom` down. Returns the height that those take.
pub(super) fn legend(
    svg: &mut Svg,
    result: &AbResult,
    symbol: fn(SeriesStyle) -> LegendSymbol,
    top: f64,
    bottom: f64,
) -> f64 {
    let styles = drawn(result).map(|(_, style)| symbol(style));
    let entries: Vec<(LegendSymbol, String)> = styles.zip(names(result)).collect();
    let is_long = |(_, name): &(LegendSymbol, String)| text_width(name) > NAME;
    if entries.len() > 2 || entries.iter().any(is_long) {
        return legend::rows(svg, bottom, &entries);
    }
    legend::towards_right(svg, top, &entries);
    0.0
}

/// Leaves room for two names beside the longest heading.
const NAME: f64 = 80.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use crate::plot::goodput;

    #[test]
    fn a_name_is_whole_where_the_row_of_the_heading_has_no_room_for_it() {
        let mut result = fixtures::ab();
        let is_whole = |result: &AbResult| {
            let drawn = goodput(result).inline();
            names(result)
                .iter()
                .all(|name| drawn.contains(&format!(">{name}<")))
        };
        assert!(is_whole(&result));
        result.variants[1].start_seconds = fixtures::finite(12.5);
        assert!(names(&result)[1].ends_with(" at 12.5 s"));
        assert!(is_whole(&result));
    }
}
