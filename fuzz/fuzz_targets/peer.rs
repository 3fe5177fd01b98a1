//! Any bytes as the story of a connection whose client does, and is done to, anything: no panic, no
//! time that stands still, and an end that hears nothing any more ends.
#![no_main]

#[path = "../../tests/tests/quic_virtual/any_peer/harness.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::peer(data));
