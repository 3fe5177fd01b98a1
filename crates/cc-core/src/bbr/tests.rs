//! Steps of the whole algorithm with samples made by hand; simulations over links are in the
//! package `e2e`.

mod draft_02;

use super::*;
use crate::bbr3::{self, Draft06};
use crate::event::PacketStamp;
use crate::registry::{ParamSpec, Params, Registry};
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::time::Duration;
use units::Timestamp;

const MSS: Bytes = Bytes::new(1_200);
const RTT: Duration = Duration::from_millis(100);

/// A sample that says nothing.
pub(crate) fn sample() -> RateSample {
    RateSample {
        delivery_rate: None,
        delivered: Bytes::ZERO,
        interval: Duration::ZERO,
        is_app_limited: false,
        newly_acked: Bytes::ZERO,
        newly_lost: Bytes::ZERO,
        lost: Bytes::ZERO,
        tx_in_flight: Bytes::ZERO,
        prior_delivered: Bytes::ZERO,
        newest_sent_at: Timestamp::ZERO,
        rtt: None,
        ce_marked: 0,
    }
}

/// A connection that has sent nothing.
pub(crate) fn path() -> PathState {
    PathState {
        now: Timestamp::ZERO,
        mss: MSS,
        inflight: Bytes::ZERO,
        prior_inflight: Bytes::ZERO,
        delivered: Bytes::ZERO,
        lost: Bytes::ZERO,
        is_app_limited: false,
        is_cwnd_limited: false,
        latest_rtt: None,
        srtt: None,
        rttvar: None,
        min_rtt: None,
    }
}

/// Names of the states entered.
#[derive(Default)]
struct Entered(Vec<&'static str>);

impl Observer for Entered {
    fn on_event(&mut self, event: &Event) {
        if let Event::StateChanged { to, .. } = event {
            self.0.push(to);
        }
    }
}

/// A flow of the newest revision.
type Bench = BenchOf<Draft06>;

/// A flow and the connection it believes in.
struct BenchOf<R: Revision> {
    bbr: Bbr<R>,
    path: PathState,
    entered: Entered,
    sequence: u64,
}

fn mbit(mbit: u64) -> Bandwidth {
    Bandwidth::from_bits_per_sec(mbit * 1_000_000)
}

impl Bench {
    fn new() -> Self {
        Self::of(bbr3::PARAMS)
    }

    /// In ProbeBW_CRUISE at 100 Mbit/s.
    fn cruising() -> Self {
        Self::new().cruise()
    }

    /// In ProbeBW_UP at 100 Mbit/s, with the feedback of the probe coming in.
    fn probing() -> Self {
        Self::new().cruise().probe()
    }
}

impl<R: Revision> BenchOf<R> {
    fn of(params: &'static [ParamSpec]) -> Self {
        let setup = Setup::new(Timestamp::ZERO, MSS, 1);
        Self {
            bbr: Bbr::new(Tuning::new(&Params::defaults(params)), &setup),
            path: path(),
            entered: Entered::default(),
            sequence: 0,
        }
    }

    /// From the beginning to ProbeBW_CRUISE at 100 Mbit/s.
    fn cruise(mut self) -> Self {
        for _ in 0..4 {
            self.round(mbit(100));
        }
        self.path.inflight = Bytes::ZERO;
        self.round(mbit(100));
        assert_eq!(self.state(), "ProbeBW_CRUISE");
        self
    }

    /// From there to ProbeBW_UP, with the feedback of the probe coming in.
    fn probe(mut self) -> Self {
        for _ in 0..40 {
            self.round(mbit(100));
            if self.state() == "ProbeBW_UP" {
                return self;
            }
        }
        panic!("no probe in 4 s");
    }

    fn state(&self) -> &'static str {
        self.bbr.state.name()
    }

    /// One ACK that ends a round: a round trip later, of all that `rate` delivers in it.
    fn round(&mut self, rate: Bandwidth) {
        self.round_with(rate, |_| {});
    }

    fn round_with(&mut self, rate: Bandwidth, change: impl FnOnce(&mut RateSample)) {
        let delivered = rate * RTT;
        let mut told = RateSample {
            delivery_rate: Some(rate),
            delivered,
            interval: RTT,
            newly_acked: delivered,
            tx_in_flight: delivered,
            prior_delivered: self.path.delivered,
            newest_sent_at: self.path.now + Duration::from_nanos(1),
            rtt: Some(RTT),
            ..sample()
        };
        change(&mut told);
        self.path.now += RTT;
        self.path.delivered += told.newly_acked;
        self.path.latest_rtt = told.rtt;
        self.path.srtt = told.rtt;
        self.bbr.on_ack(&self.path, &told, &mut self.entered);
    }

    /// One ACK that ends no round.
    fn acks_within_the_round(&mut self, rate: Bandwidth) {
        self.round_with(rate, |told| told.prior_delivered = Bytes::ZERO);
    }

    /// Loses `count` packets of one flight at once, each a range of its own.
    fn lose(&mut self, count: u64, tx_in_flight: Bytes) -> Vec<LostPacket> {
        let flight = PacketStamp {
            sequence: 0,
            sent_at: self.path.now,
            first_sent_at: self.path.now,
            delivered: self.path.delivered,
            delivered_at: self.path.now,
            lost: self.path.lost,
            tx_in_flight,
            is_app_limited: false,
        };
        self.path.now += Duration::from_micros(1);
        let lose_one = |_| {
            self.sequence += 1;
            self.path.lost += MSS;
            let packet = LostPacket {
                stamp: PacketStamp {
                    sequence: self.sequence,
                    ..flight
                },
                bytes: MSS,
                starts_range: true,
            };
            self.bbr.on_lost(&self.path, &packet, &mut self.entered);
            packet
        };
        (0..count).map(lose_one).collect()
    }
}

