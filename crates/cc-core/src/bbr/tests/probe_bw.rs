//! The ProbeBW cycle.

use super::*;

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
