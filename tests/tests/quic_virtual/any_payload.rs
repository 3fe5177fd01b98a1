//! Payloads of packets that hold anything: the fuzz target's harness on random bytes and frames,
//! and on the bytes with which libFuzzer once broke a promise.

mod harness;

use e2e::seed;
use std::fs;
use std::path::Path;
use units::Rng;

#[test]
fn what_is_read_is_what_a_slow_reader_reads() {
    let mut rng = Rng::new(seed::choose(1, "any payload"));
    let mut acks = 0;
    for _ in 0..20_000 {
        let mut data = bytes(&mut rng, 3, 256);
        for _ in 0..rng.below(12) {
            let piece = match rng.below(3) {
                0 => {
                    let len = rng.below(20);
                    let limit = [4, 32, 256][rng.below(3) as usize];
                    bytes(&mut rng, len, limit)
                }
                _ => ack(&mut rng),
            };
            data.extend(piece);
        }
        acks += harness::payload(&data);
    }
    assert!(acks > 15_000, "{acks} ACK frames in all");
}

/// So many bytes below `limit`: where that is small, most are types of frames and short lengths.
fn bytes(rng: &mut Rng, len: u64, limit: u64) -> Vec<u8> {
    (0..len).map(|_| rng.below(limit) as u8).collect()
}

/// An ACK frame with integers of one byte, well-formed more often than not.
fn ack(rng: &mut Rng) -> Vec<u8> {
    let has_counts = rng.below(2);
    let ranges = rng.below(4);
    let largest = rng.below(64);
    let mut frame = vec![2 + has_counts, largest, rng.below(64), ranges, rng.below(6)];
    frame.extend((0..2 * ranges).map(|_| rng.below(6)));
    frame.extend((0..3 * has_counts).map(|_| rng.below(64)));
    frame.into_iter().map(|value| value as u8).collect()
}

#[test]
fn what_broke_a_promise_once_does_not_again() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/regressions/tap");
    for entry in fs::read_dir(folder).expect("it is in the repository") {
        let path = entry.expect("it can be read").path();
        if path.extension().is_some_and(|extension| extension == "bin") {
            harness::payload(&fs::read(path).expect("it can be read"));
        }
    }
}