const BDP: Bytes = Bytes::new(1_250_000);

#[test]
fn the_first_flight_is_paced_by_the_first_round_trip_time_not_by_the_guess() {
    let mut bench = Bench::new();
    let startup = Gain::new(277, 100);
    let guess = Bandwidth::from_transfer(MSS * 10, Duration::from_millis(1));
    assert_eq!(bench.bbr.control().pacing_rate, guess * startup);
    bench.round_with(Bandwidth::from_bytes_per_sec(1), |told| {
        told.is_app_limited = true;
    });
    let measured = Bandwidth::from_transfer(MSS * 10, RTT);
    assert_eq!(bench.bbr.control().pacing_rate, measured * startup);
}

#[test]
fn startup_ends_after_three_flat_rounds_and_drain_when_the_queue_is_gone() {
    let mut bench = Bench::new();
    bench.round(mbit(100));
    bench.path.inflight = BDP * 2;
    bench.round(mbit(100));
    bench.round(mbit(100));
    assert_eq!(bench.state(), "Startup");
    bench.round(mbit(100));
    assert_eq!(bench.state(), "Drain");
    assert_eq!(
        bench.bbr.control().pacing_rate,
        mbit(100) * Gain::new(1, 2) * Gain::percent(99)
    );
    bench.path.inflight = BDP + Bytes::new(1);
    bench.round(mbit(100));
    assert_eq!(bench.state(), "Drain");
    bench.path.inflight = BDP;
    bench.round(mbit(100));
    assert_eq!(bench.entered.0, ["Drain", "ProbeBW_DOWN", "ProbeBW_CRUISE"]);
}

#[test]
fn drain_gives_up_after_three_rounds() {
    let mut bench = Bench::new();
    bench.path.inflight = BDP * 2;
    for _ in 0..7 {
        bench.round(mbit(100));
    }
    assert_eq!(bench.state(), "Drain");
    bench.round(mbit(100));
    assert_eq!(bench.state(), "ProbeBW_DOWN");
}

#[test]
fn startup_does_not_end_while_the_application_limits_the_rate() {
    let mut bench = Bench::new();
    for _ in 0..40 {
        bench.round_with(mbit(1), |told| told.is_app_limited = true);
    }
    assert_eq!(bench.state(), "Startup");
}

/// A round in Startup in which `ranges` separate packets were lost.
fn startup_after_loss(ranges: u64) -> Bench {
    let mut bench = Bench::new();
    bench.round(mbit(10));
    bench.lose(ranges, BDP / 10);
    bench.path.inflight = BDP;
    bench.round_with(mbit(20), |told| {
        told.lost = MSS * ranges;
        told.tx_in_flight = BDP / 10;
        told.is_app_limited = true;
    });
    bench
}

#[test]
fn startup_ends_on_a_round_of_heavy_scattered_loss_even_when_application_limited() {
    let bench = startup_after_loss(6);
    assert_eq!(bench.state(), "Drain");
    assert_eq!(bench.bbr.volume.longterm, mbit(20) * RTT);
}

