//! What becomes of datagrams, and which go first.

use crate::plan_over;
use e2e::choose;
use paceline::testing::{ConnectionPlan, Ends, Load, World};
use paceline::{
    DatagramEvent, DatagramEvents, DatagramId, DatagramOptions, DatagramOutcome, DatagramPriority,
    SendDatagramError,
};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use units::Timestamp;

const SECOND: Duration = Duration::from_secs(1);

/// A connection over `link`, and the first bytes of the datagrams that the server has received.
struct Sender {
    world: World,
    ends: Ends,
    events: DatagramEvents,
    received: Rc<RefCell<Vec<u64>>>,
}

impl Sender {
    fn over(link: &str, change: impl FnOnce(&mut ConnectionPlan)) -> Self {
        let mut world = World::new(3);
        let mut plan = plan_over(&mut world, link);
        plan.client.congestion(choose("cubic"));
        change(&mut plan);
        let ends = world.add_connection(&plan);
        let connected = world.run_until_connected(ends, SECOND * 10);
        connected.expect("a handshake");
        let received = Rc::<RefCell<Vec<u64>>>::default();
        let sink = Rc::clone(&received);
        world.watch_received_datagrams(ends.server, move |_, data| {
            sink.borrow_mut().push(u64::from_be_bytes(
                data[..8].try_into().expect("its number"),
            ));
        });
        let events = world.datagram_events(ends.client);
        Self {
            world,
            ends,
            events,
            received,
        }
    }

    /// Sends a datagram of `len` bytes that holds `number`.
    fn send(&mut self, number: u64, len: usize, options: DatagramOptions) -> DatagramId {
        let mut data = vec![0; len];
        data[..8].copy_from_slice(&number.to_be_bytes());
        let sent = self.world.send_datagram(self.ends.client, data, options);
        sent.expect("the peer takes datagrams")
    }

    fn events(&mut self) -> Vec<DatagramEvent> {
        let mut events = Vec::new();
        let mut cx = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(event)) = pin!(&mut self.events).poll_next(&mut cx) {
            events.push(event);
        }
        events
    }
}

fn notified() -> DatagramOptions {
    DatagramOptions::default().notify(true)
}

#[test]
fn each_datagram_is_acknowledged_or_lost_as_its_packet_is() {
    let mut sender = Sender::over("delay 20ms loss 5% rate 5mbit queue 2bdp", |_| {});
    let mut ids = Vec::new();
    for number in 0..2_000 {
        // Several to a packet, one, and packets that are shared with streams.
        let len = [100, 1_000, 300][number as usize % 3];
        ids.push(sender.send(number, len, notified()));
        sender.world.run_for(Duration::from_millis(3));
        if number == 500 {
            sender.world.send(sender.ends.client, Load::Bytes(300_000));
        }
    }
    sender.world.run_for(SECOND * 3);
    assert!(ids.is_sorted());
    let events = sender.events();
    let of = |outcome| {
        let events = events.iter().filter(move |event| event.outcome == outcome);
        let number = |event: &DatagramEvent| ids.binary_search(&event.id).unwrap() as u64;
        events.map(number).collect::<BTreeSet<_>>()
    };
    let (sent, acked) = (of(DatagramOutcome::Sent), of(DatagramOutcome::Acknowledged));
    let lost = of(DatagramOutcome::Lost);
    assert_eq!(events.len(), sent.len() + acked.len() + lost.len());
    assert!(acked.is_disjoint(&lost));
    assert_eq!(&acked | &lost, sent);
    let received: BTreeSet<_> = sender.received.borrow().iter().copied().collect();
    assert_eq!(
        acked, received,
        "the link neither reorders nor loses ACKs for good"
    );
    assert!(lost.len() > 40, "{} lost", lost.len());
    let stats = sender.world.stats(sender.ends.client).datagrams;
    assert_eq!((stats.sent, stats.queued), (sent.len() as u64, 0));
}

#[test]
fn what_does_not_leave_in_time_is_dropped_and_said_to_be() {
    let mut sender = Sender::over("delay 20ms rate 1mbit queue 2bdp", |_| {});
    let short = notified().ttl(Duration::from_millis(80));
    for number in 0..100 {
        sender.send(number, 1_000, short);
    }
    sender.world.run_for(SECOND);
    let events = sender.events();
    let count = |outcome| {
        events
            .iter()
            .filter(|event| event.outcome == outcome)
            .count()
    };
    let (sent, expired) = (
        count(DatagramOutcome::Sent),
        count(DatagramOutcome::Expired),
    );
    assert_eq!(sent + expired, 100);
    assert!((8..60).contains(&sent), "{sent} sent");
    let expired = events
        .iter()
        .find(|event| event.outcome == DatagramOutcome::Expired);
    let first_sent = events[0].at;
    let after = expired.unwrap().at.since(first_sent);
    assert_eq!(
        after,
        Duration::from_millis(80),
        "not only when it could leave"
    );
    assert!(sender.received.borrow().is_sorted());
}

