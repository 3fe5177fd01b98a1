//! Seeds of simulations: where they come from, and how a failing test tells them.
//!
//! The environment variable `PACELINE_SEED` overrides every seed (`just sim-seed N`). When a test
//! panics, the runs that its thread has begun are printed with theirs, the newest last.

use core::cell::RefCell;
use core::fmt::Display;
use std::collections::VecDeque;
use std::sync::Once;

/// The seed for a run of `what`: `default`, or what the environment says.
///
/// # Panics
/// When `PACELINE_SEED` is not a whole number.
pub fn choose(default: u64, what: impl Display) -> u64 {
    let seed = from_environment().unwrap_or(default);
    static TOLD: Once = Once::new();
    TOLD.call_once(tell_of_panics);
    RUNS.with_borrow_mut(|runs| {
        if runs.len() == MOST_RUNS {
            runs.pop_front();
        }
        runs.push_back(format!("{VARIABLE}={seed} repeats this run of {what}"));
    });
    seed
}

/// Whether the environment makes every seed the same.
pub fn is_overridden() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

fn from_environment() -> Option<u64> {
    let text = std::env::var(VARIABLE).ok()?;
    let seed = text.parse();
    Some(seed.unwrap_or_else(|_| panic!("{VARIABLE} is a whole number, `{text}` is none")))
}

fn tell_of_panics() {
    let as_before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        as_before(info);
        tell();
    }));
}

#[expect(
    clippy::print_stderr,
    reason = "this is how a failing test names its seeds"
)]
fn tell() {
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
/// What a person reads; a test that runs more than these compares them.
const MOST_RUNS: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    fn told() -> Vec<String> {
        RUNS.with_borrow(|runs| runs.iter().cloned().collect())
    }

    #[test]
    fn a_run_is_told_with_its_seed_and_the_newest_are_kept() {
        for default in 0..100 {
            let seed = choose(default, format_args!("run {default}"));
            assert!(seed == default || is_overridden());
            let expected = format!("PACELINE_SEED={seed} repeats this run of run {default}");
            assert_eq!(told().last(), Some(&expected));
        }
        assert_eq!(told().len(), MOST_RUNS);
    }
}
