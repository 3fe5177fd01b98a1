//! Pictures of an A/B test as SVG.
//!
//! ```text
//! forest         ratios b/a with their intervals, on a logarithmic axis
//! goodput_delay  a dot per round
//! arrivals, rtt, window  the variants in one panel, the median round bold, others thin
//! datagrams      loss and jitter of datagrams over time
//! queue          what waits before a simulated link, where that is known over time
//! rtt_cdf, rtt_ccdf   the distribution of the round-trip time, and its tail
//! queue_cdf      that of the time in the emulated link's queue
//! share          a competition: each variant's share over time, and Jain's index
//! boxes          goodput and round-trip time of each variant, as quartiles
//! loaded         a run's load above the response times of its requests
//! limits         what held each variant back, as bars
//! sweeps         a matrix: a metric along an axis, a line per contender
//! heat_maps      a matrix: who is better where
//! drawn          a matrix of random conditions: the distribution of a metric over its cells
//! time_series    one variant: the controller's states behind five panels over one time axis
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
mod bounds;
mod boxes;
mod distribution;
mod drawn;
mod figure;
mod forest;
mod grid;
mod heat_map;
mod legend;
mod limits;
mod loaded;
mod named;
mod overlay;
mod panel;
mod queue;
mod scatter;
mod series;
mod series_style;
mod share;
mod style;
mod svg;
mod sweep;
mod time_panel;
mod time_series;
mod variants;

pub use bounds::{MAX_FIGURES, MAX_POINTS, MAX_ROUNDS};
pub use boxes::boxes;
pub(crate) use distribution::{answer_ccdf, answer_cdf};
pub use distribution::{queue_cdf, rtt_ccdf, rtt_cdf};
pub use drawn::drawn;
pub use figure::{Figure, WIDTH};
pub use forest::forest;
pub(crate) use grid::{Best, Grid, Point};
pub use heat_map::heat_maps;
pub use limits::limits;
pub use loaded::loaded;
pub(crate) use loaded::{since_begin, warm_up};
pub(crate) use named::{MAPS, SWEEPS};
pub use named::{NamedFigure, of_ab, of_matrix};
pub use overlay::{arrivals, datagrams, goodput, rtt, window};
pub use queue::queue;
pub use scatter::goodput_delay;
pub(crate) use series::bold_rounds;
pub use share::share;
pub use style::{chips, stylesheet};
pub(crate) use svg::escape;
pub use sweep::{Measure, sweeps};
pub(crate) use time_panel::reports_delivery_rate;
pub use time_series::time_series;

#[cfg(test)]
mod tests;
