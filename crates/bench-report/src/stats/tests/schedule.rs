//! In which order rounds run, and with which seeds.

use super::*;

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

#[test]
fn independent_rounds_have_seeds_of_their_own_and_the_same_order() {
    let common: Vec<Slot> = Schedule::new(9, 2, 20).collect();
    let own: Vec<Slot> = Schedule::new(9, 2, 20).independent().collect();
    let order = |slots: &[Slot]| slots.iter().map(|slot| slot.variant).collect::<Vec<_>>();
    assert_eq!(order(&common), order(&own));
    let mut seeds: Vec<u64> = own.iter().map(|slot| slot.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), 40);
}
