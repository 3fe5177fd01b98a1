//! One violation each: the error that it is answered with, while an honest client of the same
//! server gets its bytes.

use super::address;
use super::frames::*;
use super::hello::{self, PARAMETERS};
use super::one_server::{Hostile, SERVER, Server, fetch, simulation};
use e2e::memory::max_held;
use paceline::testing::Simulation;
use paceline::{DatagramBatch, Side};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::sleep;
use units::Rng;

/// What clients may not send.
const VIOLATIONS: [Violation; 35] = [
    (
        "an ACK of what was never sent",
        ACK,
        &[1 << 40, 0, 0, 0],
        &[],
        PROTOCOL_VIOLATION,
    ),
    (
        "an ACK of numbers below zero",
        ACK,
        &[1, 0, 0, 9],
        &[],
        FRAME_ENCODING_ERROR,
    ),
    (
        "an ACK of more ranges than bytes",
        ACK,
        &[1, 0, 1 << 40, 0],
        &[],
        FRAME_ENCODING_ERROR,
    ),
    (
        "a reset of the server's stream",
        RESET_STREAM,
        &[3, 0, 0],
        &[],
        STREAM_STATE_ERROR,
    ),
    (
        "a reset beyond the streams",
        RESET_STREAM,
        &[4 << 20, 0, 0],
        &[],
        STREAM_LIMIT_ERROR,
    ),
    (
        "a reset beyond the window",
        RESET_STREAM,
        &[0, 0, 1 << 50],
        &[],
        FLOW_CONTROL_ERROR,
    ),
    (
        "no more of what only arrives",
        STOP_SENDING,
        &[2, 0],
        &[],
        STREAM_STATE_ERROR,
    ),
    (
        "no more of what is not open",
        STOP_SENDING,
        &[1, 0],
        &[],
        STREAM_STATE_ERROR,
    ),
    // RFC 9001 §6 wants an unexpected message.
    (
        "TLS's own new keys",
        CRYPTO,
        &[0, 5],
        &[24, 0, 0, 1, 0],
        CRYPTO_ERROR,
    ),
    // Without an alert of TLS the general code takes its place (§11).
    (
        "CRYPTO of no message",
        CRYPTO,
        &[0, 4],
        &[9; 4],
        PROTOCOL_VIOLATION,
    ),
    (
        "CRYPTO far ahead",
        CRYPTO,
        &[1 << 30, 4],
        &[9; 4],
        CRYPTO_BUFFER_EXCEEDED,
    ),
    ("a token", NEW_TOKEN, &[3], &[9; 3], PROTOCOL_VIOLATION),
    (
        "data beyond the streams",
        STREAM | LENGTH,
        &[4 << 20, 1],
        &[0],
        STREAM_LIMIT_ERROR,
    ),
    (
        "one-way data beyond them",
        STREAM | LENGTH,
        &[(4 << 20) + 2, 1],
        &[0],
        STREAM_LIMIT_ERROR,
    ),
    (
        "data of the server's stream",
        STREAM | LENGTH,
        &[3, 1],
        &[0],
        STREAM_STATE_ERROR,
    ),
    (
        "data of what is not open",
        STREAM | LENGTH,
        &[1, 1],
        &[0],
        STREAM_STATE_ERROR,
    ),
    (
        "data beyond the window",
        STREAM | OFFSET | LENGTH,
        &[0, 1 << 50, 1],
        &[0],
        FLOW_CONTROL_ERROR,
    ),
    (
        "data at no offset",
        STREAM | OFFSET | LENGTH,
        &[0, MAX_INTEGER, 1],
        &[0],
        FLOW_CONTROL_ERROR,
    ),
    (
        "more data than the packet has",
        STREAM | LENGTH,
        &[0, 2_000],
        &[0],
        FRAME_ENCODING_ERROR,
    ),
    (
        "credit for what only arrives",
        MAX_STREAM_DATA,
        &[2, 9],
        &[],
        STREAM_STATE_ERROR,
    ),
    (
        "credit for what is not open",
        MAX_STREAM_DATA,
        &[1, 9],
        &[],
        STREAM_STATE_ERROR,
    ),
    (
        "credit beyond the streams",
        MAX_STREAM_DATA,
        &[4 << 20, 9],
        &[],
        STREAM_LIMIT_ERROR,
    ),
    (
        "too many streams",
        MAX_STREAMS_BIDI,
        &[MAX_STREAMS + 1],
        &[],
        FRAME_ENCODING_ERROR,
    ),
    (
        "too many one-way ones",
        MAX_STREAMS_BIDI + 1,
        &[MAX_STREAMS + 1],
        &[],
        FRAME_ENCODING_ERROR,
    ),
    (
        "blocked on what only leaves",
        STREAM_DATA_BLOCKED,
        &[3, 9],
        &[],
        STREAM_STATE_ERROR,
    ),
    (
        "blocked at too many",
        STREAMS_BLOCKED_BIDI,
        &[MAX_STREAMS + 1],
        &[],
        FRAME_ENCODING_ERROR,
    ),
    (
        "an ID that retires later ones",
        NEW_CONNECTION_ID,
        &[1, 2],
        &[8; 25],
        FRAME_ENCODING_ERROR,
    ),
    (
        "an ID without bytes",
        NEW_CONNECTION_ID,
        &[1, 0],
        &[0; 17],
        FRAME_ENCODING_ERROR,
    ),
    (
        "an ID of 21 bytes",
        NEW_CONNECTION_ID,
        &[1, 0],
        &[21; 38],
        FRAME_ENCODING_ERROR,
    ),
    (
        "an ID too many",
        NEW_CONNECTION_ID,
        &[99, 0],
        &[8; 25],
        CONNECTION_ID_LIMIT_ERROR,
    ),
    (
        "an ID that nobody gave",
        RETIRE_CONNECTION_ID,
        &[1 << 20],
        &[],
        PROTOCOL_VIOLATION,
    ),
    (
        "a challenge without its end",
        PATH_CHALLENGE,
        &[],
        &[0; 7],
        FRAME_ENCODING_ERROR,
    ),
    (
        "a handshake that is done",
        HANDSHAKE_DONE,
        &[],
        &[],
        PROTOCOL_VIOLATION,
    ),
    (
        "a type that nobody knows",
        0x21,
        &[],
        &[],
        FRAME_ENCODING_ERROR,
    ),
    (
        "a close without its reason",
        CONNECTION_CLOSE,
        &[0, 0, 9],
        &[],
        FRAME_ENCODING_ERROR,
    ),
];

