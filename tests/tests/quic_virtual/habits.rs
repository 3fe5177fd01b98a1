//! What rests on habits of quinn-proto 0.11 that its documentation does not promise.

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
