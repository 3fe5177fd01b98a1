//! Transport parameters as they are encoded (RFC 9000 §18).

use super::frames::varint;
use std::time::Duration;

/// The value of a transport parameter that is an integer (RFC 9000 §18).
pub(super) fn integer(encoded: &[u8], wanted: u64) -> Option<u64> {
    varint(parameter(encoded, wanted)?).map(|(value, _)| value)
}

/// The value of a transport parameter (RFC 9000 §18).
pub(super) fn parameter(mut encoded: &[u8], wanted: u64) -> Option<&[u8]> {
    while !encoded.is_empty() {
        let (id, length) = varint(encoded)?;
        encoded = &encoded[length..];
        let (size, length) = varint(encoded)?;
        let (value, rest) = encoded[length..].split_at_checked(usize::try_from(size).ok()?)?;
        if id == wanted {
            return Some(value);
        }
        encoded = rest;
    }
    None
}

/// Transport parameters (RFC 9000 §18.2).
pub(super) const ACK_DELAY_EXPONENT: u64 = 0x0a;
pub(super) const MAX_ACK_DELAY: u64 = 0x0b;
/// draft-ietf-quic-ack-frequency-11 §3: a peer that has it understands ACK_FREQUENCY frames.
pub(super) const MIN_ACK_DELAY: u64 = 0xff04_de1b;
pub(super) const INITIAL_SOURCE_CONNECTION_ID: u64 = 0x0f;
pub(super) const DEFAULT_EXPONENT: u64 = 3;
pub(super) const DEFAULT_MAX_ACK_DELAY: Duration = Duration::from_millis(25);
/// The largest valid exponent; quinn-proto refuses others.
pub(super) const MAX_EXPONENT: u64 = 20;
