//! Bytes as the story of a connection whose client does, and is done to, anything.
//!
//! Packets are not encrypted, so that what is changed in them is read, and not only found to be
//! changed.

use paceline::VarInt;
use paceline::testing::{ConnectionPlan, EndId, Ends, LinkId, Load, World};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

/// Plays the story. Panics if one of the two ends does, if time does not advance, or if an end is
/// still connected long after its last packet arrived.
pub(crate) fn peer(data: &[u8]) {
    let mut source = Source { data };
    let mut story = Story::begin(source.byte());
    for _ in 0..MAX_STEPS {
        if source.data.is_empty() {
            break;
        }
        story.step(&mut source);
    }
    story.end();
}

/// Bytes to draw from; zeros when there are no more.
struct Source<'a> {
    data: &'a [u8],
}

impl Source<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.data.split_first() else {
            return 0;
        };
        self.data = rest;
        first
    }

    /// As many bytes as the next one says.
    fn bytes(&mut self) -> Vec<u8> {
        let len = usize::from(self.byte()).min(self.data.len());
        let (bytes, rest) = self.data.split_at(len);
        self.data = rest;
        bytes.to_vec()
    }
}

/// What is to be done to a datagram.
enum Change {
    Drop,
    Twice,
    /// Frames in the place of its own, if its header is short.
    Frames(Vec<u8>),
    /// Bytes over its own, from somewhere on.
    Over(usize, Vec<u8>),
    /// Shorter.
    Cut(usize),
}

struct Story {
    world: World,
    ends: Ends,
    links: [LinkId; 2],
    /// For the client's next datagrams.
    changes: Rc<RefCell<VecDeque<Change>>>,
    /// The client's latest datagrams.
    seen: Rc<RefCell<VecDeque<Vec<u8>>>>,
    loads: u8,
    /// The ends that have closed the connection themselves.
    closed: Vec<EndId>,
}

impl Story {
    /// Odd numbers begin after the handshake.
    fn begin(number: u8) -> Self {
        let mut world = World::new(number.into()).unencrypted();
        let link = "delay 5ms rate 100mbit".parse().expect("a link");
        let links = world.add_links(&link, &link).expect("no queue in bdp");
        let ends = world.add_connection(&ConnectionPlan {
            there: vec![links.0],
            back: vec![links.1],
            ..ConnectionPlan::default()
        });
        world.skip_verification(ends.client);
        world.skip_verification(ends.server);
        if number % 2 == 1 {
            let limit = Duration::from_secs(10);
            let connected = world.run_until_connected(ends, limit);
            connected.expect("nobody interferes");
        }
        let (changes, seen) = (Rc::default(), Rc::default());
        world.tamper(ends.client, tamper(Rc::clone(&changes), Rc::clone(&seen)));
        Self {
            world,
            ends,
            links: [links.0, links.1],
            changes,
            seen,
            loads: 0,
            closed: Vec::new(),
        }
    }

    fn step(&mut self, source: &mut Source<'_>) {
        match source.byte() % 16 {
            0 => self
                .world
                .run_for(Duration::from_micros(source.byte().into())),
            1 => self
                .world
                .run_for(Duration::from_millis(source.byte().into())),
            2 => self
                .world
                .run_for(Duration::from_millis(1 << (source.byte() % 16))),
            3 => self.world.inject(self.ends.client, &source.bytes()),
            4 => self.world.inject(self.ends.server, &source.bytes()),
            5 => self.replay(source.byte()),
            6 => self.change(Change::Drop),
            7 => self.change(Change::Twice),
            8 | 9 => self.change(Change::Frames(source.bytes())),
            10 => self.change(Change::Over(source.byte().into(), source.bytes())),
            11 => self.change(Change::Cut(source.byte().into())),
            12 => {
                let address = format!("192.0.2.{}:{}", source.byte(), 1 + u16::from(source.byte()));
                let address = address.parse().expect("an address");
                self.world.move_client(self.ends, address);
            }
            13 => self.use_connection(self.ends.client, source),
            14 => self.use_connection(self.ends.server, source),
            _ => self.frame(source),
        }
    }

    fn change(&mut self, change: Change) {
        let mut changes = self.changes.borrow_mut();
        if changes.len() < MAX_STEPS {
            changes.push_back(change);
        }
    }

    fn replay(&mut self, back: u8) {
        let seen = self.seen.borrow();
        let index = usize::from(back) % seen.len().max(1);
        if let Some(datagram) = seen.get(index).cloned() {
            drop(seen);
            self.world.inject(self.ends.client, &datagram);
        }
    }

