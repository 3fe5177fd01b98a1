use super::bootstrap::estimate;
use super::per_metric::decide;
use super::*;
use crate::fixtures;
use crate::result::{Comparison, CompetitionRound, Decision, Finite, Interval, Metric, Round};
use std::time::Duration;
use units::Rng;

mod competition;
mod schedule;

/// Log-normal rounds: positive, skewed to the right, with this spread of the logarithm.
fn goodputs(rng: &mut Rng, rounds: usize, median: f64, spread: f64) -> Vec<u64> {
    (0..rounds)
        .map(|_| (median * (spread * normal(rng)).exp()) as u64)
        .collect()
}

/// Box and Muller.
fn normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.unit_f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.unit_f64()).cos()
}

/// Rounds that have no other metric.
fn only_goodput(goodputs: &[u64]) -> Vec<Round> {
    goodputs
        .iter()
        .zip(0..)
        .map(|(&goodput_bits_per_second, block)| Round {
            block,
            goodput_bits_per_second,
            ..Round::default()
        })
        .collect()
}

/// In how many of 400 samples of `n` draws the interval of the median contains `median`, in
/// percent.
fn coverage(n: usize, median: f64, draw: impl Fn(&mut Rng) -> f64) -> u32 {
    let covered = (0..400_u32)
        .filter(|&seed| {
            let mut rng = Rng::derive(u64::from(seed), 1);
            let values: Vec<f64> = (0..n).map(|_| draw(&mut rng)).collect();
            let estimate = estimate(&values, &mut rng).unwrap();
            estimate.low.unwrap() <= median && median <= estimate.high.unwrap()
        })
        .count();
    u32::try_from(covered).unwrap() / 4
}

#[test]
fn intervals_contain_the_truth_at_their_level_whatever_the_shape() {
    for n in [3, 5, 10] {
        let two_modes = |rng: &mut Rng| match rng.unit_f64() {
            mode if mode < 0.2 => 0.3 + 0.05 * normal(rng),
            _ => 1.0 + 0.05 * normal(rng),
        };
        let levels = [
            coverage(n, 0.0, normal),
            coverage(n, 1.0, |rng| normal(rng).exp()),
            coverage(n, 0.5, Rng::unit_f64),
            // The median is the 37.5 % quantile of the upper mode.
            coverage(n, 1.0 - 0.05 * 0.318_64, two_modes),
        ];
        assert!(
            levels.iter().all(|level| (88..=99).contains(level)),
            "n = {n}: {levels:?}"
        );
    }
}

#[test]
fn the_same_against_the_same_is_rarely_called_different() {
    for rounds in [3, 8, 12] {
        let undecided = (0..100)
            .filter(|&seed| {
                let mut rng = Rng::new(seed);
                let mut side = || only_goodput(&goodputs(&mut rng, rounds, 50e6, 0.2));
                let goodput = compare(&side(), &side(), seed, Design::FixedSample)
                    [&Metric::GoodputBitsPerSecond];
                let (low, high) = (goodput.low.unwrap().get(), goodput.high.unwrap().get());
                let called_different =
                    matches!(goodput.decision, Decision::BHigher | Decision::BLower);
                let contains_one = (low..=high).contains(&1.0);
                assert_eq!(contains_one, !called_different);
                contains_one
            })
            .count();
        assert!(undecided >= 90, "{undecided} of 100 with {rounds} rounds");
    }
}

#[test]
fn a_known_ratio_is_found() {
    let mut rng = Rng::new(5);
    let mut result = fixtures::ab_of(
        &goodputs(&mut rng, 10, 20e6, 0.05),
        &goodputs(&mut rng, 10, 80e6, 0.05),
    );
    conclude(&mut result);
    let goodput = result.comparison[&Metric::GoodputBitsPerSecond];
    assert_eq!(goodput.decision, Decision::BHigher);
    assert!(goodput.low.unwrap().get() < 4.0 && 4.0 < goodput.high.unwrap().get());
    assert!((3.8..4.2).contains(&goodput.ratio_b_over_a.unwrap().get()));
}

