//! QUIC frames as far as congestion control reads them: ACK frames whole, of the others where they
//! end (RFC 9000 §19).
//!
//! Nothing here judges a peer. Where a frame cannot be read, reading stops, and quinn-proto, which
//! reads the same bytes next, closes the connection.

use core::ops::Range;

/// What a packet that leaves counts as (RFC 9002 §2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// ACK and CONNECTION_CLOSE frames only: not in flight.
    NotInFlight,
    /// PADDING besides: in flight, and nobody acknowledges it at once.
    Padded,
    /// Anything else: in flight and ack-eliciting.
    AckEliciting,
}

impl Content {
    /// Of a packet with this payload.
    pub(super) fn of(payload: &[u8]) -> Self {
        let mut frames = Frames::new(payload);
        let mut content = Self::NotInFlight;
        while let Some(kind) = frames.next_kind() {
            match kind {
                PADDING => content = Self::Padded,
                ACK | ACK_ECN | CONNECTION_CLOSE | APPLICATION_CLOSE => {}
                _ => return Self::AckEliciting,
            }
            if frames.skip(kind).is_none() {
                break;
            }
        }
        content
    }
}

/// Whether a packet with this payload carries data of the application: a STREAM or DATAGRAM frame,
/// of which the last may have no length of its own and reach to the end of the packet.
pub(super) fn has_application_data(payload: &[u8]) -> bool {
    let mut frames = Frames::new(payload);
    while let Some(kind) = frames.next_kind() {
        match kind {
            STREAM..=STREAM_LAST | DATAGRAM | DATAGRAM_WITH_LENGTH => return true,
            _ if frames.skip(kind).is_none() => return false,
            _ => {}
        }
    }
    false
}

/// How many DATAGRAM frames a payload has.
pub(super) fn count_datagrams(payload: &[u8]) -> u16 {
    let mut frames = Frames::new(payload);
    let mut count = 0;
    while let Some(kind) = frames.next_kind() {
        count += u16::from(matches!(kind, DATAGRAM | DATAGRAM_WITH_LENGTH));
        if frames.skip(kind).is_none() {
            break;
        }
    }
    count
}

/// Where the first DATAGRAM frame stands whose contents begin with `mark`.
pub(super) fn find_datagram(payload: &[u8], mark: &[u8]) -> Option<Range<usize>> {
    let mut frames = Frames::new(payload);
    loop {
        let start = frames.at;
        let kind = frames.next_kind()?;
        if kind == DATAGRAM_WITH_LENGTH {
            let length = frames.varint()?;
            let contents = frames.at;
            frames.bytes(length)?;
            if payload[contents..frames.at].starts_with(mark) {
                return Some(start..frames.at);
            }
        } else {
            let contents = frames.at;
            frames.skip(kind)?;
            if kind == DATAGRAM && payload[contents..].starts_with(mark) {
                return Some(start..frames.at);
            }
        }
    }
}

/// Calls `on_frame` with the number of each STREAM frame's stream, and where its data ends.
pub(super) fn stream_ends(payload: &[u8], mut on_frame: impl FnMut(u64, u64)) {
    let mut frames = Frames::new(payload);
    while let Some(kind) = frames.next_kind() {
        let is_read = match kind {
            STREAM..=STREAM_LAST => frames.stream(kind).map(|(id, end)| on_frame(id, end)),
            _ => frames.skip(kind),
        };
        if is_read.is_none() {
            return;
        }
    }
}

/// How many packets the peer has received with each codepoint (RFC 9000 §19.3.2).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct EcnCounts {
    pub(crate) ect0: u64,
    pub(crate) ect1: u64,
    pub(crate) ce: u64,
}

/// An ACK frame without its ranges, which are handed out one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AckFrame {
    pub(super) largest: u64,
    /// As it stands in the frame: to be multiplied by 2 to the power of the peer's
    /// `ack_delay_exponent`, in microseconds.
    pub(super) delay: u64,
    pub(super) ecn: Option<EcnCounts>,
}

/// Reads frames one after another.
#[derive(Debug)]
pub(super) struct Frames<'a> {
    payload: &'a [u8],
    at: usize,
}

impl<'a> Frames<'a> {
    pub(super) fn new(payload: &'a [u8]) -> Self {
        Self { payload, at: 0 }
    }

