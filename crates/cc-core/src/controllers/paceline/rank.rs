//! Whether packets are lost beside long RTTs: the sign of a full queue that no jitter hides.

use core::time::Duration;
use units::Timestamp;
use units::duration::nanos;

/// Where the RTTs beside lost packets rank among the RTTs of all.
///
/// A path that loses at random does so at any RTT: the ranks are uniform. A full queue loses
/// packets where the RTT is at its longest. A CUSUM (Page, "Continuous Inspection Schemes",
/// Biometrika 1954) of the log-likelihood ratio of the two decides between them; ranks do not
/// depend on how the RTTs are distributed.
#[derive(Debug)]
pub(super) struct RankTest {
    /// Recent RTTs, µs.
    rtts: [u32; KEPT],
    count: usize,
    next_at: Timestamp,
    cusum: f64,
    mean: f64,
}

impl RankTest {
    pub(super) fn new() -> Self {
        Self {
            rtts: [0; KEPT],
            count: 0,
            next_at: Timestamp::ZERO,
            cusum: 0.0,
            mean: 0.5,
        }
    }

    /// Keeps one RTT per sixty-fourth of `reference`, so that those kept span two round trips.
    pub(super) fn on_rtt(&mut self, now: Timestamp, rtt: Duration, reference: Duration) {
        if now >= self.next_at {
            self.rtts[self.count % KEPT] = micros(rtt);
            self.count += 1;
            self.next_at = now + reference / SAMPLES_PER_ROUND;
        }
    }

    /// Packets were lost, and the RTT then was `rtt`. Counted once for a range of them, since they
    /// share one cause.
    pub(super) fn on_lost_range(&mut self, rtt: Duration) {
        let kept = self.count.min(KEPT);
        if kept < LEAST {
            return;
        }
        let (below, equal) = self.rtts[..kept]
            .iter()
            .fold((0, 0), |(below, equal), &known| {
                let rtt = micros(rtt);
                (
                    below + usize::from(known < rtt),
                    equal + usize::from(known == rtt),
                )
            });
        // The middle rank of equal ones.
        let twice = 2 * below + equal;
        self.cusum = (self.cusum + LOG_LIKELIHOOD[twice * 8 / kept]).max(0.0);
        let rank = twice as f64 / (2 * kept) as f64;
        self.mean += (rank - self.mean) * SMOOTHING;
    }

    /// Whether the sum has crossed the threshold. It starts anew then.
    pub(super) fn take_alarm(&mut self) -> bool {
        let is_alarm = self.cusum >= THRESHOLD;
        if is_alarm {
            self.cusum = 0.0;
        }
        is_alarm
    }

    /// Whether losses are beside longer RTTs than others by more than chance.
    pub(super) fn is_high(&self) -> bool {
        self.mean >= HIGH
    }
}

fn micros(rtt: Duration) -> u32 {
    u32::try_from(nanos(rtt) / 1_000).unwrap_or(u32::MAX)
}

/// RTTs that are kept, and those at least for a rank.
const KEPT: usize = 128;
const LEAST: usize = 32;
const SAMPLES_PER_ROUND: u32 = 64;
const SMOOTHING: f64 = 1.0 / 24.0;
const HIGH: f64 = 0.66;
/// About one false alarm in a thousand ranges lost at random.
const THRESHOLD: f64 = 7.0;
/// ln 6 + 5 ln r at the middle of each seventeenth of the ranks r from 0 to 1, bounded at −3: how
/// much more often a rank has density 6 r⁵, as beside a full queue, than 1, as at random.
const LOG_LIKELIHOOD: [f64; 17] = [
    -3.0, -3.0, -3.0, -3.0, -3.0, -3.0, -3.0, -2.30, -1.67, -1.12, -0.62, -0.16, 0.25, 0.64, 1.0,
    1.33, 1.64,
];