#[test]
fn each_violation_ends_its_own_connection_with_the_error_that_it_has() {
    for (name, kind, integers, rest, error) in VIOLATIONS {
        let mut frames = Frames::default();
        frames.add(kind, integers, rest);
        let found = answered(move |hostile| async move { hostile.send(&frames.bytes, 0) });
        assert_eq!(found, Some(error), "{name}");
    }
}

#[test]
fn a_final_size_is_final() {
    let at = |kind: u8, offset: u64| {
        let mut frames = Frames::default();
        frames.add(STREAM | OFFSET | LENGTH | kind, &[0, offset, 1], &[0]);
        frames.bytes
    };
    let mut reset = Frames::default();
    reset.add(RESET_STREAM, &[0, 0, 5], &[]);
    for second in [at(0, 11), at(FIN, 9), at(FIN, 20), reset.bytes] {
        let first = at(FIN, 10);
        let found =
            answered(move |hostile| async move { hostile.send(&[first, second].concat(), 0) });
        assert_eq!(found, Some(FINAL_SIZE_ERROR));
    }
}

#[test]
fn reserved_bits_are_zero() {
    let found = answered(|hostile| async move { hostile.send(&[PING; 4], 0x18) });
    assert_eq!(found, Some(PROTOCOL_VIOLATION));
}

