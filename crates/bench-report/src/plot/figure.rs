use super::style::stylesheet;
use super::svg::{Anchor, BOLD, Svg, escape, fitting};

/// One drawing, [`WIDTH`] units wide.
#[derive(Debug, Clone)]
pub struct Figure {
    pub(super) title: String,
    pub(super) height: f64,
    body: Svg,
}

impl Figure {
    pub(super) fn new(title: String, height: f64, body: Svg) -> Self {
        Self {
            title,
            height,
            body,
        }
    }

    /// The `<svg>` element for a page that has [`stylesheet`].
    pub fn inline(&self) -> String {
        self.wrap("", 0.0, "")
    }

    /// A file of its own, with the style sheet and a background.
    pub fn standalone(&self) -> String {
        self.file(0.0, "")
    }

    /// A file of its own with the user's title and note above the figure, as far as they are there
    /// and fit.
    pub fn headed(&self, title: Option<&str>, note: Option<&str>) -> String {
        let lines = [("heading", title), ("label", note)];
        let lines = lines.into_iter();
        let lines = lines.filter_map(|(class, text)| Some((class, text?)));
        let lines: Vec<(&str, &str)> = lines.collect();
        let room = LINE * lines.len() as f64;
        let mut above = Svg::default();
        for (index, (class, text)) in lines.iter().enumerate() {
            let baseline = LINE * (index as f64 + 0.7) - room;
            let text = fitting(text, f64::from(WIDTH) / BOLD);
            above.text(class, (0.0, baseline), Anchor::Start, &text);
        }
        self.file(room, above.as_str())
    }

    /// A file of its own that says what it shows, above the figure.
    pub fn titled(&self) -> String {
        let mut title = Svg::default();
        title.text("heading", (LEFT, -8.0), Anchor::Start, &self.title);
        self.file(TITLE, title.as_str())
    }

    /// With `above` in so many units above the figure.
    fn file(&self, room: f64, above: &str) -> String {
        // Zero, not -0.
        let top = 0.0 - room;
        let background = format!(
            r#"<rect class="paper" y="{top}" width="{WIDTH}" height="{}"/>"#,
            self.height + room
        );
        let before = format!("<style>{}</style>{background}{above}", stylesheet());
        self.wrap(r#" xmlns="http://www.w3.org/2000/svg""#, top, &before)
    }

    fn wrap(&self, namespace: &str, top: f64, before: &str) -> String {
        format!(
            "<svg{namespace} class=\"plot\" viewBox=\"0 {top} {WIDTH} {}\" role=\"img\">\
             <title>{}</title>{before}{}</svg>\n",
            self.height - top,
            escape(&self.title),
            self.body.as_str()
        )
    }
}

/// The width of every figure in its own units. A column of a page for a wide screen shows them at
/// about 1.25 pixels each, a phone at 0.85.
pub const WIDTH: u32 = 420;

pub(super) const TITLE: f64 = 24.0;

/// The height of a line above a figure.
const LINE: f64 = 18.0;

/// The horizontal extent of a panel's data.
pub(super) const LEFT: f64 = 44.0;

pub(super) const RIGHT: f64 = WIDTH as f64 - 14.0;