    /// Goes to the next ACK frame. Whether it has ECN counts, for [`Self::ack`].
    pub(super) fn find_ack(&mut self) -> Option<bool> {
        loop {
            let kind = self.next_kind()?;
            match kind {
                ACK | ACK_ECN => return Some(kind == ACK_ECN),
                // To the end of the packet, which in a transfer holds nothing else.
                STREAM..=STREAM_LAST if kind & STREAM_LENGTH == 0 => return None,
                _ => self.skip(kind)?,
            }
        }
    }

    /// Reads the ACK frame that was found, and says where its ECN counts stand. `range` gets the
    /// numbers that it acknowledges, from the largest down, as smallest and largest; those of a
    /// frame that proves malformed as well, as far as they could be read.
    pub(super) fn ack(
        &mut self,
        has_ecn: bool,
        mut range: impl FnMut(u64, u64),
    ) -> Option<(AckFrame, Range<usize>)> {
        let largest = self.varint()?;
        let delay = self.varint()?;
        let others = self.varint()?;
        let mut smallest = largest.checked_sub(self.varint()?)?;
        range(smallest, largest);
        for _ in 0..others {
            let end = smallest.checked_sub(self.varint()?)?.checked_sub(2)?;
            smallest = end.checked_sub(self.varint()?)?;
            range(smallest, end);
        }
        let start = self.at;
        let ecn = match has_ecn {
            true => Some(EcnCounts {
                ect0: self.varint()?,
                ect1: self.varint()?,
                ce: self.varint()?,
            }),
            false => None,
        };
        let frame = AckFrame {
            largest,
            delay,
            ecn,
        };
        Some((frame, start..self.at))
    }

    #[inline]
    fn next_kind(&mut self) -> Option<u64> {
        self.varint()
    }

    /// Goes to the end of a frame whose type has been read.
    fn skip(&mut self, kind: u64) -> Option<()> {
        match kind {
            PADDING => self.skip_padding(),
            PING | HANDSHAKE_DONE | IMMEDIATE_ACK => {}
            ACK | ACK_ECN => {
                self.ack(kind == ACK_ECN, |_, _| {})?;
            }
            RESET_STREAM => self.varints(3)?,
            STOP_SENDING => self.varints(2)?,
            CRYPTO => {
                self.varints(1)?;
                self.prefixed()?;
            }
            NEW_TOKEN => self.prefixed()?,
            STREAM..=STREAM_LAST => {
                self.stream(kind)?;
            }
            MAX_DATA | MAX_STREAMS_BIDI | MAX_STREAMS_UNI | DATA_BLOCKED | STREAMS_BLOCKED_BIDI
            | STREAMS_BLOCKED_UNI | RETIRE_CONNECTION_ID => self.varints(1)?,
            MAX_STREAM_DATA | STREAM_DATA_BLOCKED => self.varints(2)?,
            NEW_CONNECTION_ID => {
                self.varints(2)?;
                let length = *self.payload.get(self.at)?;
                self.bytes(1 + u64::from(length) + RESET_TOKEN)?;
            }
            PATH_CHALLENGE | PATH_RESPONSE => self.bytes(8)?,
            CONNECTION_CLOSE => {
                self.varints(2)?;
                self.prefixed()?;
            }
            APPLICATION_CLOSE => {
                self.varints(1)?;
                self.prefixed()?;
            }
            DATAGRAM => self.at = self.payload.len(),
            DATAGRAM_WITH_LENGTH => self.prefixed()?,
            ACK_FREQUENCY => self.varints(4)?,
            _ => return None,
        }
        Some(())
    }

    /// Reads a STREAM frame: the number of its stream, and where its data ends.
    fn stream(&mut self, kind: u64) -> Option<(u64, u64)> {
        let id = self.varint()?;
        let offset = match kind & STREAM_OFFSET != 0 {
            true => self.varint()?,
            false => 0,
        };
        let length = match kind & STREAM_LENGTH != 0 {
            true => self.varint()?,
            false => (self.payload.len() - self.at) as u64,
        };
        self.bytes(length)?;
        Some((id, offset + length))
    }

    fn skip_padding(&mut self) {
        let rest = &self.payload[self.at..];
        let end = rest.iter().position(|byte| *byte != 0);
        self.at += end.unwrap_or(rest.len());
    }

