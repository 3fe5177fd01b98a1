use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

const THRESHOLDS: LossThresholds = LossThresholds {
    packets: 3,
    time: 1.125,
    max_time: 2.25,
    persistent_congestion: 3,
};
/// Of which an eighth is exact in f32.
const RTT: Duration = Duration::from_secs(1);
const DATA: usize = 2;

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

struct Scene {
    detection: LossDetection,
    spaces: Spaces,
}

impl Scene {
    fn new(thresholds: LossThresholds) -> Self {
        Self {
            detection: LossDetection::new(thresholds),
            spaces: Spaces::default(),
        }
    }

    /// Packets of application data with these numbers leave.
    fn send(&mut self, now: Timestamp, numbers: impl IntoIterator<Item = u64>) {
        for number in numbers {
            self.spaces.get(DATA).push(SentPacket::example(number, now));
        }
    }

    fn ack(&mut self, smallest: u64, largest: u64) {
        self.spaces
            .get(DATA)
            .take_acked((smallest, largest), |_| {});
        self.spaces.get(DATA).on_largest_acked(largest);
    }

    /// The numbers that are declared lost.
    fn lost(&mut self, now: Timestamp) -> Vec<u64> {
        let mut lost = Vec::new();
        let each = |_, entry: Lost| lost.push(entry.packet.number);
        self.detection.detect(now, &mut self.spaces, RTT, each);
        lost
    }

    fn announced(&mut self, now: Timestamp) -> Option<Announcement> {
        let data = self.spaces.get(DATA);
        self.detection.announce(now, data, RTT)
    }
}

#[test]
fn a_packet_is_lost_when_exactly_three_have_overtaken_it() {
    for gap in [0, 1] {
        let mut scene = Scene::new(THRESHOLDS);
        // Numbers in between that do not count in flight make no difference (RFC 9002 §6.1.1).
        let numbers: Vec<u64> = (0..6).map(|index| index * (gap + 1)).collect();
        scene.send(at(0), numbers.iter().copied());
        for largest in numbers {
            scene.ack(largest.max(1), largest);
            let lost = scene.lost(at(10));
            let expected: &[u64] = match (gap, largest) {
                (0, 3) | (1, 4) => &[0],
                _ => &[],
            };
            assert_eq!(lost, expected, "{largest} acknowledged");
        }
    }
}

#[test]
fn a_packet_is_lost_nine_eighths_of_a_round_trip_after_it_left() {
    let mut scene = Scene::new(THRESHOLDS);
    scene.send(at(0), [0]);
    scene.send(at(1), [1]);
    assert_eq!(scene.lost(at(1_000)), [0; 0]);
    assert_eq!(scene.detection.loss_time, None, "nothing has overtaken it");
    scene.ack(1, 1);
    assert_eq!(scene.lost(at(81)), [0; 0]);
    assert_eq!(scene.detection.loss_time, Some(at(1_125)));
    let just_before = at(1_125) - Duration::from_nanos(1);
    assert_eq!(scene.lost(just_before), [0; 0]);
    assert_eq!(scene.lost(at(1_125)), [0]);
    assert_eq!(scene.detection.loss_time, None);
}

#[test]
fn the_loss_time_is_that_of_the_oldest_packet_of_all_spaces() {
    let mut scene = Scene::new(THRESHOLDS);
    for (space, millis) in [(0, 7), (1, 5), (2, 6)] {
        for number in 0..2 {
            let packet = SentPacket::example(number, at(millis));
            scene.spaces.get(space).push(packet);
        }
        scene.spaces.get(space).on_largest_acked(1);
        scene.spaces.get(space).take_acked((1, 1), |_| {});
    }
    assert_eq!(scene.lost(at(80)), [0; 0]);
    assert_eq!(scene.detection.loss_time, Some(at(1_130)));
    assert_eq!(scene.lost(at(1_130)), [0]);
    assert_eq!(scene.detection.loss_time, Some(at(1_131)));
}

#[test]
fn where_packets_are_late_their_number_says_nothing_and_they_are_waited_for() {
    let mut scene = Scene::new(THRESHOLDS);
    scene.send(at(0), 0..10);
    scene.ack(9, 9);
    let detection = &mut scene.detection;
    detection.on_late(at(80), RTT + Duration::from_millis(20), RTT);
    assert_eq!(scene.lost(at(80)), [0; 0]);
    // An eighth of a round trip more than the one that was late by 20 ms.
    assert_eq!(scene.detection.loss_time, Some(at(1_145)));
    assert_eq!(scene.lost(at(1_144)), [0; 0]);
    assert_eq!(scene.lost(at(1_145)), (0..9).collect::<Vec<_>>());
}