/// What RFC 9000 allows, however odd: the connection goes on.
#[test]
fn what_is_allowed_ends_nothing() {
    let frame = |kind: u8, integers: &[u64], rest: &[u8]| {
        let mut frames = Frames::default();
        frames.add(kind, integers, rest);
        frames.bytes
    };
    let allowed = [
        frame(MAX_DATA, &[0], &[]),
        frame(MAX_STREAMS_BIDI, &[0], &[]),
        frame(MAX_STREAMS_BIDI, &[MAX_STREAMS], &[]),
        frame(DATA_BLOCKED, &[MAX_INTEGER], &[]),
        frame(STREAM_DATA_BLOCKED, &[0, MAX_INTEGER], &[]),
        frame(STREAMS_BLOCKED_BIDI, &[MAX_STREAMS], &[]),
        frame(PATH_CHALLENGE, &[], &[7; 8]).repeat(100),
        frame(PATH_RESPONSE, &[], &[7; 8]),
        frame(NEW_CONNECTION_ID, &[1, 1], &[8; 25]).repeat(20),
        // A million that were never issued are retired.
        frame(NEW_CONNECTION_ID, &[1 << 20, 1 << 20], &[8; 25]),
        frame(STOP_SENDING, &[0, 7], &[]),
        frame(RESET_STREAM, &[0, 7, 0], &[]).repeat(50),
        frame(STREAM | LENGTH | FIN, &[4, 0], &[]).repeat(50),
        frame(MAX_STREAM_DATA, &[0, 0], &[]),
        frame(DATAGRAM, &[900], &[7; 900]),
        vec![PADDING; 1_000],
        // More than wait for their time.
        frame(RETIRE_CONNECTION_ID, &[0], &[]).repeat(400),
    ];
    let found = answered(move |hostile| async move {
        for frames in allowed {
            hostile.send(&frames, 0);
        }
    });
    assert_eq!(found, None);
}

#[test]
fn transport_parameters_that_cannot_be_are_an_error() {
    for parameters in &PARAMETERS {
        let found = simulation().run(async move {
            let mut server = Server::start();
            let mut rng = Rng::new(1);
            let packet = hello::initial(parameters, &[], &mut rng);
            let socket = Simulation::bind(address("0.0.0.0:0")).unwrap();
            let batch = DatagramBatch::new(SERVER.parse().unwrap(), &packet, packet.len());
            socket.try_send(&batch).unwrap();
            server.error_of(socket.local_addr().unwrap()).await
        });
        let error = (!parameters.is_right).then_some(TRANSPORT_PARAMETER_ERROR);
        assert_eq!(found, error, "{}", parameters.name);
    }
}

#[test]
fn a_server_holds_little_for_peers_that_send_anything() {
    let mut worst = 0;
    for seed in 1..=8 {
        worst = worst.max(max_held(|| {
            simulation().run(async move {
                let server = Server::start();
                let mut peers = JoinSet::new();
                for number in 0..10 {
                    peers.spawn(flood(Rng::derive(seed, number)));
                }
                peers.join_all().await;
                drop(server);
            });
        }));
    }
    assert!(worst < 10 * MAX_HELD, "{worst} bytes");
}

/// Sends frames by the grammar until its connection is over, or for 2,000 packets.
async fn flood(mut rng: Rng) {
    let Some(hostile) = Hostile::connect().await else {
        return;
    };
    let mut grammar = Grammar::new(Rng::derive(rng.next_u64(), 0), Side::Client);
    for _ in 0..2_000 {
        let frames = grammar.packet(&VecDeque::new());
        // Those that are never an error keep the connection.
        if frames.errors.is_empty() {
            hostile.send(&frames.bytes, 0);
            sleep(rng.duration_between(Duration::ZERO, Duration::from_millis(20))).await;
        }
    }
}

/// The error with which the server ends the connection of a client that does this, while another
/// one gets its bytes; `None` if it does not.
fn answered<F: Future>(does: impl FnOnce(Hostile) -> F) -> Option<u64> {
    simulation().run(async move {
        let mut server = Server::start();
        let certificate = Arc::clone(&server.certificate);
        let honest = tokio::spawn(fetch(certificate));
        let hostile = Hostile::connect().await.unwrap();
        let own = hostile.socket_address();
        does(hostile).await;
        let error = server.error_of(own).await;
        honest.await.expect("the other one gets its bytes");
        error
    })
}

/// For each hostile peer: both ends, a window, what is on its way, and what its reassembly costs.
const MAX_HELD: i64 = 8 << 20;
