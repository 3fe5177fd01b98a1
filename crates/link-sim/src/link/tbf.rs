use super::bucket::TokenBucket;
use crate::spec;
use units::{Bytes, Timestamp};

/// tc's token bucket filter: packets leave in no time while there are tokens for them.
#[derive(Debug)]
pub(super) struct TokenBucketFilter {
    bucket: TokenBucket,
    /// The second bucket, which bounds the rate of a burst.
    peak: Option<TokenBucket>,
    free_at: Timestamp,
}

impl TokenBucketFilter {
    pub(super) fn new(spec: spec::TokenBucketFilter) -> Self {
        Self {
            bucket: TokenBucket::new(spec.rate, spec.burst),
            peak: spec.peak.map(|(rate, mtu)| TokenBucket::new(rate, mtu)),
            free_at: Timestamp::ZERO,
        }
    }

    pub(super) fn set(&mut self, now: Timestamp, spec: spec::TokenBucketFilter) {
        self.bucket.set(now, spec.rate, spec.burst);
        match (&mut self.peak, spec.peak) {
            (Some(bucket), Some((rate, mtu))) => bucket.set(now, rate, mtu),
            (peak, spec) => *peak = spec.map(|(rate, mtu)| TokenBucket::new(rate, mtu)),
        }
    }

    pub(super) fn reset(&mut self, at: Timestamp) {
        self.free_at = at;
    }

    pub(super) fn free_at(&self) -> Timestamp {
        self.free_at
    }

    /// No packet larger than a bucket ever finds enough tokens.
    pub(super) fn accepts(&self, size: Bytes) -> bool {
        let peak = self.peak.as_ref();
        size <= self.bucket.size() && peak.is_none_or(|bucket| size <= bucket.size())
    }

    /// Sends a packet that is ready at `ready` when there are tokens for it, and answers when.
    pub(super) fn transmit(&mut self, ready: Timestamp, size: Bytes) -> Timestamp {
        let mut at = self.bucket.ready_at(ready.max(self.free_at), size);
        if let Some(peak) = &mut self.peak {
            at = peak.ready_at(at, size);
            peak.try_take(at, size);
        }
        self.bucket.try_take(at, size);
        self.free_at = at;
        at
    }
}
