//! Events of congestion control on their way to the observers.

use super::event_stream::Source;
use cc_core::{Event, Observer};
use std::{fmt, mem};

/// The observers, and the events not yet delivered to them.
///
/// They happen under the connection's lock, and observers are called when that is free: they may
/// use the connection like anybody else.
#[derive(Debug, Default)]
pub(crate) struct DeferredEvents {
    observers: Vec<Observing>,
    events: Vec<Event>,
    /// Whether some of the observers are away, in a [`Delivery`].
    is_lent: bool,
    /// Which of those have been dismissed meanwhile.
    dismissed: Dismissed,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Dismissed {
    #[default]
    Nobody,
    TheOneThatWasSet,
    Everyone,
}

/// One that receives events, beginning with number `from` of those not yet delivered.
#[derive(Debug)]
pub(crate) struct Observing {
    by: By,
    from: usize,
}

pub(crate) enum By {
    /// The one that another takes the place of.
    Set(Box<dyn Observer + Send>),
    Added(Box<dyn Observer + Send>),
    Stream(Source),
}

impl DeferredEvents {
    /// Whether no event waits for delivery.
    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Delivers to this one, too, what happens from now on. Returns the one whose place it takes,
    /// which is not to be dropped under the lock, either: it may hold the last handle of the
    /// connection.
    pub(crate) fn add(&mut self, by: By) -> Option<Observing> {
        self.observers.retain(|observing| !observing.is_over());
        let former = self.observers.iter().position(Observing::is_set);
        let former = former.filter(|_| matches!(by, By::Set(_)));
        if matches!(by, By::Set(_)) && self.dismissed == Dismissed::Nobody && self.is_lent {
            self.dismissed = Dismissed::TheOneThatWasSet;
        }
        let from = self.events.len();
        let former = former.map(|index| self.observers.swap_remove(index));
        self.observers.push(Observing { by, from });
        former
    }

    /// Nothing happens any more. All who have observed, to be dropped without the lock.
    pub(crate) fn dismiss(&mut self) -> Vec<Observing> {
        self.events.clear();
        if self.is_lent {
            self.dismissed = Dismissed::Everyone;
        }
        mem::take(&mut self.observers)
    }

    /// The observers with their events, to be called without the lock and then given
    /// [back](Self::give_back); `None` when there are no events.
    pub(crate) fn take(&mut self) -> Option<Delivery> {
        self.observers.retain(|observing| !observing.is_over());
        if self.observers.is_empty() && !self.is_lent {
            self.events.clear();
        }
        if self.events.is_empty() || self.is_lent {
            return None;
        }
        self.is_lent = true;
        Some(Delivery {
            observers: mem::take(&mut self.observers),
            events: mem::take(&mut self.events),
        })
    }

    /// Takes the observers back. Returns those of them that have been dismissed since, to be
    /// dropped without the lock.
    pub(crate) fn give_back(&mut self, delivery: Delivery) -> Vec<Observing> {
        let Delivery {
            mut observers,
            mut events,
        } = delivery;
        self.is_lent = false;
        let dismissed = match mem::take(&mut self.dismissed) {
            Dismissed::Everyone => return observers,
            Dismissed::TheOneThatWasSet => observers.extract_if(.., |one| one.is_set()).collect(),
            Dismissed::Nobody => Vec::new(),
        };
        observers.append(&mut self.observers);
        self.observers = observers;
        if self.events.is_empty() {
            events.clear();
            self.events = events;
        }
        dismissed
    }
}

impl Observer for DeferredEvents {
    fn on_event(&mut self, event: &Event) {
        let is_observed = !self.observers.is_empty() || self.is_lent;
        if is_observed && self.events.len() < MAX_EVENTS {
            self.events.push(*event);
        }
    }
}

impl Observing {
    fn is_set(&self) -> bool {
        matches!(self.by, By::Set(_))
    }

    fn is_over(&self) -> bool {
        matches!(&self.by, By::Stream(source) if source.is_abandoned())
    }
}

impl fmt::Debug for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Set(_) => "Set",
            Self::Added(_) => "Added",
            Self::Stream(_) => "Stream",
        })
    }
}

pub(crate) struct Delivery {
    observers: Vec<Observing>,
    events: Vec<Event>,
}

