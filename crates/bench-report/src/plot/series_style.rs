use super::svg::Svg;

/// How a variant differs from the others: by a colour, a line's dashes and the shape of a dot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SeriesStyle {
    pub(super) class: &'static str,
    shape: Shape,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Circle,
    Square,
    Triangle,
    Diamond,
}

impl SeriesStyle {
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

    /// A filled mark with about the area of a circle of this radius.
    pub(super) fn mark(self, svg: &mut Svg, more: &str, at: (f64, f64), radius: f64) {
        let class = format!("{}-fill{more}", self.class);
        self.draw(svg, &class, at, radius);
    }

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

/// The classes of the variants that have a colour, by their names.
pub(super) const CLASSES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];
