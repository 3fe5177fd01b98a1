//! What one round trip has shown, and the last four of them.

use super::counts::Counts;
use super::lateness::Lateness;
use super::numbers::{LEAST_TIME, SECOND, seconds, to_f64};
use super::rise::Rise;
use crate::controller::PathState;
use crate::parts::round::RoundCounter;
use crate::sampler::RateSample;
use core::time::Duration;
use units::Timestamp;

/// The facts of a round trip that has ended.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Round {
    /// Mean of its RTT samples, s.
    pub(super) rtt: f64,
    /// How long it took, s.
    pub(super) time: f64,
    /// Bytes acknowledged.
    pub(super) acked: f64,
    /// Bytes lost of those that left at the estimate or below it.
    pub(super) lost: f64,
    /// In how many runs of packets they were lost.
    pub(super) lost_runs: u32,
    /// Packets marked Congestion Experienced.
    pub(super) marked: u64,
    /// Whether something else than the path limited it: the application, a silence, or a window
    /// that recovers from one.
    pub(super) is_limited: bool,
    /// The longest time without an ACK in it, s.
    pub(super) silence: f64,
    /// For how long of it the host was late, s, or of as long in the round trip before, in which
    /// some of the packets left: the greater.
    pub(super) late: f64,
    /// Whether it was ended before its packets were acknowledged, because the RTT had doubled.
    pub(super) is_early: bool,
}

impl Round {
    /// Mean delivery rate, B/s.
    pub(super) fn rate(&self) -> f64 {
        self.acked / self.time.max(NANOSECOND)
    }

    /// The same of a host that had not been late, B/s.
    pub(super) fn rate_on_time(&self) -> f64 {
        self.acked / (self.time - self.late).max(NANOSECOND)
    }

    /// Whether nothing arrived for a while, on a path that takes `reference` s without a queue and
    /// `packet_time` s for a packet: it took much longer than its RTT, or than the shortest round
    /// trip that counts, or for as long as two of them no ACK came.
    fn is_silent(&self, reference: f64, packet_time: f64) -> bool {
        let least = seconds(LEAST_TIME);
        self.time > 2.0 * self.rtt.max(least) + 4.0 * packet_time
            || self.silence > 2.0 * reference.max(least) + 16.0 * packet_time
    }

    /// Its packets, of `mss` bytes.
    pub(super) fn counts(&self, mss: f64) -> Counts {
        Counts {
            acked: self.acked / mss,
            lost: self.lost / mss,
        }
    }

    /// How many packets were lost in a row, of `mss` bytes, in the mean; 1 if none.
    pub(super) fn lost_run(&self, mss: f64) -> f64 {
        (self.lost / mss / f64::from(self.lost_runs.max(1))).max(1.0)
    }

    /// The share of its packets that were lost.
    pub(super) fn loss(&self) -> f64 {
        self.lost / (self.acked + self.lost).max(1.0)
    }
}

/// Counts round trips; the one under way, and the last [`KEPT`].
#[derive(Debug)]
pub(super) struct Rounds {
    counter: RoundCounter,
    began_at: Timestamp,
    rtt_sum: f64,
    rtts: u32,
    now: Round,
    past: [Round; KEPT],
    count: usize,
    rise: Rise,
    /// When the newest ACK came.
    newest_at: Timestamp,
    lateness: Lateness,
    /// The part of the last round trip in which the host was late.
    last_late: f64,
}

impl Rounds {
    pub(super) fn new(now: Timestamp) -> Self {
        Self {
            counter: RoundCounter::default(),
            began_at: now,
            rtt_sum: 0.0,
            rtts: 0,
            now: Round::default(),
            past: [Round::default(); KEPT],
            count: 0,
            rise: Rise::default(),
            newest_at: now,
            lateness: Lateness::new(now),
            last_late: 0.0,
        }
    }

    /// What tells when the host is late.
    pub(super) fn lateness(&mut self) -> &mut Lateness {
        &mut self.lateness
    }

    /// The round trip under way, to add to.
    pub(super) fn current(&mut self) -> &mut Round {
        &mut self.now
    }

