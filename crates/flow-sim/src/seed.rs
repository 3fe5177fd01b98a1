//! Seeds of simulations: where they come from, and how a failing test prints them.
//!
//! Each run has a seed of its own, most of them 1. The environment variable `PACELINE_SEED`
//! (`just sim-seed N`) has all of them begin at N instead of 1, so that a figure which a test takes
//! from several seeds is still one of several. When a test panics, the runs that its thread has
//! begun are printed with theirs, the newest last.

use core::cell::RefCell;
use core::fmt::Display;
use std::collections::VecDeque;
use std::sync::Once;

/// The seed for a run of `what`: `default`, or as far from what the environment says as that is
/// from 1.
///
/// # Panics
/// When `PACELINE_SEED` is not a whole number.
pub fn choose(default: u64, what: impl Display) -> u64 {
    let first = first();
    let seed = first.wrapping_add(default).wrapping_sub(FIRST);
    static HOOK: Once = Once::new();
    HOOK.call_once(print_on_panic);
    RUNS.with_borrow_mut(|runs| {
        if runs.len() == MAX_RUNS {
            runs.pop_front();
        }
        runs.push_back(format!(
            "{VARIABLE}={first} repeats this run, of seed {seed}: {what}"
        ));
    });
    seed
}

/// The median of what `run` gives with each of the seeds 1 to `count`, an odd number.
pub fn median<T: Ord>(count: u64, run: impl FnMut(u64) -> T) -> T {
    let mut results: Vec<T> = (1..=count).map(run).collect();
    results.sort_unstable();
    results.swap_remove(results.len() / 2)
}

/// Whether the environment makes seeds others than those that the tests have of themselves.
pub fn is_overridden() -> bool {
    first() != FIRST
}

fn first() -> u64 {
    let Some(text) = std::env::var_os(VARIABLE) else {
        return FIRST;
    };
    let text = text.to_string_lossy();
    let seed = text.parse();
    seed.unwrap_or_else(|_| panic!("{VARIABLE} is a whole number, `{text}` is none"))
}

fn print_on_panic() {
    let as_before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        as_before(info);
        print_runs();
    }));
}

#[expect(
    clippy::print_stderr,
    reason = "this is how a failing test names its seeds"
)]
fn print_runs() {
    // A thread that ends has no list any more; one that panics here must not do so twice.
    let _ = RUNS.try_with(|runs| {
        if let Ok(runs) = runs.try_borrow() {
            runs.iter().for_each(|run| eprintln!("{run}"));
        }
    });
}

thread_local! {
    /// A test has a thread of its own, as a rule.
    static RUNS: RefCell<VecDeque<String>> = const { RefCell::new(VecDeque::new()) };
}

const VARIABLE: &str = "PACELINE_SEED";
/// What [`VARIABLE`] is when nobody sets it.
const FIRST: u64 = 1;
/// What a person reads; a test that runs more than these compares them.
const MAX_RUNS: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    fn runs() -> Vec<String> {
        RUNS.with_borrow(|runs| runs.iter().cloned().collect())
    }

    #[test]
    fn a_median_has_as_many_above_as_below() {
        let results = [3, 9, 1, 4, 8];
        assert_eq!(median(5, |seed| results[seed as usize - 1]), 4);
        assert_eq!(median(1, |seed| seed), 1);
    }

    #[test]
    fn runs_are_listed_with_their_seeds_and_the_newest_are_kept() {
        for default in 1..=100 {
            let seed = choose(default, format_args!("run {default}"));
            assert!(seed == default || is_overridden());
            let first = seed - default + 1;
            let expected =
                format!("PACELINE_SEED={first} repeats this run, of seed {seed}: run {default}");
            assert_eq!(runs().last(), Some(&expected));
        }
        assert_eq!(runs().len(), MAX_RUNS);
    }
}
