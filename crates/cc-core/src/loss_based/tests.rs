use super::*;
use crate::event::{AckedPacket, Feedback};
use crate::flow::Flow;
use crate::registry::Registry;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use units::{Bandwidth, Gain};

pub(crate) const MSS: Bytes = Bytes::new(1_000);
pub(crate) const MS: Duration = Duration::from_millis(1);

/// A flow with its packets in flight, told what happens to them.
pub(crate) struct Driver {
    pub(crate) flow: Flow,
    pub(crate) now: Timestamp,
    flying: VecDeque<AckedPacket>,
    pub(crate) states: States,
}

/// States entered.
#[derive(Default)]
pub(crate) struct States(pub(crate) Vec<&'static str>);

impl Observer for States {
    fn on_event(&mut self, event: &Event) {
        if let Event::StateChanged { to, .. } = event {
            self.0.push(to);
        }
    }
}

impl Driver {
    pub(crate) fn new(controller: &str) -> Self {
        Self::of(controller, &Setup::new(Timestamp::ZERO, MSS, 1))
    }

    pub(crate) fn of(controller: &str, setup: &Setup) -> Self {
        let choice = Registry::standard().choose(controller).unwrap();
        Self {
            flow: Flow::new(choice.build(setup), setup),
            now: Timestamp::ZERO,
            flying: VecDeque::new(),
            states: States::default(),
        }
    }

    pub(crate) fn cwnd(&self) -> Bytes {
        self.flow.control().cwnd
    }

    pub(crate) fn packets(&self) -> u64 {
        self.cwnd().packets_floor(MSS)
    }

    pub(crate) fn state(&self) -> &'static str {
        self.flow.snapshot().state
    }

    pub(crate) fn send(&mut self, packets: u64) {
        for _ in 0..packets {
            let stamp = self.flow.on_sent(self.now, MSS);
            self.flying.push_back(AckedPacket { stamp, bytes: MSS });
        }
    }

    /// Sends what the window allows; how many packets that is.
    pub(crate) fn fill(&mut self) -> u64 {
        let inflight = MSS * self.flying.len() as u64;
        let packets = self.cwnd().saturating_sub(inflight).packets_floor(MSS);
        self.send(packets);
        packets
    }

    /// One ACK for the oldest packets.
    pub(crate) fn ack(&mut self, packets: usize) {
        self.ack_marked(packets, 0);
    }

    /// One ACK for the oldest packets, so many of which arrived marked.
    pub(crate) fn ack_marked(&mut self, packets: usize, ce_marked: u64) {
        let acked: Vec<_> = self.flying.drain(..packets).collect();
        let newest = acked.last().map(|packet| packet.stamp.sent_at);
        self.tell(&Feedback {
            acked: &acked,
            rtt: newest.map(|sent_at| self.now.since(sent_at)),
            ce_marked,
            ..Feedback::at(self.now)
        });
    }

    /// The oldest packets are lost.
    pub(crate) fn lose(&mut self, packets: usize) -> Vec<LostPacket> {
        let lost: Vec<_> = self
            .flying
            .drain(..packets)
            .map(|AckedPacket { stamp, bytes }| LostPacket {
                stamp,
                bytes,
                starts_range: true,
            })
            .collect();
        self.tell(&Feedback {
            lost: &lost,
            ..Feedback::at(self.now)
        });
        lost
    }

    pub(crate) fn tell(&mut self, feedback: &Feedback<'_>) {
        self.flow.on_feedback(feedback, &mut self.states);
    }

    /// The oldest packet arrives marked.
    pub(crate) fn mark(&mut self) {
        let acked: Vec<_> = self.flying.drain(..1).collect();
        self.tell(&Feedback {
            acked: &acked,
            ce_marked: 1,
            ..Feedback::at(self.now)
        });
    }

    pub(crate) fn arrive_late(&mut self, packets: &[LostPacket]) {
        for packet in packets {
            self.flow
                .on_spurious_loss(self.now, packet, &mut self.states);
        }
    }

    /// A window leaves at once; `rtt` later an ACK comes for every two packets.
    pub(crate) fn round(&mut self, rtt: Duration) {
        self.fill();
        self.finish_round(rtt);
    }

    /// What is in flight is acknowledged `rtt` later.
    pub(crate) fn finish_round(&mut self, rtt: Duration) {
        self.now += rtt;
        while !self.flying.is_empty() {
            self.ack(self.flying.len().min(2));
        }
    }

    /// Loses the first of a full window and goes on until recovery is over; the window then is
    /// what it was reduced to, and the next ACK may let it grow.
    pub(crate) fn congest(&mut self, rtt: Duration) {
        self.fill();
        self.now += rtt;
        self.lose(1);
        self.ack(self.flying.len());
        assert_eq!(self.state(), "Recovery");
    }
}