#[test]
fn exchanging_the_variants_inverts_ratio_and_decision() {
    let (a, b) = (
        [10_000_000, 11_000_000, 12_500_000],
        [40_000_000, 43_000_000, 44_000_000],
    );
    let of = |a: &[u64], b: &[u64]| {
        let mut result = fixtures::ab_of(a, b);
        conclude(&mut result);
        result.comparison[&Metric::GoodputBitsPerSecond]
    };
    let (there, back) = (of(&a, &b), of(&b, &a));
    assert_eq!(there.decision, Decision::BHigher);
    assert_eq!(back.decision, Decision::BLower);
    let product = there.ratio_b_over_a.unwrap().get() * back.ratio_b_over_a.unwrap().get();
    assert!((product - 1.0).abs() < 1e-10, "{product}");
}

#[test]
fn two_pairs_have_an_interval_and_no_conclusion() {
    let mut result = fixtures::ab_of(&[10_000_000, 10_000_100], &[90_000_000, 90_000_100]);
    conclude(&mut result);
    let goodput = result.comparison[&Metric::GoodputBitsPerSecond];
    assert!(goodput.low.unwrap().get() > 1.0);
    assert_eq!(goodput.decision, Decision::TooFewRounds);
}

/// A draw of two has the smaller median in a quarter of all cases and the larger in another, so
/// that these are the ends of the interval, before it is widened.
#[test]
fn two_pairs_are_as_wide_as_their_closed_form() {
    let (a, b) = ([100_000_000, 100_000_000], [110_000_000, 150_000_000]);
    let half_width = |b: &[u64]| goodput_half_width(&only_goodput(&a), &only_goodput(b), 1);
    let spread = (1.5_f64 / 1.1).ln();
    let closed = (spread / 2.0 * WIDENING_OF_TWO).exp_m1();
    let found = half_width(&b).unwrap();
    assert!((found / closed - 1.0).abs() < 1e-4, "{found} {closed}");
    assert_eq!(half_width(&[110_000_000, 0]), None);
    assert_eq!(half_width(&b[..1]), None);
    assert_eq!(half_width(&[110_000_000, 110_000_000]), Some(0.0));
}

/// √(n/(n−1)) · t / z of two values.
const WIDENING_OF_TWO: f64 = std::f64::consts::SQRT_2 * 12.706 / 1.959_964;

/// The same of two rounds now and two of then: the least difference of medians is that of the
/// smaller one now and the larger one then, in a sixteenth of all cases.
#[test]
fn unpaired_pairs_are_as_wide_as_their_closed_form() {
    let (a, b) = ([20_000_000, 30_000_000], [80_000_000, 100_000_000]);
    let of = |a: &[u64], b: &[u64]| {
        compare_unpaired(&only_goodput(a), &only_goodput(b), 1)[&Metric::GoodputBitsPerSecond]
    };
    let goodput = of(&a, &b);
    let near = |figure: Option<Finite>, closed: f64| {
        let figure = figure.unwrap().get();
        assert!((figure / closed - 1.0).abs() < 1e-6, "{figure} {closed}");
    };
    near(Some(goodput.difference_b_minus_a), 65e6);
    near(goodput.difference_low, 65e6 - 15e6 * WIDENING_OF_TWO);
    near(goodput.difference_high, 65e6 + 15e6 * WIDENING_OF_TWO);
    // On the scale of the logarithm the middle of two is their geometric mean.
    let ratio = (80.0_f64 * 100.0 / (20.0 * 30.0)).sqrt();
    near(goodput.ratio_b_over_a, ratio);
    near(
        goodput.low,
        ratio * (80.0 / 30.0 / ratio).powf(WIDENING_OF_TWO),
    );
    near(
        goodput.high,
        ratio * (100.0 / 20.0 / ratio).powf(WIDENING_OF_TWO),
    );
    assert_eq!(goodput.decision, Decision::TooFewRounds);
    // The level of the smaller side, however large the other.
    let one = of(&a[..1], &b);
    assert_eq!((one.low, one.difference_high, one.pairs), (None, None, 1));
    assert_eq!(of(&[0, 30_000_000], &b).ratio_b_over_a, None);
    assert!(compare_unpaired(&[], &only_goodput(&b), 1).is_empty());
}

