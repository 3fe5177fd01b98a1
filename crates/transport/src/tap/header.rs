//! The number of a packet that has come, read before quinn-proto does.

use quinn_proto::crypto::HeaderKey;
use std::fmt;
use std::sync::Arc;

/// The start of a datagram: as much as a packet with a short header needs to show its number
/// (RFC 9001 §5.4.2).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    octets: [u8; HEAD],
    len: u8,
}

/// What a short header says once its protection is off (RFC 9000 §17.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShortHeader {
    pub(crate) number: u64,
    pub(crate) key_phase: bool,
}

/// A key that quinn-proto and the tap both have. It stays the same through key updates
/// (RFC 9001 §6).
#[derive(Clone)]
pub(super) struct SharedHeaderKey(Arc<dyn HeaderKey>);

impl Head {
    /// `None` if `datagram` is empty or begins with a long header.
    #[inline]
    pub(crate) fn of(datagram: &[u8]) -> Option<Self> {
        if datagram.first()? & LONG_HEADER != 0 {
            return None;
        }
        let octets = match datagram.first_chunk() {
            Some(head) => *head,
            None => {
                let mut octets = [0; HEAD];
                octets[..datagram.len()].copy_from_slice(datagram);
                octets
            }
        };
        Some(Self {
            octets,
            len: datagram.len().min(HEAD) as u8,
        })
    }

    /// Takes the protection off a copy. Nothing of it is authenticated: if the packet is forged,
    /// it is any number. `newest` is the newest that has been authenticated.
    pub(super) fn read(
        mut self,
        key: &SharedHeaderKey,
        cid_len: usize,
        newest: u64,
    ) -> Option<ShortHeader> {
        let number_at = 1 + cid_len;
        if number_at + MAX_NUMBER_LEN + key.0.sample_size() > usize::from(self.len) {
            return None;
        }
        key.0.decrypt(number_at, &mut self.octets);
        let len = usize::from(self.octets[0] & NUMBER_LEN) + 1;
        let octets = &self.octets[number_at..number_at + len];
        let truncated = octets
            .iter()
            .fold(0, |sum, octet| sum << 8 | u64::from(*octet));
        Some(ShortHeader {
            number: expand(truncated, len, newest + 1),
            key_phase: self.octets[0] & KEY_PHASE != 0,
        })
    }
}

impl SharedHeaderKey {
    pub(super) fn new(key: Box<dyn HeaderKey>) -> Self {
        Self(Arc::from(key))
    }
}

impl HeaderKey for SharedHeaderKey {
    fn decrypt(&self, pn_offset: usize, packet: &mut [u8]) {
        self.0.decrypt(pn_offset, packet);
    }

    fn encrypt(&self, pn_offset: usize, packet: &mut [u8]) {
        self.0.encrypt(pn_offset, packet);
    }

    fn sample_size(&self) -> usize {
        self.0.sample_size()
    }
}

impl fmt::Debug for SharedHeaderKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedHeaderKey")
    }
}

/// The number next to `expected` whose last `len` octets are `truncated` (RFC 9000 §A.3).
fn expand(truncated: u64, len: usize, expected: u64) -> u64 {
    let window = 1u64 << (8 * len);
    let candidate = expected & !(window - 1) | truncated;
    if candidate + window / 2 <= expected && candidate < MAX_NUMBER - window {
        candidate + window
    } else if candidate > expected + window / 2 && candidate >= window {
        candidate - window
    } else {
        candidate
    }
}

/// An octet of flags, the longest connection ID, the longest number, and a sample (RFC 9000 §17.3.1
/// and RFC 9001 §5.4.2).
const HEAD: usize = 1 + 20 + MAX_NUMBER_LEN + 16;
const MAX_NUMBER_LEN: usize = 4;
/// Set in the first octet of a long header.
const LONG_HEADER: u8 = 0x80;
/// In the first octet of a short header, its protection removed: one less than the number's octets.
const NUMBER_LEN: u8 = 0x03;
const KEY_PHASE: u8 = 0x04;
/// One more than the largest packet number.
const MAX_NUMBER: u64 = 1 << 62;

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rng;

    /// Protects headers by inverting the octets that RFC 9001 §5.4.1 protects.
    struct Inverting;

    impl HeaderKey for Inverting {
        fn decrypt(&self, pn_offset: usize, packet: &mut [u8]) {
            packet[0] ^= 0x1f;
            let len = usize::from(packet[0] & NUMBER_LEN) + 1;
            let number = &mut packet[pn_offset..pn_offset + len];
            number.iter_mut().for_each(|octet| *octet = !*octet);
        }

        fn encrypt(&self, _: usize, _: &mut [u8]) {}

        fn sample_size(&self) -> usize {
            16
        }
    }

    fn key() -> SharedHeaderKey {
        SharedHeaderKey::new(Box::new(Inverting))
    }

    /// A packet of `len` octets with this key phase and number.
    fn packet(key_phase: bool, cid_len: usize, number: &[u8], len: usize) -> Vec<u8> {
        let key_phase = if key_phase { KEY_PHASE } else { 0 };
        let mut packet = vec![(0x40 | key_phase | (number.len() as u8 - 1)) ^ 0x1f];
        packet.extend(vec![7; cid_len]);
        packet.extend(number.iter().map(|octet| !octet));
        packet.resize(len, 0);
        packet
    }

    #[test]
    fn number_and_key_phase_are_read_whatever_the_lengths() {
        for cid_len in [0, 8, 20] {
            for (number, expected) in [
                (&[0x02][..], 0x1_0002),
                (&[0xff][..], 0xffff),
                (&[0x12, 0x34][..], 0x1_1234),
                (&[0x00, 0x12, 0x34][..], 0x1234),
                (&[0x10, 0x00, 0x00, 0x00][..], 0x1000_0000),
            ] {
                for key_phase in [false, true] {
                    let packet = packet(key_phase, cid_len, number, 1_200);
                    let head = Head::of(&packet).expect("a short header");
                    let header = ShortHeader {
                        number: expected,
                        key_phase,
                    };
                    assert_eq!(head.read(&key(), cid_len, 0x1_0000), Some(header));
                }
            }
        }
    }

    #[test]
    fn packets_as_short_as_can_be_are_read_and_shorter_ones_are_not() {
        let read = |len| {
            let packet = packet(false, 8, &[5], len);
            Head::of(&packet).and_then(|head| head.read(&key(), 8, 0))
        };
        assert_eq!(read(1 + 8 + 4 + 16).map(|header| header.number), Some(5));
        assert!((0..1 + 8 + 4 + 16).all(|len| read(len).is_none()));
    }

    #[test]
    fn long_headers_are_not_read() {
        assert!(Head::of(&[0xc0; 1_200]).is_none());
        assert!(Head::of(&[]).is_none());
    }

    #[test]
    fn numbers_are_expanded_to_the_nearest() {
        // RFC 9000 §A.3.
        assert_eq!(expand(0x9b32, 2, 0xa82f_30ea + 1), 0xa82f_9b32);
        let mut rng = Rng::new(1);
        for _ in 0..10_000 {
            let len = 1 + rng.below(4) as usize;
            let window = 1 << (8 * len);
            let expected = rng.below(1 << 40);
            // One and a half windows from the beginning, where no number is negative.
            let expected = expected + 2 * window;
            let number = expected - window / 2 + 1 + rng.below(window);
            assert_eq!(expand(number % window, len, expected), number);
        }
        assert_eq!(expand(0xff, 1, 3), 0xff);
        assert_eq!(expand(0, 1, MAX_NUMBER - 1), MAX_NUMBER - 256);
    }
}
