//! What becomes of datagrams that have left: the fate of their packets.

use crate::datagrams::{DatagramId, DatagramOutcome};
use std::collections::BTreeSet;
use std::mem;
use units::Timestamp;

/// Which datagrams are in which packets in flight, of those that somebody asks for.
#[derive(Debug, Default)]
pub(super) struct DatagramFates {
    /// By the number of their packet.
    in_flight: BTreeSet<(u64, DatagramId)>,
    known: Vec<DatagramFate>,
}

/// What has become of a datagram, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DatagramFate {
    pub(crate) id: DatagramId,
    pub(crate) at: Timestamp,
    pub(crate) outcome: DatagramOutcome,
}

impl DatagramFates {
    /// Whether there is anything to learn.
    pub(super) fn is_empty(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// A datagram whose fate somebody asks for has left in packet `number` of application data.
    pub(super) fn track(&mut self, number: u64, id: DatagramId) {
        self.in_flight.insert((number, id));
        if self.in_flight.len() > MAX_TRACKED {
            self.in_flight.pop_first();
        }
    }

    /// What has become of the datagrams in packet `number` of application data.
    pub(super) fn on_outcome(&mut self, at: Timestamp, number: u64, outcome: DatagramOutcome) {
        let first = (number, DatagramId(0));
        while let Some(&(found, id)) = self.in_flight.range(first..).next() {
            if found != number {
                break;
            }
            self.in_flight.remove(&(found, id));
            self.known.push(DatagramFate { id, at, outcome });
        }
    }

    /// What is known and was not taken yet.
    pub(super) fn take(&mut self) -> Vec<DatagramFate> {
        mem::take(&mut self.known)
    }
}

/// Datagrams in flight whose fate is asked for; of those beyond, the oldest are forgotten. 8 MB in
/// flight of the usual size, and more than the readers of events are kept.
const MAX_TRACKED: usize = 8_192;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_datagrams_of_a_packet_share_its_fate() {
        let mut fates = DatagramFates::default();
        for (number, id) in [(7, 0), (7, 1), (8, 2)] {
            fates.track(number, DatagramId(id));
        }
        let at = Timestamp::from_millis(5);
        let (acked, lost) = (DatagramOutcome::Acknowledged, DatagramOutcome::Lost);
        fates.on_outcome(at, 6, acked);
        assert_eq!(fates.take(), []);
        fates.on_outcome(at, 7, lost);
        fates.on_outcome(at, 8, acked);
        let known = fates
            .take()
            .into_iter()
            .map(|fate| (fate.id.0, fate.outcome));
        assert_eq!(
            known.collect::<Vec<_>>(),
            [(0, lost), (1, lost), (2, acked)]
        );
        assert!(fates.is_empty());
    }

    #[test]
    fn a_peer_that_acknowledges_nothing_makes_it_keep_no_more_than_its_limit() {
        let mut fates = DatagramFates::default();
        for number in 0..20_000 {
            fates.track(number, DatagramId(number));
        }
        assert_eq!(fates.in_flight.len(), MAX_TRACKED);
    }
}
