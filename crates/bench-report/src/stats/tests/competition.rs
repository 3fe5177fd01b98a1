//! Variants that share a path: how evenly, and from when on.

use super::*;

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
fn series(from: u32, tenths: u32, rate: impl Fn(f64) -> u64) -> Vec<Interval> {
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
    let (a, b) = (series(0, 200, early(10.0)), series(20, 200, late(10.0)));
    // With 9 to 1 in a quarter of the window its sums are 6 to 4, the limit; 2 s are the start's.
    assert_eq!(of(&a, &b), Some(Duration::from_millis(7_800)));
    // At once.
    let fair = series(0, 200, |_| 5);
    assert_eq!(of(&fair, &series(20, 200, |_| 5)), Some(Duration::ZERO));
    // Never, or so late that it may be chance: the last three windows begin at 17 s.
    assert_eq!(of(&series(0, 200, |_| 9), &series(20, 200, |_| 1)), None);
    let (a, b) = (series(0, 200, early(17.2)), series(20, 200, late(17.2)));
    assert_eq!(of(&a, &b), Some(Duration::from_millis(15_000)));
    let (a, b) = (series(0, 200, early(17.4)), series(20, 200, late(17.4)));
    assert_eq!(of(&a, &b), None);
    // Fair for long, and not at the end.
    let falls = series(20, 200, |t| if t < 19.0 { 5 } else { 1 });
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
