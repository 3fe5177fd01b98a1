use core::time::Duration;
use units::Timestamp;

/// How long packets may have waited in a device that does not tell when they came.
///
/// None came earlier than the device was last seen empty. A sleep narrows that down, as a packet
/// that comes meanwhile ends it.
#[derive(Debug)]
pub(super) struct Unread {
    /// Whatever is still unread came no earlier.
    since: Timestamp,
    /// When the reader went to sleep, if it sleeps.
    asleep: Option<Timestamp>,
}

impl Unread {
    /// As of a device that is empty now.
    pub(super) fn new(now: Timestamp) -> Self {
        Self {
            since: now,
            asleep: None,
        }
    }

    /// The device was seen empty.
    pub(super) fn emptied(&mut self, now: Timestamp) {
        self.since = now;
    }

    /// The reader goes to sleep, after it saw the device empty.
    pub(super) fn sleep(&mut self, now: Timestamp) {
        self.asleep = Some(now);
    }

    /// The reader is back.
    pub(super) fn wake(&mut self, now: Timestamp) {
        let slept = self.asleep.take().map(|asleep| now.since(asleep));
        if slept.is_some_and(|slept| slept > NO_SLEEP) {
            self.since = now;
        }
    }

    /// Whether a packet read now may have waited for more than 1 ms.
    pub(super) fn is_long(&self, now: Timestamp) -> bool {
        now.since(self.since) > LONG
    }
}

const LONG: Duration = Duration::from_millis(1);
/// A shorter one may have been none: what was there already lets nobody sleep.
const NO_SLEEP: Duration = Duration::from_micros(500);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Timestamp {
        Timestamp::ZERO + Duration::from_micros(micros)
    }

    #[test]
    fn a_packet_that_ends_a_sleep_has_not_waited() {
        let mut unread = Unread::new(at(0));
        unread.sleep(at(10));
        unread.wake(at(50_000));
        assert!(!unread.is_long(at(50_100)));
        assert!(unread.is_long(at(51_001)));
    }

    #[test]
    fn what_was_there_when_the_reader_went_to_sleep_may_have_waited() {
        let mut unread = Unread::new(at(0));
        unread.sleep(at(2_000));
        unread.wake(at(2_010));
        assert!(unread.is_long(at(2_020)));
    }

    #[test]
    fn a_reader_that_never_sees_the_end_is_late_until_it_does() {
        let mut unread = Unread::new(at(0));
        unread.wake(at(900));
        assert!(!unread.is_long(at(1_000)));
        unread.wake(at(1_100));
        assert!(unread.is_long(at(1_100)));
        unread.emptied(at(1_200));
        assert!(!unread.is_long(at(1_300)));
    }
}
