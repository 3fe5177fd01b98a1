//! What the bench programs share.
//!
//! | module | what it holds |
//! |---|---|
//! | [`result`] | the JSON contract |
//! | [`stats`] | the order of the rounds, and what their differences mean |
//! | [`table`] | what a terminal shows |
//! | [`plot`] | pictures as SVG |
//! | [`report`] | one HTML file with all of it |

pub mod plot;
pub mod report;
pub mod result;
pub mod stats;
pub mod table;

#[cfg(test)]
mod fixtures;
