//! Token-bucket pacer: how many bytes may leave now, and when the next may.

use crate::control::{Control, MIN_RATE};
use units::{Bandwidth, Bytes, Timestamp};

/// A token bucket that fills at the pacing rate and holds one send quantum.
///
/// Promise: in any window of time the bytes sent are at most rate × window + quantum, as long as
/// no more leaves at once than [`budget`](Self::budget) says. Credit is kept in bytes × 10⁻⁹, so
/// that rate × nanoseconds is exact and nothing is lost to rounding at any rate.
///
/// A wake-up that comes late must not cost rate. So [`next_departure`](Self::next_departure) asks
/// to be woken when the bucket is half full: a timer may then be late by the other half, quantum ÷
/// (2 × rate), before tokens overflow.
///
/// Times never decrease from call to call; an earlier one is read as the newest so far. They may be
/// ahead of the clock, for packets whose departure somebody else sees to.
#[derive(Debug, Clone)]
pub struct Pacer {
    rate: Bandwidth,
    depth: Bytes,
    mss: Bytes,
    /// Tokens in bytes × 10⁻⁹; below zero after packets that do not wait (ACKs, probes).
    credit: i128,
    filled_at: Timestamp,
}

impl Pacer {
    /// A full bucket.
    #[inline]
    pub fn new(now: Timestamp, control: Control, mss: Bytes) -> Self {
        let mut pacer = Self {
            rate: Bandwidth::MAX,
            depth: Bytes::ZERO,
            mss,
            credit: 0,
            filled_at: now,
        };
        pacer.adopt(control, mss);
        pacer.credit = nano(pacer.depth);
        pacer
    }

    /// Obeys `control` from `now` on. Tokens earned until now were earned at the old rate.
    #[inline]
    pub fn set_control(&mut self, now: Timestamp, control: Control, mss: Bytes) {
        self.refill(now);
        self.adopt(control, mss);
        self.credit = self.credit.min(nano(self.depth));
    }

    /// How many bytes may leave at `now`, all at once: at most one quantum.
    #[inline]
    pub fn budget(&mut self, now: Timestamp) -> Bytes {
        self.refill(now);
        if self.rate == Bandwidth::MAX {
            return self.depth;
        }
        Bytes::new(u64::try_from(self.credit.max(0) / NANO).expect("credit is within the depth"))
    }

    /// `bytes` have left. More than the budget runs into debt, which later packets pay off.
    #[inline]
    pub fn on_sent(&mut self, now: Timestamp, bytes: Bytes) {
        self.refill(now);
        if self.rate != Bandwidth::MAX {
            self.credit = (self.credit - nano(bytes)).max(-nano(self.depth));
        }
    }

    /// When to look again: the bucket will be half full and hold a packet at least.
    ///
    /// `now` itself where that is so already.
    #[inline]
    pub fn next_departure(&mut self, now: Timestamp) -> Timestamp {
        self.refill(now);
        let now = self.filled_at;
        let wanted = nano((self.depth / 2).max(self.mss)).min(nano(self.depth));
        let missing = wanted - self.credit;
        if self.rate == Bandwidth::MAX || missing <= 0 {
            return now;
        }
        let rate = i128::from(self.rate.bytes_per_sec());
        // Rounded up: at the time given the tokens are there.
        let nanos = (missing + rate - 1) / rate;
        Timestamp::from_nanos(
            now.as_nanos()
                .saturating_add(u64::try_from(nanos).unwrap_or(u64::MAX)),
        )
    }

    #[inline]
    fn refill(&mut self, now: Timestamp) {
        let elapsed = units::duration::nanos(now.since(self.filled_at));
        self.filled_at = self.filled_at.max(now);
        let earned = i128::from(self.rate.bytes_per_sec()).saturating_mul(i128::from(elapsed));
        self.credit = self.credit.saturating_add(earned).min(nano(self.depth));
    }

    #[inline]
    fn adopt(&mut self, control: Control, mss: Bytes) {
        self.rate = control.pacing_rate.max(MIN_RATE);
        self.mss = mss;
        self.depth = control.send_quantum.max(mss);
    }
}

/// `bytes` in the unit of the credit.
#[inline]
fn nano(bytes: Bytes) -> i128 {
    i128::from(bytes.get()) * NANO
}

const NANO: i128 = 1_000_000_000;

#[cfg(test)]
mod tests;
