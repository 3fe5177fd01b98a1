//! Reports: one HTML file each, which needs nothing else.
//!
//! No font, no picture from elsewhere and no script but its own: its content security policy, which
//! names that script by its hash, forbids them, so that the file opens without network and a
//! hostile name in it can do nothing. Without the script a page is whole; with it a reader sees
//! values under the pointer, zooms, hides series, sorts and saves figures. It follows the reader's
//! light or dark scheme and prints in light.

mod ab;
mod baseline;
mod data;
mod drawn;
mod gathered;
mod matrix;
mod page;
mod path;
mod reading;
mod rounds;
mod run;
mod several;
mod summary;

pub use gathered::{Saved, gathered};
pub use path::Path;

use crate::plot::NamedFigure;
use crate::result::{AbResult, MatrixResult, RunResult};

/// The report of an A/B test.
///
/// The page is well-formed XML as well, so that any parser can check it. Its size is bounded by the
/// number of variants and the limits of [`plot`](crate::plot), except for the table of rounds,
/// which has a row for each.
pub fn html(result: &AbResult) -> String {
    ab::html(result)
}

/// The report of one run over `path`.
pub fn run_html(result: &RunResult, path: Path) -> String {
    run::html(result, path)
}

/// The report of a matrix: at most [`MAX_FIGURES`](crate::plot::MAX_FIGURES) figures of a kind and
/// metric, and a row for each condition. Of drawn conditions it is a figure and a table for each
/// metric, with the worst cells.
pub fn matrix_html(result: &MatrixResult) -> String {
    match &result.drawn {
        Some(drawn) => drawn::html(result, drawn),
        None => matrix::html(result),
    }
}

/// The report of results that were saved, side by side: at most
/// [`MAX_SAVED`] variants have a colour. `title` and `note` are the reader's.
pub fn saved_html(saved: &[Saved], title: Option<&str>, note: Option<&str>) -> String {
    gathered::html(saved, title, note)
}

/// How many variants are told apart by their colours.
pub const MAX_SAVED: usize = 8;

/// Every figure of a run over `path`, each with a name for its file.
pub fn run_figures(result: &RunResult, path: Path) -> Vec<NamedFigure> {
    run::figures(result, path)
}

/// A run as an A/B test of one variant, for what is drawn and written of both alike.
pub fn as_ab(result: &RunResult, path: Path) -> AbResult {
    run::as_ab(result, path)
}

#[cfg(test)]
mod tests;