#[test]
fn startup_bears_five_lost_ranges() {
    assert_eq!(startup_after_loss(5).state(), "Startup");
}

#[test]
fn startup_bears_loss_that_was_one_burst_before_the_round() {
    let mut bench = Bench::new();
    bench.round(mbit(10));
    bench.lose(50, BDP / 10);
    // What left after the burst lost nothing more.
    bench.round(mbit(20));
    assert_eq!(bench.state(), "Startup");
}

#[test]
fn a_spurious_exit_from_startup_is_undone_when_all_lost_packets_have_arrived() {
    let mut bench = Bench::new();
    bench.round(mbit(10));
    let cwnd = bench.bbr.cwnd;
    let lost = bench.lose(6, BDP / 10);
    bench.path.inflight = BDP;
    bench.round_with(mbit(20), |told| {
        told.lost = MSS * 6;
        told.tx_in_flight = BDP / 10;
    });
    assert_eq!(bench.state(), "Drain");
    for packet in &lost {
        assert_eq!(bench.state(), "Drain");
        bench
            .bbr
            .on_spurious_loss(&bench.path, packet, &mut bench.entered);
    }
    assert_eq!(bench.state(), "Startup");
    assert!(!bench.bbr.full_pipe.is_reached);
    assert_eq!(bench.bbr.volume.longterm, Bytes::MAX);
    assert!(bench.bbr.cwnd >= cwnd);
}

#[test]
fn loss_while_cruising_lowers_the_short_term_bounds_once_per_round_and_a_refill_forgets_them() {
    let mut bench = Bench::cruising();
    let cwnd = bench.bbr.cwnd;
    bench.round(mbit(50));
    bench.lose(2, BDP);
    bench.round(mbit(50));
    assert_eq!(bench.bbr.rate.bw(), mbit(70));
    assert_eq!(bench.bbr.rate.max_bw(), mbit(100));
    assert_eq!(bench.bbr.volume.shortterm, cwnd * Gain::new(7, 10));
    while bench.state() != "ProbeBW_REFILL" {
        bench.round(mbit(70));
    }
    assert_eq!(bench.bbr.rate.bw(), mbit(100));
    assert_eq!(bench.bbr.volume.shortterm, Bytes::MAX);
}

#[test]
fn a_loss_round_lasts_a_whole_trip_from_its_first_loss() {
    let mut bench = Bench::cruising();
    bench.round(mbit(90));
    let began = bench.path.delivered;
    bench.acks_within_the_round(mbit(90));
    bench.lose(1, BDP);
    bench.acks_within_the_round(mbit(90));
    bench.lose(1, BDP);
    // A packet that left after the round before, but before the first loss.
    bench.round_with(mbit(90), |told| told.prior_delivered = began);
    assert_eq!(bench.bbr.rate.bw(), mbit(100));
    bench.round(mbit(90));
    assert_eq!(bench.bbr.rate.bw(), mbit(90));
}

#[test]
fn a_probe_that_loses_too_much_sets_the_long_term_bound_where_the_loss_began() {
    let mut bench = Bench::probing();
    bench.lose(10, BDP);
    assert_eq!(bench.state(), "ProbeBW_UP", "1 % is borne");
    bench.lose(30, BDP);
    assert_eq!(bench.state(), "ProbeBW_DOWN");
    // 2 % of the flight is crossed within the 21st packet lost since the flight left.
    let longterm = bench.bbr.volume.longterm;
    assert!(longterm > BDP - MSS * 2 && longterm <= BDP, "{longterm}");
}

#[test]
fn the_long_term_bound_falls_by_beta_at_most() {
    let mut bench = Bench::probing();
    bench.lose(30, BDP / 10);
    let target = bench.bbr.target_inflight();
    assert_eq!(bench.bbr.volume.longterm, target * Gain::new(7, 10));
}

#[test]
fn a_probe_is_answered_once_however_much_it_lost() {
    let mut bench = Bench::probing();
    bench.lose(40, BDP);
    let longterm = bench.bbr.volume.longterm;
    bench.lose(40, BDP / 10);
    assert_eq!(bench.bbr.volume.longterm, longterm);
}

