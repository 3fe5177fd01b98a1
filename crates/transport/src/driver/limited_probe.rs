//! Padding beside an application that sends less than it would like to know of.
//!
//! What a path carries is known up to what was sent over it. A source that stays below its hint
//! would never learn that more fits: so padding makes up for the difference, while that brings the
//! hint up. WebRTC probes its paths in this way too.

use crate::cc_adapter::tolerated_queue;
use crate::path_watch::PathEstimate;
use crate::tap::PaddingMark;
use std::mem;
use std::time::Duration;
use units::{Bandwidth, Bytes, Gain, Timestamp};

#[derive(Debug)]
pub(super) struct LimitedProbe {
    /// The hint that is enough.
    target: Bandwidth,
    pub(super) mark: PaddingMark,
    /// Bytes of the hint that were left until `counted`; less than none if more was sent.
    room: i64,
    counted: Timestamp,
    /// What the application has sent since then, and when it sent last.
    pub(super) sent: Bytes,
    pub(super) sent_at: Timestamp,
    /// Packets of padding that are still to follow it, the next of them at `due`.
    pending: u64,
    due: Timestamp,
    attempt: Option<Attempt>,
    /// When the next attempt may begin, and how long after its end the one after it, if it fails.
    next: Timestamp,
    pause: Duration,
}

/// Padding is being sent.
#[derive(Debug)]
struct Attempt {
    first: Bandwidth,
    /// The greatest hint so far, and since when.
    greatest: Bandwidth,
    rose_at: Timestamp,
}

impl LimitedProbe {
    pub(super) fn new(now: Timestamp, target: Bandwidth, mark: PaddingMark) -> Self {
        Self {
            target,
            mark,
            room: 0,
            counted: now,
            sent: Bytes::ZERO,
            sent_at: now,
            pending: 0,
            due: now,
            attempt: None,
            next: now,
            pause: FIRST_PAUSE,
        }
    }

    /// When padding may be due. A frame comes in several datagrams: it has ended when none has
    /// followed for a while.
    pub(super) fn next(&self) -> Option<Timestamp> {
        let end = self.sent_at + QUIET;
        match (self.sent > Bytes::ZERO, self.pending > 0) {
            (true, _) if self.attempt.is_some() || end >= self.next => Some(end),
            (false, true) => Some(self.due),
            _ => None,
        }
    }

    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        self.next().is_some_and(|at| at <= now)
    }

    /// How many packets of padding leave now.
    pub(super) fn take(&mut self, now: Timestamp, path: &PathEstimate, mss: Bytes) -> u64 {
        let rate = path.send_rate_hint;
        if self.sent > Bytes::ZERO {
            self.begin(now, path, mss);
        }
        let packets = self.pending.min(GROUP);
        self.pending -= packets;
        self.due = now + rate.time_for(mss * packets);
        packets
    }

    /// The application has sent something: padding makes up for what it has left of the hint.
    fn begin(&mut self, now: Timestamp, path: &PathEstimate, mss: Bytes) {
        let elapsed = now.since(self.counted).min(LONGEST_INTERVAL);
        let sent = mem::replace(&mut self.sent, Bytes::ZERO);
        let unsent = mem::take(&mut self.pending);
        self.counted = now;
        if !self.is_under_way(now, path) {
            self.room = 0;
            return;
        }
        let bytes = |bytes: Bytes| i64::try_from(bytes.get()).unwrap_or(i64::MAX);
        let most = bytes(path.send_rate_hint * LONGEST_INTERVAL);
        let gained = bytes(path.send_rate_hint * elapsed).saturating_add(bytes(mss * unsent));
        let room = self.room.saturating_add(gained);
        let room = room.saturating_sub(bytes(sent));
        let room = room.clamp(most.saturating_neg(), most);
        let available = Bytes::new(u64::try_from(room).unwrap_or(0));
        self.pending = available.packets_floor(mss);
        self.room = room - bytes(mss * self.pending);
    }

    /// Whether padding is to be sent: begins an attempt, or ends it.
    fn is_under_way(&mut self, now: Timestamp, path: &PathEstimate) -> bool {
        let hint = path.send_rate_hint;
        let tolerated = tolerated_queue(path.min_rtt.unwrap_or_default());
        let is_free = path.queueing_delay <= tolerated
            && path.loss.millionths() <= TOLERATED_LOSS.millionths();
        let is_enough = hint >= self.target;
        let Some(attempt) = &mut self.attempt else {
            if now < self.next || !is_free || is_enough {
                return false;
            }
            self.attempt = Some(Attempt {
                first: hint,
                greatest: hint,
                rose_at: now,
            });
            return true;
        };
        if hint > attempt.greatest * NOTABLE {
            attempt.greatest = hint;
            attempt.rose_at = now;
        }
        if !is_enough && is_free && now.since(attempt.rose_at) <= PATIENCE {
            return true;
        }
        if is_enough || attempt.greatest > attempt.first {
            self.pause = FIRST_PAUSE;
        }
        self.attempt = None;
        self.next = now + self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        false
    }
}

