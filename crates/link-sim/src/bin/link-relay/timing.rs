//! What the event loops wait for.

use core::time::Duration;
use tokio::time::{Instant, Interval, MissedTickBehavior};

/// Every `period` after `begin`.
pub(super) fn ticks(begin: Instant, period: Duration) -> Interval {
    let mut ticks = tokio::time::interval_at(begin + period, period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Never where there is nothing to wait for.
pub(super) async fn next_of<F: Future>(future: Option<F>) -> F::Output {
    match future {
        Some(future) => future.await,
        None => core::future::pending().await,
    }
}

/// How often to see whether everything is well, when nothing is printed.
pub(super) const WATCH: Duration = Duration::from_secs(1);