#[test]
fn the_window_is_bounded_by_the_long_term_volume_and_leaves_headroom_while_cruising() {
    let mut bench = Bench::probing();
    bench.lose(40, BDP);
    bench.path.inflight = BDP;
    bench.round(mbit(100));
    // A flight without loss raises the bound to its own size.
    let longterm = bench.bbr.volume.longterm;
    assert_eq!(bench.state(), "ProbeBW_DOWN");
    assert_eq!(bench.bbr.cwnd, longterm);
    bench.path.inflight = BDP / 2;
    bench.round(mbit(100));
    bench.round(mbit(100));
    assert_eq!(bench.state(), "ProbeBW_CRUISE");
    assert_eq!(bench.bbr.cwnd, longterm - longterm * Gain::percent(15));
}

#[test]
fn a_spurious_exit_from_a_probe_begins_it_again() {
    let mut bench = Bench::probing();
    let lost = bench.lose(40, BDP);
    assert_eq!(bench.state(), "ProbeBW_DOWN");
    for packet in &lost {
        bench
            .bbr
            .on_spurious_loss(&bench.path, packet, &mut bench.entered);
    }
    assert_eq!(bench.state(), "ProbeBW_REFILL");
    assert_eq!(bench.bbr.volume.longterm, Bytes::MAX);
}

#[test]
fn an_episode_of_which_one_packet_is_missing_is_not_undone() {
    let mut bench = Bench::probing();
    let lost = bench.lose(40, BDP);
    for packet in &lost[1..] {
        bench
            .bbr
            .on_spurious_loss(&bench.path, packet, &mut bench.entered);
    }
    assert_eq!(bench.state(), "ProbeBW_DOWN");
}

#[test]
fn a_probe_ends_on_a_plateau() {
    let mut bench = Bench::probing();
    bench.round(mbit(100));
    bench.round(mbit(100));
    assert_eq!(bench.state(), "ProbeBW_UP");
    bench.round(mbit(100));
    assert_eq!(bench.state(), "ProbeBW_DOWN");
}

#[test]
fn the_probe_after_one_that_went_too_high_is_precautionary_and_then_repeated() {
    let mut bench = Bench::probing();
    bench.lose(40, BDP);
    bench.round(mbit(100));
    while bench.state() != "ProbeBW_UP" {
        bench.round(mbit(100));
    }
    bench.entered.0.clear();
    // In flight as much as the bound: enough for this time.
    bench.path.inflight = bench.bbr.volume.longterm;
    bench.round(mbit(100));
    assert_eq!(bench.state(), "ProbeBW_DOWN");
    // A round of feedback without excess loss: probe again at once, this time in earnest.
    bench.round(mbit(100));
    bench.round(mbit(100));
    bench.round(mbit(100));
    assert_eq!(
        bench.entered.0,
        ["ProbeBW_DOWN", "ProbeBW_REFILL", "ProbeBW_UP"]
    );
}

#[test]
fn probe_rtt_holds_half_a_bdp_for_200_ms_and_a_round_and_returns_to_cruising() {
    let mut bench = Bench::cruising();
    bench.path.inflight = BDP;
    while bench.state() != "ProbeRTT" {
        bench.round(mbit(100));
        assert!(bench.path.now < Timestamp::from_millis(6_000));
    }
    assert!(bench.bbr.is_self_limited());
    assert_eq!(bench.bbr.cwnd, BDP / 2);
    let entered_at = bench.path.now;
    bench.bbr.volume.shortterm = BDP / 4;
    bench.path.inflight = BDP / 2;
    while bench.state() == "ProbeRTT" {
        bench.round_with(mbit(50), |told| told.is_app_limited = true);
    }
    assert_eq!(bench.state(), "ProbeBW_CRUISE");
    let held = bench.path.now.since(entered_at);
    assert!(held > Duration::from_millis(200), "{held:?}");
    assert!(bench.bbr.cwnd > BDP);
    assert_eq!(bench.bbr.rate.max_bw(), mbit(100));
}

#[test]
fn the_filter_of_max_bw_ages_once_per_cycle_and_not_once_per_round() {
    let mut bench = Bench::cruising();
    bench.path.inflight = BDP / 2;
    let began_at = bench.bbr.rate.cycle;
    let (mut cycles, mut rounds) = (0, 0);
    let mut was_limited = false;
    while bench.path.now < Timestamp::from_millis(60_000) {
        let was_up = bench.state() == "ProbeBW_UP";
        let is_limited = bench.bbr.is_self_limited();
        // What left in the round before is acknowledged in this one.
        bench.round_with(mbit(100), |told| {
            told.is_app_limited = is_limited || was_limited
        });
        was_limited = is_limited;
        cycles += u64::from(was_up && bench.state() == "ProbeBW_DOWN");
        rounds += 1;
    }
    assert!(cycles > 10 && rounds > 500, "{cycles} {rounds}");
    let advances = bench.bbr.rate.cycle - began_at;
    // The newest probe's feedback may still be under way.
    assert!(
        advances <= cycles && advances + 1 >= cycles,
        "{advances} of {cycles}"
    );
}

