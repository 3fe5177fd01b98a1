//! IP and UDP headers as a datagram has them outside of the relay.

use super::block::CapturedDatagram;
use crate::packet::Ecn;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Appends the IP packet that carries this datagram, and answers its length.
pub(super) fn append(packet: &mut Vec<u8>, seen: &CapturedDatagram<'_>) -> usize {
    let begin = packet.len();
    let udp_length = (UDP_HEADER + seen.data.len()) as u16;
    let pseudo_sum = match (seen.from.ip().to_canonical(), seen.to.ip().to_canonical()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => append_ipv4(packet, from, to, seen.ecn, udp_length),
        (from, to) => append_ipv6(packet, wide(from), wide(to), seen.ecn, udp_length),
    };
    append_udp(packet, seen, udp_length, pseudo_sum);
    packet.len() - begin
}

/// RFC 791, section 3.1. Answers the sum of what the UDP checksum covers of it.
fn append_ipv4(
    packet: &mut Vec<u8>,
    from: Ipv4Addr,
    to: Ipv4Addr,
    ecn: Ecn,
    udp_length: u16,
) -> u64 {
    let begin = packet.len();
    packet.extend([VERSION_4_LENGTH_5, bits(ecn)]);
    packet.extend((IPV4_HEADER as u16).wrapping_add(udp_length).to_be_bytes());
    packet.extend([0, 0]);
    packet.extend(DONT_FRAGMENT.to_be_bytes());
    packet.extend([HOPS, UDP, 0, 0]);
    packet.extend(from.octets());
    packet.extend(to.octets());
    let checksum = fold(sum(&packet[begin..]));
    packet[begin + 10..begin + 12].copy_from_slice(&checksum.to_be_bytes());
    pseudo_sum(&from.octets(), &to.octets(), udp_length)
}

/// RFC 8200, section 3. Answers as [`append_ipv4`] does.
fn append_ipv6(
    packet: &mut Vec<u8>,
    from: Ipv6Addr,
    to: Ipv6Addr,
    ecn: Ecn,
    udp_length: u16,
) -> u64 {
    packet.extend([VERSION_6, bits(ecn) << 4, 0, 0]);
    packet.extend(udp_length.to_be_bytes());
    packet.extend([UDP, HOPS]);
    packet.extend(from.octets());
    packet.extend(to.octets());
    pseudo_sum(&from.octets(), &to.octets(), udp_length)
}

/// RFC 768.
fn append_udp(packet: &mut Vec<u8>, seen: &CapturedDatagram<'_>, udp_length: u16, pseudo_sum: u64) {
    let begin = packet.len();
    packet.extend(seen.from.port().to_be_bytes());
    packet.extend(seen.to.port().to_be_bytes());
    packet.extend(udp_length.to_be_bytes());
    packet.extend([0, 0]);
    packet.extend_from_slice(seen.data);
    // Zero would mean that there is no checksum.
    let checksum = match fold(pseudo_sum + sum(&packet[begin..])) {
        0 => u16::MAX,
        checksum => checksum,
    };
    packet[begin + 6..begin + 8].copy_from_slice(&checksum.to_be_bytes());
}

fn pseudo_sum(from: &[u8], to: &[u8], udp_length: u16) -> u64 {
    sum(from) + sum(to) + u64::from(UDP) + u64::from(udp_length)
}

/// The bytes as 16-bit words in network order, added up; a last odd one is a high byte.
fn sum(bytes: &[u8]) -> u64 {
    let (words, last) = bytes.as_chunks::<2>();
    let words = words
        .iter()
        .map(|word| u64::from(u16::from_be_bytes(*word)));
    let last = last.iter().map(|byte| u64::from(*byte) << 8);
    words.chain(last).sum()
}

/// The one's complement of the one's complement sum (RFC 1071).
fn fold(mut sum: u64) -> u16 {
    while sum > u64::from(u16::MAX) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn bits(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0b00,
        Ecn::Ect1 => 0b01,
        Ecn::Ect0 => 0b10,
        Ecn::Ce => 0b11,
    }
}

fn wide(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

/// Bytes, without options.
const IPV4_HEADER: usize = 20;
const UDP_HEADER: usize = 8;
const VERSION_4_LENGTH_5: u8 = 0x45;
const VERSION_6: u8 = 0x60;
const DONT_FRAGMENT: u16 = 0x4000;
/// What most systems begin with.
const HOPS: u8 = 64;
const UDP: u8 = 17;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relay::capture::block::Side;
    use units::Timestamp;

    fn packet(from: &str, to: &str, ecn: Ecn, data: &[u8]) -> Vec<u8> {
        let mut packet = Vec::new();
        let seen = CapturedDatagram {
            side: Side::Client,
            at: Timestamp::ZERO,
            from: from.parse().unwrap(),
            to: to.parse().unwrap(),
            ecn,
            data,
        };
        assert_eq!(append(&mut packet, &seen), packet.len());
        packet
    }

    #[test]
    fn an_ipv4_packet_says_its_length_codepoint_ports_and_checksums() {
        let packet = packet("10.0.0.1:4660", "10.0.0.2:22136", Ecn::Ect1, b"abc");
        // The header's sum is 4501 + 001f + 4000 + 4011 + 0a00 + 0001 + 0a00 + 0002 = d934,
        // the datagram's 0a00 + 0001 + 0a00 + 0002 + 0011 + 000b + 1234 + 5678 + 000b + 6162 +
        // 6300 = 1_4138 → 4139; each is inverted.
        let expected = [
            0x45, 1, 0, 31, 0, 0, 0x40, 0, 64, 17, 0x26, 0xcb, 10, 0, 0, 1, 10, 0, 0, 2, 0x12,
            0x34, 0x56, 0x78, 0, 11, 0xbe, 0xc6, b'a', b'b', b'c',
        ];
        assert_eq!(packet, expected);
    }

    #[test]
    fn an_ipv6_packet_carries_its_codepoint_in_the_traffic_class() {
        let packet = packet("[2001:db8::1]:1", "[2001:db8::2]:2", Ecn::Ce, &[0; 4]);
        assert_eq!(packet[..8], [0x60, 0x30, 0, 0, 0, 12, 17, 64]);
        assert_eq!(packet.len(), 40 + 12);
        // 2 × (2001 + 0db8) + 1 + 2 + 11 + c + 1 + 2 + c = 5ba1, inverted.
        assert_eq!(packet[46..48], [0xa4, 0x5e]);
    }

    #[test]
    fn ipv4_in_ipv6_clothes_is_ipv4() {
        let mapped = packet(
            "[::ffff:127.0.0.1]:5",
            "[::ffff:127.0.0.1]:6",
            Ecn::NotEct,
            &[],
        );
        let plain = packet("127.0.0.1:5", "127.0.0.1:6", Ecn::NotEct, &[]);
        assert_eq!(mapped, plain);
        assert_eq!(plain.len(), 28);
    }

    #[test]
    fn a_checksum_of_zero_is_written_as_its_other_form() {
        // The pseudo header and the ports give ffff - x for some payload word x.
        let packet = |word: u16| packet("0.0.0.0:0", "0.0.0.0:0", Ecn::NotEct, &word.to_be_bytes());
        let rest = u16::MAX - 17 - 10 - 10;
        assert_eq!(packet(rest)[26..28], [0xff, 0xff]);
        assert_eq!(packet(rest - 1)[26..28], [0, 1]);
    }
}
