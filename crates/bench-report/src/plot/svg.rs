use crate::text::elided;
use std::fmt::{self, Write as _};

/// SVG text under construction; coordinates are written to a tenth of a unit, the heights of lines,
/// which a page's script reads as values, to a hundredth.
#[derive(Debug, Clone, Default)]
pub(super) struct Svg(String);

/// Where a text's position lies in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Svg {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn rect(&mut self, class: &str, (x, y): (f64, f64), (width, height): (f64, f64)) {
        self.write(format_args!(
            r#"<rect class="{class}" x="{}" y="{}" width="{}" height="{}"/>"#,
            Tenths(x),
            Tenths(y),
            Tenths(width),
            Tenths(height)
        ));
    }

    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        self.path(class, &[from, to]);
    }

    /// A line through all `points`; nothing when there are none.
    pub(super) fn path(&mut self, class: &str, points: &[(f64, f64)]) {
        if points.is_empty() {
            return;
        }
        self.write(format_args!(r#"<path class="{class}" d="M"#));
        for (index, &(x, y)) in points.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            self.write(format_args!("{space}{} {}", Tenths(x), Hundredths(y)));
        }
        self.0.push_str("\"/>");
    }

    pub(super) fn polygon(&mut self, class: &str, corners: &[(f64, f64)]) {
        self.write(format_args!(r#"<polygon class="{class}" points=""#));
        for (index, &(x, y)) in corners.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            self.write(format_args!("{space}{},{}", Tenths(x), Tenths(y)));
        }
        self.0.push_str("\"/>");
    }

    pub(super) fn circle(&mut self, class: &str, (x, y): (f64, f64), radius: f64) {
        self.write(format_args!(
            r#"<circle class="{class}" cx="{}" cy="{}" r="{radius}"/>"#,
            Tenths(x),
            Tenths(y)
        ));
    }

    /// `text` is escaped here.
    pub(super) fn text(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " middle",
            Anchor::End => " end",
        };
        self.write(format_args!(
            r#"<text class="{class}{anchor}" x="{}" y="{}">{}</text>"#,
            Tenths(x),
            Tenths(y),
            escape(text)
        ));
    }

    /// A drawing of its own that cuts off what lies outside `width` × `height`; its origin is at
    /// `(x, y)`. `attributes` are XML, each behind a space.
    pub(super) fn clipped(
        &mut self,
        attributes: &str,
        (x, y): (f64, f64),
        (width, height): (f64, f64),
        draw: impl FnOnce(&mut Self),
    ) {
        self.write(format_args!(
            r#"<svg{attributes} x="{}" y="{}" width="{}" height="{}">"#,
            Tenths(x),
            Tenths(y),
            Tenths(width),
            Tenths(height)
        ));
        draw(self);
        self.0.push_str("</svg>");
    }

    /// An entry of a legend, for the series whose class is the last word of `class`.
    pub(super) fn key(&mut self, class: &str, draw: impl FnOnce(&mut Self)) {
        let series = class.rsplit(' ').next().unwrap_or_default();
        let series = series.trim_end_matches("-fill");
        self.write(format_args!(r#"<g data-series="{series}">"#));
        draw(self);
        self.0.push_str("</g>");
    }

    /// Shapes that a reader who points at them gets a name for, which is escaped here.
    pub(super) fn named(&mut self, name: &str, draw: impl FnOnce(&mut Self)) {
        self.write(format_args!("<g><title>{}</title>", escape(name)));
        draw(self);
        self.0.push_str("</g>");
    }

    fn write(&mut self, text: fmt::Arguments<'_>) {
        self.0.write_fmt(text).expect("a String takes everything");
    }
}

/// `text` for the content or an attribute of an HTML or SVG element. Control characters, which
/// neither may hold, become spaces.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

/// At most how wide `text` is, in units, at the larger size that a narrow screen gets and in the
/// widest of the usual fonts.
pub(super) fn text_width(text: &str) -> f64 {
    let ems = text.chars().map(|character| match character {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | ' ' | '(' | ')' | '/' => 0.36,
        'f' | 'r' | 't' | '-' => 0.42,
        'm' | 'w' | 'M' | 'W' | '%' | '→' | '←' => 0.98,
        'A'..='Z' => 0.74,
        _ => 0.64,
    });
    ems.sum::<f64>() * LARGE_TEXT
}

/// As much of `text` as is at most `width` units wide, with an ellipsis for what is left out.
pub(super) fn fitting(text: &str, width: f64) -> String {
    elided(text, |text| text_width(text) <= width)
}

/// How much wider a heading's bold letters are.
pub(super) const BOLD: f64 = 1.08;

/// The size of text on a narrow screen, in units.
pub(super) const LARGE_TEXT: f64 = 12.0;

/// A coordinate, rounded to a tenth, without a decimal that is zero.
struct Tenths(f64);

impl fmt::Display for Tenths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", rounded(self.0, 10.0))
    }
}

/// The same, rounded to a hundredth.
struct Hundredths(f64);

impl fmt::Display for Hundredths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", rounded(self.0, 100.0))
    }
}

fn rounded(value: f64, parts: f64) -> f64 {
    // The sum turns -0.0 into 0.0.
    (value * parts).round() / parts + 0.0
}
