//! What links in real time share: a clock, sleeping to the point, and owning up to being late.

mod clock;
mod lateness;
mod sleep;
mod worker;

pub(crate) use clock::Clock;
pub use lateness::Lateness;
pub(crate) use sleep::{poll_for, sleep_precisely};
pub(crate) use worker::Worker;
