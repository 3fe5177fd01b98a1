use super::key::{self, Key};
use super::svg::{Svg, fitting};
use crate::result::{AbResult, Variant};

/// How a variant is told from the others: by a colour, a line's dashes and the shape of a dot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    /// The class of its colour and dashes.
    pub(super) class: &'static str,
    shape: Shape,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Circle,
    Square,
    Triangle,
    Diamond,
}

impl Look {
    /// That of the variant, or of the line, at this place; without a colour beyond the eighth.
    pub(super) fn of(place: usize) -> Self {
        let class = CLASSES.get(place).copied().unwrap_or("none");
        let shapes = [
            Shape::Circle,
            Shape::Square,
            Shape::Triangle,
            Shape::Diamond,
        ];
        Self {
            class,
            shape: shapes[place % shapes.len()],
        }
    }

    /// The key of its bold line.
    pub(super) fn line_key(self) -> Key {
        Key::Line(format!("bold {}", self.class))
    }

    /// The key of its mark.
    pub(super) fn mark_key(self) -> Key {
        Key::Mark(self)
    }

    /// A filled mark with about the area of a circle of this radius.
    pub(super) fn mark(self, svg: &mut Svg, more: &str, at: (f64, f64), radius: f64) {
        let class = format!("{}-fill{more}", self.class);
        self.draw(svg, &class, at, radius);
    }

    /// The outline of a mark.
    pub(super) fn ring(self, svg: &mut Svg, at: (f64, f64), radius: f64) {
        self.draw(svg, &format!("{} ring", self.class), at, radius);
    }

    fn draw(self, svg: &mut Svg, class: &str, (x, y): (f64, f64), radius: f64) {
        let offsets: &[(f64, f64)] = match self.shape {
            Shape::Circle => return svg.circle(class, (x, y), radius),
            Shape::Square => &[(-0.89, -0.89), (0.89, -0.89), (0.89, 0.89), (-0.89, 0.89)],
            Shape::Triangle => &[(0.0, -1.3), (1.2, 0.8), (-1.2, 0.8)],
            Shape::Diamond => &[(0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)],
        };
        let corners = offsets
            .iter()
            .map(|(dx, dy)| (x + dx * radius, y + dy * radius));
        svg.polygon(class, &corners.collect::<Vec<_>>());
    }
}

/// The variants that the figures draw, each with its look.
pub(super) fn drawn(result: &AbResult) -> impl Iterator<Item = (&Variant, Look)> {
    let variants = result.variants.iter().take(CLASSES.len()).enumerate();
    variants.map(|(place, variant)| (variant, Look::of(place)))
}

/// A name for each of the variants: its letter and controller, and whatever else tells it from
/// the others: the controller's parameters, how many connections it has, how often
/// their datagrams are on the wire, when they start, and how much longer their path is. One that is
/// alone has no letter.
pub(super) fn names(result: &AbResult) -> Vec<String> {
    let variants = &result.variants;
    if let [alone] = variants.as_slice() {
        return vec![alone.controller().to_owned()];
    }
    let has_same = |variant: &Variant| {
        let same = |other: &&Variant| other.controller() == variant.controller();
        variants
            .iter()
            .filter(same)
            .any(|other| other.cc != variant.cc)
    };
    let differs = |of: fn(&Variant) -> f64| {
        let mut values = variants.iter().map(of);
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    let flows = differs(|variant| f64::from(variant.flows));
    let starts = differs(|variant| variant.start_seconds.get());
    let delays = differs(|variant| variant.extra_delay_ms.get());
    let copies = differs(|variant| f64::from(variant.duplicate));
    let name = |variant: &Variant| {
        let controller = if has_same(variant) {
            variant.cc.as_str()
        } else {
            variant.controller()
        };
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
    variants.iter().map(name).collect()
}

/// The names of the variants behind what `key` makes of their looks: in the row of the heading at
/// `top` where two have room there, else from `bottom` down. Returns the height that those take.
pub(super) fn legend(
    svg: &mut Svg,
    result: &AbResult,
    key: fn(Look) -> Key,
    top: f64,
    bottom: f64,
) -> f64 {
    let looks = drawn(result).map(|(_, look)| key(look));
    let entries: Vec<(Key, String)> = looks.zip(names(result)).collect();
    if entries.len() > 2 {
        return key::rows(svg, bottom, &entries);
    }
    let short = entries.into_iter();
    let short = short.map(|(key, name)| (key, fitting(&name, NAME)));
    key::towards_right(svg, top, &short.collect::<Vec<_>>());
    0.0
}

/// The classes of the variants that have a colour, by their names.
pub(super) const CLASSES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

/// Leaves room for two names beside the longest heading.
const NAME: f64 = 88.0;
