/// Which queue is whose: a set-associative table (`cake_hash`).
///
/// A flow looks for a queue only in the set that its hash points into, so that classifying takes
/// the same few steps however many flows there are.
#[derive(Debug)]
pub(super) struct Sets {
    owners: Box<[u64]>,
}

impl Sets {
    /// `queues` is a multiple of the size of a set.
    pub(super) fn new(queues: usize) -> Self {
        debug_assert_eq!(queues % WAYS, 0);
        Self {
            owners: vec![0; queues].into_boxed_slice(),
        }
    }

    /// The queue of the flow with this hash: the one it had last, or a free one of its set, or,
    /// when all are taken, the one that the hash itself points to.
    pub(super) fn classify(&mut self, hash: u64, is_taken: impl Fn(usize) -> bool) -> usize {
        let direct = (hash % self.owners.len() as u64) as usize;
        let set = direct - direct % WAYS;
        let ways = || (0..WAYS).map(|way| set + (direct + way) % WAYS);
        let queue = ways()
            .find(|queue| self.owners[*queue] == hash)
            .or_else(|| ways().find(|queue| !is_taken(*queue)))
            .unwrap_or(direct);
        self.owners[queue] = hash;
        queue
    }
}

const WAYS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_flows_of_one_set_have_a_queue_each_and_the_ninth_shares() {
        let mut sets = Sets::new(16);
        let mut taken = Vec::new();
        // All of these point at the fourth queue of the second set.
        for flow in 0..8 {
            let queue = sets.classify(11 + 16 * flow, |queue| taken.contains(&queue));
            taken.push(queue);
        }
        assert_eq!(taken, [11, 12, 13, 14, 15, 8, 9, 10]);
        assert_eq!(sets.classify(11 + 16 * 8, |_| true), 11);
    }

    #[test]
    fn a_flow_finds_its_queue_again() {
        let mut sets = Sets::new(16);
        assert_eq!(sets.classify(3, |_| false), 3);
        assert_eq!(sets.classify(3 + 16, |queue| queue == 3), 4);
        // The first one is gone, and still the second stays where it is.
        assert_eq!(sets.classify(3 + 16, |queue| queue == 4), 4);
        assert_eq!(sets.classify(3, |queue| queue == 4), 3);
    }
}
