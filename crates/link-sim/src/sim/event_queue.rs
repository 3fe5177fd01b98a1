use units::Timestamp;

/// When each of a number of actors wants to be woken, and who is first.
///
/// A tournament: every inner place holds the earlier of its two children, and of two equal ones
/// the left, so that ties are won by who was added first. An entry that changes leaves nothing
/// behind, however often timers are moved.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    actors: usize,
    /// Leaves of the tournament, a power of two.
    leaves: usize,
    /// Place 1 is the root, the children of `i` are 2i and 2i + 1, leaves stand at the end.
    places: Vec<(Option<Timestamp>, usize)>,
}

impl Agenda {
    /// One actor more.
    pub(super) fn add(&mut self, deadline: Option<Timestamp>) {
        let actor = self.actors;
        self.actors += 1;
        if self.actors > self.leaves {
            self.grow();
        }
        self.set(actor, deadline);
    }

    /// Changes when an actor is woken.
    pub(super) fn set(&mut self, actor: usize, deadline: Option<Timestamp>) {
        let mut place = self.leaves + actor;
        if self.places[place].0 == deadline {
            return;
        }
        self.places[place].0 = deadline;
        while place > 1 {
            place /= 2;
            self.places[place] = self.winner(place);
        }
    }

    /// Who is first, and when.
    pub(super) fn next(&self) -> Option<(Timestamp, usize)> {
        let (deadline, actor) = *self.places.get(1)?;
        Some((deadline?, actor))
    }

    fn winner(&self, place: usize) -> (Option<Timestamp>, usize) {
        let (left, right) = (self.places[2 * place], self.places[2 * place + 1]);
        match (left.0, right.0) {
            (Some(l), Some(r)) if r < l => right,
            (None, Some(_)) => right,
            _ => left,
        }
    }

    fn grow(&mut self) {
        let leaves = (2 * self.leaves).max(2);
        let mut places = vec![(None, 0); 2 * leaves];
        for actor in 0..leaves {
            let known = (actor < self.leaves).then(|| self.places[self.leaves + actor].0);
            places[leaves + actor] = (known.flatten(), actor);
        }
        self.leaves = leaves;
        self.places = places;
        for place in (1..leaves).rev() {
            self.places[place] = self.winner(place);
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
        let mut agenda = Agenda::default();
        assert_eq!(agenda.next(), None);
        for millis in [30, 10, 20, 10, 40] {
            agenda.add(Some(at(millis)));
        }
        assert_eq!(agenda.next(), Some((at(10), 1)));
        agenda.set(1, None);
        assert_eq!(agenda.next(), Some((at(10), 3)));
        agenda.set(3, Some(at(50)));
        assert_eq!(agenda.next(), Some((at(20), 2)));
        agenda.set(4, Some(at(1)));
        assert_eq!(agenda.next(), Some((at(1), 4)));
    }

    #[test]
    fn nobody_is_first_when_nobody_wants_to_be_woken() {
        let mut agenda = Agenda::default();
        (0..5).for_each(|_| agenda.add(None));
        assert_eq!(agenda.next(), None);
        agenda.set(4, Some(at(1)));
        agenda.set(4, None);
        assert_eq!(agenda.next(), None);
    }
}
