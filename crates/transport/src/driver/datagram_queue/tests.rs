use super::*;
use crate::datagrams::DatagramEvents;
use std::time::Duration;
use tokio_test::task;

const ROOM: usize = 1_000;

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn queue(bytes: usize, count: usize) -> (DatagramQueue, DatagramEvents) {
    let mut queue = DatagramQueue::new(DatagramLimits {
        bytes,
        count,
        is_enabled: true,
    });
    let (events, source) = DatagramEvents::new();
    queue.listen(source);
    (queue, events)
}

fn told(events: &mut DatagramEvents) -> Vec<(u64, DatagramOutcome)> {
    let mut told = Vec::new();
    while let std::task::Poll::Ready(Some(event)) = task::spawn(events.next()).poll() {
        told.push((event.id.0, event.outcome));
    }
    told
}

fn push(queue: &mut DatagramQueue, millis: u64, len: usize, options: DatagramOptions) -> u64 {
    let data = Bytes::from(vec![0; len]);
    let id = queue.push(at(millis), data, options.notify(true), Some(ROOM), true);
    id.unwrap().0
}

fn handed(queue: &mut DatagramQueue, packets: usize) -> Vec<usize> {
    let batch = queue.hand_over(DatagramPriority::BeforeStreams, packets, ROOM);
    batch.iter().map(Bytes::len).collect()
}

const PLAIN: DatagramOptions = DatagramOptions {
    ttl: None,
    priority: DatagramPriority::BeforeStreams,
    group: None,
    is_notified: false,
    is_padding: false,
};

const LATER: DatagramOptions = DatagramOptions {
    priority: DatagramPriority::AfterStreams,
    ..PLAIN
};

const URGENT: DatagramOptions = DatagramOptions {
    priority: DatagramPriority::Urgent,
    ..PLAIN
};

#[test]
fn the_urgent_overtake_and_are_displaced_last() {
    let (mut queue, mut events) = queue(4 * (100 + OVERHEAD), 4);
    for (len, options) in [(61, LATER), (62, PLAIN), (63, URGENT), (64, URGENT)] {
        push(&mut queue, 0, len, options);
    }
    assert_eq!(handed(&mut queue, 1), [63, 64, 62]);
    for len in [71, 72, 73, 74] {
        push(&mut queue, 1, len, URGENT);
    }
    // The oldest of the lowest priority, and none of a higher one.
    push(&mut queue, 2, 75, PLAIN);
    push(&mut queue, 2, 76, URGENT);
    let displaced = DatagramOutcome::Displaced;
    assert_eq!(
        told(&mut events),
        [(0, displaced), (8, displaced), (4, displaced)]
    );
    assert_eq!(handed(&mut queue, 9), [72, 73, 74, 76]);
}

#[test]
fn the_oldest_make_room() {
    let (mut queue, mut events) = queue(3 * (100 + OVERHEAD), 10);
    for millis in 0..5 {
        push(&mut queue, millis, 100, PLAIN);
    }
    let displaced = DatagramOutcome::Displaced;
    assert_eq!(told(&mut events), [(0, displaced), (1, displaced)]);
    assert_eq!((queue.stats().queued, queue.stats().displaced), (3, 2));
    assert_eq!(queue.stats().queued_bytes.get(), 300);
    assert_eq!(queue.space(), 0);
    assert_eq!(handed(&mut queue, 2), [100; 3]);
    assert_eq!(queue.stats().queued_bytes.get(), 0);
}

#[test]
fn there_are_no_more_than_the_count() {
    let (mut queue, _events) = queue(1 << 20, 3);
    for millis in 0..5 {
        push(&mut queue, millis, 1, PLAIN);
    }
    assert_eq!((queue.stats().queued, queue.stats().displaced), (3, 2));
    assert_eq!(queue.space(), 0);
}

#[test]
fn lower_priority_makes_room_first_and_takes_none_from_higher() {
    let (mut queue, mut events) = queue(2 * (100 + OVERHEAD), 10);
    push(&mut queue, 0, 100, PLAIN);
    push(&mut queue, 0, 100, LATER);
    push(&mut queue, 0, 100, PLAIN);
    push(&mut queue, 0, 100, LATER);
    let displaced = DatagramOutcome::Displaced;
    assert_eq!(told(&mut events), [(1, displaced), (3, displaced)]);
    assert_eq!(handed(&mut queue, 1), [100, 100]);
    assert!(!queue.is_waiting());
}

