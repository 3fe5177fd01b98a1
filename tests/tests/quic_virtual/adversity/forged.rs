//! Frames that no honest peer sends: the connection ends with the code that RFC 9000 asks for, on
//! both sides.

use crate::adversity::Scene;
use paceline::testing::Load;
use paceline::{ConnectionError, TransportErrorCode};
use std::time::Duration;

/// Has the server get `frames` as if the client had sent them, in one packet.
fn forge(scene: &mut Scene, frames: Vec<u8>) {
    let mut frames = Some(frames);
    scene.world.tamper(scene.ends.client, move |datagram| {
        let is_long = datagram[0] & 0x80 != 0;
        match frames.take_if(|_| !is_long) {
            Some(frames) => vec![with_payload(&datagram, &frames)],
            None => vec![datagram],
        }
    });
    scene
        .world
        .proto(scene.ends.client, quinn_proto::Connection::ping);
    scene.world.run_for(Duration::from_millis(500));
}

/// A packet with a short header (RFC 9000 §17.3), in plain text, whose frames are these instead.
pub(crate) fn with_payload(datagram: &[u8], frames: &[u8]) -> Vec<u8> {
    let packet_number = usize::from(datagram[0] & 3) + 1;
    let mut packet = datagram[..1 + CID + packet_number].to_vec();
    packet.extend_from_slice(frames);
    // So much that header protection could have its sample (RFC 9001 §5.4.2).
    packet.extend_from_slice(&[PADDING; 4]);
    packet.extend_from_slice(&[0; TAG]);
    packet
}

/// A packet like this one, with another number and these frames.
pub(crate) fn with_number(datagram: &[u8], number: u32, frames: &[u8]) -> Vec<u8> {
    let mut packet = datagram[..=CID].to_vec();
    packet[0] |= 3;
    packet.extend_from_slice(&number.to_be_bytes());
    with_payload(&packet, frames)
}

/// A variable-length integer of eight bytes (RFC 9000 §16).
fn varint(value: u64) -> [u8; 8] {
    (value | 3 << 62).to_be_bytes()
}

/// A frame of this type with these integers.
pub(crate) fn frame(kind: u8, fields: &[u64]) -> Vec<u8> {
    let fields = fields.iter().flat_map(|field| varint(*field));
    [kind].into_iter().chain(fields).collect()
}

#[track_caller]
fn assert_ended(scene: &Scene, case: &str, code: TransportErrorCode) {
    match scene.world.error(scene.ends.server) {
        Some(ConnectionError::TransportError(error)) => assert_eq!(error.code, code, "{case}"),
        other => panic!("{case}: the server has {other:?}"),
    }
    match scene.world.error(scene.ends.client) {
        Some(ConnectionError::ConnectionClosed(close)) => {
            assert_eq!(close.error_code, code, "{case}");
        }
        other => panic!("{case}: the client has {other:?}"),
    }
}

#[test]
fn packets_that_are_what_they_should_be_are_taken() {
    // Or every other test of this file could pass because the forgery is none.
    let mut scene = Scene::readable();
    let before = scene.world.stats(scene.ends.server).frame_rx.ping;
    forge(&mut scene, vec![PING, PING, PING]);
    let after = scene.world.stats(scene.ends.server).frame_rx.ping;
    assert_eq!(after - before, 3);
    scene.assert_alive();
}

#[test]
fn an_acknowledgement_of_a_packet_that_was_never_sent() {
    for largest in [1_000_000, 1 << 40, (1 << 62) - 1] {
        let mut scene = Scene::readable();
        forge(&mut scene, frame(ACK, &[largest, 0, 0, 0]));
        let code = TransportErrorCode::PROTOCOL_VIOLATION;
        assert_ended(&scene, &format!("up to {largest}"), code);
    }
}

