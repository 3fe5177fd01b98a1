//! Token-bucket policers: finding them, and the rate that they let through (`bbr_lt_bw_sampling`,
//! "long-term" bandwidth).
//!
//! ```text
//!       a loss            4 … 16 rounds, ended by a loss, with a fifth lost
//!  Idle ─────▶ Sampling ─┬─▶ as fast as the one before: InUse, 48 rounds ──▶ Idle
//!   ▲               ▲    └─▶ not, or none was before: remembered ─┐
//!   │               └─────────────────────────────────────────────┘
//!   └── application-limited, or longer
//! ```

use super::params::Tuning;
use crate::controller::PathState;
use units::{Bandwidth, Bytes, Timestamp};

/// Whether there seems to be a policer.
#[derive(Debug, Default)]
pub(super) enum Policer {
    /// No loss since the search last began.
    #[default]
    Idle,
    /// Watching: `lt_is_sampling`.
    Sampling {
        /// When the interval began.
        since: Totals,
        /// Round trips in it: `lt_rtt_cnt`.
        rounds: u64,
        /// The rate of the interval before it, if that was lossy enough: `lt_bw`.
        previous: Option<Bandwidth>,
    },
    /// There is one: `lt_use_bw`.
    InUse {
        /// What it lets through: `lt_bw`.
        bandwidth: Bandwidth,
        /// Round trips in ProbeBW at this rate: `lt_rtt_cnt`.
        rounds: u64,
    },
}

/// The counters of the connection at one time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Totals {
    pub(super) at: Timestamp,
    delivered: Bytes,
    lost: Bytes,
}

/// An ACK as the search for policers sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct PolicerAck {
    pub(super) totals: Totals,
    /// Whether the ACK reports a loss.
    pub(super) has_loss: bool,
    pub(super) is_round_start: bool,
    pub(super) is_app_limited: bool,
    pub(super) is_probe_bw: bool,
}

impl Policer {
    /// What the policer lets through, where there is one.
    pub(super) fn bandwidth(&self) -> Option<Bandwidth> {
        match self {
            Self::InUse { bandwidth, .. } => Some(*bandwidth),
            Self::Idle | Self::Sampling { .. } => None,
        }
    }

    /// `bbr_lt_bw_sampling`. Returns whether the policer's rate has just expired, so that the cycle
    /// of gains begins anew.
    pub(super) fn on_ack(&mut self, ack: &PolicerAck, tuning: &Tuning) -> bool {
        if let Self::InUse { rounds, .. } = self {
            *rounds += u64::from(ack.is_probe_bw && ack.is_round_start);
            let is_over = *rounds >= tuning.lt_bw_rounds;
            if is_over {
                self.reset();
            }
            return is_over;
        }
        self.sample(ack, tuning);
        false
    }

    /// Nothing is known: `bbr_reset_lt_bw_sampling`.
    pub(super) fn reset(&mut self) {
        *self = Self::Idle;
    }

    fn sample(&mut self, ack: &PolicerAck, tuning: &Tuning) {
        if matches!(self, Self::Idle) && ack.has_loss {
            // From the first loss on: the tokens that were left before it would overstate the rate.
            *self = Self::begin(ack.totals, None);
        }
        let Self::Sampling {
            since,
            rounds,
            previous,
        } = self
        else {
            return;
        };
        *rounds += u64::from(ack.is_round_start);
        if ack.is_app_limited || *rounds > tuning.lt_interval_rounds * MAX_INTERVALS {
            self.reset();
        } else if *rounds >= tuning.lt_interval_rounds
            && ack.has_loss
            && let Some(rate) = since.lossy_rate(&ack.totals, tuning)
        {
            *self = match *previous {
                Some(previous) if agree(rate, previous) => Self::InUse {
                    bandwidth: mean(rate, previous),
                    rounds: 0,
                },
                _ => Self::begin(ack.totals, Some(rate)),
            };
        }
    }

    /// `bbr_reset_lt_bw_sampling_interval`.
    fn begin(totals: Totals, previous: Option<Bandwidth>) -> Self {
        Self::Sampling {
            since: totals,
            rounds: 0,
            previous,
        }
    }
}

impl Totals {
    pub(super) fn of(path: &PathState) -> Self {
        Self {
            at: path.now,
            delivered: path.delivered,
            lost: path.lost,
        }
    }

    /// The delivery rate from here to `end`, if so much was lost that a policer may be the reason.
    fn lossy_rate(&self, end: &Self, tuning: &Tuning) -> Option<Bandwidth> {
        let lost = end.lost.saturating_sub(self.lost);
        let delivered = end.delivered.saturating_sub(self.delivered);
        let elapsed = end.at.since(self.at);
        let is_lossy = lost >= (lost + delivered) * tuning.lt_loss_thresh;
        let is_measured = !delivered.is_zero() && elapsed.as_millis() > 0;
        (is_lossy && is_measured).then(|| Bandwidth::from_transfer(delivered, elapsed))
    }
}

/// Whether two intervals in a row deliver at the same rate (`bbr_lt_bw_interval_done`).
fn agree(rate: Bandwidth, previous: Bandwidth) -> bool {
    let (rate, previous) = (rate.bytes_per_sec(), previous.bytes_per_sec());
    let difference = rate.abs_diff(previous);
    difference <= previous / SAME_RATIO || difference <= SAME_DIFFERENCE.bytes_per_sec()
}

