//! Where draft-cardwell-iccrg-bbr-congestion-control-02 decides otherwise.

use super::super::draft_02::Draft02;
use super::super::params::DRAFT_02;
use super::*;

type OldBench = BenchOf<Draft02>;

fn begin() -> OldBench {
    BenchOf::of(DRAFT_02)
}

#[test]
fn the_greatest_rate_must_be_flat_and_not_that_of_the_last_ack() {
    fn after_a_peak_within_the_last_round<R: Revision>(mut bench: BenchOf<R>) -> &'static str {
        bench.path.inflight = BDP * 4;
        for _ in 0..3 {
            bench.round(mbit(100));
        }
        bench.acks_within_the_round(mbit(130));
        bench.round(mbit(100));
        bench.state()
    }
    assert_eq!(after_a_peak_within_the_last_round(begin()), "Startup");
    assert_eq!(after_a_peak_within_the_last_round(Bench::new()), "Drain");
}

/// A flow in Startup that lost so many ranges in each of three rounds, of which one is the first of
/// its recovery.
fn startup_after_loss(ranges: u64) -> OldBench {
    let mut bench = begin();
    bench.path.inflight = BDP;
    bench.round(mbit(10));
    for rate in [20, 40, 80] {
        bench.lose(ranges, BDP / 10);
        assert_eq!(bench.state(), "Startup");
        bench.round_with(mbit(rate), |told| {
            told.lost = MSS * 21;
            told.tx_in_flight = BDP / 10;
            // Before the newest loss was noticed: the recovery goes on.
            told.newest_sent_at = Timestamp::ZERO;
        });
    }
    bench
}

#[test]
fn startup_ends_on_three_lost_ranges_in_a_recovery_of_a_round_and_leaves_no_bound() {
    let bench = startup_after_loss(3);
    assert_eq!(bench.state(), "Drain");
    assert_eq!(bench.bbr.volume.longterm, Bytes::MAX);
    assert_eq!(startup_after_loss(2).state(), "Startup");
}

#[test]
fn drain_lasts_until_the_queue_is_gone() {
    let mut bench = begin();
    bench.path.inflight = BDP * 2;
    for _ in 0..30 {
        bench.round(mbit(100));
    }
    assert_eq!(bench.state(), "Drain");
    bench.path.inflight = BDP;
    bench.round(mbit(100));
    assert_eq!(bench.state(), "ProbeBW_CRUISE");
}

#[test]
fn a_probe_ends_when_a_quarter_more_than_the_bdp_is_in_flight_and_not_on_a_plateau() {
    let mut bench = begin().cruise().probe();
    assert_eq!(bench.bbr.snapshot().cwnd_gain, Some(Gain::new(2, 1)));
    bench.path.inflight = BDP * Gain::new(5, 4) + MSS * 2;
    for _ in 0..10 {
        bench.round(mbit(100));
    }
    assert_eq!(bench.state(), "ProbeBW_UP");
    bench.path.inflight += Bytes::new(1);
    bench.round(mbit(100));
    assert_eq!(bench.state(), "ProbeBW_DOWN");
}

#[test]
fn a_probe_lasts_a_least_round_trip_time() {
    let mut bench = begin().cruise().probe();
    bench.path.inflight = BDP * 2;
    // One round trip to the nanosecond is not more than one.
    bench.round(mbit(100));
    assert_eq!(bench.state(), "ProbeBW_UP");
    bench.round(mbit(100));
    assert_eq!(bench.state(), "ProbeBW_DOWN");
}

#[test]
fn the_loss_that_an_ack_tells_of_ends_a_probe() {
    fn after_a_lossy_ack<R: Revision>(mut bench: BenchOf<R>) -> (&'static str, Bytes) {
        bench.path.inflight = BDP * 2;
        bench.round_with(mbit(100), |told| told.lost = BDP * Gain::percent(3));
        (bench.state(), bench.bbr.volume.longterm)
    }
    assert_eq!(
        after_a_lossy_ack(begin().cruise().probe()),
        ("ProbeBW_DOWN", BDP)
    );
    assert_eq!(
        after_a_lossy_ack(Bench::probing()),
        ("ProbeBW_UP", Bytes::MAX)
    );
}

#[test]
fn the_probe_after_one_that_went_too_high_is_like_any_other() {
    let mut bench = begin().cruise().probe();
    bench.lose(40, BDP);
    assert_eq!(bench.state(), "ProbeBW_DOWN");
    while bench.state() != "ProbeBW_UP" {
        bench.round(mbit(100));
    }
    bench.path.inflight = bench.bbr.volume.longterm;
    bench.round(mbit(100));
    assert_eq!(bench.state(), "ProbeBW_UP");
}

