use core::time::Duration;
use units::{Bandwidth, Bytes, Timestamp};

/// Tokens for bytes: they come at a rate, up to what the bucket holds, and it begins full.
///
/// The level is exact, in billionths of a byte, so that no rounding adds up.
#[derive(Debug, Clone)]
pub(super) struct TokenBucket {
    rate: Bandwidth,
    size: Bytes,
    level: u128,
    /// When `level` was right.
    at: Timestamp,
}

impl TokenBucket {
    pub(super) fn new(rate: Bandwidth, size: Bytes) -> Self {
        Self {
            rate,
            size,
            level: billionths(size),
            at: Timestamp::ZERO,
        }
    }

    /// Fills at another rate from `now` on.
    pub(super) fn set(&mut self, now: Timestamp, rate: Bandwidth, size: Bytes) {
        self.fill(now);
        (self.rate, self.size) = (rate, size);
        self.level = self.level.min(billionths(size));
    }

    /// What the bucket holds when full.
    pub(super) fn size(&self) -> Bytes {
        self.size
    }

    /// Takes tokens for `bytes` if they are there.
    pub(super) fn try_take(&mut self, now: Timestamp, bytes: Bytes) -> bool {
        self.fill(now);
        let wanted = billionths(bytes);
        let suffices = wanted <= self.level;
        if suffices {
            self.level -= wanted;
        }
        suffices
    }

    /// When there will be tokens for `bytes`, no more than the bucket holds: `now` or later,
    /// rounded up to the nanosecond.
    pub(super) fn ready_at(&mut self, now: Timestamp, bytes: Bytes) -> Timestamp {
        self.fill(now);
        let missing = billionths(bytes.min(self.size)).saturating_sub(self.level);
        let wait = missing.div_ceil(u128::from(self.rate.bytes_per_sec().max(1)));
        now + Duration::from_nanos(u64::try_from(wait).unwrap_or(u64::MAX))
    }

    fn fill(&mut self, now: Timestamp) {
        let elapsed = now.since(self.at);
        let earned = elapsed.as_nanos() * u128::from(self.rate.bytes_per_sec());
        self.level = (self.level + earned).min(billionths(self.size));
        self.at = self.at.max(now);
    }
}

/// A byte per second is a billionth of a byte in a nanosecond.
fn billionths(bytes: Bytes) -> u128 {
    u128::from(bytes.get()) * 1_000_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_gives_its_size_at_once_and_then_the_rate() {
        let mut bucket = TokenBucket::new(Bandwidth::from_bytes_per_sec(3), Bytes::new(10));
        assert!(bucket.try_take(Timestamp::ZERO, Bytes::new(10)));
        assert!(!bucket.try_take(Timestamp::ZERO, Bytes::new(1)));
        // A byte takes a third of a second.
        let ready = bucket.ready_at(Timestamp::ZERO, Bytes::new(1));
        assert_eq!(ready.as_nanos(), 333_333_334);
        assert!(!bucket.try_take(Timestamp::from_nanos(333_333_333), Bytes::new(1)));
        assert!(bucket.try_take(ready, Bytes::new(1)));
    }

    #[test]
    fn a_smaller_bucket_holds_no_more_than_it_can() {
        let mut bucket = TokenBucket::new(Bandwidth::from_bytes_per_sec(1), Bytes::new(10));
        let size = Bytes::new(4);
        bucket.set(Timestamp::ZERO, Bandwidth::from_bytes_per_sec(1), size);
        assert!(bucket.try_take(Timestamp::ZERO, size));
        assert!(!bucket.try_take(Timestamp::ZERO, Bytes::new(1)));
    }

    #[test]
    fn an_idle_bucket_is_full_and_not_fuller() {
        let mut bucket = TokenBucket::new(Bandwidth::from_bytes_per_sec(1_000), Bytes::new(10));
        let later = Timestamp::from_millis(3_600_000);
        assert!(bucket.try_take(later, Bytes::new(10)));
        assert!(!bucket.try_take(later, Bytes::new(1)));
    }
}
