/// Lists of flows in the order in which they are served. A flow is in one of them or in none.
///
/// Circular lists, linked both ways through one array: behind the entries of the flows stand the
/// heads of the lists.
#[derive(Debug)]
pub(super) struct Rotation {
    links: Box<[Neighbors]>,
    flows: usize,
}

/// The entries before and behind; an entry that is alone is its own neighbor.
#[derive(Debug, Clone, Copy)]
struct Neighbors {
    before: usize,
    behind: usize,
}

impl Rotation {
    pub(super) fn new(flows: usize, lists: usize) -> Self {
        let alone = |index| Neighbors {
            before: index,
            behind: index,
        };
        Self {
            links: (0..flows + lists).map(alone).collect(),
            flows,
        }
    }

    pub(super) fn first(&self, list: usize) -> Option<usize> {
        let first = self.links[self.flows + list].behind;
        (first < self.flows).then_some(first)
    }

    pub(super) fn is_listed(&self, flow: usize) -> bool {
        self.links[flow].behind != flow
    }

    /// Puts a flow at the end of a list and out of any other.
    pub(super) fn move_to_end(&mut self, flow: usize, list: usize) {
        self.remove(flow);
        let head = self.flows + list;
        self.link(self.links[head].before, flow);
        self.link(flow, head);
    }

    /// Takes a flow out of its list, if it is in one.
    pub(super) fn remove(&mut self, flow: usize) {
        let Neighbors { before, behind } = self.links[flow];
        self.link(before, behind);
        self.link(flow, flow);
    }

    fn link(&mut self, before: usize, behind: usize) {
        self.links[before].behind = behind;
        self.links[behind].before = before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(rotation: &mut Rotation, list: usize) -> Vec<usize> {
        core::iter::from_fn(|| {
            let first = rotation.first(list)?;
            rotation.remove(first);
            Some(first)
        })
        .collect()
    }

    #[test]
    fn flows_stand_in_the_order_in_which_they_were_put() {
        let mut rotation = Rotation::new(4, 2);
        for (flow, to) in [(2, 0), (0, 0), (3, 1), (1, 0), (0, 1), (2, 0)] {
            rotation.move_to_end(flow, to);
        }
        assert_eq!(list(&mut rotation, 0), [1, 2]);
        assert_eq!(list(&mut rotation, 1), [3, 0]);
        assert!((0..4).all(|flow| !rotation.is_listed(flow)));
    }

    #[test]
    fn a_flow_in_no_list_can_be_removed_and_the_only_one_of_a_list_is_in_it() {
        let mut rotation = Rotation::new(2, 1);
        rotation.remove(1);
        rotation.move_to_end(1, 0);
        assert!(rotation.is_listed(1) && !rotation.is_listed(0));
        rotation.move_to_end(1, 0);
        assert_eq!(list(&mut rotation, 0), [1]);
    }
}
