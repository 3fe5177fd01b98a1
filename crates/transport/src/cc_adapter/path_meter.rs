//! What the newest ACKs say of a path: how fast trains of packets came through, how long its queue
//! is, how much is lost.
//!
//! A delivery-rate sample of draft-ietf-ccwg-bbr-06 §4.1 spans a round trip at least, so for a
//! source of frames it comes to little more than the source's own rate. But packets of one frame
//! leave at the pacing rate, above that of the source, and their ACKs come back no faster than the
//! bottleneck lets them: rate = bytes ÷ the longer of the time of sending and the time of ACKs,
//! over a few packets. It is a lower bound of the bottleneck's rate as long as ACKs are not
//! bunched, and never more than the rate at which the packets left.

use cc_core::AckedPacket;
use std::collections::VecDeque;
use std::time::Duration;
use units::{Bandwidth, Bytes, Gain, Timestamp};

#[derive(Debug, Default)]
pub(crate) struct PathMeter {
    /// ACKs, oldest first.
    acks: VecDeque<AckPoint>,
    /// Slots of [`SLOT`] in which something came, oldest first.
    slots: VecDeque<Slot>,
    delivered: Bytes,
    /// Since when the path has had a queue, if it has one.
    queue_began: Option<Timestamp>,
    /// The last one that it had.
    queue: Option<QueueSeen>,
}

#[derive(Debug, Clone, Copy)]
struct QueueSeen {
    /// When it was last there.
    at: Timestamp,
    /// What came through behind it.
    carried: Option<Bandwidth>,
}

/// An ACK that brought something new.
#[derive(Debug, Clone, Copy)]
struct AckPoint {
    at: Timestamp,
    /// When the newest packet that it acknowledged left.
    sent_at: Timestamp,
    /// Bytes acknowledged, this included.
    delivered: Bytes,
}

/// What came in a slot of time.
#[derive(Debug, Clone, Copy)]
struct Slot {
    number: u64,
    train_rate: Option<Bandwidth>,
    /// Trains that took a quarter longer to arrive than to leave, and the others.
    spread: u32,
    unspread: u32,
    least_rtt: Option<Duration>,
    acked: Bytes,
    lost: Bytes,
}

/// Packets that left one after another.
#[derive(Debug, Clone, Copy)]
struct Train {
    rate: Bandwidth,
    /// Whether it took a quarter longer to arrive than to leave.
    is_spread: bool,
}

/// What an ACK brings.
#[derive(Debug, Clone, Copy)]
pub(super) struct MeterInput<'a> {
    pub(super) now: Timestamp,
    pub(super) acked: &'a [AckedPacket],
    pub(super) lost: Bytes,
    pub(super) rtt: Option<Duration>,
    /// The least round-trip time of the path, once there is a sample.
    pub(super) min_rtt: Option<Duration>,
    pub(super) pacing_rate: Bandwidth,
    pub(super) mss: Bytes,
}

impl PathMeter {
    pub(super) fn on_feedback(&mut self, input: &MeterInput<'_>) {
        let acked: Bytes = input.acked.iter().map(|packet| packet.bytes).sum();
        if self.delivered + acked < input.mss * LEAST {
            // A handshake holds no train, and most connections are idle after it.
            self.delivered += acked;
            return;
        }
        let train = self.train(input, acked);
        let train_rate = train.map(|train| train.rate);
        let slot = self.slot(input.now);
        slot.spread += u32::from(train.is_some_and(|train| train.is_spread));
        slot.unspread += u32::from(train.is_some_and(|train| !train.is_spread));
        slot.acked += acked;
        slot.lost += input.lost;
        slot.train_rate = slot.train_rate.max(train_rate);
        slot.least_rtt = slot.least_rtt.into_iter().chain(input.rtt).min();
        if let (Some(_), Some(min_rtt)) = (input.rtt, input.min_rtt) {
            self.look_for_queue(input.now, min_rtt);
        }
    }

    /// Behind a queue, what comes through is what the path carries, however it was sent; and older
    /// trains, which were faster, say nothing any more.
    fn look_for_queue(&mut self, now: Timestamp, min_rtt: Duration) {
        if self.queueing_delay(now, min_rtt) <= tolerated_queue(min_rtt) {
            self.queue_began = None;
            return;
        }
        let began = *self.queue_began.get_or_insert(now);
        let time = RECENT.max(min_rtt * 2);
        let first = slot_of(now).saturating_sub(slots_in(time));
        let old = self
            .slots
            .iter_mut()
            .rev()
            .skip_while(|slot| slot.number >= first);
        // Those before one without a rate have been forgotten, or had none.
        for slot in old.take_while(|slot| slot.train_rate.is_some()) {
            slot.train_rate = None;
        }
        let before = self.queue.filter(|last| now.since(last.at) <= QUEUE_MEMORY);
        let before = before.and_then(|last| last.carried);
        self.queue = Some(QueueSeen {
            at: now,
            carried: self.carried(began, before),
        });
    }

