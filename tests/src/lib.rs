//! Support for the whole-system tests.

pub mod digest;
pub mod fixed;
pub mod picoquic;
pub mod programs;
pub mod quiche;
pub mod sim;
pub mod watch;