#[test]
fn a_loss_round_goes_on_where_the_one_before_ended() {
    let mut bench = begin().cruise();
    let began = bench.path.delivered;
    bench.acks_within_the_round(mbit(90));
    bench.lose(1, BDP);
    bench.round_with(mbit(90), |told| told.prior_delivered = began);
    // What was delivered in it before the loss counts, too.
    assert_eq!(bench.bbr.rate.bw(), mbit(100));
    bench.lose(1, BDP);
    bench.round(mbit(80));
    assert_eq!(bench.bbr.rate.bw(), mbit(90));
}

/// What an ACK says of a packet that left before the newest loss was noticed, in the same round.
fn early(told: &mut RateSample) {
    told.newly_acked = MSS;
    told.newest_sent_at = Timestamp::ZERO;
    told.prior_delivered = Bytes::ZERO;
}

#[test]
fn the_first_round_of_recovery_conserves_packets_and_the_next_grows() {
    let mut bench = begin();
    bench.round(mbit(100));
    bench.path.inflight = BDP / 2;
    bench.lose(2, BDP);
    bench.round_with(mbit(100), early);
    assert_eq!(bench.bbr.cwnd, BDP / 2 + MSS);
    // As much as the ACK has freed may leave; what else was lost may not.
    bench.round_with(mbit(100), |told| {
        early(told);
        told.newly_lost = MSS * 5;
    });
    assert_eq!(bench.bbr.cwnd, BDP / 2 + MSS);
    bench.round_with(mbit(100), |told| {
        told.newly_acked = MSS;
        told.newly_lost = MSS * 5;
        told.newest_sent_at = Timestamp::ZERO;
    });
    assert_eq!(bench.bbr.cwnd, BDP / 2 + MSS - MSS * 5 + MSS);
}

#[test]
fn what_fills_the_pipe_conserves_no_packets() {
    let mut bench = begin().cruise();
    while bench.state() != "ProbeBW_REFILL" {
        bench.round(mbit(100));
    }
    let cwnd = bench.bbr.cwnd;
    bench.path.inflight = BDP / 2;
    bench.lose(2, BDP);
    bench.round_with(mbit(100), early);
    assert_eq!(bench.bbr.cwnd, cwnd);
    // In the same round of recovery a probe begins.
    bench.round_with(mbit(100), |told| told.newest_sent_at = Timestamp::ZERO);
    assert_eq!(bench.state(), "ProbeBW_UP");
    assert!(bench.bbr.cwnd >= cwnd);
}

#[test]
fn an_undo_brings_the_window_back_and_leaves_the_model() {
    let mut bench = begin().cruise().probe();
    let cwnd = bench.bbr.cwnd;
    let lost = bench.lose(40, BDP);
    assert_eq!(bench.state(), "ProbeBW_DOWN");
    let longterm = bench.bbr.volume.longterm;
    // More than ProbeBW_DOWN waits for.
    bench.path.inflight = BDP * Gain::percent(90);
    bench.round_with(mbit(100), |told| {
        told.newly_acked = MSS;
        told.newest_sent_at = Timestamp::ZERO;
        told.lost = MSS * 40;
    });
    assert_eq!(bench.bbr.cwnd, bench.path.inflight + MSS);
    bench.find(&lost);
    bench.round_with(mbit(100), |told| {
        told.prior_delivered = Bytes::ZERO;
        told.tx_in_flight = longterm;
    });
    assert_eq!(bench.bbr.volume.longterm, longterm);
    assert_eq!(bench.bbr.cwnd, cwnd.min(longterm));
}

#[test]
fn a_burst_may_be_one_packet_at_a_low_rate_and_three_bursts_fit_into_the_window() {
    let mut bench = begin().cruise();
    let mut at = |rate: Bandwidth| {
        bench.bbr.pacing_rate = rate;
        let least = bench.bbr.inflight(Bandwidth::ZERO, Gain::ONE);
        (bench.bbr.send_quantum(), least)
    };
    assert_eq!(at(mbit(1)), (MSS, MSS * 4));
    assert_eq!(at(mbit(2)), (MSS * 2, MSS * 6));
    assert_eq!(at(mbit(100)), (Bytes::new(12_500), Bytes::new(37_500)));
}

#[test]
fn the_registry_makes_it_with_its_parameters() {
    let registry = Registry::standard();
    let text = "bbr2:up_pacing_gain=1.5,startup_loss_ranges=8";
    assert_eq!(registry.choose(text).unwrap().to_string(), text);
    // A rule of ours for the newest revision.
    assert!(registry.choose("bbr2:adapts_down=on").is_err());
}
