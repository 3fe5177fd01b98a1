//! A peer that goes back to keys of before a key update, as s2n-quic 1.83 does where packets are
//! reordered.

use crate::plan_over;
use e2e::seed;
use paceline::testing::{Ends, Load, World};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use units::Bytes;

const SECOND: Duration = Duration::from_secs(1);

/// A connection over which so many bytes have gone, and on which nothing is in flight. From now on
/// the server can read nothing of the client, until this is true.
fn unreadable_after(bytes: u64) -> (World, Ends, Rc<Cell<bool>>) {
    let mut world = World::new(seed::choose(1, "a client that goes back to old keys"));
    let plan = plan_over(&mut world, "delay 25ms rate 20mbit");
    let ends = world.add_connection(&plan);
    world
        .run_until_connected(ends, SECOND)
        .expect("a handshake");
    world.send(ends.client, Load::Bytes(bytes));
    world.run_for(SECOND * 5);
    assert_eq!(world.received(ends.server), Bytes::new(bytes));
    let is_readable = Rc::<Cell<bool>>::default();
    let readable = Rc::clone(&is_readable);
    world.tamper(ends.client, move |mut datagram| {
        if !readable.get()
            && let Some(last) = datagram.last_mut()
        {
            *last ^= 1;
        }
        vec![datagram]
    });
    (world, ends, is_readable)
}

/// Both ends have updated their keys by then.
const MANY: u64 = 5_000_000;

#[test]
fn a_peer_that_goes_back_to_old_keys_is_shown_the_new_ones() {
    let (mut world, ends, is_readable) = unreadable_after(MANY);
    let sent = world.stats(ends.server).udp_tx.datagrams;
    world.send(ends.client, Load::Bytes(100_000));
    let mut took = Duration::ZERO;
    while world.stats(ends.server).udp_tx.datagrams == sent {
        assert!(took < SECOND, "nothing came to bring it forward");
        world.run_for(Duration::from_millis(1));
        took += Duration::from_millis(1);
    }
    is_readable.set(true);
    let all = Bytes::new(MANY + 100_000);
    assert!(world.run_until_received(ends.server, all, SECOND));
}

/// Who sends garbage in a peer's name gets no more than what a peer that is silent does.
#[test]
fn what_stays_unreadable_is_answered_with_a_few_packets() {
    for (bytes, most) in [(MANY, 8), (2_000, 0)] {
        let (mut world, ends, _) = unreadable_after(bytes);
        let before = world.stats(ends.server);
        world.send(ends.client, Load::Bytes(1_000_000));
        world.run_for(SECOND * 5);
        let after = world.stats(ends.server);
        let came = after.udp_rx.datagrams - before.udp_rx.datagrams;
        let sent = after.udp_tx.datagrams - before.udp_tx.datagrams;
        assert!(came > 10 && sent <= most, "{came} came, {sent} sent");
    }
}
