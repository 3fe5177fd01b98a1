//! Any bytes as a controller, its parameters and the history of a connection: no panic, no
//! overflow, and every promise of the harness kept.
#![no_main]

#[expect(dead_code, reason = "steady paths need no search")]
#[path = "../../crates/cc-core/tests/any_history/harness.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    harness::history(data);
});