#[test]
fn a_later_group_of_a_track_drops_the_earlier_ones() {
    let (mut queue, mut events) = queue(1 << 20, 100);
    for (len, options) in [
        (60, PLAIN.group(1, 5)),
        (61, URGENT.group(1, 5)),
        (62, PLAIN.group(2, 5)),
        (63, PLAIN),
        (64, LATER.group(1, 5)),
    ] {
        push(&mut queue, 0, len, options);
    }
    assert_eq!(told(&mut events), [], "a group has several");
    push(&mut queue, 1, 65, PLAIN.group(1, 7));
    let superseded = DatagramOutcome::Superseded;
    let dropped: Vec<_> = [1, 0, 4].map(|id| (id, superseded)).into();
    assert_eq!(told(&mut events), dropped, "of every priority");
    // One that is late itself.
    push(&mut queue, 2, 66, URGENT.group(1, 6));
    assert_eq!(told(&mut events), [(6, superseded)]);
    push(&mut queue, 3, 67, PLAIN.group(1, 7));
    let stats = queue.stats();
    assert_eq!((stats.superseded, stats.queued), (4, 4));
    assert_eq!(stats.queued_bytes.get(), 62 + 63 + 65 + 67);
    assert_eq!(handed(&mut queue, 1), [62, 63, 65, 67]);
    // Nothing is known of a track of which nothing waits.
    push(&mut queue, 4, 68, PLAIN.group(1, 6));
    assert_eq!(handed(&mut queue, 1), [68]);
    assert_eq!(queue.stats().superseded, 4);
}

#[test]
fn what_is_dropped_for_a_later_group_makes_room() {
    let (mut queue, mut events) = queue(3 * (100 + OVERHEAD), 10);
    push(&mut queue, 0, 100, PLAIN);
    push(&mut queue, 0, 100, PLAIN.group(1, 1));
    push(&mut queue, 0, 100, PLAIN.group(1, 1));
    push(&mut queue, 1, 100, PLAIN.group(1, 2));
    // A full queue is not touched for what is dropped itself.
    push(&mut queue, 1, 100, PLAIN);
    push(&mut queue, 1, 100, PLAIN.group(1, 1));
    let superseded = DatagramOutcome::Superseded;
    let expected = [(1, superseded), (2, superseded), (5, superseded)];
    assert_eq!(told(&mut events), expected);
    assert_eq!(handed(&mut queue, 1), [100; 3]);
}

#[test]
fn what_is_stale_is_not_sent() {
    let (mut queue, mut events) = queue(1 << 20, 10);
    let short = PLAIN.ttl(Duration::from_millis(10));
    push(&mut queue, 0, 100, short);
    push(&mut queue, 5, 200, short);
    push(&mut queue, 5, 300, PLAIN);
    assert_eq!(queue.next_expiry(), Some(at(10)));
    queue.expire(at(9));
    assert_eq!(told(&mut events), []);
    queue.expire(at(10));
    assert_eq!(told(&mut events), [(0, DatagramOutcome::Expired)]);
    assert_eq!(queue.next_expiry(), Some(at(15)));
    queue.expire(at(15));
    assert_eq!((queue.next_expiry(), queue.stats().expired), (None, 2));
    assert_eq!(handed(&mut queue, 9), [300]);
}

#[test]
fn no_more_is_handed_over_than_fits_into_the_packets() {
    let (mut queue, mut events) = queue(1 << 20, 100);
    for len in [600, 600, 300, 50, 40, 600] {
        push(&mut queue, 0, len, PLAIN);
    }
    assert_eq!(handed(&mut queue, 0), [0; 0]);
    assert_eq!(handed(&mut queue, 2), [600, 600, 300, 50, 40]);
    assert_eq!(handed(&mut queue, 2), [0; 0], "the packets are full");
    queue.on_sent(at(1));
    assert_eq!(handed(&mut queue, 2), [600]);
    assert_eq!(told(&mut events), [(0, DatagramOutcome::Sent)]);
}

#[test]
fn one_that_waits_for_room_is_told_of_it() {
    let (mut queue, _events) = queue(100 + OVERHEAD, 10);
    push(&mut queue, 0, 100, PLAIN);
    let data = Bytes::from(vec![7; 100]);
    let refused = queue.push(at(0), data.clone(), PLAIN, Some(ROOM), false);
    assert!(matches!(refused, Err(Refusal::Blocked(back)) if back == data));
    assert!(!queue.take_unblocked());
    handed(&mut queue, 1);
    assert!(queue.take_unblocked() && !queue.take_unblocked());
}

#[test]
fn what_no_packet_can_carry_is_an_error_or_dropped() {
    let (mut queue, mut events) = queue(1 << 20, 10);
    let mut try_push = |len, most| {
        let data = Bytes::from(vec![0; len]);
        match queue.push(at(0), data, PLAIN.notify(true), most, true) {
            Err(Refusal::Error(error)) => Some(error),
            _ => None,
        }
    };
    assert_eq!(
        try_push(1, None),
        Some(SendDatagramError::UnsupportedByPeer)
    );
    assert_eq!(try_push(101, Some(100)), Some(SendDatagramError::TooLarge));
    assert_eq!(
        (try_push(100, Some(100)), try_push(100, Some(100))),
        (None, None)
    );
    handed(&mut queue, 1);
    queue.drop_oversized(at(1), 99);
    assert!(!queue.has_handed());
    push(&mut queue, 0, 100, PLAIN);
    queue.drop_unsendable(at(2), DatagramPriority::BeforeStreams, 99);
    assert!(!queue.is_waiting());
    let outcomes: Vec<_> = told(&mut events);
    assert_eq!(outcomes.len(), 3);
    assert!(
        outcomes
            .iter()
            .all(|(_, outcome)| *outcome == DatagramOutcome::TooLarge)
    );
}