fn mean(one: Bandwidth, other: Bandwidth) -> Bandwidth {
    Bandwidth::from_bytes_per_sec(u64::midpoint(one.bytes_per_sec(), other.bytes_per_sec()))
}

/// An interval is abandoned after this many times its minimum number of rounds
/// (`bbr_lt_bw_sampling`).
const MAX_INTERVALS: u64 = 4;

/// `bbr_lt_bw_ratio`: rates that differ by an eighth are the same.
const SAME_RATIO: u64 = 8;

/// `bbr_lt_bw_diff`: so are rates that differ by 4 kbit/s.
const SAME_DIFFERENCE: Bandwidth = Bandwidth::from_bits_per_sec(4_000);

#[cfg(test)]
mod tests {
    use super::super::tests::tuning;
    use super::*;
    use core::time::Duration;

    /// A connection behind a link that delivers `delivered` and loses `lost` packets per round trip
    /// of 100 ms.
    struct Link {
        policer: Policer,
        totals: Totals,
        tuning: Tuning,
    }

    const PACKET: Bytes = Bytes::new(1_000);

    impl Link {
        fn new() -> Self {
            Self {
                policer: Policer::default(),
                totals: Totals {
                    at: Timestamp::ZERO,
                    delivered: Bytes::ZERO,
                    lost: Bytes::ZERO,
                },
                tuning: tuning(),
            }
        }

        /// So many rounds; whether the last of them ended the use of a policer's rate.
        fn rounds(&mut self, count: u64, delivered: u64, lost: u64) -> bool {
            (0..count).fold(false, |_, _| self.round(delivered, lost, false))
        }

        fn round(&mut self, delivered: u64, lost: u64, is_app_limited: bool) -> bool {
            self.totals.at += Duration::from_millis(100);
            self.totals.delivered += PACKET * delivered;
            self.totals.lost += PACKET * lost;
            let ack = PolicerAck {
                totals: self.totals,
                has_loss: lost > 0,
                is_round_start: true,
                is_app_limited,
                is_probe_bw: true,
            };
            self.policer.on_ack(&ack, &self.tuning)
        }

        fn kilobytes_per_second(&self) -> Option<u64> {
            let rate = self.policer.bandwidth()?;
            Some(rate.bytes_per_sec() / 1_000)
        }
    }

    #[test]
    fn two_lossy_intervals_of_the_same_rate_are_a_policer() {
        let mut link = Link::new();
        // The first loss begins to count after itself; its own round is the first of four.
        link.rounds(4, 100, 25);
        assert_eq!(link.kilobytes_per_second(), None);
        // 12 % more: within an eighth. The first interval had three rounds behind its begin.
        link.rounds(4, 112, 28);
        assert_eq!(link.kilobytes_per_second(), Some(1_060));
    }

    #[test]
    fn intervals_that_differ_by_more_than_an_eighth_are_none() {
        let mut link = Link::new();
        link.rounds(4, 100, 25);
        link.rounds(4, 113, 29);
        assert_eq!(link.kilobytes_per_second(), None);
        // But the second of them and a third may be.
        link.rounds(4, 113, 29);
        assert_eq!(link.kilobytes_per_second(), Some(1_130));
    }

    #[test]
    fn four_kilobits_are_no_difference() {
        let mut link = Link::new();
        // 500 bytes a second more than 1,000.
        let (one, other) = (
            Bandwidth::from_bytes_per_sec(1_500),
            Bandwidth::from_bytes_per_sec(1_000),
        );
        assert!(agree(one, other));
        assert!(!agree(Bandwidth::from_bytes_per_sec(1_501), other));
        link.rounds(40, 4, 0);
        assert!(matches!(link.policer, Policer::Idle));
    }

    #[test]
    fn less_than_a_fifth_of_what_was_sent_is_no_policer() {
        let mut link = Link::new();
        link.rounds(40, 81, 19);
        assert_eq!(link.kilobytes_per_second(), None);
        let mut link = Link::new();
        link.rounds(8, 80, 20);
        assert_eq!(link.kilobytes_per_second(), Some(800));
    }

    #[test]
    fn a_long_interval_and_an_application_limit_begin_anew() {
        let mut link = Link::new();
        link.round(100, 25, false);
        link.rounds(15, 100, 0);
        assert!(matches!(link.policer, Policer::Sampling { .. }));
        link.rounds(1, 100, 0);
        assert!(matches!(link.policer, Policer::Idle));
        link.rounds(4, 100, 25);
        link.round(100, 25, true);
        assert!(matches!(link.policer, Policer::Idle));
    }

    #[test]
    fn a_policer_is_believed_in_for_48_rounds() {
        let mut link = Link::new();
        link.rounds(8, 100, 25);
        assert!(link.kilobytes_per_second().is_some());
        assert!(!link.rounds(47, 500, 0));
        assert!(link.kilobytes_per_second().is_some());
        assert!(link.rounds(1, 500, 0));
        assert_eq!(link.kilobytes_per_second(), None);
    }
}
