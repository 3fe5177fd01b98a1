use super::*;
use std::time::Duration;

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn stamp(sequence: u64, sent_at: Timestamp) -> PacketStamp {
    PacketStamp {
        sequence,
        sent_at,
        first_sent_at: sent_at,
        delivered: Bytes::ZERO,
        delivered_at: sent_at,
        lost: Bytes::ZERO,
        tx_in_flight: Bytes::ZERO,
        is_app_limited: false,
    }
}

/// Batches of `bytes` at 0, 1, 2 … ms, numbered from 0.
fn ledger(bytes: &[u64]) -> Ledger {
    let mut ledger = Ledger::default();
    for (index, &bytes) in (0..).zip(bytes) {
        ledger.push(stamp(index, at(index)), Bytes::new(bytes));
    }
    ledger
}

fn acked(ledger: &mut Ledger, sent_at: Timestamp, bytes: u64) -> Vec<(u64, u64)> {
    let mut taken = Vec::new();
    ledger.take_acked(sent_at, Bytes::new(bytes), |packet| {
        taken.push((packet.stamp.sequence, packet.bytes.get()));
    });
    taken
}

/// (batch, bytes, starts a range)
fn lost(ledger: &mut Ledger, newest: Timestamp, bytes: u64) -> Vec<(u64, u64, bool)> {
    let mut taken = Vec::new();
    ledger.take_lost(newest, Bytes::new(bytes), Bytes::new(1_000), |packet| {
        taken.push((
            packet.stamp.sequence,
            packet.bytes.get(),
            packet.starts_range,
        ));
    });
    taken
}

#[test]
fn acknowledged_bytes_get_the_stamp_of_their_send_time() {
    let mut ledger = ledger(&[3_000, 3_000, 3_000]);
    assert_eq!(acked(&mut ledger, at(1), 2_000), [(1, 2_000)]);
    assert_eq!(acked(&mut ledger, at(2), 3_000), [(2, 3_000)]);
    assert_eq!(acked(&mut ledger, at(0), 1_000), [(0, 1_000)]);
    assert_eq!(ledger.outstanding, Bytes::new(3_000));
}

#[test]
fn batches_of_one_send_time_are_acknowledged_in_order() {
    let mut ledger = Ledger::default();
    ledger.push(stamp(0, at(5)), Bytes::new(1_000));
    ledger.push(stamp(1, at(5)), Bytes::new(2_000));
    assert_eq!(acked(&mut ledger, at(5), 1_500), [(0, 1_000), (1, 500)]);
}

#[test]
fn bytes_that_nobody_reported_as_sent_are_ignored() {
    let mut ledger = ledger(&[1_000, 1_000]);
    assert_eq!(acked(&mut ledger, at(7), 1_452), []);
    assert_eq!(
        acked(&mut ledger, at(0) + Duration::from_micros(1), 1_452),
        []
    );
    assert_eq!(acked(&mut ledger, at(0), 9_000), [(0, 1_000)]);
    assert_eq!(ledger.outstanding, Bytes::new(1_000));
}

#[test]
fn losses_take_the_oldest_outstanding_bytes() {
    let mut ledger = ledger(&[2_000, 1_500, 2_000]);
    let _ = acked(&mut ledger, at(0), 1_000);
    assert_eq!(
        lost(&mut ledger, at(1), 2_500),
        [(0, 1_000, true), (1, 1_000, true), (1, 500, false)]
    );
    assert_eq!(ledger.outstanding, Bytes::new(2_000));
}

#[test]
fn losses_of_whole_batches_make_one_range() {
    let mut ledger = ledger(&[1_000, 1_000]);
    assert_eq!(
        lost(&mut ledger, at(1), 2_000),
        [(0, 1_000, true), (1, 1_000, false)]
    );
}

#[test]
fn nothing_newer_than_the_newest_lost_packet_is_lost() {
    let mut ledger = ledger(&[1_000, 1_000, 1_000]);
    assert_eq!(
        lost(&mut ledger, at(1), 9_000),
        [(0, 1_000, true), (1, 1_000, false)]
    );
    assert_eq!(ledger.outstanding, Bytes::new(1_000));
}

#[test]
fn bytes_that_left_flight_unreported_are_the_oldest() {
    let mut ledger = ledger(&[1_000, 1_000, 1_000]);
    ledger.reconcile(Bytes::new(1_200));
    assert_eq!(ledger.outstanding, Bytes::new(1_200));
    assert_eq!(acked(&mut ledger, at(0), 1_000), []);
    assert_eq!(acked(&mut ledger, at(1), 1_000), [(1, 200)]);
    ledger.reconcile(Bytes::new(50_000));
    assert_eq!(ledger.outstanding, Bytes::new(1_000));
}

#[test]
fn a_full_ledger_merges_what_comes_and_still_finds_it() {
    let mut ledger = Ledger::default();
    let batches = CAPACITY as u64 + 10;
    for index in 0..batches {
        ledger.push(stamp(index, at(index)), Bytes::new(1_000));
    }
    assert_eq!(ledger.batches.len(), CAPACITY);
    let merged = CAPACITY as u64 - 1;
    assert_eq!(
        acked(&mut ledger, at(batches - 1), 1_000),
        [(merged, 1_000)]
    );
    let left = (batches - 1) * 1_000;
    assert_eq!(ledger.outstanding, Bytes::new(left));
}