#[test]
fn a_minimal_window_above_half_a_bdp_does_not_wedge_probe_rtt() {
    let mut bench = Bench::new();
    let slow = Bandwidth::from_bytes_per_sec(12_000);
    while bench.state() != "ProbeRTT" {
        bench.path.inflight = MSS * 4;
        bench.round(slow);
    }
    assert_eq!(bench.bbr.cwnd, MSS * 4);
    for _ in 0..4 {
        bench.round(slow);
    }
    assert_ne!(bench.state(), "ProbeRTT");
}

#[test]
fn idleness_takes_the_place_of_probe_rtt() {
    let mut bench = Bench::cruising();
    bench.path.now += Duration::from_secs(6);
    bench.path.inflight = Bytes::ZERO;
    bench.path.is_app_limited = true;
    bench.bbr.on_sent(&bench.path, MSS);
    assert!(bench.bbr.is_idle_restart);
    assert_eq!(
        bench.bbr.control().pacing_rate,
        mbit(100) * Gain::percent(99)
    );
    bench.round(mbit(100));
    assert!(!bench.bbr.is_idle_restart);
    bench.round(mbit(100));
    assert!(!bench.entered.0.contains(&"ProbeRTT"));
}

#[test]
fn an_idle_probe_rtt_ends_when_sending_starts_again_and_the_observer_hears_of_it() {
    let mut bench = Bench::cruising();
    while bench.state() != "ProbeRTT" {
        bench.round(mbit(100));
    }
    bench.path.inflight = BDP / 2;
    bench.round(mbit(50));
    bench.path.now += Duration::from_secs(1);
    bench.path.inflight = Bytes::ZERO;
    bench.path.is_app_limited = true;
    bench.entered.0.clear();
    bench.bbr.on_sent(&bench.path, MSS);
    assert_eq!(bench.state(), "ProbeBW_CRUISE");
    bench.round(mbit(100));
    assert_eq!(bench.entered.0[..2], ["ProbeBW_DOWN", "ProbeBW_CRUISE"]);
}

#[test]
fn persistent_congestion_leaves_one_packet_and_recovery_brings_the_window_back() {
    let mut bench = Bench::cruising();
    let cwnd = bench.bbr.cwnd;
    bench.lose(3, BDP);
    bench.path.inflight = Bytes::ZERO;
    bench
        .bbr
        .on_persistent_congestion(&bench.path, &mut bench.entered);
    assert_eq!(bench.bbr.cwnd, MSS);
    bench.round_with(mbit(100), |told| told.newly_acked = MSS);
    // Restored, then bounded by the loss of the round.
    assert!(bench.bbr.cwnd >= cwnd * Gain::new(7, 10));
}

#[test]
fn a_congestion_mark_counts_as_loss() {
    let mut bench = Bench::cruising();
    bench.round(mbit(90));
    bench.round_with(mbit(90), |told| told.ce_marked = 1);
    bench.round(mbit(90));
    assert_eq!(bench.bbr.rate.bw(), mbit(90));
    let mut bench = Bench::probing();
    bench.path.inflight = BDP * 2;
    bench.round_with(mbit(100), |told| told.ce_marked = 30);
    assert_eq!(bench.state(), "ProbeBW_DOWN");
    assert_eq!(bench.bbr.volume.longterm, BDP);
}

#[test]
fn the_send_quantum_is_a_millisecond_within_its_bounds() {
    let mut bench = Bench::new();
    let mut quantum_at = |rate: Bandwidth| {
        bench.bbr.pacing_rate = rate;
        bench.bbr.control().send_quantum
    };
    assert_eq!(quantum_at(mbit(1)), MSS * 2);
    assert_eq!(quantum_at(mbit(100)), Bytes::new(12_500));
    assert_eq!(quantum_at(mbit(10_000)), Bytes::new(65_536));
}

#[test]
fn a_larger_packet_raises_the_minimal_window() {
    let mut bench = Bench::cruising();
    bench.bbr.cwnd = MSS * 4;
    bench.path.mss = Bytes::new(9_000);
    bench.bbr.on_mtu(&bench.path);
    assert_eq!(bench.bbr.cwnd, Bytes::new(36_000));
}

