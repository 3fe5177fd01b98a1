use super::*;
use proptest::prelude::*;
use std::time::Duration;

impl SentPacket {
    /// An ack-eliciting packet of 1,000 bytes on the first path.
    pub(in crate::cc_adapter) fn example(number: u64, sent_at: Timestamp) -> Self {
        Self {
            number,
            stamp: PacketStamp {
                sequence: number,
                sent_at,
                first_sent_at: sent_at,
                delivered: Bytes::ZERO,
                delivered_at: sent_at,
                lost: Bytes::ZERO,
                tx_in_flight: Bytes::ZERO,
                is_app_limited: false,
                is_back_to_back: false,
            },
            bytes: 1_000,
            path: 0,
            is_ack_eliciting: true,
            is_mtu_probe: false,
        }
    }
}

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// Packets of these numbers, each sent at as many milliseconds.
fn sent(numbers: impl IntoIterator<Item = u64>) -> SentPackets {
    let mut packets = SentPackets::default();
    for number in numbers {
        packets.push(SentPacket::example(number, at(number)));
    }
    packets
}

/// A packet that is not ack-eliciting leaves. The one that is no longer waited for, if any.
fn push(packets: &mut SentPackets, packet: SentPacket) -> Option<SentPacket> {
    packets.push(packet);
    packets.forget_of_tail()
}

/// Acknowledges one range, whose largest number is that of the ACK.
fn ack(packets: &mut SentPackets, smallest: u64, largest: u64) -> Vec<u64> {
    let mut acked = Vec::new();
    packets.take_acked((smallest, largest), |packet| acked.push(packet.number));
    packets.on_largest_acked(largest);
    acked
}

fn late(packets: &mut SentPackets, smallest: u64, largest: u64) -> Vec<u64> {
    let mut late = Vec::new();
    packets.take_late((smallest, largest), |lost| late.push(lost.packet.number));
    late
}

/// Declares lost the overtaken packets below a number: each with whether it starts a range.
fn lose_below(packets: &mut SentPackets, number: u64) -> Vec<(u64, bool)> {
    lose_at(packets, at(1_000), number)
}

fn lose_at(packets: &mut SentPackets, now: Timestamp, number: u64) -> Vec<(u64, bool)> {
    let mut lost = Vec::new();
    let is_lost = |packet: &SentPacket| packet.number < number;
    packets.take_lost(now, is_lost, |entry| {
        assert_eq!(entry.report().starts_range, entry.starts_range);
        lost.push((entry.packet.number, entry.starts_range));
    });
    lost
}

fn dropped(packets: &mut SentPackets) -> Vec<(State, u64)> {
    let mut dropped = Vec::new();
    packets.drop_front(|state, packet| dropped.push((state, packet.number)));
    dropped
}

fn oldest_overtaken(packets: &mut SentPackets) -> Option<u64> {
    packets.oldest_overtaken().map(|packet| packet.number)
}

#[test]
fn each_packet_is_acknowledged_once() {
    let mut packets = sent(0..10);
    assert_eq!(ack(&mut packets, 3, 5), [3, 4, 5]);
    assert_eq!(ack(&mut packets, 0, 7), [0, 1, 2, 6, 7]);
    assert_eq!(ack(&mut packets, 0, 7), [0; 0]);
    assert_eq!(packets.in_flight(0), Bytes::new(2_000));
}

#[test]
fn numbers_that_are_not_in_flight_are_nobodys() {
    // 3 and 4 were skipped, or carried ACKs alone.
    let mut packets = sent([1, 2, 5, 6]);
    assert_eq!(ack(&mut packets, 3, 4), [0; 0]);
    assert_eq!(ack(&mut packets, 0, 0), [0; 0]);
    assert_eq!(ack(&mut packets, 2, 5), [2, 5]);
    assert_eq!(ack(&mut packets, 6, 1 << 61), [6]);
    assert_eq!(ack(&mut SentPackets::default(), 0, 1 << 61), [0; 0]);
}

#[test]
fn a_packet_is_overtaken_when_a_larger_number_is_acknowledged() {
    let mut packets = sent(0..10);
    ack(&mut packets, 0, 1);
    assert_eq!(oldest_overtaken(&mut packets), None);
    ack(&mut packets, 4, 5);
    assert_eq!(oldest_overtaken(&mut packets), Some(2));
    ack(&mut packets, 2, 2);
    assert_eq!(oldest_overtaken(&mut packets), Some(3));
    ack(&mut packets, 3, 3);
    assert_eq!(oldest_overtaken(&mut packets), None);
    ack(&mut packets, 9, 9);
    assert_eq!(oldest_overtaken(&mut packets), Some(6));
}

