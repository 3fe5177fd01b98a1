//! The clock of this program.

use std::time::{Duration, Instant};

/// How long `run` takes.
pub(crate) fn time(run: impl FnOnce()) -> Duration {
    let start = now();
    run();
    start.elapsed()
}

/// The present; quinn-proto takes no other clock, either.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the clock"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}
