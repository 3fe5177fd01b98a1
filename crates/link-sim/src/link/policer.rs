use super::bucket::TokenBucket;
use crate::spec::Policer;
use units::{Bytes, Timestamp};

/// A policer: packets beyond a rate and a burst are dropped at once, as nothing can wait (tc's
/// `police … drop`).
#[derive(Debug)]
pub(super) struct PolicerStage {
    bucket: Option<TokenBucket>,
}

impl PolicerStage {
    pub(super) fn new(policer: Option<Policer>) -> Self {
        let bucket = policer.map(|policer| TokenBucket::new(policer.rate, policer.burst));
        Self { bucket }
    }

    pub(super) fn set(&mut self, now: Timestamp, policer: Option<Policer>) {
        match (&mut self.bucket, policer) {
            (Some(bucket), Some(policer)) => bucket.set(now, policer.rate, policer.burst),
            _ => *self = Self::new(policer),
        }
    }

    pub(super) fn conforms(&mut self, now: Timestamp, size: Bytes) -> bool {
        let bucket = self.bucket.as_mut();
        bucket.is_none_or(|bucket| bucket.try_take(now, size))
    }
}
