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
    /// The hint that is enough, and whether it was come to. Of one that was turned off it stays.
    target: Bandwidth,
    has_reached: bool,
    is_on: bool,
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
    began: Timestamp,
    first: Bandwidth,
    /// The greatest hint so far, and since when.
    greatest: Bandwidth,
    rose_at: Timestamp,
}

impl LimitedProbe {
    pub(super) fn new(now: Timestamp, target: Bandwidth, mark: PaddingMark) -> Self {
        Self {
            target,
            has_reached: false,
            is_on: true,
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

    /// Another target, or none, where the hint is `hint`.
    ///
    /// What attempts have shown stays known: who sets the target again before each frame, or turns
    /// it off and on, gets no more padding by that. A step above one that was reached is tried at
    /// once.
    pub(super) fn set_target(
        &mut self,
        now: Timestamp,
        target: Option<Bandwidth>,
        hint: Bandwidth,
    ) {
        self.has_reached |= self.is_on && hint >= self.target;
        let Some(target) = target else {
            if self.attempt.take().is_some() {
                self.next = now + self.pause;
            }
            self.is_on = false;
            self.pending = 0;
            return;
        };
        if !self.is_on {
            self.is_on = true;
            (self.counted, self.sent_at) = (now, now);
            (self.sent, self.room) = (Bytes::ZERO, 0);
        }
        if target > self.target && mem::take(&mut self.has_reached) {
            (self.next, self.pause) = (now, FIRST_PAUSE);
        }
        self.target = target;
    }

    /// When padding may be due. A frame comes in several datagrams: it has ended when none has
    /// followed for a while.
    pub(super) fn next(&self) -> Option<Timestamp> {
        if !self.is_on {
            return None;
        }
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

    /// How many packets of padding leave now. The hint comes to `most` at most, whatever the path
    /// carries.
    pub(super) fn take(
        &mut self,
        now: Timestamp,
        path: &PathEstimate,
        most: Bandwidth,
        mss: Bytes,
    ) -> u64 {
        let rate = path.send_rate_hint;
        if self.sent > Bytes::ZERO {
            let is_under_way = self.is_under_way(now, path, most);
            let share = self
                .attempt
                .as_ref()
                .filter(|_| is_under_way)
                .map(|attempt| {
                    let since = now.since(attempt.began).min(RAMP);
                    Gain::new(since.as_millis() as u64, RAMP.as_millis() as u64)
                });
            self.make_up(now, rate, share, mss);
        }
        let packets = self.pending.min(GROUP);
        self.pending -= packets;
        self.due = now + rate.time_for(mss * packets);
        packets
    }

    /// The application has sent something: padding makes up for this share of what it has left of
    /// the hint.
    fn make_up(&mut self, now: Timestamp, hint: Bandwidth, share: Option<Gain>, mss: Bytes) {
        let elapsed = now.since(self.counted).min(LONGEST_INTERVAL);
        let sent = mem::replace(&mut self.sent, Bytes::ZERO);
        let unsent = mem::take(&mut self.pending);
        self.counted = now;
        let Some(share) = share else {
            self.room = 0;
            return;
        };
        let bytes = |bytes: Bytes| i64::try_from(bytes.get()).unwrap_or(i64::MAX);
        let allowed = hint * elapsed;
        let left = bytes(allowed.saturating_sub(sent) * share);
        let excess = bytes(sent.saturating_sub(allowed));
        let most = bytes(hint * LONGEST_INTERVAL);
        let room = self.room.saturating_add(bytes(mss * unsent));
        let room = room.saturating_add(left).saturating_sub(excess);
        let room = room.clamp(most.saturating_neg(), most);
        let available = Bytes::new(u64::try_from(room).unwrap_or(0));
        self.pending = available.packets_floor(mss);
        self.room = room - bytes(mss * self.pending);
    }

    /// Whether padding is to be sent: begins an attempt, or ends it.
    fn is_under_way(&mut self, now: Timestamp, path: &PathEstimate, most: Bandwidth) -> bool {
        let hint = path.send_rate_hint;
        let tolerated = tolerated_queue(path.min_rtt.unwrap_or_default());
        let is_free = path.queueing_delay <= tolerated
            && path.loss.millionths() <= TOLERATED_LOSS.millionths();
        self.has_reached |= hint >= self.target;
        let is_enough = hint >= self.target.min(most);
        let Some(attempt) = &mut self.attempt else {
            if now < self.next || !is_free || is_enough {
                return false;
            }
            self.attempt = Some(Attempt {
                began: now,
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

/// In what time the padding of an attempt grows to all that is left of the hint. Another connection
/// may fill the path that carried the hint, and that shows only after a round trip and 100 ms.
const RAMP: Duration = Duration::from_secs(2);

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

    /// A source of a frame of `sent` bytes every 33 ms, on a path of this hint.
    struct Source {
        probe: LimitedProbe,
        now: Timestamp,
        hint: Bandwidth,
        sent: u64,
    }

    impl Source {
        fn new(hint: Bandwidth, target: Bandwidth, sent: u64) -> Self {
            let now = Timestamp::ZERO;
            let probe = LimitedProbe::new(now, target, PaddingMark::default());
            Self {
                probe,
                now,
                hint,
                sent,
            }
        }

        /// Packets of padding after so many frames.
        fn padded(&mut self, frames: u64) -> u64 {
            let mut packets = 0;
            for _ in 0..frames {
                let next = self.now + FRAME;
                self.probe.sent += Bytes::new(self.sent);
                self.probe.sent_at = self.now;
                while self.now < next {
                    self.now = next.min(self.now + QUIET);
                    if self.probe.is_due(self.now) {
                        packets += self.take(Bandwidth::MAX);
                    }
                }
            }
            packets
        }

        fn take(&mut self, most: Bandwidth) -> u64 {
            let path = path(self.now, self.hint);
            self.probe.take(self.now, &path, most, MSS)
        }

        fn set(&mut self, target: Option<Bandwidth>) {
            self.probe.set_target(self.now, target, self.hint);
        }
    }

    fn mbit(mbit: u64) -> Bandwidth {
        Bandwidth::from_bits_per_sec(mbit * 1_000_000)
    }

    /// Packets of padding of 100 ms, when an attempt has grown.
    fn padded(hint: Bandwidth, target: Bandwidth, sent: u64) -> u64 {
        let mut source = Source::new(hint, target, sent);
        source.padded(90);
        source.padded(3)
    }

    #[test]
    fn padding_is_what_the_application_leaves_of_the_hint() {
        // 3 Mbit/s in 99 ms are 31 packets, and 18 are left beside frames of 5,000 bytes.
        assert!((30..=32).contains(&padded(mbit(3), mbit(6), 1)));
        assert!((17..=19).contains(&padded(mbit(3), mbit(6), 5_000)));
        assert_eq!(padded(mbit(3), mbit(6), 20_000), 0, "it sends more");
        assert_eq!(padded(mbit(3), mbit(3), 1), 0, "there is no more to learn");
    }

    #[test]
    fn an_attempt_grows_and_ends_and_those_that_fail_become_rare() {
        let mut source = Source::new(mbit(3), mbit(6), 1);
        let padded: Vec<u64> = (0..60).map(|_| source.padded(30)).collect();
        // Seconds in which it has grown: 4 s of 8, of 12, of 20, of 36.
        assert!(padded[0] < 100 && padded[2] > 250, "{padded:?}");
        let begins: Vec<usize> = (1..60)
            .filter(|&at| padded[at - 1] == 0 && padded[at] > 0)
            .collect();
        assert_eq!(begins, [8, 20, 40], "{padded:?}");
    }

    #[test]
    fn a_target_that_is_set_again_changes_nothing_and_a_higher_one_is_tried_when_it_was_reached() {
        let once = Source::new(mbit(3), mbit(6), 1).padded(300);
        let mut again = Source::new(mbit(3), mbit(6), 1);
        let frames = (0..300).map(|_| {
            again.set(Some(mbit(6)));
            again.padded(1)
        });
        assert_eq!(frames.sum::<u64>(), once);
        let mut toggled = Source::new(mbit(3), mbit(6), 1);
        let frames = (0..300).map(|_| {
            toggled.set(None);
            toggled.set(Some(mbit(6)));
            toggled.padded(1)
        });
        assert!(frames.sum::<u64>() < once);
        // It has failed, so that it is to rest for 4 s.
        let mut source = Source::new(mbit(3), mbit(6), 1);
        source.padded(150);
        source.set(Some(mbit(8)));
        assert_eq!(source.padded(15), 0);
        source.hint = mbit(9);
        source.set(Some(mbit(12)));
        assert!(source.padded(45) > 0);
        source.set(None);
        assert_eq!(source.padded(300), 0);
    }

    #[test]
    fn what_the_application_allows_is_enough() {
        let mut source = Source::new(mbit(3), mbit(6), 1);
        source.padded(60);
        source.probe.sent = Bytes::new(1);
        assert!(source.take(mbit(4)) > 0);
        source.probe.sent = Bytes::new(1);
        assert_eq!(source.take(mbit(3)), 0);
    }

    #[test]
    fn no_target_and_no_hint_is_too_much() {
        let most = Bandwidth::from_bytes_per_sec(u64::MAX);
        assert_eq!(padded(most, Bandwidth::ZERO, 1), 0);
        assert_eq!(padded(Bandwidth::ZERO, most, u64::MAX / 4), 0);
        let rate = Bandwidth::from_bytes_per_sec(u64::MAX - 1);
        // A group at a time, however much there is room for.
        assert!((1..=51 * GROUP).contains(&padded(rate, most, 1)));
    }

    const FRAME: Duration = Duration::from_millis(33);
    const MSS: Bytes = Bytes::new(1_200);
}