    /// A frame with integers of any size, as often as it fits, and a packet to carry it.
    fn frame(&mut self, source: &mut Source<'_>) {
        let mut frame = vec![source.byte() % 0x40];
        for _ in 0..source.byte() % 6 {
            let value = u64::from(source.byte()) << (source.byte() % 56);
            frame.extend((value | 3 << 62).to_be_bytes());
        }
        frame.extend(source.bytes());
        let times = 1 + usize::from(source.byte()) % (1_000 / frame.len());
        self.change(Change::Frames(frame.repeat(times)));
        self.ping();
    }

    fn ping(&mut self) {
        if self.is_open(self.ends.client) {
            let ping = quinn_proto::Connection::ping;
            self.world.proto(self.ends.client, ping);
        }
    }

    fn use_connection(&mut self, end: EndId, source: &mut Source<'_>) {
        if !self.is_open(end) {
            return;
        }
        match source.byte() % 8 {
            0 if self.loads < MAX_LOADS => {
                self.loads += 1;
                let bytes = 1 << (source.byte() % 22);
                self.world.send(end, Load::Bytes(bytes));
            }
            1 => self.world.set_reading(end, false),
            2 => self.world.set_reading(end, true),
            3 => {
                self.world.close(end);
                self.closed.push(end);
            }
            4 => {
                let choice = ["cubic", "bbr3", "fixed:pacing=off"][usize::from(source.byte()) % 3];
                let choice = cc_core::Registry::standard().choose(choice);
                self.world.set_congestion(end, &choice.expect("it is one"));
            }
            5 => self.world.proto(end, |conn| {
                let opened = conn.streams().open(quinn_proto::Dir::Bi);
                let Some(id) = opened.filter(|id| id.index() < MAX_STREAMS) else {
                    return;
                };
                // The peer may have stopped or limited it.
                let mut stream = conn.send_stream(id);
                let _ = stream.write(b"x");
                let _ = stream.reset(VarInt::from_u32(1));
            }),
            6 => self
                .world
                .proto(end, quinn_proto::Connection::force_key_update),
            _ => self.ping(),
        }
    }

    fn is_open(&self, end: EndId) -> bool {
        let has_ended = self.world.error(end).is_some() || self.closed.contains(&end);
        self.world.is_connected(end) && !has_ended
    }

    /// An end that receives nothing any more ends, however wrong its RTT estimate is.
    fn end(mut self) {
        let dead = "delay 5ms loss 100%".parse().expect("a link");
        for link in self.links {
            self.world.change_link(link, &dead, Duration::ZERO);
        }
        self.world.run_for(Duration::from_secs(2_000));
        for end in [self.ends.client, self.ends.server] {
            if self.world.is_connected(end) {
                let is_drained = self.world.proto(end, |conn| conn.is_drained());
                assert!(is_drained, "{end:?} goes on");
            }
        }
    }
}

fn tamper(
    changes: Rc<RefCell<VecDeque<Change>>>,
    seen: Rc<RefCell<VecDeque<Vec<u8>>>>,
) -> impl FnMut(Vec<u8>) -> Vec<Vec<u8>> {
    move |mut datagram| {
        let mut seen = seen.borrow_mut();
        seen.push_front(datagram.clone());
        seen.truncate(MAX_SEEN);
        match changes.borrow_mut().pop_front() {
            None => {}
            Some(Change::Drop) => return Vec::new(),
            Some(Change::Twice) => return vec![datagram.clone(), datagram],
            Some(Change::Frames(frames)) => reframe(&mut datagram, &frames),
            Some(Change::Over(at, bytes)) => {
                let room = datagram.iter_mut().skip(at);
                room.zip(bytes).for_each(|(byte, other)| *byte = other);
                forge(&mut datagram);
            }
            Some(Change::Cut(len)) => datagram.truncate(len),
        }
        vec![datagram]
    }
}

/// Has a packet with a short header be taken for what it says, its number included.
fn forge(datagram: &mut [u8]) {
    let is_short = datagram.first().is_some_and(|first| first & 0x80 == 0);
    if let Some(tag) = datagram.last_chunk_mut::<16>().filter(|_| is_short) {
        tag.fill(0);
    }
}

/// Puts other frames into a packet with a short header (RFC 9000 §17.3) and connection IDs of eight
/// bytes, and behind them the authentication of who forges.
fn reframe(datagram: &mut Vec<u8>, frames: &[u8]) {
    if datagram.first().is_some_and(|first| first & 0x80 == 0) {
        let packet_number = usize::from(datagram[0] & 3) + 1;
        datagram.truncate(1 + 8 + packet_number);
        datagram.extend_from_slice(frames);
        datagram.extend_from_slice(&[0; 20]);
    }
}

/// Steps of a story, and changes that wait for a datagram.
const MAX_STEPS: usize = 400;
/// Datagrams that may be replayed.
const MAX_SEEN: usize = 64;
/// Fewer than the peer allows streams.
const MAX_LOADS: u8 = 16;
const MAX_STREAMS: u64 = 1_000;