/// All draws with replacement from four values and from five, of which the bootstrap tries some.
#[test]
fn an_unpaired_interval_has_the_quantiles_of_all_draws() {
    let a = [10.0, 13.0, 17.0, 29.0];
    let b = [40.0, 41.0, 47.0, 61.0, 83.0];
    let medians = |values: &[f64]| -> Vec<f64> {
        let n = values.len();
        let draws = (0..n.pow(n as u32)).map(|draw| {
            let mut drawn: Vec<f64> = (0..n as u32)
                .map(|place| values[draw / n.pow(place) % n])
                .collect();
            drawn.sort_unstable_by(f64::total_cmp);
            f64::midpoint(drawn[(n - 1) / 2], drawn[n / 2])
        });
        draws.collect()
    };
    let (of_a, of_b) = (medians(&a), medians(&b));
    let pairs = of_b.iter().flat_map(|b| of_a.iter().map(move |a| b - a));
    let mut all: Vec<f64> = pairs.collect();
    all.sort_unstable_by(f64::total_cmp);
    let quantile = |share: f64| all[(share * all.len() as f64) as usize];
    // That of the smaller side, of four values.
    let widening = (4.0_f64 / 3.0).sqrt() * 3.182 / 1.959_964;
    let median = 47.0 - 15.0;
    let widened = |end: f64| median + (end - median) * widening;
    for seed in 1..=5 {
        let estimate = bootstrap::estimate_difference(&a, &b, &mut Rng::new(seed)).unwrap();
        assert_eq!(estimate.median, median);
        let (low, high) = (estimate.low.unwrap(), estimate.high.unwrap());
        assert!(widened(quantile(0.018)) <= low && low <= widened(quantile(0.032)));
        assert!(widened(quantile(0.968)) <= high && high <= widened(quantile(0.982)));
    }
}

/// Tests of two equal variants that go on until their interval is narrow or they have twenty
/// rounds: how many of two hundred have got narrow, and how many of those are right.
fn narrow_and_right(spread: f64, design: Design) -> (u32, u32) {
    let (mut narrow, mut right) = (0, 0);
    for seed in 0..200 {
        let mut rng = Rng::derive(seed, 77);
        let logs: Vec<f64> = (0..20)
            .map(|_| spread * (normal(&mut rng) - normal(&mut rng)))
            .collect();
        let analyses = (1..=20).filter(|blocks| is_interim_analysis(*blocks));
        let intervals = analyses.map(|blocks| {
            let estimate = design.estimate(&logs[..blocks as usize], &mut Rng::new(seed));
            let estimate = estimate.unwrap().exp();
            (estimate.low.unwrap(), estimate.high.unwrap())
        });
        let is_narrow = |(low, high): &(f64, f64)| (high / low).sqrt() <= 1.05;
        if let Some((low, high)) = intervals.into_iter().find(is_narrow) {
            narrow += 1;
            right += u32::from((low..=high).contains(&1.0));
        }
    }
    (narrow, right)
}

#[test]
fn a_test_that_stops_when_it_is_narrow_is_as_right_as_it_says() {
    for spread in [0.03, 0.05] {
        let (narrow, right) = narrow_and_right(spread, Design::Sequential);
        assert!(narrow > 40, "{narrow}");
        assert!(right * 100 >= narrow * 95, "{right} of {narrow}");
        // A plain bootstrap is not, where it is narrow by chance.
        let (more, fewer) = narrow_and_right(spread, Design::FixedSample);
        assert!(
            more >= narrow && right * more > fewer * narrow,
            "{fewer} of {more}"
        );
    }
}

