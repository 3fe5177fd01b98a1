//! Peers that do anything: the fuzz target's harness on random bytes, and on the bytes with which
//! libFuzzer once broke a promise. None of them makes an end hold much.

mod harness;

use e2e::memory::{held, max_held};
use e2e::seed;
use std::fs;
use std::path::Path;
use units::Rng;

/// Plays the story that `data` encodes; how much memory is held at most, and behind it.
fn play(data: &[u8]) -> (i64, i64) {
    let before = held();
    let max = max_held(|| harness::peer(data));
    (max, held() - before)
}

#[test]
fn nobody_panics_goes_on_for_ever_or_leaves_memory_behind() {
    for seed in 1..=150 {
        let mut rng = Rng::new(seed::choose(seed, "any peer"));
        let len = rng.below(1_500);
        let data: Vec<u8> = (0..len).map(|_| rng.below(256) as u8).collect();
        let (max, left) = play(&data);
        assert!(max < MAX_HELD, "seed {seed}: {max} bytes at once");
        // What the first one has initialised stays.
        assert!(seed == 1 || left < 10_000, "seed {seed}: {left} bytes left");
    }
}

/// Two ends that may hold 16 MiB to be read and 16 MiB to be acknowledged, some twice their size.
const MAX_HELD: i64 = 96 << 20;

#[test]
fn what_broke_a_promise_once_does_not_again() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/regressions/peer");
    for entry in fs::read_dir(folder).expect("it is in the repository") {
        let path = entry.expect("it can be read").path();
        if path.extension().is_some_and(|extension| extension == "bin") {
            harness::peer(&fs::read(path).expect("it can be read"));
        }
    }
}
