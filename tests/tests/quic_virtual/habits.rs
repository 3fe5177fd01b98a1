//! What rests on habits of quinn-proto 0.11 that its documentation does not promise, seen on
//! quinn-proto itself: two of its endpoints in virtual time, whose keys and controllers write down
//! what happens, without anything of Paceline's.
//!
//! Each row is a test, and a test that fails names its row and the place. Files are those of
//! `crates/transport/src`, names alone those of its `quinn_proto_habits.rs`. The last column is
//! quinn's main branch as of 2026-07-24 (a1931ab8), and two pull requests merged after that: `=`
//! where it does the same, otherwise a note below.
//!
//! | habit | what rests on it | 0.12 |
//! |---|---|---|
//! | **Sending** (`window.rs`) | | |
//! | two questions for each datagram in flight, none for an ACK | `gate.rs` | = |
//! | a datagram leaves while in flight + packet < window | `window_admitting` | 1 |
//! | a window of 1 admits ACKs alone | `ADMITS_NOTHING` | = |
//! | no question for a loss probe | `gate.rs` | = |
//! | no pacing in windows of 2^32 bytes and more | `NO_PACING` | 2 |
//! | a refusal is followed by the question of the next space | `gate.rs` | = |
//! | MTU probes: no question, alone, larger than the MTU | `driver/transmit_pacing.rs` | = |
//! | CONNECTION_CLOSE waits behind data that waits | `driver/transmit_pacing.rs` | 3 |
//! | **Feedback** (`feedback.rs`) | | |
//! | a congestion event of no bytes is a CE mark | `is_ce_mark` | 4 |
//! | a report of ECT(1) ends the use of ECN | `tap/ecn.rs` | = |
//! | a batch is one sum; an ACK is packets, their end, losses | `cc_adapter/sums.rs` | 5 |
//! | the loss timer judges by the time given to it, by number | `driver/control.rs` | = |
//! | a new port clones, a new address builds, failure returns | `cc_adapter.rs` | = |
//! | PATH_CHALLENGE to the former path is not reported | `driver/transmit_pacing.rs` | = |
//! | **Keys** (`keys.rs`) | | |
//! | each packet is protected once, whole, in order of numbers | `tap/keys.rs` | 6 |
//! | what a key protects counts in flight, byte for byte | `tap.rs` | = |
//! | keys come in the order Initial, Handshake, 1-RTT | `tap/keys.rs` | = |
//! | what a key leaves of a payload is what is read | `tap/ecn.rs` | = |
//! | duplicates are decrypted, and their frames not counted | `driver/control.rs` | = |
//! | a packet that 129 have overtaken is dropped | `MAX_LATE` | = |
//! | the next keys are asked for after the handshake and at updates | `tap/log.rs` | = |
//! | **Forgetting** (`forgetting.rs`) | | |
//! | a local key goes with the packets of its space | `tap/keys.rs` | 7 |
//! | 0-RTT: forgotten when it is asked, and not accepted | `tap/keys.rs` | = |
//! | Retry: forgotten when it is asked, and valid | `tap/keys.rs` | = |
//! | 1,001 packets that are not ack-eliciting are waited for | `MAX_TAIL` | = |
//! | **Streams, endpoints** (`streams.rs`) | | |
//! | more than 1,024 pieces behind gaps close a connection | `MAX_CHUNKS` | 8 |
//! | no reading in order after reading without | `driver/inbound.rs` | = |
//! | streams that wait for room are told at once, last first | `driver/fair_queue.rs` | = |
//! | what its first packet closes is not drained by a timer | `endpoint/inner.rs` | = |
//! | an ID goes with the frame that retires it; `Debug` tells of it | `is_retirement` | = |
//!
//! 1. `>` instead of `>=` (quinn-rs/quinn#2773): the window itself admits as much, so the byte more
//!    goes. While it stays, a window may be exceeded by that byte.
//! 2. The same, unless `max_outgoing_bytes_per_second` is set: windows are cut to that rate first,
//!    so its pacer decides. `config/transport.rs` must leave it unset; a cap is ours to keep
//!    (`max_rate`).
//! 3. It leaves whatever the window (quinn-rs/quinn#2787): `SendPermission::Unlimited` goes.
//! 4. `on_congestion_event` says so, with `is_ecn`: take that. A CE mark still has no bytes.
//! 5. The same, and `on_spurious_congestion_event` comes first, where an ACK leaves none of the
//!    lost packets that are remembered, which are those sent in the last two probe timeouts. It
//!    does not say which. The driver judges each packet, so `cc_adapter.rs` leaves the call empty;
//!    `cc_adapter/sums.rs` hears of spurious losses from nowhere else, and may take it.
//! 6. The same, but connection IDs are passed by value in the traits of `crypto`.
//! 7. The same, and `Event::HandshakeConfirmed` says when: `has_confirmed_handshake` of
//!    `driver/transmit_pacing.rs` need not infer it any more.
//! 8. As many, but counted only when they take much more memory than they have bytes. The bound for
//!    pieces of any size, 2,048, was not on that branch.

mod feedback;
mod forgetting;
mod keys;
mod pair;
mod recorder;
mod streams;
mod window;

use quinn_proto::{TransportConfig, VarInt};
use recorder::{Polled, Seen, Space};

/// What a failing test says.
fn broken(habit: &str, file: &str) -> String {
    format!("quinn-proto's habit has changed ({habit}): see crates/transport/src/{file}")
}

fn unchanged(_: &mut TransportConfig) {}

/// Flow control that never is in the way.
fn wide(config: &mut TransportConfig) {
    let window = VarInt::from_u32(64 << 20);
    config
        .receive_window(window)
        .stream_receive_window(window)
        .send_window(64 << 20);
}

fn count(seen: &[Seen], what: impl Fn(&Seen) -> bool) -> u64 {
    seen.iter().filter(|seen| what(seen)).count() as u64
}

fn questions(seen: &[Seen]) -> u64 {
    count(seen, |seen| *seen == Seen::WindowAsked)
}

/// What led to each batch, and the batch.
fn batches(seen: &[Seen]) -> impl Iterator<Item = (&[Seen], &Polled)> {
    let calls = seen.split_inclusive(|seen| matches!(seen, Seen::Polled(_)));
    calls.filter_map(|call| match call.split_last()? {
        (Seen::Polled(Some(polled)), before) => Some((before, polled)),
        _ => None,
    })
}

/// What the packets have that were protected.
fn encrypted(seen: &[Seen]) -> Vec<(Space, u64, u64)> {
    let packets = seen.iter().filter_map(|seen| match *seen {
        Seen::Encrypted {
            key, number, bytes, ..
        } => Some((key, number, bytes)),
        _ => None,
    });
    packets.collect()
}

fn acked(seen: &[Seen]) -> u64 {
    let bytes = seen.iter().map(|seen| match *seen {
        Seen::Acked { bytes, .. } => bytes,
        _ => 0,
    });
    bytes.sum()
}

/// As the controller was told last.
fn in_flight(seen: &[Seen]) -> Option<u64> {
    seen.iter().rev().find_map(|seen| match *seen {
        Seen::EndOfAcks { in_flight, .. } => Some(in_flight),
        _ => None,
    })
}
