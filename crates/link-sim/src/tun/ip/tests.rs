use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

#[test]
fn the_codepoint_is_read_from_both_versions() {
    for (class, ecn) in [
        (0b1011_1000, Ecn::NotEct),
        (0b1011_1001, Ecn::Ect1),
        (0b1011_1010, Ecn::Ect0),
        (0b1011_1011, Ecn::Ce),
    ] {
        for packet in [v4(class, UDP, 0, &PORTS), v6(class, UDP, &PORTS)] {
            assert_eq!(parse(&packet).unwrap().ecn, ecn, "{packet:02x?}");
        }
    }
}

#[test]
fn a_mark_changes_the_codepoint_and_keeps_the_checksum_true() {
    for class in 0..=255 {
        let mut packet = v4(class, TCP, 0, &PORTS);
        let before = parse(&packet).unwrap();
        mark(&mut packet);
        assert_eq!(sum(&packet[..20]), 0xffff, "class {class}");
        assert_eq!(packet[1], class | CE);
        let after = parse(&packet).unwrap();
        assert_eq!((after.ecn, after.flow), (Ecn::Ce, before.flow));

        let mut packet = v6(class, TCP, &PORTS);
        mark(&mut packet);
        assert_eq!(packet, v6(class | CE, TCP, &PORTS));
    }
}

#[test]
fn ports_and_protocol_tell_flows_apart() {
    let other_port = [PORTS[0], PORTS[1], PORTS[2], PORTS[3] + 1];
    let same_ports = [&PORTS[..], &[9; 20]].concat();
    let others = [
        v4(0, UDP, 0, &other_port),
        v4(0, TCP, 0, &PORTS),
        v6(0, UDP, &PORTS),
    ];
    let flow = flow_of(&v4(0, UDP, 0, &PORTS));
    assert_eq!(flow_of(&v4(3, UDP, 0, &same_ports)), flow);
    for other in others {
        assert_ne!(flow_of(&other), flow, "{other:02x?}");
    }
}

#[test]
fn what_follows_another_protocol_is_no_port() {
    const ICMP: u8 = 1;
    assert_eq!(
        flow_of(&v4(0, ICMP, 0, &[1; 8])),
        flow_of(&v4(0, ICMP, 0, &[2; 8]))
    );
}

#[test]
fn all_fragments_of_a_packet_are_one_flow() {
    const MORE_FRAGMENTS: u16 = 0x2000;
    const DO_NOT_FRAGMENT: u16 = 0x4000;
    let first = flow_of(&v4(0, UDP, MORE_FRAGMENTS, &PORTS));
    assert_eq!(flow_of(&v4(0, UDP, 185 | MORE_FRAGMENTS, &[7; 8])), first);
    assert_eq!(flow_of(&v4(0, UDP, 370, &[8; 8])), first);
    let whole = flow_of(&v4(0, UDP, 0, &PORTS));
    assert_ne!(whole, first);
    assert_eq!(flow_of(&v4(0, UDP, DO_NOT_FRAGMENT, &PORTS)), whole);

    let fragment = |offset, content: &[u8]| {
        let header = [UDP, 0, 0, offset, 0, 0, 0, 1];
        flow_of(&v6(0, FRAGMENT, &[&header, content].concat()))
    };
    assert_eq!(fragment(1, &PORTS), fragment(185, &[7; 8]));
    assert_ne!(fragment(1, &PORTS), flow_of(&v6(0, UDP, &PORTS)));
}

