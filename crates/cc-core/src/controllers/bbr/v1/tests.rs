//! Steps of the machine with samples made by hand; simulations over links are in the package
//! `e2e`.

use super::params::Tuning;
use super::policer::Policer;
use super::*;
use crate::params::Params;
use crate::tests::controller_driver::{ControllerDriver, MSS, RTT, mbit, sample};
use core::time::Duration;
use units::{Bandwidth, Rng, Timestamp};

type Bench = ControllerDriver<BbrV1<Scripted>>;

/// A cycle that stays where a test puts it.
#[derive(Debug)]
struct Scripted {
    phase: Phase,
    starts: u64,
}

impl GainCycle for Scripted {
    const NAME: &'static str = "scripted";
    const ROUNDS_WINDOWS: bool = true;
    const EQUAL_RTT_REFRESHES: bool = false;

    fn new(_now: Timestamp) -> Self {
        Self {
            phase: Phase::Cruise,
            starts: 0,
        }
    }

    fn start(&mut self, _now: Timestamp, _rng: &mut Rng) {
        self.starts += 1;
    }

    fn on_ack(&mut self, _ack: &CycleAck, _rng: &mut Rng) {}

    fn phase(&self) -> Phase {
        self.phase
    }
}

pub(super) fn tuning() -> Tuning {
    Tuning::new(&Params::defaults(PARAMS))
}

impl Bench {
    fn new() -> Self {
        Self::build(|setup| BbrV1::new(&Params::defaults(PARAMS), setup))
    }

    /// In ProbeBW at 100 Mbit/s and 100 ms, a BDP of 1,250,000 bytes, without aggregation.
    fn cycling() -> Self {
        let mut bench = Self::new();
        bench.bbr.tuning.extra_acked_gain = Gain::ZERO;
        for _ in 0..4 {
            bench.round(mbit(100));
        }
        assert_eq!(bench.entered.0, ["Drain", "ProbeBW"]);
        bench
    }

    /// An ACK in the middle of a round, of `acked` bytes of which the newest left long ago.
    fn ack(&mut self, acked: Bytes, newly_lost: Bytes) {
        let told = RateSample {
            delivered: acked,
            newly_acked: acked,
            newly_lost,
            prior_delivered: Bytes::ZERO,
            rtt: Some(RTT),
            ..sample()
        };
        self.path.delivered += acked;
        self.bbr.on_ack(&self.path, &told, &mut self.entered);
    }
}

#[test]
fn the_first_flight_is_paced_over_a_millisecond_and_the_next_over_the_round_trip() {
    let mut bench = Bench::new();
    // 12,000 bytes in a millisecond × 2.885 × 0.99.
    assert_eq!(bench.bbr.pacing_rate.bytes_per_sec(), 34_273_800);
    bench.round_with(mbit(1), |told| told.delivery_rate = None);
    assert_eq!(bench.bbr.pacing_rate.bytes_per_sec(), 342_738);
    // Until the pipe is full the rate only rises: 125,000 × 2.885 × 0.99 is more, a tenth less.
    bench.round(mbit(1));
    assert_eq!(bench.bbr.pacing_rate.bytes_per_sec(), 357_018);
    bench.round(Bandwidth::from_bits_per_sec(100_000));
    assert_eq!(bench.bbr.pacing_rate.bytes_per_sec(), 357_018);
}

#[test]
fn startup_ends_after_three_flat_rounds_and_drain_at_a_bdp() {
    let mut bench = Bench::new();
    for rate in [10, 20, 40, 41, 42] {
        bench.round(mbit(rate));
    }
    assert_eq!(bench.state(), "Startup");
    bench.path.inflight = Bytes::new(1_000_000);
    bench.round(mbit(42));
    assert_eq!(bench.state(), "Drain");
    // BDP 525,000 and three bursts of pacing 42 Mbit/s × 0.3466 × 0.99.
    assert_eq!(
        bench.bbr.snapshot().pacing_gain,
        Some(Gain::new(1_000, 2_885))
    );
    bench.path.inflight = Bytes::new(540_000);
    bench.round(mbit(42));
    assert_eq!(bench.state(), "Drain");
    bench.path.inflight = Bytes::new(525_000);
    bench.round(mbit(42));
    assert_eq!(bench.state(), "ProbeBW");
}

