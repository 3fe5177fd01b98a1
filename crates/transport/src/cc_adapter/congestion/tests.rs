mod any_order;
mod panics;

use super::*;
use crate::cc_adapter::By;
use cc_core::{Controller, ControllerSpec, Event, LostPacket, Observer, RateSample};
use std::sync::{Arc, Mutex};

const MSS: Bytes = Bytes::new(1_200);
const THRESHOLDS: LossThresholds = LossThresholds {
    packets: 3,
    time: 1.125,
    max_time: 2.25,
    persistent_congestion: 3,
};
/// quinn-proto's smoothed round-trip time, where it does not matter.
const SMOOTHED: Duration = Duration::from_millis(40);
const MAX_ACK_DELAY: Duration = Duration::from_millis(25);

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn choose(name: &str) -> ControllerChoice {
    Registry::standard().choose(name).unwrap()
}

struct Scene {
    congestion: Congestion,
    /// By space, the number of the next packet.
    next: [u64; 3],
}

impl Scene {
    fn new(name: &str) -> Self {
        Self::with(choose(name))
    }

    fn with(choice: ControllerChoice) -> Self {
        let mut congestion = Congestion::new(choice.into(), 7, THRESHOLDS);
        congestion.open_path(at(0), MSS);
        Self {
            congestion,
            next: [0; 3],
        }
    }

    /// So many ack-eliciting packets of application data leave as one batch.
    fn send(&mut self, millis: u64, count: u64) {
        self.send_as(at(millis), Space::Data, count, Content::AckEliciting, false);
    }

    fn send_as(
        &mut self,
        now: Timestamp,
        space: Space,
        count: u64,
        content: Content,
        is_mtu_probe: bool,
    ) {
        let next = &mut self.next[space as usize];
        let packet = |number| Sent {
            space,
            number,
            bytes: 1_200,
            content,
            datagrams: 0,
        };
        let packets: Vec<Sent> = (*next..*next + count).map(packet).collect();
        *next += count;
        let batch = Batch {
            leaves: now,
            packets: &packets,
            is_mtu_probe,
        };
        let control = self.congestion.on_sent(now, batch);
        assert_eq!(control, self.congestion.control());
        self.check();
    }

    /// A datagram brings this.
    fn receive(&mut self, now: Timestamp, received: &Received) {
        self.receive_late(now, now, received);
    }

    /// One that came at a time and was read later.
    fn receive_late(&mut self, came_at: Timestamp, read_at: Timestamp, received: &Received) {
        let reception = Reception {
            came_at,
            read_at,
            smoothed_rtt: SMOOTHED,
        };
        self.congestion.on_received(reception, received);
        self.settle(came_at);
    }

    /// A datagram brings an ACK frame of application data with these ranges.
    fn ack(&mut self, millis: u64, ranges: &[(u64, u64)]) {
        self.receive(at(millis), &received(&[(ack(ranges), ranges)]));
    }

    fn settle(&mut self, now: Timestamp) {
        let control = self.congestion.settle(now, SMOOTHED);
        assert_eq!(control, self.congestion.control());
        self.check();
    }

    /// What is in flight on both paths is the sum of the packets that are.
    fn check(&self) {
        let Congestion {
            spaces,
            active,
            parked,
            ..
        } = &self.congestion;
        for path in [active, parked].into_iter().flatten() {
            let packets = spaces.iter().map(|space| space.in_flight(path.id)).sum();
            let in_flight = path.flow.path_state().inflight;
            assert_eq!(in_flight, packets, "path {}", path.id);
        }
    }

    fn in_flight(&self) -> Bytes {
        self.congestion.in_flight()
    }

    /// In milliseconds, rounded: thresholds are not exact.
    fn loss_time(&self) -> Option<u64> {
        let loss_time = self.congestion.loss_time()?;
        Some((loss_time.as_nanos() + 500_000) / 1_000_000)
    }

    fn latest_rtt(&self) -> Option<u128> {
        let latest = self.congestion.path_state().latest_rtt;
        latest.map(|rtt| rtt.as_millis())
    }
}

/// An ACK frame of application data with these ranges, the first of which has its largest number.
fn ack(ranges: &[(u64, u64)]) -> Ack {
    Ack {
        space: Space::Data,
        largest: ranges.first().map_or(0, |(_, largest)| *largest),
        delay: Duration::ZERO,
        ecn: None,
        ranges: ranges.len(),
    }
}

