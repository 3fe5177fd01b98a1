//! What is to be expected of `n` shards when nothing but chance assigns the work, by simulation.
//!
//! A connection is on the shard that the last octet of its first connection ID gives, which is
//! random, and stays there. A shard works at the rate of one CPU, whatever the others do. Both are
//! properties of the design; that `n` CPUs do `n` times the work of one is not, and the recipe
//! `just shards scale` measures it.

use crate::Result;
use std::io::{self, Write};
use units::Rng;

/// Prints what each number of shards and of connections can be expected to do.
pub(crate) fn print(most: usize) -> Result<()> {
    writeln!(
        io::stdout(),
        "Shares of what the shards' CPUs could do, by simulation: {DRAWS} draws each.\n\
         bulk: connections that each could keep a shard busy.\n\
         equal: connections of one rate each; what they may ask for in total before the busiest\n\
         shard has no more to give: mean, and in the worst of a hundred draws.\n\
         handshakes: as many at once, each to a shard of its own choice.\n\n\
         {:>6} {:>13} {:>6} {:>6} {:>11} {:>11}",
        "shards",
        "conns a shard",
        "bulk",
        "equal",
        "worst of 100",
        "handshakes"
    )?;
    for shards in powers(most) {
        for per_shard in [1, 2, 4, 16, 64, 256, 1_024] {
            let connections = shards * per_shard;
            let expected = Expected::of(shards, connections);
            writeln!(
                io::stdout(),
                "{shards:>6} {per_shard:>13} {:>6.2} {:>6.2} {:>12.2} {:>11.2}",
                expected.bulk,
                expected.equal,
                expected.equal_worst,
                expected.handshakes
            )?;
        }
    }
    Ok(())
}

/// 1, 2, 4 and so on up to `most`, which is the last one.
pub(crate) fn powers(most: usize) -> Vec<usize> {
    let mut all: Vec<usize> = std::iter::successors(Some(1), |n| Some(n * 2))
        .take_while(|n| *n < most)
        .collect();
    all.push(most);
    all
}

/// Work done by shards, as a share of what they could do.
pub(crate) struct Expected {
    /// By connections of which each could keep a shard busy: the share of shards that have one.
    pub(crate) bulk: f64,
    /// By connections of one rate each, when the busiest shard has as much as it can do.
    pub(crate) equal: f64,
    /// The same in the worst of a hundred draws.
    pub(crate) equal_worst: f64,
    /// By clients that each begin a handshake, on any shard, when their last one is done.
    pub(crate) handshakes: f64,
}

impl Expected {
    pub(crate) fn of(shards: usize, connections: usize) -> Self {
        let mut rng = Rng::new(1);
        let mut bulk = 0.0;
        let mut equal: Vec<f64> = Vec::with_capacity(DRAWS);
        for _ in 0..DRAWS {
            let mut load = vec![0_usize; shards];
            for _ in 0..connections {
                load[any(&mut rng, shards)] += 1;
            }
            let used = load.iter().filter(|count| **count > 0).count();
            bulk += used as f64 / shards as f64;
            let busiest = load.iter().max().copied().unwrap_or(1);
            equal.push(connections as f64 / (shards * busiest) as f64);
        }
        equal.sort_by(f64::total_cmp);
        Self {
            bulk: bulk / DRAWS as f64,
            equal: equal.iter().sum::<f64>() / DRAWS as f64,
            equal_worst: equal[DRAWS / 100],
            handshakes: closed_loop(&mut rng, shards, connections),
        }
    }
}

/// The share of time that shards are busy when `clients` handshakes are always under way: each
/// takes one unit of a shard's time, and the next begins at once on any shard.
fn closed_loop(rng: &mut Rng, shards: usize, clients: usize) -> f64 {
    let mut waiting = vec![0_usize; shards];
    for _ in 0..clients {
        waiting[any(rng, shards)] += 1;
    }
    // All shards serve in step, since all handshakes take the same time.
    let mut busy = 0;
    for _ in 0..ROUNDS {
        let mut done = 0;
        for count in waiting.iter_mut().filter(|count| **count > 0) {
            *count -= 1;
            done += 1;
        }
        busy += done;
        for _ in 0..done {
            waiting[any(rng, shards)] += 1;
        }
    }
    busy as f64 / (ROUNDS * shards) as f64
}

fn any(rng: &mut Rng, shards: usize) -> usize {
    // As the rule has it: an octet, modulo the number of shards.
    rng.below(256) as usize % shards
}

const DRAWS: usize = 2_000;
const ROUNDS: usize = 20_000;
