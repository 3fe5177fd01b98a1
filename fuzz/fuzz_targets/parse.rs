//! Any text as a link: it is written as it is read, or refused with an error that points into it.
#![no_main]

#[expect(dead_code, reason = "links have a target of their own")]
#[path = "../../crates/link-sim/tests/any_link/harness.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|text: &str| harness::parse(text));
