//! State transitions: each is checked against the diagram and reported to the observer.

use crate::controller::PathState;
use crate::observer::{Event, Observer};

/// States of a controller, which know what may follow them.
pub(crate) trait Machine {
    /// The name for people.
    fn name(&self) -> &'static str;

    /// Whether `next` may follow: an arrow of the controller's diagram.
    fn may_become(&self, next: &Self) -> bool;
}

/// The event that is being handled: the path at that time, and the observer of what it causes.
pub(crate) struct EventContext<'a> {
    pub(crate) path: &'a PathState,
    pub(crate) observer: &'a mut dyn Observer,
}

impl EventContext<'_> {
    /// Goes from `state` to `next`.
    ///
    /// # Panics
    /// When that is no arrow of the diagram.
    pub(crate) fn transition<S: Machine>(&mut self, state: &mut S, next: S) {
        assert!(
            state.may_become(&next),
            "{} may not follow {}",
            next.name(),
            state.name()
        );
        self.observer.on_event(&Event::StateChanged {
            at: self.path.now,
            from: state.name(),
            to: next.name(),
        });
        *state = next;
    }
}

/// Changes made on sending, which has no observer, kept until the next event that has one; at most
/// `N` of them.
///
/// A restart from idle makes two at most: BBR's out of ProbeRTT to ProbeBW_DOWN, and on to CRUISE.
#[derive(Debug)]
pub(crate) struct DeferredEvents<const N: usize = 2> {
    events: [Option<Event>; N],
}

impl<const N: usize> Default for DeferredEvents<N> {
    fn default() -> Self {
        Self { events: [None; N] }
    }
}

impl<const N: usize> DeferredEvents<N> {
    pub(crate) fn report(&mut self, observer: &mut dyn Observer) {
        for event in self.events.iter_mut().filter_map(Option::take) {
            observer.on_event(&event);
        }
    }
}

impl<const N: usize> Observer for DeferredEvents<N> {
    fn on_event(&mut self, event: &Event) {
        let free = self.events.iter_mut().find(|slot| slot.is_none());
        *free.expect("what a restart causes is told before the next restart") = Some(*event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use units::{Bytes, Timestamp};

    #[derive(Debug, PartialEq)]
    enum Light {
        Red,
        Green,
    }

    impl Machine for Light {
        fn name(&self) -> &'static str {
            match self {
                Self::Red => "Red",
                Self::Green => "Green",
            }
        }

        fn may_become(&self, next: &Self) -> bool {
            *self == Self::Red && *next == Self::Green
        }
    }

    #[derive(Default)]
    struct Told(Vec<Event>);

    impl Observer for Told {
        fn on_event(&mut self, event: &Event) {
            self.0.push(*event);
        }
    }

    fn path() -> PathState {
        PathState::new(Timestamp::from_millis(7), Bytes::new(1_200))
    }

    fn change(from: &'static str, to: &'static str) -> Event {
        Event::StateChanged {
            at: Timestamp::from_millis(7),
            from,
            to,
        }
    }

    #[test]
    fn a_transition_is_made_and_told() {
        let (mut light, mut told) = (Light::Red, Told::default());
        let mut context = EventContext {
            path: &path(),
            observer: &mut told,
        };
        context.transition(&mut light, Light::Green);
        assert_eq!(light, Light::Green);
        assert_eq!(told.0, [change("Red", "Green")]);
    }

    #[test]
    #[should_panic(expected = "Red may not follow Green")]
    fn a_transition_that_is_no_arrow_is_our_fault() {
        let mut context = EventContext {
            path: &path(),
            observer: &mut (),
        };
        context.transition(&mut Light::Green, Light::Red);
    }

    #[test]
    fn what_was_not_told_is_told_once_and_in_order() {
        let (mut deferred, mut told) = (DeferredEvents::<2>::default(), Told::default());
        deferred.on_event(&change("ProbeRTT", "ProbeBW_DOWN"));
        deferred.on_event(&change("ProbeBW_DOWN", "ProbeBW_CRUISE"));
        deferred.report(&mut told);
        deferred.report(&mut told);
        let both = [
            change("ProbeRTT", "ProbeBW_DOWN"),
            change("ProbeBW_DOWN", "ProbeBW_CRUISE"),
        ];
        assert_eq!(told.0, both);
    }
}
