//! Pacing on real sockets, by the kernel's timestamps, from 64 kbit/s to 5 Gbit/s.
//!
//! Only the bound above is judged: a machine that has other work to do sends late and less, never
//! more. `just pacing` prints how near below it this machine comes.

#[path = "../../crates/transport/examples/pacing.rs"]
#[expect(dead_code, reason = "a test has no use for `main`")]
mod pacing;

use paceline::KernelPacing;
use std::time::Duration;

#[test]
fn no_window_of_time_has_more_than_the_rate_and_a_burst() {
    for (rate, millis) in [
        ("64kbit", 2_000),
        ("1mbit", 500),
        ("10mbit", 300),
        ("100mbit", 300),
        ("1gbit", 300),
        ("5gbit", 300),
    ] {
        let rate = rate.parse().expect("a rate");
        let run = pacing::measure(rate, Duration::from_millis(millis), KernelPacing::Off)
            .expect("a loopback");
        assert!(run.bursts.len() > 4, "{rate}: {} bursts", run.bursts.len());
        // The sender may go without a CPU between asking for the time and sending, once at the
        // begin of any window: the burst that it then sends was due before.
        let most = run.allowance() * 2;
        let excess = run.excess();
        assert!(excess <= most, "{rate}: {excess} in excess, {most} allowed");
    }
}
