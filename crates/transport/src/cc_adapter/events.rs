//! Events of congestion control on their way to the observer.

use cc_core::{Event, Observer};
use std::{fmt, mem};

/// The observer, and the events not yet delivered to it.
///
/// They happen under the connection's lock, and the observer is called when that is free: it may
/// use the connection like anybody else.
#[derive(Debug, Default)]
pub(crate) struct DeferredEvents {
    observer: Slot,
    events: Vec<Event>,
}

#[derive(Default)]
enum Slot {
    #[default]
    Empty,
    Filled(Box<dyn Observer + Send>),
    Lent,
}

impl DeferredEvents {
    /// Whether no event waits for delivery.
    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Delivers to `observer` what happens from now on. Returns the one before, which is not to be
    /// dropped under the lock, either: it may hold the last handle of the connection.
    pub(crate) fn set_observer(
        &mut self,
        observer: Option<Box<dyn Observer + Send>>,
    ) -> Option<Box<dyn Observer + Send>> {
        self.events.clear();
        match mem::replace(
            &mut self.observer,
            observer.map_or(Slot::Empty, Slot::Filled),
        ) {
            Slot::Filled(former) => Some(former),
            Slot::Empty | Slot::Lent => None,
        }
    }

    /// The observer with its events, to be called without the lock and then given
    /// [back](Self::give_back); `None` when there are no events.
    pub(crate) fn take(&mut self) -> Option<Delivery> {
        if self.events.is_empty() {
            return None;
        }
        match mem::replace(&mut self.observer, Slot::Lent) {
            Slot::Filled(observer) => Some(Delivery {
                observer,
                events: mem::take(&mut self.events),
            }),
            slot => {
                self.observer = slot;
                None
            }
        }
    }

    /// Takes the observer back, unless another has been set since: it is returned, then.
    pub(crate) fn give_back(&mut self, mut delivery: Delivery) -> Option<Delivery> {
        if !matches!(self.observer, Slot::Lent) {
            return Some(delivery);
        }
        self.observer = Slot::Filled(delivery.observer);
        if self.events.is_empty() {
            delivery.events.clear();
            self.events = delivery.events;
        }
        None
    }
}

impl Observer for DeferredEvents {
    fn on_event(&mut self, event: &Event) {
        if !matches!(self.observer, Slot::Empty) && self.events.len() < MAX_EVENTS {
            self.events.push(*event);
        }
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "Empty",
            Self::Filled(_) => "Filled",
            Self::Lent => "Lent",
        })
    }
}

pub(crate) struct Delivery {
    observer: Box<dyn Observer + Send>,
    events: Vec<Event>,
}

impl Delivery {
    pub(crate) fn call(&mut self) {
        for event in &self.events {
            self.observer.on_event(event);
        }
    }
}

/// Events kept for an observer; those beyond are dropped. They are delivered after each message
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
        assert!(events.give_back(delivery).is_none());
    }

    #[test]
    fn events_wait_for_their_delivery_in_order() {
        let (sender, received) = channel();
        let mut events = DeferredEvents::default();
        events.on_event(&event(1));
        assert!(events.is_empty(), "nobody observes");
        events.set_observer(Some(Box::new(Report("a", sender))));
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
        events.set_observer(Some(Box::new(Report("a", sender))));
        (0..5_000).for_each(|millis| events.on_event(&event(millis)));
        deliver(&mut events);
        assert_eq!(received.try_iter().count(), MAX_EVENTS);
    }

    #[test]
    fn an_observer_set_during_a_delivery_stays() {
        let (sender, received) = channel();
        let mut events = DeferredEvents::default();
        events.set_observer(Some(Box::new(Report("a", sender.clone()))));
        events.on_event(&event(1));
        let delivery = events.take().unwrap();
        events.on_event(&event(2));
        assert!(events.take().is_none(), "the observer is away");
        events.set_observer(Some(Box::new(Report("b", sender))));
        assert!(events.give_back(delivery).is_some());
        events.on_event(&event(3));
        deliver(&mut events);
        let received: Vec<_> = received.try_iter().collect();
        assert_eq!(received, [("b", event(3))]);
    }
}