#[test]
fn one_round_has_a_median_and_no_interval() {
    let summary = summarise(&[fixtures::round("cubic", 0, 5_000_000)], 1);
    let goodput = summary[&Metric::GoodputBitsPerSecond];
    assert_eq!(goodput.median.get(), 5e6);
    assert_eq!((goodput.low, goodput.high), (None, None));
}

#[test]
fn the_median_ignores_one_stalled_round_and_the_mean_does_not() {
    let rounds: Vec<Round> = [50, 51, 49, 1, 52]
        .into_iter()
        .zip(0..)
        .map(|(mbit, block)| fixtures::round("cubic", block, mbit * 1_000_000))
        .collect();
    let goodput = summarise(&rounds, 1)[&Metric::GoodputBitsPerSecond];
    assert_eq!(goodput.median.get(), 50e6);
    assert_eq!(goodput.mean.get(), 40.6e6);
    // Widened, the lower end would lie below zero.
    assert_eq!(goodput.low.unwrap().get(), 0.0);
}

#[test]
fn rounds_pair_by_block_and_a_failed_round_takes_its_partner_out() {
    let mut result = fixtures::ab_of(&[10, 20, 30, 40], &[100, 200, 300, 400]);
    result.variants[0].rounds[1].error = Some("connection lost".to_owned());
    result.variants[1].rounds.remove(2);
    conclude(&mut result);
    let goodput = result.comparison[&Metric::GoodputBitsPerSecond];
    assert_eq!(goodput.pairs, 2);
    assert_eq!(goodput.ratio_b_over_a.unwrap().get().round(), 10.0);
    let summaries = result.variants.iter().map(|variant| &variant.summary);
    let rounds: Vec<u32> = summaries
        .map(|summary| summary[&Metric::GoodputBitsPerSecond].rounds)
        .collect();
    assert_eq!(rounds, [3, 3]);
}

#[test]
fn zeros_have_a_difference_that_decides_and_no_ratio() {
    let mut result = fixtures::ab_of(&[5_000_000; 4], &[5_000_000; 4]);
    for (block, round) in result.variants[1].rounds.iter_mut().enumerate() {
        round.bytes_retransmitted = Some(0);
        round.packets_lost = Some(100 + block as u64);
    }
    conclude(&mut result);
    let resent = result.comparison[&Metric::BytesRetransmitted];
    assert_eq!((resent.ratio_b_over_a, resent.low), (None, None));
    assert_eq!(resent.decision, Decision::BLower);
    assert!(resent.difference_high.unwrap().get() < 0.0);
    assert_eq!(
        result.comparison[&Metric::LossRate].decision,
        Decision::BHigher
    );
}

#[test]
fn identical_rounds_are_the_same() {
    let mut result = fixtures::ab_of(&[5_000_000; 4], &[5_000_000; 4]);
    conclude(&mut result);
    for (metric, comparison) in &result.comparison {
        assert_eq!(comparison.decision, Decision::Same, "{metric:?}");
    }
}

#[test]
fn the_seed_decides_the_interval_and_moves_it_little() {
    let rounds = only_goodput(&goodputs(&mut Rng::new(1), 10, 50e6, 0.3));
    let interval = |seed| {
        let summary = summarise(&rounds, seed)[&Metric::GoodputBitsPerSecond];
        (summary.low.unwrap().get(), summary.high.unwrap().get())
    };
    assert_eq!(interval(1), interval(1));
    let width = interval(1).1 - interval(1).0;
    for seed in 2..20 {
        let moved = (interval(seed).0 - interval(1).0).abs();
        assert!(moved < 0.2 * width, "{moved} of {width} with seed {seed}");
    }
}

