//! Any bytes as a message of a client and of a server: no panic, a refusal is one printable line.
#![no_main]

#[path = "../../crates/bench-kit/tests/any_message/harness.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    harness::message(data);
    let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
    harness::message(&[&length.to_be_bytes(), data].concat());
});
