//! What links in real time share: a clock, exact sleeps, and the measurement of how late they end.

mod clock;
mod lateness;
mod sleep;
mod worker;

pub(crate) use clock::{Clock, thread_cpu};
pub use lateness::Lateness;
pub(crate) use sleep::{minimize_timer_slack, poll_for};
pub(crate) use worker::Worker;

/// Waits for what happens on another thread.
#[cfg(test)]
pub(crate) fn wait_until(mut happened: impl FnMut() -> bool) {
    let millisecond = rustix::event::Timespec {
        tv_sec: 0,
        tv_nsec: 1_000_000,
    };
    for _ in 0..10_000 {
        if happened() {
            return;
        }
        rustix::event::poll(&mut [], Some(&millisecond)).unwrap();
    }
    panic!("it did not happen");
}
