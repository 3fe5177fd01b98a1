//! The invariants of a link: proves the simulator, not what runs over it.

use super::conservation::{Conservation, ensure};
use super::route::Tagged;
use crate::packet::Packet;
use crate::spec::{Clauses, Delay, LinkSpec, Rate, Service};
use crate::stats::LinkStats;
use core::time::Duration;
use std::rc::Rc;
use units::Timestamp;

/// Checks what one link is given and what it delivers.
#[derive(Debug)]
pub(super) struct Checks {
    conservation: Rc<Conservation>,
    /// The rate at which deliveries must be spaced; `None` when the delay behind the transmitter
    /// varies and may push them together.
    spacing: Option<Rate>,
    /// Packets from this number on have met the link as it is described now.
    since: u64,
    /// Number and time of the last delivery.
    last: Option<(u64, Timestamp)>,
}

impl Checks {
    pub(super) fn new(spec: &LinkSpec) -> Self {
        Self {
            conservation: Conservation::new(copies(spec)),
            spacing: spacing(spec),
            since: 0,
            last: None,
        }
    }

    pub(super) fn reconfigure(&mut self, spec: &LinkSpec) {
        self.conservation.allow(copies(spec));
        self.spacing = spacing(spec);
        self.since = self.conservation.counts().entered;
    }

    /// What became of the packets that entered.
    pub(super) fn conservation(&self) -> &Rc<Conservation> {
        &self.conservation
    }

    /// A packet came out. The error says which invariant was violated.
    pub(super) fn delivered<P>(
        &mut self,
        due: Timestamp,
        packet: &Packet<Tagged<P>>,
        keeps_order: bool,
    ) -> Result<(), String> {
        let (tag, size) = (&packet.payload.0, packet.size);
        let number = tag.number();
        ensure(tag.is_of(&self.conservation), || {
            format!("packet {number} of another link came out")
        })?;
        ensure(tag.may_become(packet.ecn), || {
            format!("packet {number} came out as {:?}", packet.ecn)
        })?;
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
            ensure(gap >= rate.wire_size(size) / rate.rate, || {
                format!("packet {number} of {size} came out {gap:?} after the last one at {rate}")
            })?;
        }
        Ok(())
    }

    /// Everything that is due has come out: the link's statistics have to account for every packet.
    ///
    /// A copy that the link counts as made and lost at once need not have existed.
    pub(super) fn conserved(&self, stats: &LinkStats) -> Result<(), String> {
        if let Some(number) = self.conservation.violation() {
            return Err(format!(
                "packet {number} was delivered and dropped, or one of both more than once"
            ));
        }
        let entered = stats.arrived + stats.duplicated;
        let accounted = stats.delivered + stats.dropped.total() + stats.held;
        let counts = self.conservation.counts();
        let unmade = stats.duplicated.packets.checked_sub(counts.copied);
        let dropped = unmade.map(|unmade| counts.destroyed + unmade);
        ensure(
            entered == accounted
                && stats.arrived.packets == counts.entered
                && stats.delivered.packets == counts.delivered
                && dropped == Some(stats.dropped.total().packets),
            || format!("packets appeared or vanished: {stats:?}, but {counts:?}"),
        )
    }
}

/// Ends that a packet may have.
fn copies(spec: &LinkSpec) -> u8 {
    1 + u8::from(all(spec).any(|clauses| clauses.duplicate.is_some()))
}

/// The base and every change.
fn all(spec: &LinkSpec) -> impl Iterator<Item = &Clauses> {
    let changes = spec.changes.iter().map(|change| &change.clauses);
    changes.chain([&spec.clauses])
}

fn spacing(spec: &LinkSpec) -> Option<Rate> {
    let clauses = &spec.clauses;
    let jitters = clauses.delay.as_ref().is_some_and(Delay::varies);
    let behind = clauses.has_bottleneck() && jitters
        || clauses.radio.is_some()
        || clauses.slot.is_some()
        || clauses.reorder.is_some()
        || spec.changes.iter().next().is_some();
    match clauses.service {
        Some(Service::Rate(rate)) if !behind => Some(rate),
        _ => None,
    }
}

const ROUNDING: Duration = Duration::from_nanos(1);
