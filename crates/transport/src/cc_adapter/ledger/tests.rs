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
        ledger.push(stamp(index, at(index)), Bytes::new(bytes), Some(index));
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

/// As [`ledger`], with ten packets of 100 bytes in each batch.
fn tens(batches: u64) -> Ledger {
    let mut ledger = Ledger::default();
    for index in 0..batches {
        let bytes = Bytes::new(1_000);
        ledger.push(stamp(index, at(index)), bytes, Some(index * 10 + 9));
    }
    ledger
}

const PACKET: Bytes = Bytes::new(100);

#[test]
fn a_packet_is_missing_once_a_later_one_has_arrived() {
    let mut ledger = tens(2);
    assert_eq!(acked(&mut ledger, at(0), 500), [(0, 500)]);
    assert_eq!(ledger.missing_since(4, PACKET), None, "0 to 4 have arrived");
    assert_eq!(
        ledger.missing_since(5, PACKET),
        Some(at(0)),
        "one of 0 to 5 has not"
    );
    acked(&mut ledger, at(0), 500);
    assert_eq!(ledger.missing_since(9, PACKET), None);
    assert_eq!(ledger.missing_since(19, PACKET), Some(at(1)));
    acked(&mut ledger, at(1), 1_000);
    assert_eq!(
        ledger.missing_since(19, PACKET),
        None,
        "nothing is outstanding"
    );
}

#[test]
fn a_packet_is_overdue_by_the_number_of_packets_behind_it_or_by_its_age() {
    let mut ledger = tens(3);
    acked(&mut ledger, at(0), 900);
    let by_number = |largest| {
        let newest = ledger.overdue(largest, PACKET, Some(3), at(0));
        newest.filter(|newest| *newest > at(0))
    };
    let by_age = |largest, until| ledger.overdue(largest, PACKET, None, at(until));
    assert_eq!(by_number(21), None, "19 is not behind three");
    assert_eq!(by_number(22), Some(at(1)));
    assert_eq!(by_number(29), Some(at(1)));
    assert_eq!(by_age(8, 5), None, "9 is the one outstanding, and after 8");
    assert_eq!(by_age(11, 5), Some(at(5)), "whatever left until then");
    let mut later = Ledger::default();
    later.push(stamp(0, at(5)), PACKET, Some(0));
    later.push(stamp(1, at(9)), PACKET, Some(1));
    assert_eq!(later.overdue(1, PACKET, None, at(4)), None);
    assert_eq!(later.overdue(1, PACKET, Some(2), at(4)), None);
    assert_eq!(later.overdue(1, PACKET, Some(1), at(4)), Some(at(5)));
    assert_eq!(later.overdue(1, PACKET, Some(1), at(9)), Some(at(9)));
}

#[test]
fn an_mtu_probe_is_missing_when_a_packet_after_it_has_arrived() {
    let mut ledger = Ledger::default();
    ledger.push(stamp(0, at(0)), PACKET, Some(0));
    ledger.push(stamp(1, at(1)), PACKET, None);
    acked(&mut ledger, at(0), 100);
    assert_eq!(ledger.missing_since(0, PACKET), None);
    ledger.push(stamp(2, at(2)), PACKET, Some(2));
    assert_eq!(ledger.missing_since(0, PACKET), None);
    assert_eq!(ledger.missing_since(2, PACKET), Some(at(1)));
}

#[test]
fn batches_of_one_send_time_are_overdue_together() {
    let mut ledger = Ledger::default();
    for (number, millis) in [(0, 1), (1, 2), (2, 2), (3, 2), (9, 4)] {
        ledger.push(stamp(number, at(millis)), PACKET, Some(number));
    }
    assert_eq!(ledger.overdue(4, PACKET, Some(3), at(0)), Some(at(1)));
    assert_eq!(ledger.overdue(5, PACKET, Some(3), at(0)), Some(at(1)));
    assert_eq!(ledger.overdue(6, PACKET, Some(3), at(0)), Some(at(2)));
}

#[test]
fn batches_of_one_send_time_are_acknowledged_in_order() {
    let mut ledger = Ledger::default();
    ledger.push(stamp(0, at(5)), Bytes::new(1_000), Some(0));
    ledger.push(stamp(1, at(5)), Bytes::new(2_000), Some(2));
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
        ledger.push(stamp(index, at(index)), Bytes::new(1_000), Some(index));
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
