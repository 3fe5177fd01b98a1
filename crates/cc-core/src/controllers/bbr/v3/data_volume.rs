//! The bounds of what may be in flight that loss teaches (draft-ietf-ccwg-bbr-06 §2.9.2).

use super::params::Tuning;
use units::{Bytes, Gain};

/// Bounds of what may be in flight, on both time scales; [`Bytes::MAX`] is none.
#[derive(Debug)]
pub(super) struct DataVolume {
    /// Learned by probing until loss: `inflight_longterm`.
    pub(super) longterm: Bytes,
    /// Learned from loss since the last probe: `inflight_shortterm`.
    pub(super) shortterm: Bytes,
}

impl DataVolume {
    pub(super) fn new() -> Self {
        Self {
            longterm: Bytes::MAX,
            shortterm: Bytes::MAX,
        }
    }

    /// A round with loss: the bound falls to what was delivered in it, but by no more than `beta`.
    pub(super) fn cut_shortterm(&mut self, latest: Bytes, cwnd: Bytes, beta: Gain) {
        let before = if self.shortterm == Bytes::MAX {
            cwnd
        } else {
            self.shortterm
        };
        self.shortterm = latest.max(before * beta);
    }

    /// InflightWithHeadroom: the long-term bound less what is left to others, a packet at least.
    pub(super) fn with_headroom(&self, tuning: &Tuning, mss: Bytes) -> Bytes {
        if self.longterm == Bytes::MAX {
            return Bytes::MAX;
        }
        let headroom = (self.longterm * tuning.headroom).max(mss);
        self.longterm
            .saturating_sub(headroom)
            .max(mss * tuning.min_pipe_packets)
    }
}

#[cfg(test)]
mod tests {
    use super::super::params::DRAFT_06;
    use super::*;
    use crate::params::Params;

    const MSS: Bytes = Bytes::new(1_200);

    fn headroom_of(longterm: Bytes) -> Bytes {
        let tuning = Tuning::new(&Params::defaults(DRAFT_06));
        let mut volume = DataVolume::new();
        volume.longterm = longterm;
        volume.with_headroom(&tuning, MSS)
    }

    #[test]
    fn headroom_is_a_share_a_packet_at_least_and_never_the_minimum_window() {
        assert_eq!(headroom_of(MSS * 100), MSS * 85);
        assert_eq!(headroom_of(MSS * 6), MSS * 5);
        assert_eq!(headroom_of(MSS * 3), MSS * 4);
        assert_eq!(headroom_of(Bytes::MAX), Bytes::MAX);
    }

    #[test]
    fn the_first_cut_starts_from_the_window() {
        let mut volume = DataVolume::new();
        volume.cut_shortterm(MSS, MSS * 100, Gain::new(7, 10));
        assert_eq!(volume.shortterm, MSS * 70);
        volume.cut_shortterm(MSS * 60, MSS * 100, Gain::new(7, 10));
        assert_eq!(volume.shortterm, MSS * 60);
    }
}