const BOTH: [&str; 2] = ["cubic", "new_reno"];

/// Both controllers with a slow start that only loss ends.
fn drivers() -> impl Iterator<Item = Driver> {
    ["cubic:slow_start=standard", "new_reno"]
        .into_iter()
        .map(Driver::new)
}

#[test]
fn slow_start_doubles_a_window_that_is_filled() {
    for mut driver in drivers() {
        for packets in [10, 20, 40, 80] {
            assert_eq!(driver.packets(), packets);
            driver.round(MS * 100);
        }
        assert_eq!(driver.state(), "SlowStart");
    }
}

#[test]
fn a_window_that_is_not_filled_does_not_grow() {
    for mut driver in drivers() {
        driver.round(MS * 100);
        driver.round(MS * 100);
        // The round before was full, so the first sparse one still counts.
        for _ in 0..2 {
            driver.send(3);
            driver.finish_round(MS * 100);
        }
        let before = driver.cwnd();
        for _ in 0..100 {
            driver.send(before.packets_floor(MSS) / 2);
            driver.finish_round(MS * 100);
        }
        assert_eq!(driver.cwnd(), before);
        driver.congest(MS * 100);
        driver.round(MS * 100);
        let in_avoidance = driver.cwnd();
        for _ in 0..100 {
            driver.send(in_avoidance.packets_floor(MSS) / 2);
            driver.finish_round(MS * 100);
        }
        let grown = driver.cwnd() - in_avoidance;
        assert!(grown < MSS * 2, "{grown}");
    }
}

#[test]
fn many_ranges_lost_from_one_flight_are_one_reduction() {
    for (mut driver, packets) in drivers().zip([28, 20]) {
        driver.round(MS * 100);
        driver.round(MS * 100);
        driver.fill();
        driver.now += MS * 100;
        for _ in 0..10 {
            driver.lose(1);
            driver.ack(1);
            driver.now += MS;
        }
        assert_eq!(driver.packets(), packets);
        // Lost from the next flight: the second reduction.
        driver.ack(driver.flying.len());
        driver.fill();
        driver.now += MS * 100;
        driver.lose(1);
        assert!(driver.packets() <= packets * 7 / 10);
    }
}

#[test]
fn a_mark_in_slow_start_reduces_as_a_loss_does_once_per_flight() {
    for (mut driver, packets) in drivers().zip([7, 5]) {
        driver.fill();
        driver.now += MS * 100;
        for _ in 0..3 {
            driver.mark();
        }
        assert_eq!(driver.packets(), packets);
        assert_eq!(driver.state(), "Recovery");
    }
}

#[test]
fn conservative_slow_start_is_slow_start_to_a_mark() {
    let mut driver = Driver::new("cubic");
    for rtt in [40, 40, 40, 60] {
        driver.round(MS * rtt);
    }
    assert_eq!(driver.state(), "ConservativeSlowStart");
    driver.fill();
    driver.now += MS * 60;
    let before = driver.cwnd();
    driver.mark();
    assert_eq!(driver.cwnd(), before * Gain::new(7, 10));
}

/// 100 packets or a few more, in congestion avoidance, with a full window in flight.
fn avoiding(controller: &str) -> Driver {
    let mut driver = Driver::new(controller);
    while driver.packets() < 160 {
        driver.round(MS * 100);
    }
    driver.congest(MS * 100);
    driver.now += MS;
    driver.round(MS * 100);
    while driver.packets() < 100 {
        driver.round(MS * 100);
    }
    driver.fill();
    driver.now += MS * 100;
    assert_eq!(driver.state(), "CongestionAvoidance");
    driver
}

