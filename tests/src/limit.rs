//! Limits that others published, and controllers that are known to miss them.

use crate::seed;
use core::time::Duration;

/// A figure that a run is not to exceed, or not to fall short of.
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    what: &'static str,
    bound: u64,
    is_floor: bool,
}

/// A controller that misses a limit, the figure that it keeps to instead, and why.
pub type Miss = (&'static str, u64, &'static str);

impl Limit {
    /// `what`, with its unit, is `bound` or less.
    pub const fn at_most(what: &'static str, bound: u64) -> Self {
        Self {
            what,
            bound,
            is_floor: false,
        }
    }

    /// `what`, with its unit, is `bound` or more.
    pub const fn at_least(what: &'static str, bound: u64) -> Self {
        Self {
            what,
            bound,
            is_floor: true,
        }
    }

    /// That `value` keeps to the limit, or to the figure that `misses` have for `controller`.
    ///
    /// # Panics
    /// When it does not, and when it keeps to the limit although `misses` say otherwise: what has
    /// become better is to be known. The latter only with the seeds that the tests have of
    /// themselves, as a figure near its limit is beyond it with one seed and not with the next.
    #[track_caller]
    pub fn check(&self, controller: &str, value: u64, misses: &[Miss]) {
        let Self { what, bound, .. } = *self;
        let miss = misses.iter().find(|(name, ..)| *name == controller);
        let Some(&(_, reached, why)) = miss else {
            let is_kept = self.is_kept(value, bound);
            assert!(is_kept, "{controller}: {what}: {value}, limit {bound}");
            return;
        };
        assert!(
            self.is_kept(value, reached),
            "{controller}: {what}: {value}, reached before {reached}, limit {bound}: {why}"
        );
        assert!(
            seed::is_overridden() || !self.is_kept(value, bound),
            "{controller}: {what}: {value}, which is no exception to {bound} any more: {why}"
        );
    }

    fn is_kept(&self, value: u64, bound: u64) -> bool {
        if self.is_floor {
            value >= bound
        } else {
            value <= bound
        }
    }
}

/// A time in milliseconds, rounded up.
pub fn millis(time: Duration) -> u64 {
    time.as_nanos().div_ceil(1_000_000) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECONDS: Limit = Limit::at_most("seconds", 30);
    const SHARE: Limit = Limit::at_least("percent", 90);
    const MISSES: [Miss; 2] = [("slow", 40, "it is old"), ("weak", 70, "it is small")];

    #[test]
    fn a_limit_is_kept_up_to_its_bound_and_a_miss_up_to_its_figure() {
        SECONDS.check("fast", 30, &MISSES);
        SECONDS.check("slow", 40, &MISSES);
        SHARE.check("fast", 90, &MISSES);
        SHARE.check("weak", 70, &MISSES);
    }

    #[test]
    #[should_panic(expected = "fast: seconds: 31, limit 30")]
    fn beyond_its_bound_it_is_not() {
        SECONDS.check("fast", 31, &MISSES);
    }

    #[test]
    #[should_panic(expected = "slow: seconds: 41, reached before 40, limit 30: it is old")]
    fn a_miss_that_grows_is_told() {
        SECONDS.check("slow", 41, &MISSES);
    }

    #[test]
    fn an_exception_that_is_none_any_more_is_told() {
        let fails = std::panic::catch_unwind(|| SHARE.check("weak", 90, &MISSES)).is_err();
        assert_eq!(fails, !seed::is_overridden());
    }
}
