//! HyStart++: a slow start that ends before it overflows the queue (RFC 9406).
//!
//! ```text
//!             RTT of a round rose                     5 rounds
//!  SlowStart ─────────────────────▶ Conservative ─────────────────▶ the controller's own
//!      ▲                             SlowStart                      congestion avoidance
//!      └──── RTT fell below what ────────┘
//!            made it conservative
//! ```
//!
//! For the first slow start alone (§4.3): later ones end at a threshold that was learned.

use crate::controller::PathState;
use crate::sampler::RateSample;
use core::time::Duration;
use units::Bytes;

/// The state of one slow start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HyStart {
    /// The round ends with a packet that left after this much was delivered: windowEnd.
    round_end: Bytes,
    /// lastRoundMinRTT; `None` is its infinity.
    last_round_min_rtt: Option<Duration>,
    /// currentRoundMinRTT.
    round_min_rtt: Option<Duration>,
    /// rttSampleCount.
    samples: u32,
    conservative: Option<Conservative>,
    /// L: bytes of one ACK that count, in packets; `None` is its infinity, for paced senders.
    ack_limit: Option<u64>,
}

/// Conservative Slow Start.
#[derive(Debug, Clone, Copy)]
struct Conservative {
    /// cssBaselineMinRtt.
    baseline: Duration,
    /// Rounds, the one in which it began included.
    rounds: u32,
}

/// What an ACK means for the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Growth {
    /// It grows by so much.
    By(Bytes),
    /// The path is full: slow start ends at the present window.
    Over,
}

impl HyStart {
    /// At the beginning of a connection.
    pub(crate) fn new(is_paced: bool) -> Self {
        Self {
            round_end: Bytes::ZERO,
            last_round_min_rtt: None,
            round_min_rtt: None,
            samples: 0,
            conservative: None,
            ack_limit: (!is_paced).then_some(UNPACED_LIMIT),
        }
    }

    pub(crate) fn is_conservative(&self) -> bool {
        self.conservative.is_some()
    }

    /// Takes the ACK's RTT into account; the growth is for a sender that fills its window.
    pub(crate) fn on_ack(&mut self, path: &PathState, sample: &RateSample) -> Growth {
        if sample.prior_delivered >= self.round_end {
            if self.end_round() {
                return Growth::Over;
            }
            self.round_end = path.delivered;
        }
        if let Some(rtt) = sample.rtt {
            self.on_rtt(rtt);
        }
        let limit = self.ack_limit.map_or(Bytes::MAX, |limit| path.mss * limit);
        let acked = sample.newly_acked.min(limit);
        Growth::By(match self.conservative {
            Some(_) => acked / CSS_GROWTH_DIVISOR,
            None => acked,
        })
    }

    /// Returns whether Conservative Slow Start has lasted long enough.
    fn end_round(&mut self) -> bool {
        self.last_round_min_rtt = self.round_min_rtt.take();
        self.samples = 0;
        match &mut self.conservative {
            Some(Conservative { rounds, .. }) if *rounds >= CSS_ROUNDS => true,
            Some(Conservative { rounds, .. }) => {
                *rounds += 1;
                false
            }
            None => false,
        }
    }

    fn on_rtt(&mut self, rtt: Duration) {
        let round_min = self.round_min_rtt.map_or(rtt, |least| least.min(rtt));
        self.round_min_rtt = Some(round_min);
        self.samples += 1;
        if self.samples < SAMPLES {
            return;
        }
        match (self.conservative, self.last_round_min_rtt) {
            (Some(css), _) if round_min < css.baseline => self.conservative = None,
            (None, Some(last)) if round_min >= last + threshold(last) => {
                self.conservative = Some(Conservative {
                    baseline: round_min,
                    rounds: 1,
                });
            }
            _ => {}
        }
    }
}

/// RttThresh: the rise that counts.
fn threshold(last_round_min_rtt: Duration) -> Duration {
    (last_round_min_rtt / RTT_DIVISOR).clamp(MIN_RTT_THRESHOLD, MAX_RTT_THRESHOLD)
}

/// MIN_RTT_THRESH: less is the jitter of hosts and wires (§4.3).
const MIN_RTT_THRESHOLD: Duration = Duration::from_millis(4);
/// MAX_RTT_THRESH: more, and long paths would not leave slow start before they lose (§4.3).
const MAX_RTT_THRESHOLD: Duration = Duration::from_millis(16);
/// MIN_RTT_DIVISOR (§4.3).
const RTT_DIVISOR: u32 = 8;
/// N_RTT_SAMPLE: samples until a round's minimum RTT is trusted (§4.3).
const SAMPLES: u32 = 8;
/// CSS_GROWTH_DIVISOR: growth by a quarter per round, not by all of it (§4.3).
const CSS_GROWTH_DIVISOR: u64 = 4;
/// CSS_ROUNDS: five rounds at a quarter triple the window, enough to distinguish the rise from
/// jitter (§4.3).
const CSS_ROUNDS: u32 = 5;
/// L where packets are not paced: bounds the burst that a stretched ACK lets out (§4.3).
const UNPACED_LIMIT: u64 = 8;

#[cfg(test)]
mod tests;