fn received(acks: &[(Ack, &[(u64, u64)])]) -> Received {
    Received {
        acks: acks.iter().map(|(ack, _)| *ack).collect(),
        ranges: acks
            .iter()
            .flat_map(|(_, ranges)| *ranges)
            .copied()
            .collect(),
        max_ack_delay: MAX_ACK_DELAY,
        ..Received::default()
    }
}

/// Keeps the samples it is told of.
#[derive(Clone, Default)]
struct Samples(Arc<Mutex<Vec<RateSample>>>);

impl Observer for Samples {
    fn on_event(&mut self, event: &Event) {
        if let Event::Sampled { sample, .. } = event {
            self.0.lock().unwrap().push(*sample);
        }
    }
}

impl Samples {
    fn of(congestion: &mut Congestion) -> Self {
        let samples = Self::default();
        congestion.events.add(By::Set(Box::new(samples.clone())));
        samples
    }

    fn taken(&self, congestion: &mut Congestion) -> Vec<RateSample> {
        if let Some(mut delivery) = congestion.events.take() {
            delivery.call();
            congestion.events.give_back(delivery);
        }
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

#[test]
fn what_was_acknowledged_before_it_was_to_leave_is_told_and_gives_no_round_trip() {
    let mut scene = Scene::new("cubic");
    let packets = [0, 1].map(|number| Sent {
        space: Space::Data,
        number,
        bytes: 1_200,
        content: Content::AckEliciting,
        datagrams: 0,
    });
    for (packet, leaves) in packets.iter().zip([11, 13]) {
        let batch = Batch {
            leaves: at(leaves),
            packets: std::slice::from_ref(packet),
            is_mtu_probe: false,
        };
        scene.congestion.on_sent(at(10), batch);
    }
    assert_eq!(scene.in_flight(), MSS * 2);
    scene.ack(12, &[(0, 0)]);
    assert_eq!(scene.latest_rtt(), Some(1));
    assert_eq!(scene.congestion.counts().acked_early, 0);
    scene.ack(12, &[(1, 1)]);
    assert_eq!(scene.latest_rtt(), Some(1));
    assert_eq!(scene.congestion.counts().acked_early, 1);
}

#[test]
fn what_one_datagram_brings_is_one_feedback() {
    let mut scene = Scene::new("new_reno");
    let samples = Samples::of(&mut scene.congestion);
    scene.send(0, 5);
    scene.send(1, 5);
    let (newer, older) = ([(6, 9)], [(3, 4)]);
    let acks = [(ack(&older), &older[..]), (ack(&newer), &newer[..])];
    scene.receive(at(41), &received(&acks));
    let [sample] = samples.taken(&mut scene.congestion)[..] else {
        panic!("one datagram, one sample")
    };
    assert_eq!(sample.newly_acked, MSS * 6);
    assert_eq!(sample.newly_lost, MSS * 4, "0, 1, 2 and 5");
    assert_eq!(sample.newest_sent_at, at(1));
    assert_eq!(sample.rtt, Some(Duration::from_millis(40)));
    assert_eq!(scene.in_flight(), Bytes::ZERO);

    // The same once more is nothing new.
    scene.receive(at(42), &received(&acks));
    assert!(samples.taken(&mut scene.congestion).is_empty());
    assert_eq!(scene.congestion.counts().spurious_losses, 0);
}

#[test]
fn the_loss_timer_alone_brings_losses() {
    let mut scene = Scene::new("new_reno");
    scene.send(0, 2);
    scene.ack(40, &[(1, 1)]);
    assert_eq!(scene.loss_time(), Some(45));
    let before = scene.congestion.control().cwnd;
    scene.settle(at(44));
    assert_eq!(scene.in_flight(), MSS);
    scene.settle(at(45));
    assert_eq!(scene.in_flight(), Bytes::ZERO);
    assert_eq!(scene.congestion.path_state().lost, MSS);
    assert!(scene.congestion.control().cwnd < before);
    assert_eq!(scene.congestion.loss_time(), None);
}

#[test]
fn the_peers_delay_is_no_part_of_the_round_trip_time() {
    let mut scene = Scene::new("new_reno");
    let cases = [
        // Took, delay, round-trip time; the first one is taken whole (RFC 9002 §5.3).
        (60, 10, 60),
        (40, 5, 40),
        (50, 8, 42),
        (45, 5, 40),
        (45, 6, 45),
    ];
    for (number, (took, delay, expected)) in (0..).zip(cases) {
        let sent = 100 * number;
        scene.send(sent, 1);
        let ranges = [(number, number)];
        let ack = Ack {
            delay: Duration::from_millis(delay),
            ..ack(&ranges)
        };
        scene.receive(at(sent + took), &received(&[(ack, &ranges)]));
        assert_eq!(scene.latest_rtt(), Some(expected), "{took} ms less {delay}");
    }
}

#[test]
fn only_a_new_largest_number_measures_the_round_trip() {
    let mut scene = Scene::new("new_reno");
    scene.send(0, 1);
    scene.send(10, 1);
    scene.send(20, 1);
    scene.ack(50, &[(1, 1)]);
    assert_eq!(scene.latest_rtt(), Some(40));
    scene.ack(55, &[(0, 1)]);
    assert_eq!(scene.latest_rtt(), Some(40));
    scene.ack(70, &[(2, 2)]);
    assert_eq!(scene.latest_rtt(), Some(50));
}

#[test]
fn only_an_ack_eliciting_packet_measures_the_round_trip() {
    let mut scene = Scene::new("new_reno");
    let padded = Content::Padded;
    scene.send_as(at(0), Space::Data, 1, padded, false);
    scene.ack(900, &[(0, 0)]);
    assert_eq!(scene.latest_rtt(), None);
    // Of several newly acknowledged one is enough (RFC 9002 §5.1).
    scene.send(1_000, 1);
    scene.send_as(at(1_010), Space::Data, 1, padded, false);
    scene.ack(1_050, &[(1, 2)]);
    assert_eq!(scene.latest_rtt(), Some(40));
}

#[test]
fn packets_that_do_not_count_are_not_in_flight() {
    let mut scene = Scene::new("new_reno");
    scene.send_as(at(0), Space::Data, 3, Content::NotInFlight, false);
    assert_eq!(scene.in_flight(), Bytes::ZERO);
    scene.send_as(at(0), Space::Data, 1, Content::Padded, false);
    assert_eq!(scene.in_flight(), MSS);
}

#[test]
fn the_spaces_have_numbers_of_their_own() {
    let mut scene = Scene::new("new_reno");
    for (space, content) in [
        (Space::Initial, Content::AckEliciting),
        (Space::Handshake, Content::AckEliciting),
        (Space::Data, Content::AckEliciting),
    ] {
        scene.send_as(at(0), space, 5, content, false);
    }
    let ranges = [(4, 4)];
    let handshake = Ack {
        space: Space::Handshake,
        ..ack(&ranges)
    };
    scene.receive(at(40), &received(&[(handshake, &ranges)]));
    // 0 and 1 of the Handshake space are lost, 2 and 3 are not yet.
    assert_eq!(scene.in_flight(), MSS * 12);
    let discarded = Received {
        discarded: [true, true, false],
        ..Received::default()
    };
    scene.receive(at(41), &discarded);
    assert_eq!(scene.in_flight(), MSS * 5);
    assert_eq!(scene.congestion.path_state().lost, MSS * 2);
}

#[test]
fn a_lost_packet_that_arrives_was_no_loss() {
    let mut scene = Scene::new("new_reno");
    scene.send(0, 10);
    scene.ack(40, &[(4, 9)]);
    assert_eq!(scene.congestion.path_state().lost, MSS * 4);
    scene.ack(60, &[(2, 9)]);
    assert_eq!(scene.congestion.counts().spurious_losses, 2);
    let state = scene.congestion.path_state();
    assert_eq!((state.lost, state.delivered), (MSS * 2, MSS * 8));
    // From then on packets are waited for as long as these took, 60 ms, and an eighth more.
    scene.send(100, 10);
    scene.ack(140, &[(19, 19)]);
    assert_eq!(scene.in_flight(), MSS * 9);
    assert_eq!(scene.loss_time(), Some(165));
}

#[test]
fn lost_packets_are_remembered_for_three_probe_timeouts() {
    // Smoothed 40 ms, four times the deviation of 20 ms, and 25 ms: 145 ms.
    for (millis, expected) in [(440 + 40, 1), (440 + 50, 0)] {
        let mut scene = Scene::new("new_reno");
        scene.send(0, 5);
        scene.ack(40, &[(4, 4)]);
        scene.settle(at(45));
        scene.send(400, 1);
        scene.ack(440, &[(5, 5)]);
        let memory = probe_timeout(&scene.congestion.path_state(), SMOOTHED, MAX_ACK_DELAY) * 3;
        assert!(memory > Duration::from_millis(300), "{memory:?}");
        // They were declared lost at 40 and 45 ms; the second settling forgets.
        let now = at(45) + memory + Duration::from_millis(millis) - Duration::from_millis(485);
        scene.settle(now);
        let ranges = [(3, 3)];
        scene.receive(now, &received(&[(ack(&ranges), &ranges)]));
        assert_eq!(scene.congestion.counts().spurious_losses, expected);
    }
}

#[test]
fn a_lost_mtu_probe_is_no_sign_of_congestion() {
    let mut scene = Scene::new("new_reno");
    scene.send_as(at(0), Space::Data, 1, Content::AckEliciting, true);
    scene.send(0, 3);
    let before = scene.congestion.control().cwnd;
    scene.ack(40, &[(1, 3)]);
    assert_eq!(scene.congestion.path_state().lost, Bytes::ZERO);
    assert_eq!(scene.in_flight(), Bytes::ZERO);
    assert!(scene.congestion.control().cwnd >= before);
    // It may arrive late, which is no spurious loss: none was reported.
    scene.ack(41, &[(0, 3)]);
    assert_eq!(scene.congestion.counts().spurious_losses, 0);
}

#[test]
fn losses_over_three_probe_timeouts_are_persistent_congestion() {
    for (lost_at, is_persistent) in [([200, 300], false), ([200, 2_000], true)] {
        let mut scene = Scene::new("new_reno");
        scene.send(0, 10);
        scene.ack(40, &[(0, 9)]);
        for millis in lost_at {
            scene.send(millis, 1);
        }
        scene.send(2_100, 5);
        scene.ack(2_140, &[(12, 16)]);
        let cwnd = scene.congestion.control().cwnd;
        assert_eq!(cwnd == MSS * 2, is_persistent, "{lost_at:?}: {cwnd}");
    }
}

/// An ACK of everything so far that reports these counts.
fn ecn(scene: &Scene, ce: u64) -> Received {
    let ranges = [(0, scene.next[2] - 1)];
    let counts = EcnCounts {
        ect0: 0,
        ect1: 0,
        ce,
    };
    let ack = Ack {
        ecn: Some(counts),
        ..ack(&ranges)
    };
    received(&[(ack, &ranges)])
}

#[test]
fn marks_count_where_quinn_proto_has_found_them_valid() {
    let mut scene = Scene::new("new_reno");
    let mut report = |millis, ce, is_valid: bool| {
        scene.send(millis, 10);
        if is_valid {
            scene.congestion.on_ce_valid();
        }
        let received = ecn(&scene, ce);
        scene.receive(at(millis + 40), &received);
        let counts = scene.congestion.counts();
        (counts.ce_marked, counts.ce_reports)
    };
    assert_eq!(report(0, 3, true), (3, 1));
    assert_eq!(report(100, 3, true), (3, 1), "no more than before");
    assert_eq!(report(200, 8, true), (8, 2));
    assert_eq!(report(300, 9, false), (8, 2));
    assert_eq!(report(400, 7, true), (8, 2), "less than before");
    assert_eq!(report(500, 12, true), (13, 3));
}

#[test]
fn no_more_marks_count_than_packets_can_have_been_marked() {
    let mut scene = Scene::new("prague");
    for (round, ce) in [(0, 1 << 62), (1, 0), (2, u64::MAX), (3, 0), (4, 1 << 62)] {
        scene.send(100 * round, 10);
        scene.congestion.on_ce_valid();
        let received = ecn(&scene, ce);
        scene.receive(at(100 * round + 40), &received);
        let sent = scene.next[2];
        let marked = scene.congestion.counts().ce_marked;
        assert!(marked <= sent * (round + 1), "{marked} of {sent}");
    }
}

#[test]
fn a_new_path_begins_anew_and_the_old_one_can_come_back() {
    let mut scene = Scene::new("new_reno");
    scene.send(0, 10);
    scene.ack(40, &[(0, 9)]);
    let grown = scene.congestion.control().cwnd;
    assert!(grown > MSS * 10);

    let new = scene.congestion.open_path(at(50), MSS);
    assert_eq!(scene.congestion.control().cwnd, MSS * 10);
    assert_eq!(scene.congestion.path_state().srtt, None);
    scene.congestion.select_path(new);
    assert_eq!(scene.congestion.control().cwnd, MSS * 10);

    scene.congestion.select_path(0);
    assert_eq!(scene.congestion.control().cwnd, grown);
    scene.congestion.select_path(7);
    assert_eq!(
        scene.congestion.control().cwnd,
        grown,
        "there is no such path"
    );
}

#[test]
fn a_path_that_never_answered_does_not_take_the_place_of_the_one_before() {
    let mut scene = Scene::new("new_reno");
    scene.send(0, 10);
    scene.ack(40, &[(0, 9)]);
    let grown = scene.congestion.control().cwnd;
    // Somebody sends copies of the peer's packets from addresses of others (RFC 9000 §9.3.2).
    for spoofed in 1..4 {
        assert_eq!(scene.congestion.open_path(at(50), MSS), spoofed);
        scene.send(50, 2);
    }
    scene.congestion.select_path(0);
    assert_eq!(scene.congestion.control().cwnd, grown);
    assert_eq!(scene.in_flight(), Bytes::ZERO);
    scene.ack(90, &[(0, 15)]);
}

#[test]
fn a_path_that_has_answered_is_the_one_to_come_back_to() {
    let mut scene = Scene::new("new_reno");
    scene.send(0, 10);
    scene.ack(40, &[(0, 9)]);
    let second = scene.congestion.open_path(at(50), MSS);
    scene.send(50, 10);
    scene.ack(80, &[(0, 19)]);
    scene.congestion.open_path(at(90), MSS);
    scene.congestion.select_path(0);
    assert_eq!(
        scene.congestion.path_state().srtt,
        None,
        "it was left twice"
    );
    scene.congestion.select_path(second);
    assert_eq!(scene.latest_rtt(), Some(30));
}

#[test]
fn packets_of_another_path_leave_flight_there_and_measure_nothing_here() {
    let mut scene = Scene::new("new_reno");
    scene.send(0, 10);
    scene.congestion.open_path(at(20), MSS);
    scene.send(20, 2);
    assert_eq!(scene.in_flight(), MSS * 2);
    // 4 to 9 have arrived, 0 to 3 are lost.
    scene.ack(60, &[(4, 9)]);
    let state = scene.congestion.path_state();
    assert_eq!(state.inflight, MSS * 2);
    assert_eq!((state.delivered, state.lost), (Bytes::ZERO, Bytes::ZERO));
    assert_eq!(state.latest_rtt, None);
    scene.congestion.select_path(0);
    assert_eq!(scene.in_flight(), Bytes::ZERO);
    assert_eq!(scene.congestion.path_state().lost, Bytes::ZERO);
}

#[test]
fn every_path_has_the_controller_that_was_chosen_last() {
    let mut scene = Scene::new("new_reno");
    scene.congestion.set_choice(at(1), &choose("cubic"));
    let new = scene.congestion.open_path(at(2), MSS);
    assert_eq!(scene.congestion.snapshot().algorithm, "cubic");
    scene.congestion.set_choice(at(3), &choose("bbr3"));
    for path in [0, new] {
        scene.congestion.select_path(path);
        assert_eq!(scene.congestion.snapshot().algorithm, "bbr3");
    }
}

#[test]
fn packets_in_flight_stay_so_under_another_controller() {
    let mut scene = Scene::new("cubic");
    scene.send(0, 10);
    scene.congestion.set_choice(at(1), &choose("bbr3"));
    scene.check();
    scene.ack(40, &[(5, 9)]);
    assert_eq!(scene.congestion.path_state().lost, MSS * 5);
}

/// quinn-proto has the longer one, and what it is told of losses depends on that.
#[test]
fn an_rtt_ends_when_the_ack_came_and_patience_when_it_was_read() {
    let mut scene = Scene::new("cubic");
    scene.send(0, 2);
    let ack_of = |range: &[(u64, u64)]| received(&[(ack(range), range)]);
    scene.receive_late(at(30), at(500), &ack_of(&[(0, 0)]));
    assert_eq!(scene.latest_rtt(), Some(30));
    let path = scene.congestion.active.as_ref().unwrap();
    assert_eq!(path.conservative_rtt(SMOOTHED), Duration::from_millis(500));
}

/// A stamp that is wrong by a little neither makes an RTT of nothing nor ends kernel pacing.
#[test]
fn an_ack_that_came_before_what_it_acknowledges_came_when_it_was_read() {
    let mut scene = Scene::new("cubic");
    scene.send(100, 1);
    let ack = received(&[(ack(&[(0, 0)]), &[(0, 0)])]);
    scene.receive_late(at(99), at(140), &ack);
    assert_eq!(scene.latest_rtt(), Some(40));
    assert_eq!(scene.congestion.counts().acked_early, 0);
}