impl Delivery {
    pub(crate) fn call(&mut self) {
        for Observing { by, from } in &mut self.observers {
            let events = self.events.get(mem::take(from)..).unwrap_or_default();
            match by {
                By::Set(observer) | By::Added(observer) => {
                    events.iter().for_each(|event| observer.on_event(event));
                }
                By::Stream(source) => source.send(events.iter().copied()),
            }
        }
    }
}

/// Events kept for the observers; those beyond are dropped. They are delivered after each message
/// from the socket, of which the kernel makes one of at most 64 datagrams: some hundred events.
const MAX_EVENTS: usize = 1_024;

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Sender, channel};
    use units::Timestamp;

    struct Report(&'static str, Sender<(&'static str, Event)>);

    impl Observer for Report {
        fn on_event(&mut self, event: &Event) {
            self.1.send((self.0, *event)).unwrap();
        }
    }

    fn event(millis: u64) -> Event {
        Event::StateChanged {
            at: Timestamp::from_millis(millis),
            from: "a",
            to: "b",
        }
    }

    fn deliver(events: &mut DeferredEvents) {
        let mut delivery = events.take().unwrap();
        delivery.call();
        assert!(events.give_back(delivery).is_empty());
    }

    #[test]
    fn events_wait_for_their_delivery_in_order() {
        let (sender, received) = channel();
        let mut events = DeferredEvents::default();
        events.on_event(&event(1));
        assert!(events.is_empty(), "nobody observes");
        events.add(By::Set(Box::new(Report("a", sender))));
        assert!(events.take().is_none());
        events.on_event(&event(2));
        events.on_event(&event(3));
        assert!(received.try_recv().is_err());
        deliver(&mut events);
        assert!(events.is_empty());
        events.on_event(&event(4));
        deliver(&mut events);
        let received: Vec<_> = received.try_iter().collect();
        assert_eq!(received, [2, 3, 4].map(|millis| ("a", event(millis))));
    }

    #[test]
    fn no_more_than_the_limit_are_kept() {
        let (sender, received) = channel();
        let mut events = DeferredEvents::default();
        events.add(By::Set(Box::new(Report("a", sender))));
        (0..5_000).for_each(|millis| events.on_event(&event(millis)));
        deliver(&mut events);
        assert_eq!(received.try_iter().count(), MAX_EVENTS);
    }

    #[test]
    fn an_observer_set_during_a_delivery_stays() {
        let (sender, received) = channel();
        let mut events = DeferredEvents::default();
        events.add(By::Set(Box::new(Report("a", sender.clone()))));
        events.on_event(&event(1));
        let delivery = events.take().unwrap();
        events.on_event(&event(2));
        assert!(events.take().is_none(), "the observer is away");
        events.add(By::Set(Box::new(Report("b", sender))));
        assert_eq!(events.give_back(delivery).len(), 1);
        events.on_event(&event(3));
        deliver(&mut events);
        let received: Vec<_> = received.try_iter().collect();
        assert_eq!(received, [("b", event(3))]);
    }

    #[test]
    fn each_observer_receives_what_happens_after_it_was_added() {
        let (sender, received) = channel();
        let mut events = DeferredEvents::default();
        let report = |name| Box::new(Report(name, sender.clone()));
        events.add(By::Set(report("a")));
        events.on_event(&event(1));
        events.add(By::Added(report("b")));
        events.on_event(&event(2));
        let mut delivery = events.take().unwrap();
        events.on_event(&event(3));
        events.add(By::Added(report("c")));
        events.on_event(&event(4));
        delivery.call();
        assert!(events.give_back(delivery).is_empty());
        deliver(&mut events);
        let all: Vec<_> = received.try_iter().collect();
        for (name, first) in [("a", 1), ("b", 2), ("c", 4)] {
            let seen = all.iter().filter(|(by, _)| *by == name);
            assert!(
                seen.map(|(_, seen)| *seen).eq((first..=4).map(event)),
                "{name}"
            );
        }
    }

    #[test]
    fn observers_dismissed_during_a_delivery_do_not_come_back() {
        let (sender, received) = channel();
        let mut events = DeferredEvents::default();
        events.add(By::Set(Box::new(Report("a", sender.clone()))));
        events.add(By::Added(Box::new(Report("b", sender))));
        events.on_event(&event(1));
        let delivery = events.take().unwrap();
        assert!(events.dismiss().is_empty());
        assert_eq!(events.give_back(delivery).len(), 2);
        events.on_event(&event(2));
        assert!(events.take().is_none());
        assert_eq!(received.try_iter().count(), 0);
    }
}