#[test]
fn only_a_number_beyond_all_others_is_a_new_largest_one() {
    let mut packets = sent(0..10);
    assert!(packets.on_largest_acked(0));
    assert!(!packets.on_largest_acked(0));
    assert!(packets.on_largest_acked(5));
    assert!(!packets.on_largest_acked(4));
    assert_eq!(packets.largest_acked(), Some(5));
}

#[test]
fn a_largest_number_of_whose_range_nothing_was_kept_is_overtaken_by_the_next() {
    let mut packets = sent(0..10);
    assert!(packets.on_largest_acked(3));
    assert_eq!(ack(&mut packets, 0, 2), [0, 1, 2]);
    assert_eq!(oldest_overtaken(&mut packets), None);
    ack(&mut packets, 6, 6);
    assert_eq!(oldest_overtaken(&mut packets), Some(3));
    assert_eq!(
        lose_below(&mut packets, 6),
        [(3, true), (4, false), (5, false)]
    );
}

#[test]
fn packets_lost_together_make_a_range_where_none_lies_between_them() {
    let mut packets = sent(0..10);
    ack(&mut packets, 3, 3);
    ack(&mut packets, 9, 9);
    let lost = lose_below(&mut packets, 7);
    let expected = [
        (0, true),
        (1, false),
        (2, false),
        (4, true),
        (5, false),
        (6, false),
    ];
    assert_eq!(lost, expected);
    assert_eq!(lose_below(&mut packets, 8), [(7, true)], "lost later");
}

#[test]
fn a_packet_that_was_not_overtaken_is_never_lost() {
    let mut packets = sent(0..10);
    assert!(lose_below(&mut packets, 10).is_empty());
    ack(&mut packets, 2, 2);
    assert_eq!(lose_below(&mut packets, 10), [(0, true), (1, false)]);
}

#[test]
fn a_lost_packet_that_arrives_is_late_once() {
    let mut packets = sent(0..10);
    ack(&mut packets, 9, 9);
    lose_below(&mut packets, 5);
    assert_eq!(ack(&mut packets, 2, 3), [0; 0], "they are not in flight");
    assert_eq!(late(&mut packets, 2, 3), [2, 3]);
    assert_eq!(late(&mut packets, 0, 9), [0, 1, 4]);
    assert_eq!(late(&mut packets, 0, 9), [0; 0]);
}

#[test]
fn a_lost_packet_is_remembered_for_a_time_and_not_in_any_number() {
    let mut packets = sent(0..10);
    ack(&mut packets, 9, 9);
    lose_at(&mut packets, at(50), 3);
    lose_at(&mut packets, at(60), 6);
    packets.forget_lost(at(60));
    assert_eq!(late(&mut packets, 0, 9), [3, 4, 5]);

    let many = MAX_LOST as u64 + 100;
    let mut packets = sent(0..=many);
    ack(&mut packets, many, many);
    lose_below(&mut packets, many);
    assert_eq!(packets.lost.len(), MAX_LOST);
    assert_eq!(
        late(&mut packets, 0, 99),
        [0; 0],
        "the oldest are forgotten"
    );
    assert_eq!(late(&mut packets, 100, many).len(), MAX_LOST);
}

#[test]
fn losses_are_announced_up_to_where_nothing_overtaken_is_in_flight() {
    let mut packets = SentPackets::default();
    // Two batches of three, and one packet behind them.
    for (number, millis) in [(0, 1), (1, 1), (2, 1), (3, 2), (4, 2), (5, 2), (6, 3)] {
        packets.push(SentPacket::example(number, at(millis)));
    }
    assert_eq!(packets.lost_until(), None);
    ack(&mut packets, 6, 6);
    assert_eq!(packets.lost_until(), None, "nothing is lost");
    lose_below(&mut packets, 2);
    assert_eq!(packets.lost_until(), None, "2 left at the same time");
    lose_below(&mut packets, 3);
    assert_eq!(packets.lost_until(), Some(at(1)));
    lose_below(&mut packets, 4);
    assert_eq!(packets.lost_until(), Some(at(1)), "4 and 5 are in flight");
    ack(&mut packets, 4, 5);
    assert_eq!(packets.lost_until(), Some(at(2)), "and have arrived");
}