#[test]
fn a_mark_in_congestion_avoidance_cuts_less_than_a_loss() {
    for (controller, lost, marked) in [
        ("cubic:slow_start=standard", 70, 85),
        ("new_reno", 50, 80),
        ("cubic:slow_start=standard,beta_ecn=0.7", 70, 70),
        ("new_reno:beta=0.6,beta_ecn=0.9", 60, 90),
    ] {
        let mut driver = avoiding(controller);
        let before = driver.cwnd();
        driver.lose(1);
        assert_eq!(driver.cwnd(), before * Gain::percent(lost), "{controller}");
        let mut driver = avoiding(controller);
        let before = driver.cwnd();
        driver.mark();
        assert_eq!(driver.cwnd(), before * Gain::percent(marked));
    }
}

#[test]
fn a_loss_in_the_round_of_a_mark_reduces_no_further() {
    for controller in BOTH {
        let mut driver = avoiding(controller);
        driver.mark();
        let reduced = driver.cwnd();
        driver.lose(1);
        driver.mark();
        assert_eq!(driver.cwnd(), reduced, "{controller}");
    }
}

#[test]
fn of_a_loss_and_a_mark_in_one_ack_the_loss_counts() {
    for (controller, left) in [("cubic:slow_start=standard", 70), ("new_reno", 50)] {
        let mut driver = avoiding(controller);
        let before = driver.cwnd();
        let AckedPacket { stamp, bytes } = driver.flying.pop_front().unwrap();
        let lost = [LostPacket {
            stamp,
            bytes,
            starts_range: true,
        }];
        let acked = [driver.flying.pop_front().unwrap()];
        driver.tell(&Feedback {
            acked: &acked,
            lost: &lost,
            ce_marked: 1,
            ..Feedback::at(driver.now)
        });
        assert_eq!(driver.cwnd(), before * Gain::percent(left), "{controller}");
    }
}

#[test]
fn a_mark_is_never_undone() {
    for controller in BOTH {
        // The mark began the period.
        let mut driver = avoiding(controller);
        driver.mark();
        let reduced = driver.cwnd();
        let lost = driver.lose(1);
        driver.arrive_late(&lost);
        assert_eq!(driver.cwnd(), reduced, "{controller}");
        // A loss did, and the mark makes it final.
        let mut driver = avoiding(controller);
        let lost = driver.lose(1);
        driver.mark();
        let reduced = driver.cwnd();
        driver.arrive_late(&lost);
        assert_eq!(driver.cwnd(), reduced, "{controller}");
    }
}

#[test]
fn the_window_grows_again_with_a_packet_sent_in_recovery() {
    for mut driver in drivers() {
        driver.round(MS * 100);
        driver.congest(MS * 100);
        let reduced = driver.cwnd();
        driver.now += MS;
        driver.fill();
        driver.now += MS * 100;
        driver.ack(1);
        assert_eq!(driver.state(), "CongestionAvoidance");
        assert!(driver.cwnd() > reduced);
        assert_eq!(driver.states.0, ["Recovery", "CongestionAvoidance"]);
    }
}

#[test]
fn endless_loss_leaves_two_packets() {
    for mut driver in drivers() {
        for _ in 0..50 {
            driver.fill();
            driver.now += MS * 100;
            driver.lose(1);
            driver.ack(driver.flying.len());
            driver.now += MS;
        }
        assert_eq!(driver.cwnd(), MSS * 2);
    }
}

#[test]
fn persistent_congestion_starts_over_with_two_packets_up_to_the_threshold() {
    for (mut driver, threshold) in drivers().zip([14, 10]) {
        driver.round(MS * 100);
        driver.fill();
        driver.now += MS * 5_000;
        driver.lose(20);
        driver.tell(&Feedback {
            is_persistent_congestion: true,
            ..Feedback::at(driver.now)
        });
        assert_eq!((driver.packets(), driver.state()), (2, "SlowStart"));
        for packets in [4, 8, threshold] {
            driver.round(MS * 100);
            assert_eq!(driver.packets(), packets);
        }
        assert_eq!(driver.state(), "CongestionAvoidance");
    }
}

#[test]
fn a_reduction_is_undone_when_every_lost_packet_arrives_after_all() {
    for mut driver in drivers() {
        driver.round(MS * 100);
        driver.fill();
        driver.now += MS * 100;
        let lost = driver.lose(3);
        driver.arrive_late(&lost[..2]);
        assert_eq!(driver.state(), "Recovery");
        driver.arrive_late(&lost[2..]);
        assert_eq!((driver.packets(), driver.state()), (20, "SlowStart"));
        // A loss from the same flight that is real still counts.
        driver.lose(1);
        assert!(driver.packets() < 20);
    }
}

