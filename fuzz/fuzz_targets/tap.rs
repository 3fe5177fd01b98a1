//! Any bytes as the payload of a packet: the ACK frames that keys read are those that a plain
//! reader reads, and quinn-proto is shown the same frames.
#![no_main]

#[path = "../../tests/tests/quic_virtual/any_payload/harness.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    harness::payload(data);
});
