//! Error codes: those of sessions and streams, and how QUIC carries the application's.

use quinn_proto::VarInt;
use std::fmt;
use web_transport_proto::{error_from_http3, error_to_http3};

/// RFC 9114 §8.1.
pub(super) const H3_NO_ERROR: VarInt = VarInt::from_u32(0x100);
pub(super) const H3_STREAM_CREATION_ERROR: VarInt = VarInt::from_u32(0x103);
pub(super) const H3_CLOSED_CRITICAL_STREAM: VarInt = VarInt::from_u32(0x104);
pub(super) const H3_FRAME_UNEXPECTED: VarInt = VarInt::from_u32(0x105);
pub(super) const H3_FRAME_ERROR: VarInt = VarInt::from_u32(0x106);
pub(super) const H3_EXCESSIVE_LOAD: VarInt = VarInt::from_u32(0x107);
pub(super) const H3_ID_ERROR: VarInt = VarInt::from_u32(0x108);
pub(super) const H3_MISSING_SETTINGS: VarInt = VarInt::from_u32(0x10a);
pub(super) const H3_REQUEST_REJECTED: VarInt = VarInt::from_u32(0x10b);
pub(super) const H3_REQUEST_CANCELLED: VarInt = VarInt::from_u32(0x10c);
pub(super) const H3_REQUEST_INCOMPLETE: VarInt = VarInt::from_u32(0x10d);
pub(super) const H3_MESSAGE_ERROR: VarInt = VarInt::from_u32(0x10e);
/// RFC 9204 §6.
pub(super) const QPACK_DECOMPRESSION_FAILED: VarInt = VarInt::from_u32(0x200);
/// RFC 9297 §5.2.
pub(super) const H3_DATAGRAM_ERROR: VarInt = VarInt::from_u32(0x33);
/// draft-ietf-webtrans-http3-07, "HTTP/3 Error Code Registration": a stream for a session that is
/// not there yet, and too many wait already.
pub(super) const BUFFERED_STREAM_REJECTED: VarInt = VarInt::from_u32(0x3994_bd84);
/// The same section: a stream of a session that is over.
pub(super) const SESSION_GONE: VarInt = VarInt::from_u32(0x170d_7b68);

/// The code with which a peer resets a stream, or asks to stop one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamCode {
    /// The application's (draft-ietf-webtrans-http3-07, "Resetting Data Streams").
    Application(u32),
    /// HTTP/3's own, or one that means nothing here, as it was received.
    Http3(VarInt),
}

impl StreamCode {
    pub(super) fn from_wire(code: VarInt) -> Self {
        match error_from_http3(code.into_inner()) {
            // Every 31st code of the range is reserved and stands for none.
            Some(application) if to_wire(application) == code => Self::Application(application),
            _ => Self::Http3(code),
        }
    }
}

impl fmt::Display for StreamCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Application(code) => write!(f, "code {code}"),
            Self::Http3(code) => write!(f, "HTTP/3 code {:#x}", code.into_inner()),
        }
    }
}

/// What QUIC carries for an application's code.
pub(super) fn to_wire(code: u32) -> VarInt {
    VarInt::from_u64(error_to_http3(code)).expect("the codes' range is below 2^62")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_comes_back_as_itself() {
        for code in (0..100).chain([0x1d, 0x1e, 0x1f, 255, 256, u32::MAX - 1, u32::MAX]) {
            let back = StreamCode::from_wire(to_wire(code));
            assert_eq!(back, StreamCode::Application(code));
        }
        // The two ends of the range, from the draft's §4.4.
        assert_eq!(to_wire(0).into_inner(), 0x52e4_a40f_a8db);
        assert_eq!(to_wire(u32::MAX).into_inner(), 0x52e5_ac98_3162);
    }

    #[test]
    fn codes_outside_the_range_and_reserved_ones_are_http3s() {
        let first = to_wire(0).into_inner();
        let last = to_wire(u32::MAX).into_inner();
        let reserved = (first..first + 62).find(|code| (code - 0x21) % 0x1f == 0);
        for code in [0, 0x100, first - 1, last + 1, reserved.unwrap()] {
            let code = VarInt::from_u64(code).unwrap();
            assert_eq!(StreamCode::from_wire(code), StreamCode::Http3(code));
        }
    }
}
