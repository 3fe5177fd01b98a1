//! A link whose invariants are checked: proves the simulator, not what runs over it.

#[cfg(test)]
mod tests;

use super::checks::Checks;
use super::route::{Envelope, Tagged};
use crate::link::Link;
use crate::packet::{Delivery, Packet};
use crate::spec::LinkSpec;
use crate::stats::LinkStats;
use core::marker::PhantomData;
use core::time::Duration;
use units::Timestamp;

#[derive(Debug)]
pub(super) struct CheckedLink<P, L = Link<Tagged<P>>> {
    link: L,
    checks: Checks,
    content: PhantomData<P>,
}

/// What of a link is checked; tests have broken ones.
pub(super) trait Checkable<T> {
    fn handle_packet(&mut self, now: Timestamp, packet: Packet<T>);
    fn poll_output(&mut self, now: Timestamp) -> Option<Delivery<T>>;
    fn stats(&self) -> &LinkStats;
    fn keeps_order(&self) -> bool;
}

impl<P: Clone, L: Checkable<Tagged<P>>> CheckedLink<P, L> {
    pub(super) fn new(link: L, spec: &LinkSpec) -> Self {
        Self {
            link,
            checks: Checks::new(spec),
            content: PhantomData,
        }
    }

    pub(super) fn link(&self) -> &L {
        &self.link
    }

    /// Packets and copies that came out so far.
    pub(super) fn collected(&self) -> u64 {
        self.checks.conservation().counts().delivered
    }

    pub(super) fn enter(&mut self, now: Timestamp, packet: Packet<Envelope<P>>) {
        let tag = self.checks.conservation().enter(packet.ecn);
        self.link
            .handle_packet(now, packet.map(|envelope| (tag, envelope)));
    }

    /// The next packet that comes out now. The error says which invariant was
    /// violated.
    pub(super) fn collect(
        &mut self,
        now: Timestamp,
    ) -> Result<Option<Packet<Envelope<P>>>, String> {
        let Some(Delivery { due, packet }) = self.link.poll_output(now) else {
            self.checks.conserved(self.link.stats())?;
            return Ok(None);
        };
        let keeps_order = self.link.keeps_order();
        self.checks.delivered(due, &packet, keeps_order)?;
        Ok(Some(packet.map(|(tag, envelope)| {
            tag.leave();
            envelope
        })))
    }
}

impl<P: Clone> CheckedLink<P> {
    pub(super) fn reconfigure(&mut self, now: Timestamp, spec: &LinkSpec, base_rtt: Duration) {
        self.link.reconfigure(now, spec, base_rtt);
        self.checks.reconfigure(spec);
    }
}

impl<T: Clone> Checkable<T> for Link<T> {
    fn handle_packet(&mut self, now: Timestamp, packet: Packet<T>) {
        Self::handle_packet(self, now, packet);
    }

    fn poll_output(&mut self, now: Timestamp) -> Option<Delivery<T>> {
        Self::poll_output(self, now)
    }

    fn stats(&self) -> &LinkStats {
        Self::stats(self)
    }

    fn keeps_order(&self) -> bool {
        Self::keeps_order(self)
    }
}
