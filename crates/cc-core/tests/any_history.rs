//! What holds for every registered controller, whatever happens to its packets: the fuzz target's
//! harness on random bytes, and on the bytes with which libFuzzer once broke a promise.

#[path = "any_history/harness.rs"]
mod harness;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::fs;
use std::path::Path;
use units::Rng;

/// The same histories each time, but with another `PACELINE_SEED`: chance belongs to `just ops`,
/// whose seeds repeat what they meet. A failing history is printed and shrunk.
fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(number("PACELINE_SEED").unwrap_or(1)),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_controller_keeps_its_promises_in_any_history(
        data in prop::collection::vec(any::<u8>(), 0..600)
    ) {
        harness::history(&data);
    }

    #[test]
    fn every_controller_keeps_its_promises_when_it_resumes(
        data in prop::collection::vec(any::<u8>(), 0..600)
    ) {
        harness::resumed(&data);
    }

    #[test]
    fn no_window_outgrows_what_a_limited_sender_uses(
        data in prop::collection::vec(any::<u8>(), 0..200)
    ) {
        harness::limited(&data);
    }

    #[test]
    fn an_idle_second_is_forgotten_and_nothing_else(
        data in prop::collection::vec(any::<u8>(), 0..100)
    ) {
        harness::idle(&data);
    }
}

/// The number of operations comes from `PACELINE_OPS`, the seed of the first history from
/// `PACELINE_SEED`.
#[test]
#[expect(clippy::print_stdout, reason = "how much was tried is the result")]
fn every_controller_keeps_its_promises_for_as_long_as_is_asked() {
    let wanted = number("PACELINE_OPS").unwrap_or(200_000);
    let first = number("PACELINE_SEED").unwrap_or(1);
    let (mut done, mut histories) = (0, 0);
    while done < wanted {
        done += Seed(first + histories).live();
        histories += 1;
    }
    println!("{done} operations in {histories} histories from seed {first}");
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("{name} is a whole number, `{text}` is none")))
}

/// A history's; prints itself when dropped by a panic.
struct Seed(u64);

impl Seed {
    /// Lives this history, and returns of how many operations it was.
    fn live(&self) -> u64 {
        let data = self.bytes();
        match self.0 % 10 {
            8 => harness::limited(&data),
            9 => harness::idle(&data),
            7 => harness::resumed(&data),
            _ => harness::history(&data),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut rng = Rng::new(self.0);
        let words = rng.below(MAX_WORDS) + 1;
        let bytes = (0..words).flat_map(|_| rng.next_u64().to_le_bytes());
        bytes.collect()
    }
}

impl Drop for Seed {
    #[expect(
        clippy::print_stderr,
        reason = "this is how a failing test names its seed"
    )]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "PACELINE_SEED={} PACELINE_OPS=1 repeats this history",
                self.0
            );
        }
    }
}

#[test]
fn what_broke_a_controller_once_does_not_again() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/regressions/controllers");
    for file in fs::read_dir(folder).expect("there is a folder for each target") {
        let file = file.expect("the folder is readable");
        harness::history(&fs::read(file.path()).expect("an input is a file"));
    }
    for seed in FAILED_ONCE {
        Seed(seed).live();
    }
}

/// Seeds of histories that broke a promise.
const FAILED_ONCE: [u64; 5] = [88, 2_653, 5_313, 6_238, 5_028_069];

/// 4 KiB of input.
const MAX_WORDS: u64 = 512;