#[test]
fn an_application_limited_round_and_one_that_conserves_are_not_flat() {
    for (flat_while_conserving, state) in [(false, "Startup"), (true, "Drain")] {
        let mut bench = Bench::new();
        bench.bbr.tuning.flat_while_conserving = flat_while_conserving;
        bench.path.inflight = Bytes::new(1_000_000);
        bench.round(mbit(10));
        bench.round_with(mbit(10), |told| told.is_app_limited = true);
        bench.round(mbit(10));
        bench.round(mbit(10));
        bench.lose(1, Bytes::ZERO);
        bench.ack(MSS, MSS);
        assert!(bench.bbr.recovery.conserves());
        bench.round(mbit(10));
        assert_eq!(bench.state(), state);
    }
}

#[test]
fn the_window_is_two_bdps_and_three_bursts_in_whole_pairs_of_packets() {
    let mut bench = Bench::cycling();
    // Pacing 12,375,000 bytes/s: bursts of 12,084 bytes, ten packets. 2,536,000 bytes are 2,113.3
    // packets, so 2,114.
    assert_eq!(bench.bbr.send_quantum(), MSS * 10);
    for _ in 0..3 {
        bench.round(mbit(100));
    }
    assert_eq!(bench.bbr.cwnd, MSS * 2_114);
    bench.bbr.cycle.phase = Phase::Up;
    bench.round(mbit(100));
    bench.round(mbit(100));
    // 25 % more pacing makes bursts of 12 packets: 2,543,200 bytes are 2,119.3 packets, so 2,120,
    // and two that show even with a small BDP.
    assert_eq!(bench.bbr.pacing_rate.bytes_per_sec(), 15_468_750);
    assert_eq!(bench.bbr.cwnd, MSS * 2_122);
}

#[test]
fn what_acks_hold_back_is_added_up_to_100_ms_worth() {
    let mut bench = Bench::new();
    for _ in 0..8 {
        bench.round(mbit(100));
    }
    // Every round comes as one ACK: the whole BDP is extra. Three BDPs and 36,000 bytes are 3,155
    // packets.
    assert_eq!(bench.bbr.cwnd, MSS * 3_156);
    for _ in 0..3 {
        bench.round_with(mbit(100), |told| told.newly_acked = Bytes::new(2_000_000));
    }
    assert_eq!(bench.bbr.cwnd, MSS * 3_156);
}

#[test]
fn a_burst_is_a_millisecond_two_packets_or_at_a_low_rate_one() {
    let mut bench = Bench::new();
    for (kbit, packets) in [
        (500, 1),
        (1_199, 1),
        (1_200, 2),
        (29_000, 2),
        (29_500, 3),
        (1_000_000, 54),
    ] {
        bench.bbr.pacing_rate = Bandwidth::from_bits_per_sec(kbit * 1_000);
        assert_eq!(bench.bbr.send_quantum(), MSS * packets, "{kbit} kbit/s");
    }
}

#[test]
fn a_loss_is_followed_by_a_round_of_conservation_and_the_old_window() {
    let mut bench = Bench::cycling();
    bench.round(mbit(100));
    let before = bench.bbr.cwnd;
    bench.path.inflight = Bytes::new(1_000_000);
    bench.lose(1, Bytes::ZERO);
    bench.ack(MSS * 2, MSS);
    assert_eq!(bench.bbr.cwnd, Bytes::new(1_002_400));
    // As much as is delivered may leave, and no more.
    bench.path.inflight = Bytes::new(1_000_000);
    bench.ack(MSS * 2, Bytes::ZERO);
    assert_eq!(bench.bbr.cwnd, Bytes::new(1_002_400));
    // The round is over, and what left after the loss has arrived.
    bench.round(mbit(100));
    assert_eq!(bench.bbr.cwnd, before);
}