#[test]
fn fixed_thresholds_stay_and_leave_announcing_to_quinn_proto() {
    let mut scene = Scene::new(LossThresholds {
        max_time: 1.125,
        ..THRESHOLDS
    });
    scene.send(at(0), 0..5);
    scene.ack(4, 4);
    scene.detection.on_late(at(80), RTT * 2, RTT);
    assert_eq!(scene.lost(at(80)), [0, 1]);
    assert_eq!(scene.announced(at(80)), None);
}

#[test]
fn losses_are_announced_once_by_the_age_at_which_quinn_proto_would_see_them() {
    let mut scene = Scene::new(THRESHOLDS);
    scene.send(at(0), 0..2);
    scene.send(at(1), 2..10);
    scene.ack(5, 5);
    assert_eq!(scene.lost(at(80)), [0, 1, 2]);
    let announcement = |sent_until| {
        Some(Announcement {
            sent_until,
            max_age: Duration::from_millis(2_250),
        })
    };
    assert_eq!(
        scene.announced(at(80)),
        announcement(at(0)),
        "3 left with 2"
    );
    assert_eq!(scene.announced(at(80)), None);
    scene.ack(9, 9);
    assert_eq!(scene.lost(at(81)), [3, 4, 6]);
    assert_eq!(scene.announced(at(81)), None, "7 and 8 left with them");
    scene.ack(7, 8);
    assert_eq!(scene.announced(at(82)), announcement(at(1)));
    assert_eq!(scene.announced(at(83)), None);
}

#[derive(Debug, Clone)]
enum Step {
    Send(u64),
    /// Numbers back from the largest sent.
    Ack(u64, u64),
    Wait(u64),
    Late(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (1_u64..8).prop_map(Step::Send),
        3 => (0_u64..10, 0_u64..4).prop_map(|(back, length)| Step::Ack(back, length)),
        3 => (1_u64..1_000).prop_map(Step::Wait),
        1 => (0_u64..3_000).prop_map(Step::Late),
    ]
}

proptest! {
    #[test]
    fn no_announcement_covers_an_overtaken_packet_in_flight_and_each_loss_is_announced_in_the_end(
        steps in prop::collection::vec(step(), 0..200),
    ) {
        let mut scene = Scene::new(THRESHOLDS);
        let (mut now, mut next) = (at(0), 0);
        let mut in_flight = BTreeMap::new();
        let mut largest_acked = None;
        let mut newest_lost = None;
        let mut announced = None;
        // In the end there is nothing in flight but what nothing has overtaken.
        let end = [Step::Wait(1), Step::Send(1), Step::Ack(0, 0), Step::Wait(10_000)];
        for step in steps.into_iter().chain(end) {
            match step {
                Step::Send(count) => {
                    scene.send(now, next..next + count);
                    in_flight.extend((next..next + count).map(|number| (number, now)));
                    next += count;
                }
                Step::Ack(back, length) => {
                    let largest = next.saturating_sub(1 + back);
                    let smallest = largest.saturating_sub(length);
                    if next > 0 {
                        scene.ack(smallest, largest);
                        in_flight.retain(|number, _| !(smallest..=largest).contains(number));
                        largest_acked = largest_acked.max(Some(largest));
                    }
                }
                Step::Wait(millis) => now += Duration::from_millis(millis),
                Step::Late(millis) => {
                    scene.detection.on_late(now, Duration::from_millis(millis), RTT);
                }
            }
            for number in scene.lost(now) {
                let sent_at = in_flight.remove(&number);
                prop_assert!(sent_at.is_some(), "{number} is lost twice or not in flight");
                newest_lost = newest_lost.max(sent_at);
            }
            if let Some(announcement) = scene.announced(now) {
                prop_assert!(Some(announcement.sent_until) > announced, "once");
                announced = Some(announcement.sent_until);
                for (number, sent_at) in &in_flight {
                    let is_covered = *sent_at <= announcement.sent_until;
                    let is_overtaken = Some(*number) < largest_acked;
                    prop_assert!(!(is_covered && is_overtaken), "{number}");
                }
                prop_assert!(Some(announcement.sent_until) <= newest_lost);
            }
            let first = in_flight.keys().next().copied();
            let is_overtaken = first.is_some() && first < largest_acked;
            prop_assert_eq!(scene.detection.loss_time.is_some(), is_overtaken);
        }
        prop_assert_eq!(announced, newest_lost);
    }
}
