//! How much of a stream has left.
//!
//! quinn-proto does not tell. But each STREAM frame passes through our keys when its packet is
//! encrypted, and says where its data ends (RFC 9000 §19.8).

use super::frames::stream_ends;
use std::collections::BTreeMap;

/// The streams that are watched: bytes from the beginning of each that have been in a packet.
#[derive(Debug, Default)]
pub(super) struct Departed(BTreeMap<u64, u64>);

impl Departed {
    /// Watches a stream of which nothing has left.
    pub(super) fn watch(&mut self, id: u64) {
        self.0.insert(id, 0);
    }

    /// Whether streams are left that are watched.
    pub(super) fn forget(&mut self, id: u64) -> bool {
        self.0.remove(&id);
        !self.0.is_empty()
    }

    /// How many bytes of a stream that is watched have left.
    pub(super) fn of(&self, id: u64) -> u64 {
        self.0.get(&id).copied().unwrap_or(0)
    }

    /// A packet with this payload leaves.
    pub(super) fn on_sent(&mut self, payload: &[u8]) {
        stream_ends(payload, |id, end| {
            if let Some(departed) = self.0.get_mut(&id) {
                *departed = (*departed).max(end);
            }
        });
    }

    /// quinn-proto forgets what it has sent of application data: 0-RTT was rejected, or begins anew
    /// after a Retry.
    pub(super) fn restart(&mut self) {
        self.0.values_mut().for_each(|departed| *departed = 0);
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
}