#[test]
fn losses_in_every_round_make_one_recovery_in_which_the_window_stays_at_its_target() {
    let mut bench = Bench::cycling();
    bench.round(mbit(100));
    let target = bench.bbr.cwnd;
    bench.lose(1, Bytes::ZERO);
    bench.ack(MSS, MSS);
    for _ in 0..5 {
        bench.lose(10, Bytes::ZERO);
        let now = bench.path.now;
        bench.round_with(mbit(100), |told| {
            told.newly_lost = MSS * 10;
            told.newest_sent_at = now;
        });
        assert!(bench.bbr.recovery.is_active() && !bench.bbr.recovery.conserves());
    }
    assert_eq!(bench.bbr.cwnd, target);
}

#[test]
fn a_recovery_without_a_loss_in_truth_gives_the_window_back_and_startup_its_search() {
    let mut bench = Bench::cycling();
    bench.round(mbit(100));
    let before = bench.bbr.cwnd;
    bench.path.inflight = Bytes::new(100_000);
    let lost = bench.lose(2, Bytes::ZERO);
    bench.ack(MSS, MSS * 2);
    assert!(bench.bbr.cwnd < before);
    for packet in &lost {
        bench
            .bbr
            .on_spurious_loss(&bench.path, packet, &mut bench.entered);
    }
    assert!(matches!(bench.bbr.policer, Policer::Idle));
    bench.ack(MSS, Bytes::ZERO);
    assert_eq!(bench.bbr.cwnd, before);
}

#[test]
fn what_arrives_late_lets_the_window_grow_like_what_arrives_in_time() {
    let mut bench = Bench::cycling();
    bench.path.inflight = Bytes::new(100_000);
    let lost = bench.lose(2, Bytes::ZERO);
    bench.ack(MSS, MSS * 2);
    assert_eq!(bench.bbr.cwnd, Bytes::new(101_200));
    bench
        .bbr
        .on_spurious_loss(&bench.path, &lost[0], &mut bench.entered);
    bench.ack(MSS, Bytes::ZERO);
    assert_eq!(bench.bbr.cwnd, Bytes::new(102_400));
}

#[test]
fn persistent_congestion_leaves_a_packet_and_the_next_acks_bring_the_window_back() {
    let mut bench = Bench::cycling();
    bench.round(mbit(100));
    let before = bench.bbr.cwnd;
    bench.path.inflight = Bytes::ZERO;
    bench.lose(3, Bytes::ZERO);
    bench
        .bbr
        .on_persistent_congestion(&bench.path, &mut bench.entered);
    assert_eq!(bench.bbr.cwnd, MSS);
    bench.ack(MSS, MSS * 3);
    assert_eq!(bench.bbr.cwnd, MSS * 4);
    bench.round(mbit(100));
    assert_eq!(bench.bbr.cwnd, before);
}

#[test]
fn probe_rtt_holds_four_packets_for_200_ms_and_a_round_every_ten_seconds() {
    let mut bench = Bench::cycling();
    bench.path.inflight = Bytes::new(1_250_000);
    for _ in 0..97 {
        bench.round(mbit(100));
    }
    assert_eq!(bench.state(), "ProbeBW");
    let before = bench.bbr.cwnd;
    bench.round(mbit(100));
    assert_eq!(bench.state(), "ProbeRTT");
    assert!(bench.bbr.is_self_limited());
    assert_eq!(bench.bbr.cwnd, MSS * 4);
    // Nothing is held before the pipe has drained.
    bench.round(mbit(100));
    bench.path.inflight = MSS * 4;
    for _ in 0..3 {
        bench.round(mbit(100));
        assert_eq!(bench.state(), "ProbeRTT");
    }
    bench.round(mbit(100));
    assert_eq!(bench.state(), "ProbeBW");
    assert_eq!(bench.bbr.cwnd, before);
    assert_eq!(bench.bbr.cycle.starts, 2);
}

#[test]
fn probe_rtt_can_be_turned_off() {
    let mut bench = Bench::cycling();
    bench.bbr.tuning.probe_rtt_duration = Duration::ZERO;
    for _ in 0..300 {
        bench.round(mbit(100));
    }
    assert_eq!(bench.state(), "ProbeBW");
}

