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
    pub(crate) fn of(datagram: &[u8]) -> Option<Self> {
        if datagram.first()? & LONG_HEADER != 0 {
            return None;
        }
        let mut octets = [0; HEAD];
        let len = datagram.len().min(HEAD);
        match datagram.first_chunk() {
            Some(head) => octets = *head,
            None => octets[..len].copy_from_slice(datagram),
        }
        Some(Self {
            octets,
            len: len as u8,
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
