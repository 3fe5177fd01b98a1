//! Conditions drawn at random: what a matrix has in the place of axes.
//!
//! ```text
//!  [draws.rate]  ──▶ Variable ──┐ seed, number of the cell: a place in each distribution
//!  [draws.loss]  ──▶ Variable ──┼──▶ Sample: a word for each variable, and one of the [[use]]s
//!  [[use]]       ───────────────┘
//! ```
//!
//! Every variable of every cell has a place of its own in its distribution, derived from the
//! matrix's seed, the cell's number and the variable's name, so that each twenty cells in a row are
//! spread evenly over it. A cell is therefore the same in a draw of ten and of a thousand, and
//! fixing one variable moves no other.

mod draws;
mod narrow;
mod quantity;
mod sample;
mod strata;
mod usage;
mod variable;

pub(super) use draws::Draws;
pub(super) use narrow::{NarrowedCells, narrow};
pub(super) use sample::{Sample, check, sample};
pub(super) use usage::{USE, UseFile};

#[cfg(test)]
mod tests;