#[test]
fn an_undo_brings_back_the_whole_first_slow_start() {
    let mut driver = Driver::new("cubic");
    for _ in 0..3 {
        driver.round(MS * 40);
    }
    driver.fill();
    driver.now += MS * 40;
    let lost = driver.lose(1);
    driver.arrive_late(&lost);
    driver.finish_round(MS);
    driver.round(MS * 60);
    assert_eq!(driver.state(), "ConservativeSlowStart");
}

#[test]
fn a_later_slow_start_stops_at_its_threshold() {
    for (mut driver, threshold) in drivers().zip([14, 10]) {
        driver.round(MS * 100);
        driver.fill();
        driver.now += MS * 5_000;
        driver.lose(20);
        driver.tell(&Feedback {
            is_persistent_congestion: true,
            ..Feedback::at(driver.now)
        });
        for _ in 0..2 {
            driver.round(MS * 100);
        }
        driver.fill();
        driver.now += MS * 100;
        // One ACK for all eight.
        driver.ack(8);
        assert_eq!(driver.packets(), threshold);
    }
}

#[test]
fn nothing_is_undone_where_that_is_turned_off() {
    for controller in BOTH {
        let mut driver = Driver::new(&alloc::format!("{controller}:undo=off"));
        driver.fill();
        driver.now += MS * 100;
        let lost = driver.lose(1);
        let reduced = driver.cwnd();
        driver.arrive_late(&lost);
        assert_eq!(driver.cwnd(), reduced);
    }
}

#[test]
fn a_packet_size_learned_before_the_first_ack_makes_the_initial_window() {
    for mut driver in drivers() {
        driver.flow.on_mtu(driver.now, Bytes::new(1_472));
        assert_eq!(driver.cwnd(), Bytes::new(14_720));
        driver.flow.on_mtu(driver.now, Bytes::new(9_000));
        assert_eq!(driver.cwnd(), Bytes::new(18_000));
    }
}

#[test]
fn two_of_the_largest_packets_always_fit() {
    for mut driver in drivers() {
        driver.congest(MS * 100);
        driver.flow.on_mtu(driver.now, Bytes::new(65_000));
        assert_eq!(driver.cwnd(), Bytes::new(130_000));
    }
}

#[test]
fn the_rate_is_known_with_the_first_round_trip_and_follows_the_state() {
    for mut driver in drivers() {
        assert_eq!(driver.flow.control().pacing_rate, Bandwidth::MAX);
        assert_eq!(driver.flow.control().send_quantum, MSS * 10);
        driver.round(MS * 100);
        let rate = |driver: &Driver| driver.flow.control().pacing_rate.bytes_per_sec();
        assert_eq!(rate(&driver), 2 * 20_000 * 10);
        driver.congest(MS * 100);
        assert_eq!(rate(&driver), driver.cwnd().get() * 10 * 5 / 4);
    }
}

#[test]
fn pacing_can_be_turned_off() {
    for controller in BOTH {
        let mut driver = Driver::new(&alloc::format!("{controller}:pacing=off"));
        driver.round(MS * 100);
        assert_eq!(driver.flow.control(), Control::unpaced(driver.cwnd()));
        assert_eq!(driver.flow.snapshot().pacing_gain, None);
    }
}

/// The oldest `packets` are acknowledged, one a millisecond; how many leave after each ACK.
fn ack_one_by_one(driver: &mut Driver, packets: usize) -> Vec<u64> {
    let step = |_| {
        driver.now += MS;
        driver.ack(1);
        driver.fill()
    };
    (0..packets).map(step).collect()
}

#[test]
fn a_window_cut_at_once_is_silent_until_the_flight_has_drained_to_it() {
    let mut driver = Driver::new("new_reno");
    driver.round(MS * 100);
    driver.fill();
    driver.now += MS * 100;
    driver.lose(1);
    let sent = ack_one_by_one(&mut driver, 19);
    // 20 packets, one of them lost; the window is ten.
    assert_eq!(sent[..9], [0; 9]);
    assert_eq!(sent[9..], [1; 10]);
}

#[test]
fn with_prr_the_repair_leaves_at_once_and_the_reduction_takes_the_whole_round() {
    let mut driver = Driver::new("new_reno:prr=on");
    driver.round(MS * 100);
    driver.fill();
    driver.now += MS * 100;
    driver.lose(1);
    driver.now += MS;
    assert_eq!(driver.fill(), 1);
    let sent = ack_one_by_one(&mut driver, 19);
    // Half a packet for each ACK, and at the window one for one.
    let expected = [0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1, 1];
    assert_eq!(sent, expected);
    assert_eq!(driver.flying.len(), 10);
    assert_eq!(driver.state(), "Recovery");
    driver.now += MS;
    driver.ack(1);
    assert_eq!(driver.state(), "CongestionAvoidance");
    assert_eq!(driver.packets(), 10);
}