    /// Returns whether this ACK ends the round trip. It does when every RTT for as long as
    /// `reference` is twice that of the round trip before, unless it `may_be_longer_path`: where
    /// the rate fell, a round trip takes as long as the queue that it fills.
    pub(super) fn on_ack(
        &mut self,
        path: &PathState,
        sample: &RateSample,
        reference: Duration,
        may_be_longer_path: bool,
    ) -> bool {
        let is_long_enough = path.now.since(self.began_at) >= LEAST_TIME;
        if is_long_enough || self.count == 0 {
            self.counter.on_ack(sample.prior_delivered, path.delivered);
        } else {
            self.counter.is_start = false;
        }
        if let Some(rtt) = sample.rtt {
            self.rtt_sum += seconds(rtt);
            self.rtts += 1;
        }
        self.now.acked += to_f64(sample.newly_acked);
        self.now.marked += sample.ce_marked;
        self.now.is_limited |= sample.is_app_limited;
        let silence = path
            .now
            .since(core::mem::replace(&mut self.newest_at, path.now));
        self.now.silence = self.now.silence.max(seconds(silence));
        let last = self.last().rtt;
        let has_doubled = sample
            .rtt
            .is_some_and(|rtt| self.rise.on_rtt(path.now, rtt, last, reference))
            && !may_be_longer_path;
        if has_doubled && !self.counter.is_start {
            self.counter.restart(path.delivered);
            self.now.is_early = true;
        }
        self.counter.is_start || has_doubled
    }

    /// Whether the RTT rises within the round trip under way.
    pub(super) fn is_rising(&self) -> bool {
        self.rise.is_under_way()
    }

    pub(super) fn count(&self) -> u64 {
        self.counter.count
    }

    /// Ends the round trip under way. None until there is a first RTT sample.
    pub(super) fn end(
        &mut self,
        now: Timestamp,
        reference: f64,
        packet_time: f64,
    ) -> Option<Round> {
        let mut round = core::mem::take(&mut self.now);
        self.rise.restart();
        let (sum, rtts) = (
            core::mem::take(&mut self.rtt_sum),
            core::mem::take(&mut self.rtts),
        );
        round.time = seconds(now.since(core::mem::replace(&mut self.began_at, now)));
        let late = (self.lateness.take() / round.time.max(NANOSECOND)).min(MOST_LATE);
        round.late = late.max(core::mem::replace(&mut self.last_late, late)) * round.time;
        round.rtt = if rtts > 0 {
            sum / f64::from(rtts)
        } else {
            self.last().rtt
        };
        if round.rtt <= 0.0 {
            return None;
        }
        if round.is_silent(reference, packet_time) {
            round.is_limited = true;
        } else {
            self.past[self.count % KEPT] = round;
            self.count += 1;
        }
        Some(round)
    }

    /// The round trip that ended last.
    pub(super) fn last(&self) -> Round {
        self.nth(0)
    }

    /// The round trip before [`last`](Self::last).
    pub(super) fn before(&self) -> Round {
        self.nth(1)
    }

    /// The mean of the last two round trips' delivery rates, B/s, each as heavy as the other.
    pub(super) fn mean_of_two(&self) -> f64 {
        (self.last().rate() + self.before().rate()) / 2.0
    }

    /// The same of a host that had not been late, B/s.
    pub(super) fn mean_of_two_on_time(&self) -> f64 {
        (self.last().rate_on_time() + self.before().rate_on_time()) / 2.0
    }

    /// Mean delivery rate of the last `n` round trips, B/s; at most [`KEPT`].
    pub(super) fn mean_rate(&self, n: usize) -> f64 {
        self.mean(n, |round| round.time)
    }

    /// The same of a host that had not been late, B/s.
    pub(super) fn mean_rate_on_time(&self, n: usize) -> f64 {
        self.mean(n, |round| round.time - round.late)
    }

    fn mean(&self, n: usize, time: impl Fn(&Round) -> f64) -> f64 {
        let (acked, time) = (0..n.min(KEPT))
            .map(|back| self.nth(back))
            .fold((0.0, 0.0), |sum, round| {
                (sum.0 + round.acked, sum.1 + time(&round))
            });
        acked / time.max(NANOSECOND)
    }

    fn nth(&self, back: usize) -> Round {
        self.past[(self.count + 2 * KEPT - 1 - back) % KEPT]
    }
}

/// Round trips that are kept.
const KEPT: usize = 4;
/// Of a round trip. A host that is away for longer says too little of what the path would deliver.
const MOST_LATE: f64 = 0.75;
const NANOSECOND: f64 = 1.0 / SECOND;
