use crate::matrix::fnv::fnv_1a;
use units::Rng;

/// Where in its distribution a variable of one cell lies, at least 0 and below 1.
///
/// Of each block of [`STRATA`] cells, one is in each of as many equally likely parts of the
/// distribution, in random order: Latin hypercube sampling (McKay, Beckman and Conover, 1979).
/// Shares of so few cells would else differ from seed to seed by what was drawn, more than by what
/// controllers do there.
pub(super) fn place(seed: u64, cell: u32, name: &str) -> f64 {
    let label = fnv_1a(name) as u64;
    let stream = |base: u64, number: u32| {
        let of_number = Rng::derive(seed, base + u64::from(number)).next_u64();
        Rng::derive(of_number, label)
    };
    let order = shuffled(&mut stream(BLOCKS, cell / STRATA));
    let stratum = f64::from(order[(cell % STRATA) as usize]);
    (stratum + stream(CELLS, cell).unit_f64()) / f64::from(STRATA)
}

/// All strata, each order as likely (Fisher and Yates, in the form of Durstenfeld, 1964).
fn shuffled(rng: &mut Rng) -> [u32; STRATA as usize] {
    let mut order = std::array::from_fn(|index| index as u32);
    for last in (1..order.len()).rev() {
        order.swap(last, rng.below(last as u64 + 1) as usize);
    }
    order
}

/// The weights of `scenarios/anywhere.toml` have a sum of about this, so that even its rarest
/// alternatives are drawn in nearly each block.
const STRATA: u32 = 20;
/// Where the labels of cells and of blocks begin, apart from those by which cells get their own
/// seeds.
const CELLS: u64 = 1 << 48;
const BLOCKS: u64 = 1 << 49;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_block_has_one_cell_in_each_part_of_a_distribution() {
        for (seed, block) in [(1, 0), (1, 3), (7, 0)] {
            let cells = block * STRATA..(block + 1) * STRATA;
            let places = cells.map(|cell| (place(seed, cell, "rate") * f64::from(STRATA)) as u32);
            let parts: BTreeSet<u32> = places.collect();
            assert_eq!(parts, (0..STRATA).collect());
        }
    }

    #[test]
    fn variables_blocks_and_seeds_have_orders_of_their_own() {
        let order = |seed, block: u32, name: &str| {
            let cells = block * STRATA..(block + 1) * STRATA;
            let places = cells.map(|cell| (place(seed, cell, name) * f64::from(STRATA)) as u32);
            places.collect::<Vec<u32>>()
        };
        let first = order(1, 0, "rate");
        for other in [order(1, 0, "rtt"), order(1, 1, "rate"), order(2, 0, "rate")] {
            assert_ne!(first, other);
        }
    }
}
