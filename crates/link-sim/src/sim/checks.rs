use crate::{LinkSpec, LinkStats};
use units::{Bandwidth, Bytes, Timestamp};

/// Watches one link from outside and finds promises that it broke.
#[derive(Debug)]
pub(super) struct Checks {
    /// How many times a packet may come out.
    copies: u8,
    /// The rate at which deliveries must be spaced; `None` when the delay behind the transmitter
    /// varies and may push them together.
    spacing: Option<Bandwidth>,
    /// Packets from this number on have met the link as it is described now.
    since: u64,
    sent: u64,
    delivered: u64,
    /// Number and time of the last delivery.
    last: Option<(u64, Timestamp)>,
    /// How often each of the latest packets came out, by number modulo [`WINDOW`].
    seen: Box<[u8]>,
}

impl Checks {
    pub(super) fn new(spec: &LinkSpec) -> Self {
        Self {
            copies: copies(spec),
            spacing: spacing(spec),
            since: 0,
            sent: 0,
            delivered: 0,
            last: None,
            seen: vec![0; WINDOW as usize].into(),
        }
    }

    pub(super) fn reconfigure(&mut self, spec: &LinkSpec) {
        // What is inside may still come out twice.
        self.copies = self.copies.max(copies(spec));
        self.spacing = spacing(spec);
        self.since = self.sent;
    }

    /// A packet enters: its number.
    pub(super) fn sent(&mut self) -> u64 {
        let number = self.sent;
        self.sent += 1;
        self.seen[(number % WINDOW) as usize] = 0;
        number
    }

    /// A packet came out. The error says which promise was broken.
    pub(super) fn delivered(
        &mut self,
        number: u64,
        due: Timestamp,
        size: Bytes,
        keeps_order: bool,
    ) -> Result<(), String> {
        self.delivered += 1;
        if number + WINDOW >= self.sent {
            let seen = &mut self.seen[(number % WINDOW) as usize];
            *seen = seen.saturating_add(1);
            ensure(*seen <= self.copies, || {
                format!("packet {number} came out too often")
            })?;
        }
        let Some((last_number, last_due)) = self.last.replace((number, due)) else {
            return Ok(());
        };
        ensure(due >= last_due, || format!("packet {number} came out late"))?;
        if keeps_order {
            ensure(number >= last_number, || {
                format!("packet {number} came out after packet {last_number}")
            })?;
        }
        if let Some(rate) = self
            .spacing
            .filter(|_| number.min(last_number) >= self.since)
        {
            // Both ends of a transmission are rounded up to the nanosecond.
            let gap = due.since(last_due) + ROUNDING;
            ensure(gap >= size / rate, || {
                format!("packet {number} of {size} came out {gap:?} after the last one at {rate}")
            })?;
        }
        Ok(())
    }

    /// Everything that is due has come out.
    pub(super) fn conserved(&self, stats: &LinkStats) -> Result<(), String> {
        let entered = stats.arrived + stats.duplicated;
        let accounted = stats.delivered + stats.dropped.total() + stats.held;
        ensure(
            entered == accounted
                && stats.arrived.packets == self.sent
                && stats.delivered.packets == self.delivered,
            || format!("packets appeared or vanished: {stats:?}"),
        )
    }
}

fn ensure(holds: bool, promise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(promise()) }
}

fn copies(spec: &LinkSpec) -> u8 {
    1 + u8::from(spec.duplicate.is_some())
}

fn spacing(spec: &LinkSpec) -> Option<Bandwidth> {
    let jitters = spec.delay.is_some_and(|delay| !delay.jitter.is_zero());
    let behind = spec.queue.is_some() && jitters;
    spec.rate.filter(|_| spec.reorder.is_none() && !behind)
}

/// More packets than any of the usual links holds; older ones are not checked for coming twice.
const WINDOW: u64 = 1 << 16;
const ROUNDING: core::time::Duration = core::time::Duration::from_nanos(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn checks(spec: &str) -> Checks {
        let mut checks = Checks::new(&spec.parse().unwrap());
        (0..10).for_each(|_| {
            checks.sent();
        });
        checks
    }

    fn deliver(checks: &mut Checks, number: u64, millis: u64) -> Result<(), String> {
        let due = Timestamp::from_millis(millis);
        checks.delivered(number, due, Bytes::new(1_250), true)
    }

    #[test]
    fn a_packet_that_comes_out_twice_is_found_unless_the_link_duplicates() {
        for (spec, fine) in [("", false), ("duplicate 1%", true)] {
            let mut checks = checks(spec);
            deliver(&mut checks, 3, 1).unwrap();
            assert_eq!(deliver(&mut checks, 3, 2).is_ok(), fine, "{spec}");
        }
    }

    #[test]
    fn a_packet_that_overtakes_is_found() {
        let mut checks = checks("");
        deliver(&mut checks, 3, 1).unwrap();
        assert!(deliver(&mut checks, 2, 2).is_err());
    }

    #[test]
    fn deliveries_faster_than_the_rate_are_found() {
        // 1250 bytes take 1 ms at 10 Mbit/s.
        let mut checks = checks("delay 1ms rate 10mbit queue 5p");
        deliver(&mut checks, 0, 1).unwrap();
        deliver(&mut checks, 1, 2).unwrap();
        assert!(deliver(&mut checks, 2, 2).is_err());
    }

    #[test]
    fn a_packet_that_vanishes_is_found() {
        let mut checks = checks("");
        let mut stats = LinkStats::default();
        (0..10).for_each(|_| stats.arrived += Bytes::new(1_250));
        stats.held = stats.arrived;
        checks.conserved(&stats).unwrap();
        stats.held -= Bytes::new(1_250);
        assert!(checks.conserved(&stats).is_err());
        stats.delivered += Bytes::new(1_250);
        assert!(checks.conserved(&stats).is_err());
        deliver(&mut checks, 0, 1).unwrap();
        checks.conserved(&stats).unwrap();
    }
}