#[test]
fn what_has_left_flight_is_dropped_in_order() {
    let mut packets = sent(0..6);
    ack(&mut packets, 1, 1);
    ack(&mut packets, 4, 4);
    assert!(dropped(&mut packets).is_empty());
    lose_below(&mut packets, 1);
    let expected = [(State::Lost, 0), (State::Acked, 1)];
    assert_eq!(dropped(&mut packets), expected);
    assert_eq!(oldest_overtaken(&mut packets), Some(2));
    assert_eq!(ack(&mut packets, 2, 5), [2, 3, 5]);
    assert_eq!(dropped(&mut packets).len(), 4);
    assert_eq!(oldest_overtaken(&mut packets), None);
}

#[test]
fn memory_of_a_flight_is_given_back_when_it_is_over() {
    let mut packets = sent(0..10_000);
    ack(&mut packets, 9_999, 9_999);
    lose_below(&mut packets, 5_000);
    ack(&mut packets, 5_000, 9_998);
    dropped(&mut packets);
    packets.forget_lost(at(2_000));
    assert_eq!(packets.packets.capacity(), 0);
    assert_eq!(packets.overtaken.capacity(), 0);
    assert_eq!(packets.lost.capacity(), 0);
}

#[test]
fn times_of_acks_are_bounded_and_forgotten_with_the_flight_before_them() {
    let mut packets = sent([0]);
    for number in 1..10_000 {
        packets.push_other(number, at(number), 0);
    }
    assert_eq!(packets.others.len(), MAX_OTHERS);
    assert!(packets.take_other(5_000).is_none(), "one of the oldest");
    let newest = packets.take_other(9_999).expect("the newest is known");
    assert_eq!(newest.sent_at, at(9_999));
    ack(&mut packets, 0, 0);
    dropped(&mut packets);
    assert_eq!(packets.others.capacity(), 0);
}

#[test]
fn packets_of_discarded_keys_leave_flight() {
    let mut packets = sent(0..5);
    ack(&mut packets, 1, 3);
    lose_below(&mut packets, 1);
    let mut discarded = Vec::new();
    packets.clear(|packet| discarded.push(packet.number));
    assert_eq!(discarded, [4]);
    assert_eq!(packets.in_flight(0), Bytes::ZERO);
    assert_eq!(packets.largest_acked(), None);
}

#[test]
fn packets_that_nobody_has_to_acknowledge_are_not_waited_for_without_end() {
    let mut packets = sent([0]);
    let padded = |number| SentPacket {
        is_ack_eliciting: false,
        ..SentPacket::example(number, at(number))
    };
    for number in 1..=MAX_TAIL {
        assert!(push(&mut packets, padded(number)).is_none());
    }
    // 1 has arrived, so that 2 is the first that leaves flight for another.
    ack(&mut packets, 0, 1);
    dropped(&mut packets);
    let end = MAX_TAIL + 5_000;
    let forgotten = (MAX_TAIL + 1..end).filter_map(|number| push(&mut packets, padded(number)));
    let forgotten: Vec<u64> = forgotten.map(|packet| packet.number).collect();
    assert_eq!(
        forgotten,
        (2..=forgotten.len() as u64 + 1).collect::<Vec<_>>()
    );
    assert_eq!(packets.packets.len() as u64, MAX_TAIL);
    assert_eq!(packets.in_flight(0), Bytes::new(1_000 * MAX_TAIL));
    // One that has to be acknowledged shows whether those before it have arrived.
    packets.push(SentPacket::example(end, at(end)));
    assert!(push(&mut packets, padded(end + 1)).is_none());
}

/// What happens to packets, with anything for numbers.
#[derive(Debug, Clone)]
enum Step {
    Send {
        skipped: u64,
        path: u64,
        is_padded: bool,
    },
    /// Numbers back from the largest sent: ranges, each by its largest and its length.
    Ack(Vec<(u64, u64)>),
    Lose {
        threshold: u64,
    },
    DropFront,
    ForgetLost {
        age: u64,
    },
    Clear,
}

fn step() -> impl Strategy<Value = Step> {
    let number = || prop_oneof![4 => 0_u64..20, 1 => 0_u64..200];
    prop_oneof![
        30 => (prop_oneof![9 => Just(0), 1 => 1_u64..3], 0_u64..3, prop::bool::weighted(0.1))
            .prop_map(|(skipped, path, is_padded)| Step::Send { skipped, path, is_padded }),
        10 => prop::collection::vec((number(), number()), 1..4).prop_map(Step::Ack),
        6 => (0_u64..10).prop_map(|threshold| Step::Lose { threshold }),
        6 => Just(Step::DropFront),
        2 => (0_u64..40).prop_map(|age| Step::ForgetLost { age }),
        1 => Just(Step::Clear),
    ]
}

