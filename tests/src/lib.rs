//! Support for the whole-system tests.

pub mod sim;
pub mod watch;