#[test]
fn with_prr_a_mark_spreads_its_reduction_too() {
    let mut driver = avoiding("new_reno:prr=on");
    let flight = driver.flying.len();
    driver.mark();
    driver.fill();
    let sent = ack_one_by_one(&mut driver, flight - 1);
    let longest_silence = sent.split(|packets| *packets > 0).map(<[u64]>::len).max();
    assert!(longest_silence <= Some(4), "{sent:?}");
    let target = driver.flow.snapshot().ssthresh.unwrap();
    let flying = MSS * driver.flying.len() as u64;
    assert!(target - flying <= MSS, "{flying} of {target}");
}

#[test]
fn with_prr_losses_that_a_timer_finds_let_nothing_leave_but_the_repair() {
    for controller in ["cubic:prr=on", "new_reno:prr=on"] {
        let mut driver = avoiding(controller);
        let flight = driver.flying.len();
        driver.lose(flight / 2);
        assert_eq!(driver.fill(), 1, "{controller}");
        driver.lose(flight / 4);
        assert_eq!(driver.fill(), 0, "{controller}");
    }
}

#[test]
fn with_prr_the_window_between_acks_is_what_flies_and_what_may_leave() {
    let mut driver = avoiding("cubic:prr=on");
    driver.lose(1);
    driver.ack(20);
    let window = driver.cwnd();
    let may_leave = driver.packets() - driver.flying.len() as u64;
    // 70 % of 20 packets.
    assert_eq!(may_leave, 14);
    driver.send(5);
    assert_eq!(driver.cwnd(), window);
    driver.send(9);
    assert_eq!(driver.cwnd(), window);
    // A packet that is lost now leaves the flight, and the window with it.
    driver.lose(1);
    assert_eq!(driver.cwnd(), window - MSS);
}

#[test]
fn with_prr_heavy_loss_is_repaired_by_slow_start_up_to_the_window() {
    let mut driver = Driver::new("new_reno:prr=on");
    for _ in 0..3 {
        driver.round(MS * 100);
    }
    driver.fill();
    driver.now += MS * 100;
    // 80 in flight, 72 lost: the window is 40.
    driver.lose(72);
    driver.now += MS;
    assert_eq!(driver.fill(), 1);
    // Conserved: one for one.
    let conserved: u64 = ack_one_by_one(&mut driver, 8).iter().sum();
    assert_eq!((conserved, driver.flying.len()), (8, 9));
    // A packet more for each ACK.
    for (acks, flying) in [(9, 18), (18, 36)] {
        ack_one_by_one(&mut driver, acks);
        assert_eq!((driver.flying.len(), driver.state()), (flying, "Recovery"));
    }
    ack_one_by_one(&mut driver, 4);
    assert_eq!((driver.flying.len(), driver.packets()), (40, 40));
    assert_eq!(driver.state(), "CongestionAvoidance");
}

#[test]
fn with_prr_a_sender_that_something_else_limits_does_not_stay_in_recovery() {
    // Ten packets at a time, far below the window: 60 of them repair what was lost.
    let mut driver = avoiding("cubic:prr=on");
    driver.lose(60);
    driver.now += MS;
    driver.ack(driver.flying.len());
    for _ in 0..6 {
        assert_eq!(driver.state(), "Recovery");
        driver.send(10);
        driver.now += MS * 100;
        driver.ack(10);
    }
    assert_eq!(driver.state(), "CongestionAvoidance");
}

#[test]
fn with_prr_an_undo_ends_the_episode() {
    for controller in ["cubic:prr=on,slow_start=standard", "new_reno:prr=on"] {
        let mut driver = Driver::new(controller);
        driver.round(MS * 100);
        driver.fill();
        driver.now += MS * 100;
        let lost = driver.lose(3);
        driver.arrive_late(&lost[..2]);
        assert_eq!(driver.state(), "Recovery");
        driver.arrive_late(&lost[2..]);
        assert_eq!((driver.packets(), driver.state()), (20, "SlowStart"));
    }
}