    /// A length, and as many bytes.
    fn prefixed(&mut self) -> Option<()> {
        let length = self.varint()?;
        self.bytes(length)
    }

    fn bytes(&mut self, count: u64) -> Option<()> {
        let end = self.at.checked_add(usize::try_from(count).ok()?)?;
        (end <= self.payload.len()).then(|| self.at = end)
    }

    fn varints(&mut self, count: usize) -> Option<()> {
        (0..count).try_for_each(|_| self.varint().map(drop))
    }

    /// A variable-length integer (RFC 9000 §16).
    #[inline]
    fn varint(&mut self) -> Option<u64> {
        let (value, length) = varint(self.payload.get(self.at..)?)?;
        self.at += length;
        Some(value)
    }
}

/// The variable-length integer at the start of `bytes` and its length (RFC 9000 §16).
#[inline]
pub(super) fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    // One load for each length, and no loop: this is done for each packet, several times.
    Some(match first >> 6 {
        0 => (first.into(), 1),
        1 => (
            u64::from(u16::from_be_bytes(*bytes.first_chunk()?)) & 0x3fff,
            2,
        ),
        2 => (
            u64::from(u32::from_be_bytes(*bytes.first_chunk()?)) & 0x3fff_ffff,
            4,
        ),
        _ => (
            u64::from_be_bytes(*bytes.first_chunk()?) & (u64::MAX >> 2),
            8,
        ),
    })
}

/// Bytes of the shortest encoding of `value`, which is below 2⁶².
pub(super) fn varint_len(value: u64) -> usize {
    match value {
        0..0x40 => 1,
        0x40..0x4000 => 2,
        0x4000..0x4000_0000 => 4,
        _ => 8,
    }
}

/// Writes `value` over all of `out`, which is 1, 2, 4 or 8 bytes long and no shorter than
/// [`varint_len`]: longer ones are valid as well (RFC 9000 §16).
pub(super) fn put_varint(value: u64, out: &mut [u8]) {
    let length = out.len();
    out.copy_from_slice(&value.to_be_bytes()[8 - length..]);
    let length_bits = length.trailing_zeros() as u8;
    out[0] |= length_bits << 6;
}

pub(super) const PADDING: u64 = 0x00;
pub(super) const PING: u64 = 0x01;
const ACK: u64 = 0x02;
const ACK_ECN: u64 = 0x03;
const RESET_STREAM: u64 = 0x04;
const STOP_SENDING: u64 = 0x05;
const CRYPTO: u64 = 0x06;
const NEW_TOKEN: u64 = 0x07;
const STREAM: u64 = 0x08;
const STREAM_LAST: u64 = 0x0f;
/// Bits of a STREAM frame's type (RFC 9000 §19.8).
const STREAM_OFFSET: u64 = 0x04;
const STREAM_LENGTH: u64 = 0x02;
const MAX_DATA: u64 = 0x10;
const MAX_STREAM_DATA: u64 = 0x11;
const MAX_STREAMS_BIDI: u64 = 0x12;
const MAX_STREAMS_UNI: u64 = 0x13;
const DATA_BLOCKED: u64 = 0x14;
const STREAM_DATA_BLOCKED: u64 = 0x15;
const STREAMS_BLOCKED_BIDI: u64 = 0x16;
const STREAMS_BLOCKED_UNI: u64 = 0x17;
const NEW_CONNECTION_ID: u64 = 0x18;
const RETIRE_CONNECTION_ID: u64 = 0x19;
const PATH_CHALLENGE: u64 = 0x1a;
const PATH_RESPONSE: u64 = 0x1b;
const CONNECTION_CLOSE: u64 = 0x1c;
const APPLICATION_CLOSE: u64 = 0x1d;
const HANDSHAKE_DONE: u64 = 0x1e;
/// draft-ietf-quic-ack-frequency.
const IMMEDIATE_ACK: u64 = 0x1f;
pub(super) const ACK_FREQUENCY: u64 = 0xaf;
/// RFC 9221 §4.
const DATAGRAM: u64 = 0x30;
const DATAGRAM_WITH_LENGTH: u64 = 0x31;

/// Bytes of a stateless reset token.
const RESET_TOKEN: u64 = 16;

#[cfg(test)]
mod tests;
