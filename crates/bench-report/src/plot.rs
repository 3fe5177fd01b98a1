//! Pictures of an A/B test as SVG.
//!
//! ```text
//! forest         ratios b/a with their intervals, on a logarithmic axis
//! goodput_delay  a dot per round
//! goodput, rtt, window   the variants in one panel, the median round bold, others thin
//! rtt_cdf, rtt_ccdf   the distribution of the round-trip time, and its tail
//! queue_cdf      that of the time in the emulated link's queue
//! share          a competition: each variant's share over time, and Jain's index
//! limits         what held each variant back, as bars
//! sweeps         a matrix: a metric along an axis, a line per contender
//! heat_maps      a matrix: who is better where
//! course         one variant: the controller's states behind five panels over one time axis
//! ```
//!
//! The SVG is written here and not by `plotters`: its backend puts a colour and a font size on
//! every element, where a report that follows the reader's light or dark scheme, prints, and
//! scales its text on a phone needs classes and one style sheet ([`stylesheet`]). Nothing in it
//! needs a script, an `id` or a file, so that any number of figures share one page.
//!
//! Text from outside is escaped, a line has at most [`MAX_POINTS`] points and a figure at most
//! [`MAX_ROUNDS`] thin rounds of a variant, whatever the length of the test.

mod axis;
mod bands;
mod course;
mod distribution;
mod forest;
mod grid;
mod heat;
mod key;
mod limits;
mod named;
mod overlay;
mod panel;
mod scatter;
mod series;
mod share;
mod style;
mod svg;
mod sweep;
mod time_panel;
mod variants;

pub use course::course;
pub(crate) use distribution::{answer_ccdf, answer_cdf};
pub use distribution::{queue_cdf, rtt_ccdf, rtt_cdf};
pub use forest::forest;
pub(crate) use grid::{Best, Grid, Point};
pub use heat::heat_maps;
pub use limits::limits;
pub(crate) use named::{MAPS, SWEEPS};
pub use named::{NamedFigure, of_ab, of_matrix};
pub use overlay::{goodput, rtt, window};
pub use scatter::goodput_delay;
pub use share::share;
pub(crate) use style::chips;
pub use style::stylesheet;
pub(crate) use svg::escape;
pub use sweep::{Measure, sweeps};
use variants::CLASSES;

use svg::{Anchor, Svg};

/// The most points of one line; of more, each group leaves its smallest and largest.
pub const MAX_POINTS: usize = 600;

/// The most rounds of one variant that a figure draws thin, the earliest ones.
pub const MAX_ROUNDS: usize = 8;

/// The most figures of one kind and metric that a matrix has, however many axes it has.
pub const MAX_FIGURES: usize = 12;

/// One drawing, [`WIDTH`] units wide.
#[derive(Debug, Clone)]
pub struct Figure {
    /// What it shows, in a sentence.
    title: String,
    height: f64,
    body: Svg,
}

impl Figure {
    fn new(title: String, height: f64, body: Svg) -> Self {
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

/// The height of a title above a figure.
const TITLE: f64 = 24.0;

/// The horizontal extent of a panel's data.
const LEFT: f64 = 44.0;
const RIGHT: f64 = WIDTH as f64 - 14.0;

#[cfg(test)]
mod tests;