/// Nothing is in flight, and nothing was to be sent.
fn restart(bench: &mut Bench) {
    bench.path.inflight = Bytes::ZERO;
    bench.path.is_app_limited = true;
    bench.bbr.on_sent(&bench.path, MSS);
}

#[test]
fn a_restart_from_idle_is_paced_at_the_bandwidth_and_needs_no_probe_rtt() {
    let mut bench = Bench::cycling();
    bench.bbr.cycle.phase = Phase::Up;
    bench.round(mbit(100));
    bench.path.now += Duration::from_secs(20);
    restart(&mut bench);
    assert_eq!(bench.bbr.pacing_rate.bytes_per_sec(), 12_375_000);
    bench.round(mbit(100));
    assert_eq!(bench.state(), "ProbeBW");
}

#[test]
fn probe_rtt_ends_when_an_idle_flow_sends_again_which_is_told_with_the_next_event() {
    let mut bench = Bench::cycling();
    bench.path.now += Duration::from_secs(11);
    bench.round(mbit(100));
    bench.path.inflight = MSS * 2;
    bench.round(mbit(100));
    bench.path.now += Duration::from_secs(1);
    restart(&mut bench);
    assert_eq!(bench.state(), "ProbeBW");
    assert_eq!(bench.entered.0.last(), Some(&"ProbeRTT"));
    bench.lose(1, Bytes::ZERO);
    assert_eq!(bench.entered.0.last(), Some(&"ProbeBW"));
}

#[test]
fn a_policers_rate_is_sent_without_probing_until_it_has_served_its_time() {
    let mut bench = Bench::cycling();
    bench.bbr.cycle.phase = Phase::Up;
    let lossy = |bench: &mut Bench| {
        bench.lose(300, Bytes::ZERO);
        bench.round_with(mbit(10), |told| told.newly_lost = MSS * 300);
    };
    for _ in 0..12 {
        lossy(&mut bench);
    }
    // A megabit in each round trip of 100 ms and the microsecond in which its losses are told.
    assert_eq!(bench.bbr.bw().bytes_per_sec(), 1_249_987);
    assert_eq!(bench.bbr.pacing_gain(), Gain::ONE);
    let starts = bench.bbr.cycle.starts;
    for _ in 0..48 {
        bench.round(mbit(10));
    }
    assert_eq!(bench.bbr.cycle.starts, starts + 1);
    assert_eq!(bench.bbr.pacing_gain(), Gain::new(5, 4));
    let mut bench = Bench::cycling();
    bench.bbr.tuning.lt_bw = false;
    for _ in 0..12 {
        lossy(&mut bench);
    }
    assert!(matches!(bench.bbr.policer, Policer::Idle));
}

#[test]
fn the_window_holds_at_least_the_minimum_of_a_larger_packet_size() {
    let mut bench = Bench::new();
    bench.path.mss = Bytes::new(9_000);
    bench.bbr.on_mtu(&bench.path);
    assert_eq!(bench.bbr.cwnd, Bytes::new(36_000));
}

#[test]
fn an_overflow_ends_startup_unless_what_was_lost_arrives() {
    for (is_late, state) in [(false, "Drain"), (true, "Startup")] {
        let mut bench = Bench::new();
        bench.bbr.tuning.full_loss_thresh = Gain::new(1, 8);
        bench.round(mbit(10));
        bench.round(mbit(20));
        bench.path.inflight = Bytes::new(1_000_000);
        bench.lose(1, Bytes::ZERO);
        bench.round_with(mbit(20), |told| told.rtt = Some(RTT * 2));
        let lost = bench.lose(100, Bytes::ZERO);
        bench.round_with(mbit(20), |told| {
            told.rtt = Some(RTT * 2);
            told.prior_delivered = Bytes::ZERO;
            told.newly_lost = MSS * 100;
        });
        if is_late {
            bench.find(&lost);
        }
        bench.round_with(mbit(20), |told| told.rtt = Some(RTT * 2));
        assert_eq!(bench.state(), state);
    }
}