    /// What comes through behind the queue that began at `began`, or what did `before`.
    ///
    /// What comes back as fast as it was sent shows no limit of the path: then the queue is that of
    /// others, or drains, and the rate is the application's. An application that follows would
    /// otherwise be told ever less.
    fn carried(&self, began: Timestamp, before: Option<Bandwidth>) -> Option<Bandwidth> {
        let oldest = self.acks.iter().find(|ack| ack.at >= began);
        let Some((oldest, newest)) = oldest.zip(self.acks.back()) else {
            return before;
        };
        let time = newest.at.since(oldest.at);
        if time < SLOT {
            return before;
        }
        let rate = Bandwidth::from_transfer(newest.delivered - oldest.delivered, time);
        let sending = newest.sent_at.since(oldest.sent_at);
        if time >= sending + sending / 4 {
            return Some(rate);
        }
        before.map(|before| before.max(rate))
    }

    /// The least round-trip time of late minus `min_rtt`.
    pub(crate) fn queueing_delay(&self, now: Timestamp, min_rtt: Duration) -> Duration {
        let least = self.least_rtt(now, QUEUE_TIME).unwrap_or(min_rtt);
        least.saturating_sub(min_rtt)
    }

    /// If the path had a queue within `time`, the most that it has carried since.
    pub(crate) fn rate_since_queue(&self, now: Timestamp, time: Duration) -> Option<Bandwidth> {
        let queue = self.queue.filter(|queue| now.since(queue.at) <= time)?;
        queue.carried.max(self.greatest_train_rate(now, MEMORY))
    }

    /// The rate of the packets up to the newest that is acknowledged, [`TRAIN`] of them at least,
    /// if they left one after another.
    fn train(&mut self, input: &MeterInput<'_>, acked: Bytes) -> Option<Train> {
        let newest = input
            .acked
            .iter()
            .max_by_key(|packet| packet.stamp.sent_at)?;
        self.delivered += acked;
        let ack = AckPoint {
            at: input.now,
            sent_at: newest.stamp.sent_at,
            delivered: self.delivered,
        };
        let is_train = |before: &&AckPoint| ack.delivered - before.delivered >= input.mss * TRAIN;
        let before = self.acks.iter().rev().find(is_train).copied();
        if self.acks.len() == MAX_ACKS {
            self.acks.pop_front();
        }
        self.acks.push_back(ack);
        let before = before?;
        let bytes = ack.delivered - before.delivered;
        let sending = ack.sent_at.since(before.sent_at);
        let paced = input.pacing_rate.time_for(bytes) * 2;
        // A sender with more to send has sent as fast as it may, whatever the pacing rate.
        if newest.stamp.is_app_limited && sending > paced.max(SAME_TIME) {
            return None;
        }
        let arriving = ack.at.since(before.at);
        let interval = sending.max(arriving);
        (!interval.is_zero()).then(|| Train {
            rate: Bandwidth::from_transfer(bytes, interval),
            is_spread: arriving >= sending + sending / 4,
        })
    }

    /// The greatest rate of the trains of the last 0.6 s, if the path has spread each of them, and
    /// there were enough: then it carries no more, whatever it did before.
    pub(crate) fn spread_rate(&self, now: Timestamp) -> Option<Bandwidth> {
        let recent = || self.recent(now, SPREAD_TIME);
        let spread: u32 = recent().map(|slot| slot.spread).sum();
        let is_each = recent().all(|slot| slot.unspread == 0);
        let rates = || recent().filter_map(|slot| slot.train_rate);
        (is_each && spread >= ENOUGH).then(|| rates().max())?
    }

    fn slot(&mut self, now: Timestamp) -> &mut Slot {
        let number = slot_of(now);
        if self
            .slots
            .back()
            .is_none_or(|newest| newest.number < number)
        {
            self.slots.push_back(Slot {
                number,
                train_rate: None,
                spread: 0,
                unspread: 0,
                least_rtt: None,
                acked: Bytes::ZERO,
                lost: Bytes::ZERO,
            });
        }
        while self.slots[0].number + MAX_SLOTS < number {
            self.slots.pop_front();
        }
        self.slots.back_mut().expect("one was added")
    }

    /// The slots since `time` before `now`, of the [`MEMORY`] at most.
    fn recent(&self, now: Timestamp, time: Duration) -> impl Iterator<Item = &Slot> {
        let first = slot_of(now).saturating_sub(slots_in(time));
        let newest = self.slots.iter().rev();
        newest.take_while(move |slot| slot.number >= first)
    }

