//! How much of a stream has left.
//!
//! quinn-proto does not tell. But each STREAM frame passes through our keys when its packet is
//! encrypted, and says where its data ends (RFC 9000 §19.8).

use super::frames::stream_ends;
use std::collections::BTreeMap;

/// The streams that are watched: bytes from the beginning of each that have been in a packet.
#[derive(Debug, Default)]
pub(super) struct Departed {
    /// By number; what has left of `newest` since it was the newest is not in it yet.
    streams: BTreeMap<u64, u64>,
    /// The stream that was in a packet last, whether it is watched or not, and how far it has left:
    /// most packets have the stream of the one before, and nothing is to be searched for.
    newest: Option<(u64, u64)>,
}

impl Departed {
    /// Watches a stream of which nothing has left.
    pub(super) fn watch(&mut self, id: u64) {
        self.settle();
        self.streams.insert(id, 0);
    }

    /// Whether streams are left that are watched.
    pub(super) fn forget(&mut self, id: u64) -> bool {
        self.settle();
        self.streams.remove(&id);
        !self.streams.is_empty()
    }

    /// How many bytes of a stream that is watched have left.
    pub(super) fn of(&self, id: u64) -> u64 {
        match (self.newest, self.streams.get(&id)) {
            (Some((newest, departed)), Some(before)) if newest == id => departed.max(*before),
            (_, before) => before.copied().unwrap_or(0),
        }
    }

    /// A packet with this payload leaves.
    pub(super) fn on_sent(&mut self, payload: &[u8]) {
        stream_ends(payload, |id, end| match &mut self.newest {
            Some((newest, departed)) if *newest == id => *departed = (*departed).max(end),
            _ => {
                self.settle();
                self.newest = Some((id, end));
            }
        });
    }

    /// Notes what has left of the newest stream, if it is watched.
    fn settle(&mut self) {
        if let Some((id, end)) = self.newest.take()
            && let Some(departed) = self.streams.get_mut(&id)
        {
            *departed = (*departed).max(end);
        }
    }

    /// quinn-proto forgets what it has sent of application data: 0-RTT was rejected, or begins anew
    /// after a Retry.
    pub(super) fn restart(&mut self) {
        self.newest = None;
        self.streams.values_mut().for_each(|departed| *departed = 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_left_is_the_greatest_end_of_a_frame() {
        let mut departed = Departed::default();
        departed.watch(2);
        // An ACK, then 3 bytes of stream 2 with their length, then all the rest for stream 6, which
        // nobody watches.
        departed.on_sent(&[
            0x02, 9, 0, 0, 0, 0x0e, 2, 0x40, 100, 3, 1, 2, 3, 0x08, 6, 1, 2, 3,
        ]);
        assert_eq!((departed.of(2), departed.of(6)), (103, 0));
        // What is sent again is no news.
        departed.on_sent(&[0x0a, 2, 1, 1]);
        assert_eq!(departed.of(2), 103);
        departed.on_sent(&[0x0c, 2, 0x40, 200, 1]);
        assert_eq!(departed.of(2), 201);
    }

    #[test]
    fn streams_that_take_turns_are_told_apart() {
        let mut departed = Departed::default();
        // Stream 6 was in a packet before it was watched, as another one of its number.
        departed.on_sent(&[0x0c, 6, 50, 1]);
        departed.watch(2);
        departed.watch(6);
        for packet in [
            [0x0c, 2, 9, 1],
            [0x0c, 6, 4, 1],
            [0x0c, 2, 5, 1],
            [0x0c, 10, 60, 1],
        ] {
            departed.on_sent(&packet);
        }
        assert_eq!([2, 6, 10].map(|id| departed.of(id)), [10, 5, 0]);
        departed.on_sent(&[0x0c, 2, 20, 1]);
        assert!(departed.forget(6));
        assert_eq!(departed.of(2), 21);
        departed.restart();
        assert_eq!(departed.of(2), 0);
        assert!(!departed.forget(2));
    }
}
