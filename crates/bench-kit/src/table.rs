//! What the programs print: iperf3's rows with a congestion controller's figures behind them, and
//! the tables of an A/B test and of a matrix.
//!
//! Functions from results to text; nothing here writes to a terminal.

mod ab;
mod matrix;
mod requests;
mod rows;
mod scale;
mod unit;

pub use ab::{ab_table, queue_delay_source};
pub use matrix::matrix_table;
pub use requests::{request_block, request_row};
pub use rows::{Columns, datagram_header, end_block, interval_header, interval_row};
pub(crate) use scale::{Scale, significant};
pub use unit::{Unit, amount};

/// Text from outside, without what a terminal would obey: each control character becomes `�`.
pub(crate) fn printable(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}

#[cfg(test)]
mod tests;
