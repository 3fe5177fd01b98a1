//! The programs as users have them: each test starts the ones that were built.
//!
//! Tests begin in the order of their names, so that those of a module run beside each other: what
//! uses the processors up (`ab`, `matrix`) is hardly ever beside what runs in real time.

mod ab;
mod cluster;
mod command_line;
mod interop;
mod iperf_options;
mod link_relay;
mod matrix;
mod perf;
mod qlog;
mod robust;
mod run_modes;
mod scorecard;
mod tutorial;
mod versions;
