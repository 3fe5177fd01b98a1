//! Any bytes as a trace of each kind, a CSV file and a capture: read or refused, in bounded memory.
#![no_main]

#[expect(dead_code, reason = "links and their parser have targets of their own")]
#[path = "../../crates/link-sim/tests/any_link/harness.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::recording(data));
