//! The packets of a connection, by packet number space (RFC 9000 §12.3).

use super::sent_packets::{SentPacket, SentPackets};
use crate::tap::Space;

/// One [`SentPackets`] for each space. Those of the handshake take memory for as long as it lasts.
#[derive(Debug, Default)]
pub(super) struct Spaces {
    /// Initial and Handshake.
    handshake: Option<Box<[SentPackets; 2]>>,
    data: SentPackets,
}

impl Spaces {
    /// The packets of one space. `space` is the [`Space`] as a number.
    pub(super) fn get(&mut self, space: usize) -> &mut SentPackets {
        match space {
            DATA => &mut self.data,
            _ => &mut self.handshake.get_or_insert_default()[space],
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &SentPackets> {
        let handshake = self.handshake.iter().flat_map(|spaces| spaces.iter());
        handshake.chain([&self.data])
    }

    /// The spaces in use and their numbers.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut SentPackets)> {
        let handshake = self.handshake.iter_mut();
        let handshake = handshake.flat_map(|spaces| spaces.iter_mut());
        handshake.enumerate().chain([(DATA, &mut self.data)])
    }

    /// Forgets the packets of one space. `discarded` gets those that were in flight.
    pub(super) fn discard(&mut self, space: Space, discarded: impl FnMut(&SentPacket)) {
        match (space, &mut self.handshake) {
            (Space::Data, _) => self.data.clear(discarded),
            (_, Some(handshake)) => handshake[space as usize].clear(discarded),
            (_, None) => {}
        }
        // Initial keys have gone before those of the Handshake space (RFC 9001 §4.9).
        if space == Space::Handshake {
            self.handshake.take_if(|spaces| spaces[0].is_empty());
        }
    }
}

const DATA: usize = Space::Data as usize;

#[cfg(test)]
mod tests {
    use super::*;
    use units::Timestamp;

    #[test]
    fn after_the_handshake_its_spaces_take_no_memory() {
        let mut spaces = Spaces::default();
        for space in 0..3 {
            spaces
                .get(space)
                .push(SentPacket::example(7, Timestamp::ZERO));
        }
        let mut discarded = 0;
        spaces.discard(Space::Initial, |_| discarded += 1);
        assert!(spaces.handshake.is_some());
        spaces.discard(Space::Handshake, |_| discarded += 1);
        assert!(spaces.handshake.is_none());
        assert_eq!(discarded, 2);
        assert_eq!(spaces.iter_mut().map(|(space, _)| space).last(), Some(DATA));
        assert!(!spaces.get(DATA).is_empty());
    }

    #[test]
    fn packets_in_flight_stay_when_another_space_is_discarded() {
        let mut spaces = Spaces::default();
        spaces.get(0).push(SentPacket::example(7, Timestamp::ZERO));
        spaces.discard(Space::Handshake, |_| {});
        let mut discarded = 0;
        spaces.discard(Space::Initial, |_| discarded += 1);
        assert_eq!(discarded, 1);
    }
}