/// The same with a plain list that forgets nothing.
#[derive(Default)]
struct Model {
    packets: Vec<(State, SentPacket, Option<Timestamp>)>,
    largest: Option<u64>,
    next: u64,
}

impl Model {
    fn take(&mut self, from: State, to: State, mut wanted: impl FnMut(u64) -> bool) -> Vec<u64> {
        let taken = self
            .packets
            .iter_mut()
            .filter(|(state, packet, _)| *state == from && wanted(packet.number));
        taken
            .map(|(state, packet, _)| {
                *state = to;
                packet.number
            })
            .collect()
    }

    fn in_flight(&self, path: u64) -> Bytes {
        let packets = self.packets.iter();
        let in_flight =
            packets.filter(|(state, packet, _)| *state == State::InFlight && packet.path == path);
        Bytes::new(1_000) * in_flight.count() as u64
    }
}

proptest! {
    #[test]
    fn it_is_a_plain_list_of_packets_whatever_happens(
        steps in prop::collection::vec(step(), 0..400),
    ) {
        let mut packets = SentPackets::default();
        let mut model = Model::default();
        for (millis, step) in (0..).zip(steps) {
            let now = at(millis);
            match step {
                Step::Send { skipped, path, is_padded } => {
                    let number = model.next + skipped;
                    model.next = number + 1;
                    let packet = SentPacket {
                        path,
                        is_ack_eliciting: !is_padded,
                        ..SentPacket::example(number, at(millis / 5))
                    };
                    packets.push(packet);
                    model.packets.push((State::InFlight, packet, None));
                }
                Step::Ack(ranges) if model.next > 0 => {
                    let numbers: Vec<_> = ranges.iter().map(|(back, length)| {
                        let largest = (model.next - 1).saturating_sub(*back);
                        (largest.saturating_sub(*length), largest)
                    }).collect();
                    for &(smallest, largest) in &numbers {
                        let is_in = |number| (smallest..=largest).contains(&number);
                        let mut acked = Vec::new();
                        packets.take_acked((smallest, largest), |packet| acked.push(packet.number));
                        prop_assert_eq!(acked, model.take(State::InFlight, State::Acked, is_in));
                        let late = late(&mut packets, smallest, largest);
                        prop_assert_eq!(late, model.take(State::Lost, State::Forgotten, is_in));
                    }
                    let largest = numbers.iter().map(|(_, largest)| *largest).max();
                    let is_new = packets.on_largest_acked(largest.unwrap());
                    prop_assert_eq!(is_new, largest > model.largest);
                    model.largest = model.largest.max(largest);
                }
                Step::Lose { threshold } => {
                    let largest = model.largest;
                    let is_overdue = |number| {
                        let is_before = |largest| number < largest && largest - number >= threshold;
                        largest.is_some_and(is_before)
                    };
                    let end = largest.map_or(0, |largest| largest + 1);
                    let limit = end.saturating_sub(threshold);
                    let lost = lose_at(&mut packets, now, limit);
                    let lost: Vec<u64> = lost.into_iter().map(|(number, _)| number).collect();
                    prop_assert_eq!(&lost, &model.take(State::InFlight, State::Lost, is_overdue));
                    for entry in &mut model.packets {
                        if lost.contains(&entry.1.number) {
                            entry.2 = Some(now);
                        }
                    }
                }
                Step::DropFront => drop(dropped(&mut packets)),
                Step::ForgetLost { age } => {
                    let before = now - Duration::from_millis(age);
                    packets.forget_lost(before);
                    for (state, _, declared_at) in &mut model.packets {
                        if *state == State::Lost && declared_at.unwrap() < before {
                            *state = State::Forgotten;
                        }
                    }
                }
                Step::Clear => {
                    let mut discarded = Vec::new();
                    packets.clear(|packet| discarded.push(packet.number));
                    prop_assert_eq!(discarded, model.take(State::InFlight, State::Acked, |_| true));
                    model.packets.clear();
                    model.largest = None;
                }
                Step::Ack(_) => {}
            }
            for path in 0..3 {
                prop_assert_eq!(packets.in_flight(path), model.in_flight(path));
            }
            let largest = model.largest;
            let overtaken = model.packets.iter().find(|(state, packet, _)| {
                *state == State::InFlight && Some(packet.number) < largest
            });
            let overtaken = overtaken.map(|(_, packet, _)| packet.number);
            prop_assert_eq!(oldest_overtaken(&mut packets), overtaken);
        }
    }
}
