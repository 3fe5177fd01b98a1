//! Any bytes as a link and a schedule: no panic, nothing lost or made, order where it is promised,
//! and the same deliveries whenever anybody looks.
#![no_main]

#[expect(dead_code, reason = "the parser has a target of its own")]
#[path = "../../crates/link-sim/tests/any_link/harness.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::link(data));