#[test]
fn ports_are_found_behind_extension_headers() {
    let hop_by_hop = [ROUTING, 0, 1, 4, 0, 0, 0, 0];
    let routing = [AUTHENTICATION, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let authentication = [
        DESTINATION_OPTIONS,
        4,
        0,
        0,
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
        9,
        10,
        11,
        12,
    ];
    let options = [UDP, 0, 1, 4, 0, 0, 0, 0];
    let all = [&hop_by_hop[..], &routing, &authentication, &options, &PORTS];
    assert_eq!(
        flow_of(&v6(0, HOP_BY_HOP, &all.concat())),
        flow_of(&v6(0, UDP, &PORTS))
    );
    // Cut off in the middle, it is still a packet.
    assert!(parse(&v6(0, HOP_BY_HOP, &[ROUTING, 9, 0, 0])).is_some());
}

#[test]
fn what_is_not_ip_or_not_as_long_as_it_says_is_refused() {
    let whole = [v4(0, UDP, 0, &[0; 8]), v6(0, UDP, &[0; 8])];
    for packet in &whole {
        assert!(parse(packet).is_some());
        assert_eq!(parse(&packet[..packet.len() - 1]), None);
        assert_eq!(parse(&[packet, &[0][..]].concat()), None);
        let mut strange = packet.clone();
        strange[0] = 0x55;
        assert_eq!(parse(&strange), None);
    }
    for header_words in [0, 4, 8, 15] {
        let mut packet = whole[0].clone();
        packet[0] = 0x40 | header_words;
        assert_eq!(parse(&packet), None, "{header_words} words");
    }
    assert_eq!(parse(&[]), None);
}

#[test]
fn damage_is_behind_the_headers_and_seen_by_a_checksum() {
    let intact = v4(0, UDP, 0, &[0; 9]);
    let mut packet = intact.clone();
    damage(&mut packet);
    assert_eq!(packet[..28], intact[..28]);
    assert_ne!(sum(&packet), sum(&intact));
}

proptest! {
    #[test]
    fn no_bytes_panic(
        mut bytes in vec(any::<u8>(), 0..100),
        version in prop_oneof![Just(0x45), Just(0x60), any::<u8>()],
    ) {
        if let Some(first) = bytes.first_mut() {
            *first = version;
        }
        examine(&mut bytes);
    }

    #[test]
    fn no_payload_of_a_true_header_panics(
        payload in vec(any::<u8>(), 0..100),
        protocol in prop_oneof![
            Just(HOP_BY_HOP),
            Just(AUTHENTICATION),
            Just(FRAGMENT),
            any::<u8>(),
        ],
        fragment: u16,
    ) {
        for mut packet in [v4(0, protocol, fragment, &payload), v6(0, protocol, &payload)] {
            prop_assert!(parse(&packet).is_some());
            examine(&mut packet);
        }
    }

    #[test]
    fn an_updated_checksum_is_one_computed_anew(words: [u16; 10], at in 0_usize..10, new: u16) {
        let mut bytes = words.map(u16::to_be_bytes).concat();
        let checksum = !sum(&bytes);
        let old = words[at];
        bytes[2 * at..2 * at + 2].copy_from_slice(&new.to_be_bytes());
        let expected = !sum(&bytes);
        let updated = updated(checksum, old, new);
        // This arithmetic has two zeros, and the update may say the other one.
        let are_zeros = [updated, expected].iter().all(|sum| [0, 0xffff].contains(sum));
        prop_assert!(updated == expected || are_zeros);
    }
}

fn examine(packet: &mut [u8]) {
    let before = parse(packet);
    mark(packet);
    if before.is_some() {
        assert_eq!(parse(packet).unwrap().ecn, Ecn::Ce);
    }
    damage(packet);
}

fn flow_of(packet: &[u8]) -> u64 {
    parse(packet).unwrap().flow
}

pub(in crate::tun) fn v4(class: u8, protocol: u8, fragment: u16, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(20 + payload.len()).unwrap().to_be_bytes();
    let fragment = fragment.to_be_bytes();
    let mut packet = vec![0x45, class, length[0], length[1], 0, 1];
    packet.extend([fragment[0], fragment[1], 64, protocol, 0, 0]);
    packet.extend([10, 77, 0, 1, 10, 77, 0, 2]);
    let checksum = !sum(&packet);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    packet.extend(payload);
    packet
}

pub(in crate::tun) fn v6(class: u8, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len()).unwrap().to_be_bytes();
    let mut packet = vec![0x60 | class >> 4, class << 4, 0, 0];
    packet.extend([length[0], length[1], protocol, 64]);
    packet.extend([0xfd; 16]);
    packet.extend([0xfc; 16]);
    packet.extend(payload);
    packet
}

/// The one's complement sum of all 16-bit words (RFC 1071), 0xffff where a checksum is right.
fn sum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|word| match word {
        [high, low] => u32::from(u16::from_be_bytes([*high, *low])),
        [high, ..] => u32::from(*high) << 8,
        [] => 0,
    });
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    u16::try_from(sum).unwrap()
}

const PORTS: [u8; 4] = [0xc0, 0x01, 0x14, 0x51];
