//! Support for the whole-system tests.

pub mod digest;
pub mod fixed;
pub mod programs;
pub mod sim;
pub mod watch;
