//! What a link has to know of an IP packet, and the two things that it does to one.

use crate::packet::Ecn;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use units::Bytes;

/// What Ethernet (without preamble and check sequence) adds to an IP packet, so that a packet
/// counts as on an Ethernet device or veth.
pub const ETHERNET_OVERHEAD: Bytes = Bytes::new(14);

/// What a link sees of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Headers {
    pub(super) ecn: Ecn,
    /// The same in every run.
    pub(super) flow: u64,
}

/// `None` when this is not IPv4 or IPv6, or not of the length that its header says.
pub(super) fn parse(packet: &[u8]) -> Option<Headers> {
    match version(packet) {
        4 => parse_v4(packet),
        6 => parse_v6(packet),
        _ => None,
    }
}

/// Says "congestion experienced" in a packet that [`parse`] accepts.
pub(super) fn mark(packet: &mut [u8]) {
    match (version(packet), packet) {
        (4, [first, class, rest @ ..]) => {
            let old = u16::from_be_bytes([*first, *class]);
            *class |= CE;
            let new = u16::from_be_bytes([*first, *class]);
            if let Some(checksum) = rest.get_mut(8..).and_then(<[u8]>::first_chunk_mut) {
                *checksum = updated(u16::from_be_bytes(*checksum), old, new).to_be_bytes();
            }
        }
        // The traffic class is the low half of the first byte and the high half of the second;
        // IPv6 has no checksum of its own.
        (6, [_, class, ..]) => *class |= CE << 4,
        _ => {}
    }
}

/// Flips the last bit: one of the payload, or of the header that is all there is.
pub(super) fn damage(packet: &mut [u8]) {
    if let Some(last) = packet.last_mut() {
        *last ^= 1;
    }
}

fn version(packet: &[u8]) -> u8 {
    packet.first().map_or(0, |first| first >> 4)
}

fn parse_v4(packet: &[u8]) -> Option<Headers> {
    let header: &[u8; 20] = packet.first_chunk()?;
    let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let header_length = usize::from(header[0] & 0xf) * 4;
    if length != packet.len() || header_length < header.len() {
        return None;
    }
    let behind = packet.get(header_length..)?;
    // More fragments follow, or others came before.
    let is_fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0;
    let transport = if is_fragment { &[] } else { behind };
    Some(Headers {
        ecn: codepoint(header[1]),
        flow: flow(&header[12..20], header[9], transport),
    })
}

fn parse_v6(packet: &[u8]) -> Option<Headers> {
    let header: &[u8; 40] = packet.first_chunk()?;
    let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
    let behind = &packet[header.len()..];
    if length != behind.len() {
        return None;
    }
    let (protocol, transport) = skip_extensions(header[6], behind);
    Some(Headers {
        ecn: codepoint(header[1] >> 4),
        flow: flow(&header[8..40], protocol, transport),
    })
}

/// The protocol above IPv6 (RFC 8200, section 4) and its bytes: none for a fragment, or when an
/// extension header ends behind the packet.
fn skip_extensions(mut next: u8, mut rest: &[u8]) -> (u8, &[u8]) {
    while let [following, length, ..] = *rest {
        let length = usize::from(length);
        let length = match next {
            HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS => (length + 1) * 8,
            // RFC 4302, section 2.2: in words of four bytes, without the first two.
            AUTHENTICATION => (length + 2) * 4,
            FRAGMENT => return (following, &[]),
            _ => break,
        };
        next = following;
        rest = rest.get(length..).unwrap_or_default();
    }
    (next, rest)
}

/// Names a flow by addresses, protocol and, where it has any, ports. All fragments of a packet
/// are of one flow, which is that of no whole packet.
fn flow(addresses: &[u8], protocol: u8, transport: &[u8]) -> u64 {
    let ports: Option<&[u8; 4]> = match protocol {
        TCP | UDP | DCCP | SCTP | UDP_LITE => transport.first_chunk(),
        _ => None,
    };
    let mut hasher = DefaultHasher::new();
    (addresses, protocol, ports).hash(&mut hasher);
    hasher.finish()
}

/// The low two bits of a traffic class (RFC 3168, section 5).
fn codepoint(class: u8) -> Ecn {
    match class & CE {
        0b00 => Ecn::NotEct,
        0b01 => Ecn::Ect1,
        0b10 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

/// An Internet checksum after one word below it has changed (RFC 1624, equation 3).
fn updated(checksum: u16, old: u16, new: u16) -> u16 {
    let sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    // Of three words the first fold may carry once more.
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    !(folded as u16)
}

const CE: u8 = 0b11;

// Protocol numbers, as IANA assigns them.
const HOP_BY_HOP: u8 = 0;
const TCP: u8 = 6;
const UDP: u8 = 17;
const DCCP: u8 = 33;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION_OPTIONS: u8 = 60;
const SCTP: u8 = 132;
const UDP_LITE: u8 = 136;

#[cfg(test)]
pub(super) mod tests;
