use units::Timestamp;

/// A priority queue of timers, one for each source of events; the source that was added first wins
/// a tie.
///
/// A tournament tree: every inner node holds the earlier of its two children, and of two equal ones
/// the left. A timer that is moved replaces its entry, so the queue does not grow.
#[derive(Debug, Default)]
pub(super) struct EventQueue {
    sources: usize,
    /// Leaves of the tree, a power of two.
    leaves: usize,
    /// Node 1 is the root, the children of `i` are 2i and 2i + 1, leaves stand at the end.
    nodes: Vec<(Option<Timestamp>, usize)>,
}

impl EventQueue {
    pub(super) fn add(&mut self, deadline: Option<Timestamp>) {
        let source = self.sources;
        self.sources += 1;
        if self.sources > self.leaves {
            self.grow();
        }
        self.set(source, deadline);
    }

    pub(super) fn set(&mut self, source: usize, deadline: Option<Timestamp>) {
        let mut node = self.leaves + source;
        if self.nodes[node].0 == deadline {
            return;
        }
        self.nodes[node].0 = deadline;
        while node > 1 {
            node /= 2;
            self.nodes[node] = self.winner(node);
        }
    }

    /// The earliest timer and its source.
    pub(super) fn next(&self) -> Option<(Timestamp, usize)> {
        let (deadline, source) = *self.nodes.get(1)?;
        Some((deadline?, source))
    }

    fn winner(&self, node: usize) -> (Option<Timestamp>, usize) {
        let (left, right) = (self.nodes[2 * node], self.nodes[2 * node + 1]);
        match (left.0, right.0) {
            (Some(l), Some(r)) if r < l => right,
            (None, Some(_)) => right,
            _ => left,
        }
    }

    fn grow(&mut self) {
        let leaves = (2 * self.leaves).max(2);
        let mut nodes = vec![(None, 0); 2 * leaves];
        for source in 0..leaves {
            let known = (source < self.leaves).then(|| self.nodes[self.leaves + source].0);
            nodes[leaves + source] = (known.flatten(), source);
        }
        self.leaves = leaves;
        self.nodes = nodes;
        for node in (1..leaves).rev() {
            self.nodes[node] = self.winner(node);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn the_earliest_is_first_and_a_tie_goes_to_the_first_added() {
        let mut queue = EventQueue::default();
        assert_eq!(queue.next(), None);
        for millis in [30, 10, 20, 10, 40] {
            queue.add(Some(at(millis)));
        }
        assert_eq!(queue.next(), Some((at(10), 1)));
        queue.set(1, None);
        assert_eq!(queue.next(), Some((at(10), 3)));
        queue.set(3, Some(at(50)));
        assert_eq!(queue.next(), Some((at(20), 2)));
        queue.set(4, Some(at(1)));
        assert_eq!(queue.next(), Some((at(1), 4)));
    }

    #[test]
    fn nobody_is_first_when_nobody_wants_to_be_woken() {
        let mut queue = EventQueue::default();
        (0..5).for_each(|_| queue.add(None));
        assert_eq!(queue.next(), None);
        queue.set(4, Some(at(1)));
        queue.set(4, None);
        assert_eq!(queue.next(), None);
    }
}
