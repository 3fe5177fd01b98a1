//! What the programs print: iperf3's rows with a congestion controller's figures behind them, and
//! the tables of an A/B test and of a matrix.
//!
//! Functions from results to text; nothing here writes to a terminal.

mod ab;
mod aligned;
mod drawn;
mod frames;
mod matrix;
mod requests;
mod rows;

pub use ab::{ab_table, ab_table_within};
pub use frames::{frame_block, frame_row};
pub use matrix::{matrix_table, matrix_table_within};
pub use requests::{request_block, request_row};
pub use rows::{
    Columns, cpu_line, datagram_header, detail_header, detail_row, end_block, interval_header,
    interval_row, with_direction,
};

#[cfg(test)]
mod tests;