#[test]
fn a_full_buffer_drops_the_oldest() {
    let mut sender = Sender::over("delay 20ms rate 1mbit queue 2bdp", |plan| {
        plan.client.datagram_send_buffer_count(50);
    });
    for number in 0..500 {
        sender.send(number, 1_000, notified());
    }
    let stats = sender.world.stats(sender.ends.client).datagrams;
    assert!(stats.queued <= 50, "{stats:?}");
    assert_eq!(stats.queued_bytes.get(), stats.queued * 1_000);
    sender.world.run_for(SECOND * 3);
    let received = sender.received.borrow().clone();
    // What left at once, and what was newest when there was room again.
    assert!(received.iter().all(|number| !(50..450).contains(number)));
    assert!(received.iter().filter(|number| **number >= 450).count() > 20);
    let events = sender.events();
    let displaced = |event: &&DatagramEvent| event.outcome == DatagramOutcome::Displaced;
    assert!(events.iter().filter(displaced).count() >= 400);
}

#[test]
fn datagrams_go_before_streams_or_after_them() {
    let mut sender = Sender::over("delay 20ms rate 5mbit queue 2bdp", |_| {});
    sender
        .world
        .send(sender.ends.client, Load::Bytes(2_000_000));
    sender.world.run_for(SECOND);
    let later = notified().priority(DatagramPriority::AfterStreams);
    sender.send(1, 1_000, later);
    sender.send(2, 1_000, notified());
    sender.world.run_for(SECOND / 2);
    assert_eq!(*sender.received.borrow(), [2]);
    sender.world.run_for(SECOND * 6);
    assert_eq!(*sender.received.borrow(), [2, 1]);
}

#[test]
fn an_urgent_datagram_overtakes_those_that_wait() {
    let mut sender = Sender::over("delay 20ms rate 1mbit queue 500p", |_| {});
    for number in 0..100 {
        sender.send(number, 1_000, notified());
    }
    sender.world.run_for(SECOND / 5);
    let sent_before = sender.world.stats(sender.ends.client).datagrams.sent;
    sender.send(100, 1_000, notified().priority(DatagramPriority::Urgent));
    sender.world.run_for(SECOND * 2);
    let received = sender.received.borrow();
    let place = received.iter().position(|number| *number == 100);
    // Behind what had left, and one batch that could leave.
    let place = place.expect("nothing is lost") as u64;
    assert!(
        (sent_before..sent_before + 5).contains(&place),
        "{place}, {sent_before} had left"
    );
    assert_eq!(received.len(), 101);
}

/// A picture of 20 datagrams every 100 ms over a link that carries twelve of them.
#[test]
fn a_later_group_does_not_wait_behind_an_earlier_one() {
    let latest = |is_grouped: bool| {
        let mut sender = Sender::over("delay 20ms rate 1mbit queue 2bdp", |_| {});
        let begun = sender.world.now();
        let made = move |picture: u64| begun + SECOND / 10 * picture as u32;
        let lateness = Rc::<RefCell<Vec<Duration>>>::default();
        let sink = Rc::clone(&lateness);
        let server = sender.ends.server;
        sender
            .world
            .watch_received_datagrams(server, move |at, data| {
                let number = u64::from_be_bytes(data[..8].try_into().expect("its number"));
                sink.borrow_mut().push(at.since(made(number / 20)));
            });
        let mut ids = Vec::new();
        for number in 0..600 {
            if number % 20 == 0 {
                sender
                    .world
                    .run_until(made(number / 20).since(Timestamp::ZERO));
            }
            let options = match is_grouped {
                true => notified().group(1, number / 20),
                false => notified(),
            };
            ids.push(sender.send(number, 1_000, options));
        }
        sender.world.run_for(SECOND * 6);
        let events = sender.events();
        let of = |outcome| {
            let events = events.iter().filter(move |event| event.outcome == outcome);
            events.map(|event| event.id).collect::<BTreeSet<_>>()
        };
        let (sent, superseded) = (of(DatagramOutcome::Sent), of(DatagramOutcome::Superseded));
        // Each has one end, and who asked is told.
        assert_eq!(&sent | &superseded, ids.into_iter().collect());
        assert!(sent.is_disjoint(&superseded));
        let stats = sender.world.stats(sender.ends.client).datagrams;
        assert_eq!(stats.superseded, superseded.len() as u64);
        assert_eq!((stats.queued, stats.queued_bytes.get()), (0, 0));
        assert_eq!(superseded.is_empty(), !is_grouped);
        let latest = lateness.borrow().iter().max().copied();
        latest.expect("something arrives")
    };
    let (grouped, all) = (latest(true), latest(false));
    // Until the next picture is made, and the link with its queue.
    assert!(grouped <= SECOND / 10 * 3, "{grouped:?}");
    assert!(all >= SECOND, "{all:?} where nothing is dropped");
}

#[test]
fn a_peer_that_takes_no_datagrams_is_an_error() {
    let mut sender = Sender::over("delay 20ms", |plan| {
        plan.server.datagram_receive_buffer_size(None);
    });
    let (client, server) = (sender.ends.client, sender.ends.server);
    let mut send = |end| sender.world.send_datagram(end, vec![1], notified());
    assert_eq!(send(client), Err(SendDatagramError::UnsupportedByPeer));
    assert_eq!(send(server), Err(SendDatagramError::Disabled));
}