/// Sends, acknowledges, loses and finds again at random, with pauses from nothing to minutes.
#[test]
fn whatever_happens_the_controls_stay_within_their_bounds() {
    for seed in 0..40 {
        let mut rng = Rng::new(seed);
        let setup = Setup::new(Timestamp::ZERO, MSS, seed);
        let mut tuning = Tuning::new(&Params::defaults(bbr3::PARAMS));
        tuning.ambient_loss = seed % 2 == 1;
        let bbr = Bbr::<Draft06>::new(tuning, &setup);
        let mut flow = crate::Flow::new(Box::new(bbr), &setup);
        let (mut flying, mut lost) = (Vec::new(), Vec::new());
        let mut now = setup.now;
        for _ in 0..5_000 {
            now += Duration::from_nanos(rng.next_u64() >> (28 + rng.below(30)));
            match rng.below(10) {
                0..=4 => {
                    let bytes = MSS * (1 + rng.below(20));
                    flying.push((flow.on_sent(now, bytes), bytes));
                }
                5 => flow.on_app_limited(),
                6 if !lost.is_empty() => {
                    let late = lost.swap_remove(rng.below(lost.len() as u64) as usize);
                    flow.on_spurious_loss(now, &late, &mut ());
                }
                _ => feed(&mut flow, now, &mut rng, &mut flying, &mut lost),
            }
            let control = flow.control();
            assert!(control.cwnd >= MSS, "{seed}: {}", flow.snapshot());
            assert!(!control.pacing_rate.is_zero(), "{seed}");
            assert!(control.send_quantum >= MSS * 2, "{seed}");
        }
    }
}

/// One ACK, or expiry of a timer, about some of the oldest packets.
fn feed(
    flow: &mut crate::Flow,
    now: Timestamp,
    rng: &mut Rng,
    flying: &mut Vec<(PacketStamp, Bytes)>,
    lost: &mut Vec<LostPacket>,
) {
    let told = rng.below(flying.len() as u64 + 1) as usize;
    let (mut acked_now, mut lost_now) = (Vec::new(), Vec::new());
    for (stamp, bytes) in flying.drain(..told) {
        if rng.chance(Gain::percent(10)) {
            let starts_range = rng.chance(Gain::percent(50));
            lost_now.push(LostPacket {
                stamp,
                bytes,
                starts_range,
            });
        } else {
            acked_now.push(crate::AckedPacket { stamp, bytes });
        }
    }
    let rtt = acked_now
        .last()
        .map(|packet| now.since(packet.stamp.sent_at));
    let feedback = crate::Feedback {
        acked: &acked_now,
        lost: &lost_now,
        rtt,
        ce_marked: rng.below(20) / 19,
        is_persistent_congestion: !lost_now.is_empty() && rng.chance(Gain::percent(5)),
        ..crate::Feedback::at(now)
    };
    flow.on_feedback(&feedback, &mut ());
    lost.extend(lost_now);
    lost.truncate(100);
}

#[test]
fn the_registry_makes_it_by_either_name_with_its_parameters() {
    let registry = Registry::standard();
    for text in ["bbr3", "bbr3:loss_thresh=0.05,probe_rtt_interval=10s"] {
        assert_eq!(registry.choose(text).unwrap().to_string(), text);
    }
    assert_eq!(registry.choose("bbr").unwrap().name(), "bbr3");
}

#[test]
fn the_snapshot_shows_the_model() {
    let bench = Bench::cruising();
    let snapshot = bench.bbr.snapshot();
    assert_eq!(snapshot.state, "ProbeBW_CRUISE");
    assert_eq!(snapshot.bandwidth, Some(mbit(100)));
    assert_eq!(snapshot.min_rtt, Some(RTT));
    assert_eq!(snapshot.pacing_gain, Some(Gain::ONE));
    assert_eq!(snapshot.inflight_longterm, None);
}

#[test]
#[should_panic(expected = "ProbeBW_CRUISE may not follow Startup")]
fn a_transition_that_the_diagram_lacks_is_refused() {
    let mut bench = Bench::new();
    let donor = Bench::cruising();
    let mut at = Moment {
        path: &bench.path,
        observer: &mut bench.entered,
    };
    bench.bbr.transition_to(&mut at, donor.bbr.state);
}
