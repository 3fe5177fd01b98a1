use super::*;
use crate::fixtures;
use crate::result::{CompetitionRound, Interval};
use std::time::Duration;

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
                let goodput = compare(&side(), &side(), seed)[&Metric::GoodputBitsPerSecond];
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
        compare(&a, &only_goodput(b), 1)[&Metric::GoodputBitsPerSecond].decision
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
fn jains_index_has_its_closed_forms() {
    let near = |rates: &[f64], index: f64| {
        assert!(
            (jain_index(rates).unwrap() - index).abs() < 1e-12,
            "{rates:?}"
        );
    };
    near(&[7.0], 1.0);
    near(&[2e6; 5], 1.0);
    near(&[0.0, 3.0, 0.0, 0.0], 0.25);
    // Two that are δ above and below their mean: 1 / (1 + δ²).
    near(&[1.2, 0.8], 1.0 / 1.04);
    assert_eq!(jain_index(&[0.0, 0.0]), None);
    assert_eq!(jain_index(&[]), None);
}

/// Tenths of a second, each at the rate that `rate` has for its begin in seconds.
fn course(from: u32, tenths: u32, rate: impl Fn(f64) -> u64) -> Vec<Interval> {
    (from..tenths)
        .map(|tenth| Interval {
            t: fixtures::finite(f64::from(tenth + 1) / 10.0),
            seconds: fixtures::finite(0.1),
            goodput_bits_per_second: rate(f64::from(tenth) / 10.0),
            ..Interval::default()
        })
        .collect()
}

#[test]
fn connections_converge_with_the_first_window_from_which_on_all_are_fair() {
    let start = Duration::from_secs(2);
    let of = |one: &[Interval], other: &[Interval]| convergence(&[one, other], start);
    let late = |from: f64| move |t: f64| if t < from { 1 } else { 5 };
    let early = |from: f64| move |t: f64| if t < from { 9 } else { 5 };
    let (a, b) = (course(0, 200, early(10.0)), course(20, 200, late(10.0)));
    // With 9 to 1 in a quarter of the window its sums are 6 to 4, the limit; 2 s are the start's.
    assert_eq!(of(&a, &b), Some(Duration::from_millis(7_800)));
    // At once.
    let fair = course(0, 200, |_| 5);
    assert_eq!(of(&fair, &course(20, 200, |_| 5)), Some(Duration::ZERO));
    // Never, or so late that it may be chance: the last three windows begin at 17 s.
    assert_eq!(of(&course(0, 200, |_| 9), &course(20, 200, |_| 1)), None);
    let (a, b) = (course(0, 200, early(17.2)), course(20, 200, late(17.2)));
    assert_eq!(of(&a, &b), Some(Duration::from_millis(15_000)));
    let (a, b) = (course(0, 200, early(17.4)), course(20, 200, late(17.4)));
    assert_eq!(of(&a, &b), None);
    // Fair for long, and not at the end.
    let falls = course(20, 200, |t| if t < 19.0 { 5 } else { 1 });
    assert_eq!(of(&fair, &falls), None);
    // Nothing to be fair to, and nothing at all.
    assert_eq!(convergence(&[&fair], start), None);
    assert_eq!(of(&fair, &[]), None);
}

#[test]
fn a_competition_is_summed_up_over_its_rounds() {
    let round = |block: u32, share: f64| CompetitionRound {
        block,
        jain_index: fixtures::finite(0.9 + share / 10.0),
        shares: [("a", share), ("b", 1.0 - share)]
            .map(|(name, share)| (name.to_owned(), fixtures::finite(share)))
            .into(),
        convergence_seconds: (block == 1).then(|| fixtures::finite(4.5)),
        link_utilisation: None,
    };
    let shares = [0.25, 0.5, 0.75, 1.0, 0.5];
    let rounds = shares
        .into_iter()
        .zip(0..)
        .map(|(share, block)| round(block, share));
    let summed = competition(rounds.collect(), 1).unwrap();
    assert_eq!(summed.shares["a"].median.get(), 0.5);
    assert_eq!(summed.shares["b"].mean.get(), 0.4);
    assert_eq!(summed.shares["a"].high, Some(Finite::ONE));
    assert_eq!(summed.jain_index.rounds, 5);
    let convergence = summed.convergence_seconds.unwrap();
    assert_eq!((convergence.median.get(), convergence.rounds), (4.5, 1));
    assert_eq!(summed.link_utilisation, None);
    assert_eq!(competition(Vec::new(), 1), None);
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
fn every_block_runs_each_variant_once_and_its_successor_mirrors_it() {
    for (seed, variants) in [(1, 2), (2, 2), (3, 3), (4, 5)] {
        let slots: Vec<Slot> = Schedule::new(seed, variants, 7).collect();
        assert_eq!(slots.len(), 7 * variants);
        let blocks: Vec<Vec<usize>> = slots
            .chunks(variants)
            .map(|block| block.iter().map(|slot| slot.variant).collect())
            .collect();
        for block in &blocks {
            let mut sorted = block.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..variants), "{block:?}");
        }
        for couple in blocks.chunks_exact(2) {
            assert!(couple[0].iter().rev().eq(&couple[1]), "{couple:?}");
        }
        assert!(
            slots
                .iter()
                .zip(0..)
                .all(|(slot, order)| slot.order == order)
        );
    }
}

#[test]
fn each_variant_begins_about_half_of_the_tests() {
    let a_first = (0..1_000)
        .filter(|&seed| Schedule::new(seed, 2, 1).next().unwrap().variant == 0)
        .count();
    // Five standard deviations of a binomial with n = 1000, p = 1/2.
    assert!(a_first.abs_diff(500) < 79, "{a_first}");
}

#[test]
fn a_block_shares_one_seed_and_no_two_blocks_do() {
    let slots: Vec<Slot> = Schedule::new(9, 2, 50).collect();
    let mut seeds: Vec<u64> = slots
        .chunks(2)
        .map(|block| {
            assert_eq!(block[0].seed, block[1].seed);
            block[0].seed
        })
        .collect();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), 50);
}
