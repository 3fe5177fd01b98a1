//! Ends a run that exceeds what the server allows, whatever its plan has said.

use bench_kit::clock;
use bench_kit::counters::Counters;
use bench_kit::plan::Limits;
use bench_report::text::amount;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::sleep;
use units::{Bandwidth, Bytes};

/// Payload so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Transferred {
    pub(crate) sent: u64,
    pub(crate) received: u64,
}

impl Transferred {
    pub(crate) fn by(counters: &Counters) -> Self {
        let sum = |all: &[AtomicU64]| {
            let counts = all.iter().map(|count| count.load(Ordering::Relaxed));
            counts.fold(0, u64::saturating_add)
        };
        Self {
            sent: sum(&counters.sent),
            received: sum(&counters.received),
        }
    }
}

/// Waits until a run that begins now has `transferred` more than `limits` allow; why it has to end.
pub(crate) async fn exceeded(limits: &Limits, transferred: impl Fn() -> Transferred) -> String {
    let begin = clock::now();
    loop {
        sleep(POLL_INTERVAL).await;
        let elapsed = clock::now().saturating_duration_since(begin);
        if let Some(why) = excess(limits, transferred(), elapsed) {
            return why;
        }
    }
}

fn excess(limits: &Limits, transferred: Transferred, elapsed: Duration) -> Option<String> {
    if transferred.sent.saturating_add(transferred.received) > limits.bytes.get() {
        let max = amount(limits.bytes.get());
        return Some(format!("run exceeds this server's limit of {max}"));
    }
    if limits.rate < Bandwidth::MAX {
        let allowed = (limits.rate * elapsed).get();
        let allowed = allowed
            .saturating_add(allowed / 10)
            .saturating_add(AHEAD.get());
        if transferred.sent.max(transferred.received) > allowed {
            return Some(format!(
                "run exceeds this server's rate limit of {}",
                limits.rate
            ));
        }
    }
    None
}

/// What a run can go beyond its limits is what it moves in this time.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// What a sender that keeps to its rate may have written ahead of it: two of the largest blocks.
const AHEAD: Bytes = Bytes::new(2 << 20);

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        bytes: Bytes::new(100 << 20),
        rate: Bandwidth::from_bytes_per_sec(10 << 20),
        ..Limits::NONE
    };

    fn after(seconds: u64, sent: u64, received: u64) -> Option<String> {
        let (sent, received) = (sent << 20, received << 20);
        excess(
            &LIMITS,
            Transferred { sent, received },
            Duration::from_secs(seconds),
        )
    }

    #[test]
    fn both_directions_count_towards_the_bytes_and_each_has_the_rate() {
        assert_eq!(after(10, 50, 50), None);
        assert_eq!(
            after(10, 50, 51).unwrap(),
            "run exceeds this server's limit of 100 MBytes"
        );
        assert_eq!(after(1, 13, 13), None);
        assert_eq!(
            after(1, 0, 14).unwrap(),
            "run exceeds this server's rate limit of 83.88608mbit"
        );
        assert!(after(1, 14, 0).is_some());
    }
}