/// Padding stands for what the application left of this time at most: of ten frames a second. Who
/// sends more seldom is padded less.
pub(super) const LONGEST_INTERVAL: Duration = Duration::from_millis(100);

/// A group of packets is a train, which shows the rate at which the path spreads it.
const GROUP: u64 = 4;

/// Datagrams that are written one after another are one frame.
const QUIET: Duration = Duration::from_millis(2);

/// How long padding is sent without effect: BBR tries a higher rate after 2 to 3 s
/// (draft-ietf-ccwg-bbr-06 §5.3.3.8), and needs round trips to adopt it.
const PATIENCE: Duration = Duration::from_secs(4);

/// From the end of an attempt to the beginning of the next one; each that fails doubles it. So an
/// application that does not change takes its hint for half of the time at first, for 1/16 later.
const FIRST_PAUSE: Duration = Duration::from_secs(4);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// What a hint has to rise to, of what it was.
const NOTABLE: Gain = Gain::percent(105);

/// Beyond it, losses count against the application's own packets.
const TOLERATED_LOSS: Gain = Gain::percent(5);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LimitedBy;

    /// A path that has nothing against padding.
    fn path(at: Timestamp, send_rate_hint: Bandwidth) -> PathEstimate {
        PathEstimate {
            at,
            send_rate_hint,
            delivery_rate: None,
            pacing_rate: send_rate_hint,
            min_rtt: None,
            srtt: None,
            queueing_delay: Duration::ZERO,
            send_queue_delay: Duration::ZERO,
            loss: Gain::percent(0),
            limited_by: LimitedBy::default(),
            state: "",
        }
    }

    /// Packets of padding after a frame of `sent` bytes, 33 ms after the one before.
    fn padded(hint: Bandwidth, target: Bandwidth, sent: u64) -> u64 {
        let mut probe = LimitedProbe::new(Timestamp::ZERO, target, PaddingMark::default());
        let mut packets = 0;
        for frame in 1..=3 {
            let mut now = Timestamp::from_millis(33 * frame);
            probe.sent += Bytes::new(sent);
            probe.sent_at = now;
            for _ in 0..50 {
                now += QUIET;
                if probe.is_due(now) {
                    packets += probe.take(now, &path(now, hint), Bytes::new(1_200));
                }
            }
        }
        packets
    }

    #[test]
    fn padding_is_what_the_application_leaves_of_the_hint() {
        let mbit = |mbit: u64| Bandwidth::from_bits_per_sec(mbit * 1_000_000);
        // 3 Mbit/s in 101 ms are 31 packets.
        assert_eq!(padded(mbit(3), mbit(6), 1), 31);
        assert_eq!(padded(mbit(3), mbit(6), 20_000), 0, "it sends more");
        assert_eq!(padded(mbit(3), mbit(3), 1), 0, "there is no more to learn");
    }

    #[test]
    fn no_target_and_no_hint_is_too_much() {
        let most = Bandwidth::from_bytes_per_sec(u64::MAX);
        assert_eq!(padded(most, Bandwidth::ZERO, 1), 0);
        assert_eq!(padded(Bandwidth::ZERO, most, u64::MAX / 4), 0);
        let rate = Bandwidth::from_bytes_per_sec(u64::MAX - 1);
        // A group at a time, however much there is room for.
        assert!(padded(rate, most, 1) <= 150 * GROUP);
    }
}
