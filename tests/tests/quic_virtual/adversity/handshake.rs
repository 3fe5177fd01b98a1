//! Handshakes that take long: over links that lose one packet in five, each way, and with peers
//! who never come to the end.

use crate::adversity::forged::{PADDING, PING, TAG, read_varint};
use crate::adversity::{Scene, both, transport};
use e2e::seed;
use paceline::testing::{Load, Side, World};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

const LOSSY: &str = "delay 50ms loss 20%";
const SEEDS: u64 = 100;

/// Milliseconds until both ends are connected and have exchanged data, if they do.
fn handshake(seed: u64) -> Option<u64> {
    let seed = seed::choose(seed, "20 % loss");
    let plan = both(&transport("cubic"));
    let mut scene = Scene::new(World::new(seed), LOSSY, LOSSY, &plan);
    let limit = Duration::from_secs(60);
    if scene.world.run_until_connected(scene.ends, limit).is_ok() {
        let millis = scene.millis();
        scene.assert_alive();
        return Some(millis);
    }
    // An end that knows the connection drops it within the idle timeout, and within the
    // time in which a closed connection is kept.
    scene.world.run_for(Duration::from_secs(60));
    assert!(
        scene.world.error(scene.ends.client).is_some(),
        "seed {seed}"
    );
    None
}

#[test]
fn one_packet_in_five_lost_makes_handshakes_slower_not_impossible() {
    let mut times: Vec<u64> = (1..=SEEDS).filter_map(handshake).collect();
    times.sort_unstable();
    assert_eq!(times.len() as u64, SEEDS, "all come together");
    let (half, most) = (times[times.len() / 2], times[times.len() - 1]);
    // 100 ms without loss. A first probe timeout is 1 s, and doubles (RFC 9002 §6.2).
    assert!(half <= 1_300, "half took {half} ms");
    assert!(most <= 8_000, "the slowest took {most} ms");
}

/// A server that answers after seconds gives its client an RTT of seconds, and the client has sent
/// its first packet thrice: its probe timeout is beyond every idle timeout. When its next flight is
/// lost, the server repeats its own part a second later, and again after two.
#[test]
fn what_ends_a_handshake_is_sent_again_when_the_server_repeats_its_part() {
    let mut config = transport("cubic");
    let idle = Duration::from_secs(6).try_into().expect("it is short");
    config.max_idle_timeout(Some(idle));
    let world = World::new(seed::choose(1, "a slow beginning"));
    let mut scene = Scene::new(world, "delay 4300ms", "delay 5ms", &both(&config));
    scene.world.run_for(Duration::from_millis(4_302));
    scene.relink("delay 5ms loss 100%", "delay 5ms");
    scene.world.run_for(Duration::from_millis(50));
    scene.world.send(scene.ends.client, Load::Bytes(1_000));
    // Its pace is that of a path whose round trip takes seconds.
    scene.world.run_for(Duration::from_millis(250));
    scene.relink("delay 5ms", "delay 5ms");
    let limit = Duration::from_secs(3);
    let is_there = scene.receives(scene.ends.server, 1_000, limit);
    assert!(is_there, "{} ms: {:?}", scene.millis(), scene.errors());
    scene.assert_alive();
}

/// A Handshake packet (RFC 9000 §17.2.4) that holds a PING alone.
struct Ping {
    packet: Vec<u8>,
    number_end: usize,
}

impl Ping {
    /// Makes PINGs of the Handshake packets in a datagram, and returns one of them.
    fn put_in(datagram: &mut [u8]) -> Option<Self> {
        let mut ping = None;
        let mut rest = datagram;
        while rest.first().is_some_and(|first| first & LONG != 0) {
            let (number_end, end) = long_packet(rest);
            let (packet, behind) = rest.split_at_mut(end);
            if packet[0] & KIND == HANDSHAKE {
                packet[number_end..end - TAG].fill(PADDING);
                packet[end - TAG..].fill(0);
                packet[number_end] = PING;
                ping = Some(Self {
                    packet: packet.to_vec(),
                    number_end,
                });
            }
            rest = behind;
        }
        ping
    }

    /// The next one.
    fn next(&mut self) -> &[u8] {
        self.packet[self.number_end - 1] += 1;
        &self.packet
    }
}

/// Where the number of a packet with a long header ends (RFC 9000 §17.2), and where the packet.
fn long_packet(packet: &[u8]) -> (usize, usize) {
    // Behind the version there are two connection IDs, each behind its length.
    let source = 6 + usize::from(packet[5]);
    let mut at = source + 1 + usize::from(packet[source]);
    if packet[0] & KIND == INITIAL {
        let (token, len) = read_varint(&packet[at..]);
        at += len + usize::try_from(token).expect("it is in the packet");
    }
    let (rest, len) = read_varint(&packet[at..]);
    let number = at + len;
    let end = number + usize::try_from(rest).expect("it is in the datagram");
    (number + usize::from(packet[0] & 3) + 1, end)
}

/// Has the client or the server keep its handshake to itself for 40 s, while it says something
/// every 200 ms. When the other end has given up, in milliseconds, and with what error.
fn dawdle(dawdler: Side, timeout: Option<Duration>) -> Option<(u64, String)> {
    let mut config = transport("cubic");
    let idle = Duration::from_secs(2).try_into().expect("it is short");
    config
        .handshake_timeout(timeout)
        .max_idle_timeout(Some(idle));
    let mut scene = Scene::unconnected(&config);
    let (dawdler, other) = match dawdler {
        Side::Client => (scene.ends.client, scene.ends.server),
        Side::Server => (scene.ends.server, scene.ends.client),
    };
    let ping = Rc::new(RefCell::new(None));
    let made = Rc::clone(&ping);
    scene.world.tamper(dawdler, move |mut datagram| {
        let mut ping = made.borrow_mut();
        if ping.is_some() {
            return Vec::new();
        }
        *ping = Ping::put_in(&mut datagram);
        vec![datagram]
    });
    while scene.millis() < 40_000 {
        if let Some(error) = scene.world.error(other) {
            return Some((scene.millis(), error.to_string()));
        }
        assert!(!scene.world.is_connected(other));
        if let Some(ping) = &mut *ping.borrow_mut() {
            scene.world.inject(dawdler, ping.next());
        }
        scene.world.run_for(Duration::from_millis(200));
    }
    None
}

#[test]
fn a_handshake_that_the_peer_draws_out_ends_in_time() {
    for dawdler in [Side::Client, Side::Server] {
        // Which the idle timeout does not see to.
        assert_eq!(dawdle(dawdler, None), None, "{dawdler:?}");
        for seconds in [5, 10] {
            let timeout = Duration::from_secs(seconds);
            let (millis, error) = dawdle(dawdler, Some(timeout)).expect("an end");
            let expected = 1_000 * seconds..=1_000 * seconds + 300;
            assert!(expected.contains(&millis), "{dawdler:?}: {millis} ms");
            assert_eq!(error, "timed out", "{dawdler:?}");
        }
    }
}

/// Headers of packets (RFC 9000 §17.2).
const LONG: u8 = 0x80;
const KIND: u8 = 0x30;
const INITIAL: u8 = 0x00;
const HANDSHAKE: u8 = 0x20;