    /// The greatest rate of a train that was acknowledged within `time`.
    pub(crate) fn greatest_train_rate(&self, now: Timestamp, time: Duration) -> Option<Bandwidth> {
        let rates = self.recent(now, time).filter_map(|slot| slot.train_rate);
        rates.max()
    }

    /// The least round-trip time measured within `time`, or else of the newest slot that has one.
    fn least_rtt(&self, now: Timestamp, time: Duration) -> Option<Duration> {
        let recent = self.recent(now, time).filter_map(|slot| slot.least_rtt);
        let newest = || self.slots.iter().rev().find_map(|slot| slot.least_rtt);
        recent.min().or_else(newest)
    }

    /// Bytes declared lost of all whose fate became known within `time`.
    pub(crate) fn loss(&self, now: Timestamp, time: Duration) -> Gain {
        let sum = |amount: fn(&Slot) -> Bytes| self.recent(now, time).map(amount).sum::<Bytes>();
        let (acked, lost) = (sum(|slot| slot.acked), sum(|slot| slot.lost));
        Gain::new(lost.get(), (acked + lost).get().max(1))
    }
}

fn slot_of(at: Timestamp) -> u64 {
    at.as_nanos() / SLOT.as_nanos() as u64
}

/// Slots that a time goes back, besides the present one.
fn slots_in(time: Duration) -> u64 {
    (time.as_nanos() / SLOT.as_nanos()) as u64
}

/// The queue that is tolerated, or a quarter of the round trip if that is longer: one frame of six
/// packets takes 7 ms at 10 Mbit/s.
pub(crate) fn tolerated_queue(min_rtt: Duration) -> Duration {
    LEAST_QUEUE.max(min_rtt / 4)
}

/// For how long after a queue no more is proposed than has come through since it was found: a
/// controller's estimate may be as old as BBR's longest cycle.
pub(crate) const QUEUE_MEMORY: Duration = Duration::from_secs(10);

/// The resolution of windows of time.
const SLOT: Duration = Duration::from_millis(50);

/// How long a slot is remembered: through the two seconds between the rises of BBR's pacing rate,
/// and what they bring.
pub(crate) const MEMORY: Duration = Duration::from_secs(4);
const MAX_SLOTS: u64 = (MEMORY.as_nanos() / SLOT.as_nanos()) as u64;

/// The time in which a queue has to be found: three frames of video, each of whose first packets
/// finds the queue that others have left.
const QUEUE_TIME: Duration = Duration::from_millis(100);

/// The time in which trains show what a path carries that has a queue, or two round trips if that
/// is longer: nine frames of video.
const RECENT: Duration = Duration::from_millis(300);

const LEAST_QUEUE: Duration = Duration::from_millis(10);

/// ACKs remembered, each of two packets or more.
const MAX_ACKS: usize = 16;

/// Packets that are acknowledged before anything is kept.
const LEAST: u64 = 8;

/// Packets of a train, two ACKs' worth: with fewer, the granularity of ACKs is all that is seen.
/// Frames of 1 Mbit/s at 30 frames a second have three, of 2 Mbit/s six.
const TRAIN: u64 = 4;

/// How long each train has to have been spread, and how many, for the path to carry no more.
const SPREAD_TIME: Duration = Duration::from_millis(600);
const ENOUGH: u32 = 16;

/// Packets within this time leave in one turn of an endpoint.
const SAME_TIME: Duration = Duration::from_millis(2);

#[cfg(test)]
mod tests {
    use super::*;
    use cc_core::PacketStamp;

    const MSS: Bytes = Bytes::new(1_000);

    fn packet(sent_at: Timestamp, is_app_limited: bool) -> AckedPacket {
        AckedPacket {
            stamp: PacketStamp {
                sequence: 0,
                sent_at,
                first_sent_at: sent_at,
                delivered: Bytes::ZERO,
                delivered_at: sent_at,
                lost: Bytes::ZERO,
                tx_in_flight: Bytes::ZERO,
                is_app_limited,
                is_back_to_back: false,
            },
            bytes: MSS,
        }
    }

    /// Frames of six packets every 40 ms that leave at 8 Mbit/s, whose ACKs come one every
    /// `ack_micros`.
    fn framed(ack_micros: u64, is_app_limited: bool) -> (PathMeter, Timestamp) {
        let mut meter = PathMeter::default();
        let mut now = Timestamp::ZERO;
        for frame in 0..10 {
            for index in 0..6 {
                let sent = Timestamp::from_millis(frame * 40 + index);
                now = Timestamp::from_millis(frame * 40 + 50) + micros(index * ack_micros);
                meter.on_feedback(&MeterInput {
                    now,
                    acked: &[packet(sent, is_app_limited)],
                    lost: Bytes::ZERO,
                    rtt: Some(now.since(sent)),
                    min_rtt: None,
                    pacing_rate: mbit(8),
                    mss: MSS,
                });
            }
        }
        (meter, now)
    }

