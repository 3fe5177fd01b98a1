//! Losses on a path that reorders: a reordering window for the response to loss.
//!
//! Ours, not the draft's; `docs/bbr.md` has the reason. A transport declares a packet lost when
//! three later ones have arrived, which on a path whose delay varies is weak evidence. Undoing the
//! response (§5.5.11) needs every packet of an episode to arrive before the next one begins, which
//! does not happen where all packets are reordered. So once packets have arrived after they were
//! declared lost, other losses count only when they are older than the latest of these was. That is
//! the reordering window of RFC 8985 §6.2, for the response to loss instead of its repair. Where
//! nothing arrives late nothing is held.

use crate::controller::PathState;
use crate::events::{LostPacket, PacketStamp};
use crate::parts::windowed_max::WindowedMax;
use alloc::collections::VecDeque;
use core::time::Duration;
use units::{Bytes, Timestamp};

/// Packets declared lost that may still arrive, and how long that may take.
#[derive(Debug)]
pub(super) struct LatePackets {
    /// Ages at which packets arrived that had been declared lost, by round trips with loss.
    ages: WindowedMax<Duration, MEMORY_ROUNDS>,
    /// Round trips in which packets were declared lost.
    lossy_rounds: u64,
    /// Whether this is one.
    is_lossy: bool,
    /// Losses that do not count yet, oldest first.
    held: VecDeque<Burst>,
    /// What counts since the present round trip began.
    pub(super) lost_in_round: Bytes,
    /// Held since the newest ACK.
    pub(super) newly_held: Bytes,
    /// Of what had been held, what counts since the newest ACK.
    pub(super) newly_counted: Bytes,
}

/// Lost packets that left within a short time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Burst {
    /// When the first of them left.
    began_at: Timestamp,
    /// Its sequence.
    first: u64,
    /// The stamp of the last of them.
    pub(super) stamp: PacketStamp,
    /// Bytes that have not arrived.
    pub(super) missing: Bytes,
    /// Separate ranges that they make at most.
    pub(super) ranges: u64,
}

impl LatePackets {
    pub(super) fn new() -> Self {
        Self {
            ages: WindowedMax::new(),
            lossy_rounds: 0,
            is_lossy: false,
            held: VecDeque::with_capacity(MAX_BURSTS),
            lost_in_round: Bytes::ZERO,
            newly_held: Bytes::ZERO,
            newly_counted: Bytes::ZERO,
        }
    }

    /// A packet was declared lost.
    pub(super) fn on_lost(&mut self) {
        if !self.is_lossy {
            self.is_lossy = true;
            self.lossy_rounds += 1;
            self.ages.advance_to(self.lossy_rounds);
        }
    }

    /// Reordering window: the age up to which a packet may still arrive; `None` where none was late
    /// recently.
    pub(super) fn reordering_window(&self, path: &PathState) -> Option<Duration> {
        let age = self.ages.max_of(MEMORY_ROUNDS as u64)?;
        Some(age.min(path.srtt? * MAX_ROUND_TRIPS))
    }

    /// A packet of this age has arrived that had been declared lost. Returns whether its loss was
    /// held, and so never counted.
    pub(super) fn on_arrival(&mut self, age: Duration, packet: &LostPacket, mss: Bytes) -> bool {
        self.ages.insert(age);
        let sequence = packet.stamp.sequence;
        let mut bursts = self.held.iter_mut();
        let burst = bursts.find(|burst| (burst.first..=burst.stamp.sequence).contains(&sequence));
        let Some(burst) = burst else {
            return false;
        };
        burst.missing = burst.missing.saturating_sub(packet.bytes);
        burst.ranges = burst.ranges.min(burst.missing.packets_ceil(mss));
        true
    }

    pub(super) fn hold(&mut self, packet: &LostPacket, reordering_window: Duration) {
        self.newly_held += packet.bytes;
        let span = reordering_window / MAX_BURSTS as u32;
        match self.held.back_mut() {
            Some(burst) if packet.stamp.sent_at <= burst.began_at + span => {
                burst.stamp = packet.stamp;
                burst.missing += packet.bytes;
                burst.ranges += u64::from(packet.starts_range);
            }
            _ => self.held.push_back(Burst {
                began_at: packet.stamp.sent_at,
                first: packet.stamp.sequence,
                stamp: packet.stamp,
                missing: packet.bytes,
                ranges: u64::from(packet.starts_range),
            }),
        }
    }

