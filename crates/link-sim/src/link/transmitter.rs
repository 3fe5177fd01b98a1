use crate::spec::Rate;
use units::{Bytes, Timestamp};

/// A transmitter that sends one packet after another at a fixed rate.
///
/// The end of a transmission is exact to a fraction of a nanosecond, so that a backlog leaves at
/// the rate whatever its packet sizes; what it reports is rounded up to the nanosecond.
#[derive(Debug)]
pub(super) struct Transmitter {
    rate: Option<Rate>,
    /// When the last packet is out, rounded down.
    busy_until: Timestamp,
    /// What was rounded off, in units of 1/rate nanoseconds.
    fraction: u64,
}

impl Transmitter {
    /// `None` sends in no time.
    pub(super) fn new(rate: Option<Rate>) -> Self {
        Self {
            rate,
            busy_until: Timestamp::ZERO,
            fraction: 0,
        }
    }

    pub(super) fn is_limited(&self) -> bool {
        self.rate.is_some()
    }

    /// Sends from now on at `rate`; a transmission under way ends when it would have.
    pub(super) fn set_rate(&mut self, rate: Option<Rate>) {
        if self.rate != rate {
            self.reset(self.free_at());
            self.rate = rate;
        }
    }

    /// Makes the transmitter free at `at`.
    pub(super) fn reset(&mut self, at: Timestamp) {
        self.busy_until = at;
        self.fraction = 0;
    }

    pub(super) fn free_at(&self) -> Timestamp {
        Timestamp::from_nanos(
            self.busy_until
                .as_nanos()
                .saturating_add(u64::from(self.fraction > 0)),
        )
    }

    /// Sends a packet that is ready at `ready` as soon as the transmitter is free, and answers when
    /// its last bit is out.
    pub(super) fn transmit(&mut self, ready: Timestamp, size: Bytes) -> Timestamp {
        if ready > self.free_at() {
            self.reset(ready);
        }
        if let Some(rate) = self.rate {
            let size = u128::from(rate.wire_size(size).get());
            let work = size * NANOS_PER_SEC + u128::from(self.fraction);
            let rate = u128::from(rate.rate.bytes_per_sec());
            let nanos = u64::try_from(work / rate).unwrap_or(u64::MAX);
            self.busy_until =
                Timestamp::from_nanos(self.busy_until.as_nanos().saturating_add(nanos));
            self.fraction = (work % rate) as u64;
        }
        self.free_at()
    }
}

const NANOS_PER_SEC: u128 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;
    use units::Bandwidth;

    fn rate(bytes_per_sec: u64) -> Rate {
        Rate::new(Bandwidth::from_bytes_per_sec(bytes_per_sec))
    }

    #[test]
    fn a_backlog_of_odd_sizes_leaves_at_the_rate() {
        // 3 bytes at 7 bytes/s take 428,571,428.57 ns; seven of them exactly 3 s.
        let mut transmitter = Transmitter::new(Some(rate(7)));
        let ends: Vec<u64> = (0..7)
            .map(|_| {
                transmitter
                    .transmit(Timestamp::ZERO, Bytes::new(3))
                    .as_nanos()
            })
            .collect();
        assert_eq!(ends[0], 428_571_429);
        assert_eq!(ends[6], 3_000_000_000);
    }

    #[test]
    fn an_idle_transmitter_begins_when_the_packet_is_ready() {
        let mut transmitter = Transmitter::new(Some(rate(1_000)));
        transmitter.transmit(Timestamp::ZERO, Bytes::new(1));
        let end = transmitter.transmit(Timestamp::from_millis(10), Bytes::new(5));
        assert_eq!(end, Timestamp::from_millis(15));
    }

    #[test]
    fn without_a_rate_sending_takes_no_time() {
        let mut transmitter = Transmitter::new(None);
        let now = Timestamp::from_millis(3);
        assert_eq!(transmitter.transmit(now, Bytes::MAX), now);
    }

    #[test]
    fn a_new_rate_begins_behind_the_packet_in_transmission() {
        let mut transmitter = Transmitter::new(Some(rate(1_000)));
        transmitter.transmit(Timestamp::ZERO, Bytes::new(10));
        transmitter.set_rate(Some(rate(10_000)));
        let end = transmitter.transmit(Timestamp::ZERO, Bytes::new(10));
        assert_eq!(end, Timestamp::ZERO + Duration::from_millis(11));
    }

    #[test]
    fn what_was_rounded_off_is_not_taken_to_another_rate() {
        // A byte takes 142,857,142 and 6/7 ns, then a whole second.
        let mut transmitter = Transmitter::new(Some(rate(7)));
        transmitter.transmit(Timestamp::ZERO, Bytes::new(1));
        transmitter.set_rate(Some(rate(1)));
        let end = transmitter.transmit(Timestamp::ZERO, Bytes::new(1));
        assert_eq!(end.as_nanos(), 1_142_857_143);
    }
}