    fn micros(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    fn mbit(rate: u64) -> Bandwidth {
        Bandwidth::from_bits_per_sec(rate * 1_000_000)
    }

    #[test]
    fn a_train_shows_the_rate_at_which_the_bottleneck_spreads_it() {
        let (meter, now) = framed(2_000, true);
        assert_eq!(meter.greatest_train_rate(now, MEMORY), Some(mbit(4)));
    }

    #[test]
    fn bunched_acks_show_no_more_than_the_rate_of_sending() {
        let (meter, now) = framed(10, true);
        assert_eq!(meter.greatest_train_rate(now, MEMORY), Some(mbit(8)));
    }

    #[test]
    fn a_path_that_has_spread_each_train_carries_no_more() {
        let (meter, now) = framed(2_000, true);
        assert_eq!(meter.spread_rate(now), Some(mbit(4)));
        let (meter, now) = framed(1_000, true);
        assert_eq!(meter.spread_rate(now), None, "as fast as they left");
    }

    #[test]
    fn packets_of_two_frames_are_no_train() {
        let mut meter = PathMeter::default();
        let mut rate = None;
        for number in 0..20 {
            let sent = Timestamp::from_millis(number * 40);
            let now = sent + Duration::from_millis(50);
            meter.on_feedback(&MeterInput {
                now,
                acked: &[packet(sent, true)],
                lost: Bytes::ZERO,
                rtt: None,
                min_rtt: None,
                pacing_rate: mbit(8),
                mss: MSS,
            });
            rate = meter.greatest_train_rate(now, MEMORY);
        }
        assert_eq!(rate, None);
    }

    #[test]
    fn what_is_old_is_forgotten() {
        let (mut meter, now) = framed(2_000, true);
        let later = now + MEMORY * 2;
        assert_eq!(meter.greatest_train_rate(later, MEMORY), None);
        assert_eq!(
            meter.least_rtt(later, MEMORY),
            Some(Duration::from_millis(50)),
            "there is no newer one"
        );
        for second in 0..1_000 {
            meter.slot(later + Duration::from_secs(second));
            assert!(meter.slots.len() as u64 <= MAX_SLOTS + 1);
        }
        assert!(meter.acks.len() <= MAX_ACKS);
    }

    /// A packet each 20 ms, 400 kbit/s and no train, over a path of 60 ms: for a second without a
    /// queue, then for two behind one of 100 ms, in which each packet takes `growth` longer than
    /// the one before.
    fn behind_a_queue(growth: Duration) -> Option<Bandwidth> {
        let mut meter = PathMeter::default();
        let (min_rtt, mut now) = (Duration::from_millis(60), Timestamp::ZERO);
        for number in 0..150_u32 {
            let sent = Timestamp::from_millis(u64::from(number) * 20);
            let queue = match number.checked_sub(50) {
                Some(behind) => Duration::from_millis(100) + growth * behind,
                None => Duration::ZERO,
            };
            now = sent + min_rtt + queue;
            meter.on_feedback(&MeterInput {
                now,
                acked: &[packet(sent, true)],
                lost: Bytes::ZERO,
                rtt: Some(now.since(sent)),
                min_rtt: Some(min_rtt),
                pacing_rate: mbit(8),
                mss: MSS,
            });
        }
        meter.rate_since_queue(now, QUEUE_MEMORY)
    }

    #[test]
    fn a_queue_shows_the_paths_rate_only_to_who_sends_more_than_it_carries() {
        assert_eq!(behind_a_queue(Duration::ZERO), None, "that of others");
        let own = behind_a_queue(Duration::from_millis(20));
        assert_eq!(own, Some(Bandwidth::from_bits_per_sec(200_000)));
    }

    #[test]
    fn the_share_of_lost_bytes_is_of_the_time_that_is_asked_for() {
        let mut meter = PathMeter::default();
        let mut feed = |millis, acked: usize, lost| {
            let packets = vec![packet(Timestamp::ZERO, false); acked];
            meter.on_feedback(&MeterInput {
                now: Timestamp::from_millis(millis),
                acked: &packets,
                lost: MSS * lost,
                rtt: None,
                min_rtt: None,
                pacing_rate: mbit(8),
                mss: MSS,
            });
        };
        feed(0, 0, 50);
        feed(2_000, 9, 0);
        feed(2_100, 0, 1);
        let now = Timestamp::from_millis(2_150);
        assert_eq!(meter.loss(now, Duration::from_secs(1)), Gain::percent(10));
    }
}
