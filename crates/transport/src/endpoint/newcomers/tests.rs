use super::*;

/// An Initial packet's header: version 1, connection IDs of 8 and 4 bytes, a token.
fn initial(token: &[u8]) -> Vec<u8> {
    let mut packet = vec![0xc3, 0, 0, 0, 1, 8, 1, 2, 3, 4, 5, 6, 7, 8, 4, 1, 2, 3, 4];
    packet.push(token.len() as u8);
    packet.extend_from_slice(token);
    packet.resize(1_200, 0);
    packet
}

fn newcomer(number: u8, bytes: usize) -> Newcomer {
    Newcomer {
        meta: RecvMeta::default(),
        data: BytesMut::from(&vec![number; bytes][..]),
    }
}

fn numbers(newcomers: &mut Newcomers, count: usize) -> Vec<u8> {
    let taken = std::iter::from_fn(|| newcomers.pop()).take(count);
    taken.map(|newcomer| newcomer.data[0]).collect()
}

#[test]
fn a_header_tells_who_is_new() {
    assert_eq!(Class::of(&initial(b"")), Some(Class::First));
    assert_eq!(Class::of(&initial(b"token")), Some(Class::Returning));
    let mut packet = initial(b"");
    packet[0] = 0xd3;
    assert_eq!(Class::of(&packet), Some(Class::Early));
    // An unknown version is answered with a Version Negotiation, whatever the type.
    for form in [0xc3, 0xd3, 0xe3, 0xf3] {
        packet[0] = form;
        packet[4] = 77;
        assert_eq!(Class::of(&packet), Some(Class::Unknown));
    }
}

#[test]
fn what_belongs_to_a_connection_does_not_wait() {
    let mut packet = initial(b"");
    // Handshake, and Retry, which clients get.
    for form in [0xe3, 0xf3] {
        packet[0] = form;
        assert_eq!(Class::of(&packet), None);
    }
    packet[0] = 0x43;
    assert_eq!(Class::of(&packet), None, "a short header");
    let mut packet = initial(b"");
    packet[1..5].fill(0);
    assert_eq!(Class::of(&packet), None, "a Version Negotiation");
    assert_eq!(Class::of(&[]), None);
    assert_eq!(Class::of(&[0xc3, 0, 0, 0]), None);
}

#[test]
fn a_header_that_ends_early_is_no_reason_to_hurry() {
    let packet = initial(b"token");
    for len in 5..20 {
        assert_eq!(Class::of(&packet[..len]), Some(Class::First), "{len} bytes");
    }
}

#[test]
fn tokens_get_three_of_four_turns_and_early_data_the_last() {
    let mut newcomers = Newcomers::default();
    for _ in 0..8 {
        assert!(newcomers.push(Class::Early, newcomer(3, 1)));
        assert!(newcomers.push(Class::First, newcomer(2, 1)));
        assert!(newcomers.push(Class::Returning, newcomer(1, 1)));
    }
    assert_eq!(numbers(&mut newcomers, 8), [1, 1, 1, 2, 1, 1, 1, 2]);
    assert_eq!(numbers(&mut newcomers, 8), [1, 1, 2, 2, 2, 2, 2, 2]);
    assert_eq!(numbers(&mut newcomers, 9), [3; 8]);
    assert_eq!(newcomers.len(), 0);
}

#[test]
fn versions_that_nobody_knows_neither_delay_clients_nor_take_their_room() {
    let mut newcomers = Newcomers::default();
    for _ in 0..MAX_DATAGRAMS {
        assert!(newcomers.push(Class::Unknown, newcomer(4, 1_200)));
    }
    assert!(!newcomers.push(Class::Unknown, newcomer(9, 1_200)));
    assert!(newcomers.push(Class::First, newcomer(2, 1_200)));
    assert!(newcomers.push(Class::Early, newcomer(3, 1_200)));
    assert!(newcomers.push(Class::Returning, newcomer(1, 1_200)));
    assert_eq!(numbers(&mut newcomers, 4), [1, 2, 3, 4]);
}

#[test]
fn each_class_has_its_own_bounds() {
    let mut newcomers = Newcomers::default();
    for _ in 0..MAX_DATAGRAMS {
        assert!(newcomers.push(Class::First, newcomer(2, 1_200)));
    }
    assert!(!newcomers.push(Class::First, newcomer(9, 1_200)));
    for _ in 0..MAX_BYTES / 60_000 {
        assert!(newcomers.push(Class::Returning, newcomer(1, 60_000)));
    }
    assert!(!newcomers.push(Class::Returning, newcomer(9, 60_000)));
    // Room comes back, and what waited has not been replaced.
    assert_eq!(numbers(&mut newcomers, 4), [1, 1, 1, 2]);
    assert!(newcomers.push(Class::First, newcomer(2, 1_200)));
    assert!(newcomers.push(Class::Returning, newcomer(1, 60_000)));
}