#[test]
fn nearly_the_same_is_said_only_where_the_whole_interval_is() {
    let decision = |b: &[u64]| {
        let a = only_goodput(&[100_000_000, 101_000_000, 99_000_000, 100_000_000]);
        compare(&a, &only_goodput(b), 1, Design::FixedSample)[&Metric::GoodputBitsPerSecond]
            .decision
    };
    let near = decision(&[100_500_000, 100_000_000, 99_500_000, 100_000_000]);
    assert_eq!(near, Decision::Same);
    let far = decision(&[120_000_000, 90_000_000, 99_000_000, 105_000_000]);
    assert_eq!(far, Decision::TooFewRounds);
    let certain_but_negligible = decision(&[100_100_000, 101_110_000, 99_110_000, 100_110_000]);
    assert_eq!(certain_but_negligible, Decision::Same);
    let certain = decision(&[102_000_000, 103_000_000, 101_000_000, 102_000_000]);
    assert_eq!(certain, Decision::BHigher);
}

#[test]
fn further_variants_are_compared_with_the_first() {
    let mut result = fixtures::ab_of(&[10_000_000; 4], &[20_000_000; 4]);
    let third = fixtures::ab_of(&[], &[30_000_000; 4]).variants.remove(1);
    result.variants.push(Variant {
        name: "c".to_owned(),
        ..third
    });
    conclude(&mut result);
    let ratio = |comparison: &BTreeMap<Metric, Comparison>| {
        let goodput = comparison[&Metric::GoodputBitsPerSecond];
        goodput.ratio_b_over_a.unwrap().get().round()
    };
    assert_eq!(ratio(&result.comparison), 2.0);
    assert_eq!(ratio(&result.further_comparisons["c"]), 3.0);
}

#[test]
fn variants_with_one_controller_are_called_by_their_letters() {
    let mut result = fixtures::ab_of(&[10_000_000], &[20_000_000]);
    result.variants[1].cc = "cubic".to_owned();
    conclude(&mut result);
    let said = verdict(&result);
    let open = "Too few rounds to compare the goodput of b (cubic) and a (cubic)";
    assert!(said.starts_with(open), "{said}");
}

#[test]
fn looks_are_after_whole_couples_of_blocks_from_the_eighth_on() {
    let analyses: Vec<u32> = (0..14)
        .filter(|blocks| is_interim_analysis(*blocks))
        .collect();
    assert_eq!(analyses, [8, 10, 12]);
}

/// From tables of the distribution.
#[test]
fn students_quantiles_go_on_beyond_their_table() {
    for (degrees, quantile) in [
        (1, 12.706),
        (20, 2.086),
        (21, 2.080),
        (30, 2.042),
        (49, 2.010),
    ] {
        let found = bootstrap::t_975(degrees);
        assert!((found - quantile).abs() < 0.001, "{degrees}: {found}");
    }
}

#[test]
fn an_interval_that_touches_no_difference_contains_it() {
    let decided = |low: f64, high: f64, none: f64| {
        let equal = if none > 0.0 { EQUAL } else { 0.0 };
        decide(Some((low, high)), none, equal, 5)
    };
    assert_eq!(decided(1.0, 2.0, 1.0), Decision::TooFewRounds);
    assert_eq!(decided(0.5, 1.0, 1.0), Decision::TooFewRounds);
    assert_eq!(decided(0.0, 3.0, 0.0), Decision::TooFewRounds);
    assert_eq!(decided(1.02, 2.0, 1.0), Decision::BHigher);
    assert_eq!(decided(0.5, 0.98, 1.0), Decision::BLower);
}

#[test]
fn intervals_that_are_printed_alike_are_read_alike() {
    let decision = |low: f64, high: f64| {
        let mut comparison = fixtures::ab().comparison[&Metric::GoodputBitsPerSecond];
        comparison.low = Finite::new(low);
        comparison.high = Finite::new(high);
        per_metric::decided(&comparison)
    };
    assert_eq!(decision(1.0004, 1.03), decision(0.9996, 1.03));
    assert_eq!(decision(1.0004, 1.03), Decision::Same);
    assert_eq!(decision(1.001, 1.03), Decision::BHigher);
    assert_eq!(decision(0.9904, 1.0104), Decision::Same);
    assert_eq!(decision(1.002, 1.0104), Decision::Same);
    assert_eq!(decision(1.002, 1.011), Decision::BHigher);
}