#[test]
fn acknowledgements_of_everything_are_found_out() {
    // A receiver that acknowledges what it has not got to be sent more: a packet number that was
    // left out on purpose gives it away (RFC 9000 §21.4).
    let mut scene = Scene::readable();
    scene.world.send(scene.ends.server, Load::Endless);
    scene.world.tamper(scene.ends.client, |datagram| {
        let frames = 1 + CID + usize::from(datagram[0] & 3) + 1;
        let is_ack = datagram[0] & 0x80 == 0 && datagram[frames] & 0xfe == ACK;
        if !is_ack {
            return vec![datagram];
        }
        let (largest, _) = read_varint(&datagram[frames + 1..]);
        vec![with_payload(
            &datagram,
            &frame(ACK, &[largest, 0, 0, largest]),
        )]
    });
    scene.world.run_for(Duration::from_secs(20));
    let code = TransportErrorCode::PROTOCOL_VIOLATION;
    assert_ended(&scene, "all packets", code);
}

#[test]
fn frames_beyond_a_limit_or_against_the_rules() {
    let window = 64 << 20;
    let id = [&[8][..], &[7; 8], &[9; 16]].concat();
    let connection_id = |number| [frame(0x18, &[number, 0]), id.clone()].concat();
    for (case, frames, code) in [
        (
            "data beyond the stream's window",
            [frame(STREAM_OFF_LEN, &[0, window, 1]), vec![0]].concat(),
            TransportErrorCode::FLOW_CONTROL_ERROR,
        ),
        (
            "a reset beyond the stream's window",
            frame(0x04, &[0, 0, window]),
            TransportErrorCode::FLOW_CONTROL_ERROR,
        ),
        (
            "a stream beyond the limit",
            [frame(STREAM_OFF_LEN, &[4 * 1_000, 0, 1]), vec![0]].concat(),
            TransportErrorCode::STREAM_LIMIT_ERROR,
        ),
        (
            "two lengths of one stream",
            [frame(0x04, &[0, 0, 5]), frame(0x04, &[0, 0, 6])].concat(),
            TransportErrorCode::FINAL_SIZE_ERROR,
        ),
        (
            "handshake data far ahead",
            [frame(0x06, &[1 << 20, 1]), vec![0]].concat(),
            TransportErrorCode::CRYPTO_BUFFER_EXCEEDED,
        ),
        (
            "more connection IDs than asked for",
            (100..130).flat_map(connection_id).collect(),
            TransportErrorCode::CONNECTION_ID_LIMIT_ERROR,
        ),
        (
            "a connection ID given back that was never given",
            frame(0x19, &[1_000]),
            TransportErrorCode::PROTOCOL_VIOLATION,
        ),
        (
            "more streams than can be numbered",
            frame(0x12, &[(1 << 60) + 1]),
            TransportErrorCode::FRAME_ENCODING_ERROR,
        ),
        (
            "what only servers send",
            vec![0x1e],
            TransportErrorCode::PROTOCOL_VIOLATION,
        ),
        (
            "a frame that there is not",
            frame(0xff, &[]),
            TransportErrorCode::FRAME_ENCODING_ERROR,
        ),
    ] {
        let mut scene = Scene::readable();
        forge(&mut scene, frames);
        assert_ended(&scene, case, code);
    }
}

/// A variable-length integer and its length.
pub(crate) fn read_varint(bytes: &[u8]) -> (u64, usize) {
    let len = 1 << (bytes[0] >> 6);
    let first = u64::from(bytes[0] & 0x3f);
    let value = |value, byte: &u8| value << 8 | u64::from(*byte);
    (bytes[1..len].iter().fold(first, value), len)
}

/// Bytes of quinn-proto's connection IDs.
pub(crate) const CID: usize = 8;
/// Bytes behind the frames of a packet that stand for its authentication.
pub(crate) const TAG: usize = 16;
/// Types of frames (RFC 9000 §19).
pub(crate) const PADDING: u8 = 0x00;
pub(crate) const PING: u8 = 0x01;
pub(crate) const ACK: u8 = 0x02;
pub(crate) const STREAM_OFF_LEN: u8 = 0x0e;