    /// The oldest burst, where it must count: it is too old, or there is no room for another.
    pub(super) fn next_to_count(&mut self, path: &PathState) -> Option<Burst> {
        let oldest = self.held.front()?;
        let reordering_window = self.reordering_window(path).unwrap_or_default();
        let is_due = path.now > oldest.stamp.sent_at + reordering_window;
        if is_due || self.held.len() >= MAX_BURSTS {
            self.held.pop_front()
        } else {
            None
        }
    }

    /// An ACK has been handled.
    pub(super) fn on_ack(&mut self, is_round_start: bool) {
        self.newly_held = Bytes::ZERO;
        self.newly_counted = Bytes::ZERO;
        if is_round_start {
            self.lost_in_round = Bytes::ZERO;
            self.is_lossy = false;
        }
    }
}

/// Round trips with loss for which late packets are remembered: as many recoveries as RFC 8985 §6.2
/// keeps its window for.
const MEMORY_ROUNDS: usize = 16;

/// Smoothed round-trip times for which a loss is held at most. RFC 8985 §6.2 has two; but where
/// packets overtake each other these are the times of the fastest, and a delay of 50 ms that varies
/// by 20 has packets of 70 ms at a smoothed 34.
const MAX_ROUND_TRIPS: u32 = 4;

/// Bursts into which the packets held are divided.
const MAX_BURSTS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::controller_driver::{MSS, path};

    fn lost(sequence: u64) -> LostPacket {
        let stamp = PacketStamp {
            sequence,
            sent_at: Timestamp::from_millis(sequence),
            first_sent_at: Timestamp::ZERO,
            delivered: Bytes::ZERO,
            delivered_at: Timestamp::ZERO,
            lost: Bytes::ZERO,
            tx_in_flight: Bytes::ZERO,
            is_app_limited: false,
            is_back_to_back: false,
        };
        LostPacket {
            stamp,
            bytes: MSS,
            starts_range: sequence % 2 == 1,
        }
    }

    /// Packets 1 to `count` are held, of which those within `span` milliseconds make a burst; the
    /// present is when the last of them left.
    fn holding(count: u64, span: u64) -> (LatePackets, PathState) {
        let mut late = LatePackets::new();
        late.ages.insert(Duration::from_secs(1));
        for sequence in 1..=count {
            late.hold(
                &lost(sequence),
                Duration::from_millis(span) * MAX_BURSTS as u32,
            );
        }
        let path = PathState {
            now: Timestamp::from_millis(count),
            srtt: Some(Duration::from_secs(1)),
            ..path()
        };
        (late, path)
    }

    #[test]
    fn packets_that_left_within_a_sixteenth_of_the_time_are_one_burst() {
        let (mut late, mut path) = holding(10, 4);
        path.now = Timestamp::from_millis(1_006);
        let burst = late
            .next_to_count(&path)
            .expect("the last of five left at 5 ms");
        assert_eq!((burst.first, burst.stamp.sequence), (1, 5));
        assert_eq!((burst.missing, burst.ranges), (MSS * 5, 3));
        assert!(late.next_to_count(&path).is_none());
    }

    #[test]
    fn what_arrives_leaves_its_burst_and_what_was_not_held_none() {
        let (mut late, _) = holding(4, 100);
        let age = Duration::from_millis(1);
        assert!(!late.on_arrival(age, &lost(5), MSS));
        for sequence in 1..=3 {
            assert!(late.on_arrival(age, &lost(sequence), MSS));
        }
        assert_eq!((late.held[0].missing, late.held[0].ranges), (MSS, 1));
    }

    #[test]
    fn the_oldest_counts_early_where_there_is_no_room() {
        let (mut late, path) = holding(MAX_BURSTS as u64 - 1, 0);
        assert!(late.next_to_count(&path).is_none());
        let (mut late, path) = holding(MAX_BURSTS as u64, 0);
        assert_eq!(late.next_to_count(&path).expect("no room").first, 1);
        assert!(late.next_to_count(&path).is_none());
    }
}