#[test]
fn a_test_that_its_intervals_end_has_wider_ones() {
    let mut rng = Rng::new(8);
    let mut side = |median| goodputs(&mut rng, 8, median, 0.1);
    let mut result = fixtures::ab_of(&side(20e6), &side(21e6));
    let width = |result: &mut AbResult| {
        conclude(result);
        let goodput = result.comparison[&Metric::GoodputBitsPerSecond];
        goodput.high.unwrap().get() / goodput.low.unwrap().get()
    };
    let planned = width(&mut result);
    result.until = Some(crate::result::StoppingRule {
        half_width: fixtures::finite(0.05),
        reached: true,
    });
    let narrow = width(&mut result);
    assert!(narrow > planned * 1.001, "{narrow} {planned}");
    let [a, b] = result.variants.as_slice() else {
        panic!("{result:?}");
    };
    let half_width = goodput_half_width(&a.rounds, &b.rounds, result.seed).unwrap();
    assert!((narrow.sqrt() - 1.0 - half_width).abs() < 1e-9);
}

#[test]
fn a_headline_says_who_won_and_what_it_cost() {
    let mut result = fixtures::ab_of(&[10_000_000; 4], &[10_000_000; 4]);
    result.base_rtt_ms = None;
    for round in &mut result.variants[0].rounds {
        round.rtt_ms.p95 = Finite::new(100.0);
    }
    for round in &mut result.variants[1].rounds {
        (round.rtt_ms.min, round.rtt_ms.p95) = (Finite::new(20.0), Finite::new(54.0));
    }
    result.variants[1].cc = "copa:mode=default".to_owned();
    conclude(&mut result);
    assert_eq!(
        headline(&result).unwrap(),
        "copa: same goodput, 46 % less delay"
    );
    assert!(verdict(&result).starts_with("copa and cubic have the same goodput"));
    result.variants[0].cc = "copa:mode=competitive".to_owned();
    assert!(verdict(&result).starts_with("copa:mode=default and copa:mode=competitive have"));
}

#[test]
fn a_busy_machine_is_said_in_the_place_of_a_verdict() {
    let mut result = fixtures::ab_of(&[10_000_000; 4], &[20_000_000; 4]);
    let late = |result: &mut AbResult, share| {
        result.variants[1].rounds[2].link_late = Finite::new(share);
        conclude(result);
        (headline(result).unwrap(), verdict(result))
    };
    assert!(
        late(&mut result, 0.009)
            .1
            .starts_with("bbr3 has 2.00 times")
    );
    let (headline, verdict) = late(&mut result, 0.24);
    assert_eq!(headline, "The machine was too busy for a verdict");
    assert_eq!(
        verdict,
        "The machine was too busy for a verdict: in 1 of 8 rounds the emulated link sent packets \
         over 1 ms late, up to 24.0 % of them. Use --virtual, or --reject-late, which repeats such \
         rounds."
    );
    // What was done in vain is not proposed.
    result.command = Some("bench-client ab --reject-late".to_owned());
    let (_, verdict) = late(&mut result, 0.24);
    assert!(
        verdict.ends_with("of them. Stop other work on this machine, or use --virtual."),
        "{verdict}"
    );
}

#[test]
fn twice_and_more_are_said_as_multiples_and_less_in_percent() {
    let said = |b: u64| {
        let mut result = fixtures::ab_of(&[10_000_000; 4], &[b; 4]);
        conclude(&mut result);
        verdict(&result)
    };
    assert!(said(20_000_000).starts_with("bbr3 has 2.00 times the goodput of cubic"));
    assert!(said(19_000_000).starts_with("bbr3 has 90 % more goodput than cubic"));
    assert!(said(6_000_000).starts_with("bbr3 has 40 % less goodput than cubic"));
    assert!(said(5_000_000).starts_with("bbr3 has 50 % less goodput than cubic"));
    assert!(said(798_000).starts_with("bbr3 has 92 % less goodput than cubic"));
    let little =
        "bbr3 has over 99 % less goodput than cubic (95 % interval over 99 % to over 99 %)";
    assert!(said(50_000).starts_with(little));
}
