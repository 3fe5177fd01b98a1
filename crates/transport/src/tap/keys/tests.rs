//! Keys of quinn-proto's own connections, through every kind of handshake.

use super::*;
use crate::clock;
use crate::config::{ClientConfig, ServerConfig};
use crate::tap::{Ack, Content, Sent};
use crate::tls::{self, SelfSigned};
use quinn_proto::{
    Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event, Transmit,
    VarInt,
};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use units::Timestamp;

/// What the tap of one connection has seen.
#[derive(Default)]
struct Seen {
    sent: Vec<Sent>,
    acks: Vec<(Ack, Vec<(u64, u64)>)>,
    frames: u64,
    discarded: [u32; 3],
}

struct End {
    endpoint: Endpoint,
    address: SocketAddr,
    conn: Option<(ConnectionHandle, Connection)>,
    tap: Arc<Tap>,
    seen: Seen,
    is_connected: bool,
}

impl End {
    fn new(server: Option<&ServerConfig>, port: u16) -> Self {
        let server = server.map(ServerConfig::for_endpoint);
        let config = Arc::new(EndpointConfig::default());
        Self {
            endpoint: Endpoint::new(config, server, true, None),
            address: ([127, 0, 0, 1], port).into(),
            conn: None,
            tap: Arc::default(),
            seen: Seen::default(),
            is_connected: false,
        }
    }

    fn conn(&mut self) -> &mut Connection {
        &mut self.conn.as_mut().expect("it has begun").1
    }

    /// Takes what the tap has seen, as a driver does after each step.
    fn look(&mut self) {
        let mut sent = Vec::new();
        self.tap.take_sent(&mut sent, None);
        self.seen.sent.extend(sent);
        let Some(received) = self.tap.take_received(std::mem::take) else {
            return;
        };
        self.seen.frames += received.frames;
        for (count, is_discarded) in self.seen.discarded.iter_mut().zip(received.discarded) {
            *count += u32::from(is_discarded);
        }
        let mut ranges = &received.ranges[..];
        for ack in received.acks {
            let (own, others) = ranges.split_at(ack.ranges);
            self.seen.acks.push((ack, own.to_vec()));
            ranges = others;
        }
    }

    /// The numbers of the packets sent in a space that have to be acknowledged.
    fn eliciting(&self, space: Space) -> BTreeSet<u64> {
        let sent = self.seen.sent.iter();
        let sent = sent.filter(|sent| sent.space == space && sent.content == Content::AckEliciting);
        sent.map(|sent| sent.number).collect()
    }

    /// The numbers that the peer has acknowledged in a space.
    fn acked(&self, space: Space) -> BTreeSet<u64> {
        let acks = self.seen.acks.iter().filter(|(ack, _)| ack.space == space);
        let ranges = acks.flat_map(|(_, ranges)| ranges);
        ranges
            .flat_map(|(smallest, largest)| *smallest..=*largest)
            .collect()
    }
}

/// A client and a server, 5 ms apart.
struct Wire {
    client: End,
    server: End,
    accepts: ServerConfig,
    now: Timestamp,
    retries: u32,
}

impl Wire {
    fn new(accepts: &ServerConfig) -> Self {
        Self {
            client: End::new(None, 1_000),
            server: End::new(Some(accepts), 443),
            accepts: accepts.clone(),
            now: Timestamp::from_millis(1_000),
            retries: 0,
        }
    }

    fn instant(&self) -> Instant {
        clock::instant(self.now)
    }

    fn connect(&mut self, config: &ClientConfig) {
        let (config, driver) = config.for_connection("localhost");
        let address = self.server.address;
        let now = self.instant();
        let connected = self
            .client
            .endpoint
            .connect(now, config, address, "localhost");
        self.client.conn = Some(connected.expect("a fresh endpoint"));
        self.client.tap = Arc::clone(driver.congestion.tap());
    }

    /// Lets both ends send for so many milliseconds.
    fn run_for(&mut self, millis: u64) {
        for _ in 0..millis.div_ceil(5) {
            for is_client in [true, false] {
                for (transmit, datagrams) in self.departures(is_client) {
                    let segment = transmit.segment_size.unwrap_or(transmit.size);
                    for datagram in datagrams.chunks(segment) {
                        self.arrive(!is_client, datagram);
                    }
                }
            }
            self.now += Duration::from_millis(5);
        }
    }

    fn end(&mut self, is_client: bool) -> &mut End {
        match is_client {
            true => &mut self.client,
            false => &mut self.server,
        }
    }

    fn departures(&mut self, is_client: bool) -> Vec<(Transmit, Vec<u8>)> {
        let now = self.instant();
        let end = self.end(is_client);
        let mut departures = Vec::new();
        if let Some((_, conn)) = &mut end.conn {
            conn.handle_timeout(now);
            let mut datagrams = Vec::new();
            while let Some(transmit) = conn.poll_transmit(now, 10, &mut datagrams) {
                departures.push((transmit, std::mem::take(&mut datagrams)));
            }
            while let Some(event) = conn.poll() {
                end.is_connected |= matches!(event, Event::Connected);
            }
        }
        end.look();
        departures
    }

    fn arrive(&mut self, is_client: bool, datagram: &[u8]) {
        let (now, retries) = (self.instant(), self.retries);
        let from = self.end(!is_client).address;
        let accepts = self.accepts.clone();
        let end = self.end(is_client);
        let mut reply = Vec::new();
        let event = end
            .endpoint
            .handle(now, from, None, None, datagram.into(), &mut reply);
        match event {
            Some(DatagramEvent::ConnectionEvent(_, event)) => end.conn().handle_event(event),
            Some(DatagramEvent::NewConnection(incoming)) if retries > 0 => {
                self.retries -= 1;
                let end = self.end(is_client);
                let answer = end.endpoint.retry(incoming, &mut reply);
                let answer = answer.expect("the first time");
                self.arrive(!is_client, &reply[..answer.size]);
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                let (config, driver) = accepts.for_connection();
                end.tap = Arc::clone(driver.congestion.tap());
                let accepted = end.endpoint.accept(incoming, now, &mut reply, Some(config));
                end.conn = accepted.ok();
            }
            Some(DatagramEvent::Response(_)) | None => {}
        }
        let end = self.end(is_client);
        while let Some((handle, conn)) = &mut end.conn
            && let Some(event) = conn.poll_endpoint_events()
        {
            if let Some(event) = end.endpoint.handle_event(*handle, event) {
                conn.handle_event(event);
            }
        }
        end.look();
    }

    /// Opens a stream from one end and writes to it.
    fn send(&mut self, is_client: bool, bytes: usize) {
        let conn = self.end(is_client).conn();
        let id = conn.streams().open(Dir::Uni).expect("the peer allows it");
        let written = conn.send_stream(id).write(&vec![7; bytes]);
        assert_eq!(written, Ok(bytes));
    }

    /// What both taps have seen is what both connections have done.
    fn check(&mut self) {
        for is_client in [true, false] {
            let end = self.end(is_client);
            let stats = end.conn().stats();
            let bytes = end.seen.sent.iter().map(|sent| u64::from(sent.bytes));
            assert_eq!(bytes.sum::<u64>(), stats.udp_tx.bytes);
            assert_eq!(end.seen.frames, stats.frame_rx.acks);
            let mut last = BTreeMap::new();
            for sent in &end.seen.sent {
                let before = last.insert(sent.space as usize, sent.number);
                assert!(before.is_none_or(|before| before < sent.number), "{sent:?}");
            }
            for space in [Space::Initial, Space::Handshake, Space::Data] {
                let sent = end.seen.sent.iter().filter(|sent| sent.space == space);
                let sent: BTreeSet<u64> = sent.map(|sent| sent.number).collect();
                let acked = end.acked(space);
                assert!(acked.is_subset(&sent), "{space:?}: {acked:?} of {sent:?}");
            }
        }
    }

    /// All that both have sent of application data is acknowledged.
    fn check_acked(&mut self) {
        self.check();
        for is_client in [true, false] {
            let end = self.end(is_client);
            let (sent, acked) = (end.eliciting(Space::Data), end.acked(Space::Data));
            assert!(!sent.is_empty());
            assert!(sent.is_subset(&acked), "{sent:?}, acknowledged {acked:?}");
        }
    }
}

fn server() -> ServerConfig {
    let certificate = SelfSigned::generate(["localhost"]).expect("a name");
    certificate.server().config().expect("a key of its own")
}

fn client() -> ClientConfig {
    let config = tls::client_without_verification().config();
    config.expect("no authorities that could be wrong")
}

/// A connection on which both have sent something.
fn connected() -> Wire {
    let mut wire = Wire::new(&server());
    wire.connect(&client());
    wire.run_for(100);
    assert!(wire.client.is_connected && wire.server.is_connected);
    wire.send(true, 30_000);
    wire.send(false, 30_000);
    wire.run_for(200);
    wire
}

#[test]
fn each_packet_that_leaves_and_each_ack_that_comes_is_seen_in_every_space() {
    let mut wire = connected();
    wire.check_acked();
    for (end, spaces) in [
        (&wire.client, [Space::Initial, Space::Handshake]),
        (&wire.server, [Space::Initial, Space::Handshake]),
    ] {
        for space in spaces {
            assert!(!end.eliciting(space).is_empty(), "{space:?}");
        }
        assert!(end.eliciting(Space::Data).len() > 20);
    }
    assert!(!wire.client.acked(Space::Initial).is_empty());
    assert!(!wire.server.acked(Space::Handshake).is_empty());
    // Packets that carry ACKs alone are seen for what they are.
    let acks_alone = |end: &End| {
        let sent = end.seen.sent.iter();
        sent.filter(|sent| sent.content == Content::NotInFlight)
            .count()
    };
    assert!(acks_alone(&wire.client) > 0 && acks_alone(&wire.server) > 0);
}

#[test]
fn the_spaces_of_the_handshake_are_discarded_with_their_keys_and_no_other_is() {
    let mut wire = connected();
    assert_eq!(wire.client.seen.discarded, [1, 1, 0]);
    assert_eq!(wire.server.seen.discarded, [1, 1, 0]);
    wire.check();
}

#[test]
fn packets_are_seen_through_key_updates_of_both_sides() {
    let mut wire = connected();
    for is_client in [true, false, true, false] {
        let before = wire.client.eliciting(Space::Data).len();
        wire.end(is_client).conn().force_key_update();
        wire.send(true, 30_000);
        wire.send(false, 30_000);
        // The keys before an update go after three probe timeouts.
        wire.run_for(1_500);
        wire.check_acked();
        assert!(wire.client.eliciting(Space::Data).len() > before + 20);
    }
    assert_eq!(wire.client.seen.discarded, [1, 1, 0]);
    assert_eq!(wire.server.seen.discarded, [1, 1, 0]);
}

#[test]
fn a_retry_begins_anew() {
    let mut wire = Wire::new(&server());
    wire.retries = 1;
    wire.connect(&client());
    wire.run_for(100);
    assert!(wire.client.is_connected);
    // The Initial space twice: with the Retry, and when the handshake went on.
    assert_eq!(wire.client.seen.discarded, [2, 1, 1]);
    assert_eq!(wire.server.seen.discarded, [1, 1, 0]);
    let initial = wire.client.eliciting(Space::Initial);
    assert!(initial.len() >= 2, "{initial:?}: its numbers go on");
    wire.send(true, 30_000);
    wire.send(false, 30_000);
    wire.run_for(200);
    wire.check_acked();
}

/// A second connection of a client that sends 3,000 bytes at once, to `second`.
fn early(second: impl FnOnce(&ServerConfig) -> ServerConfig, retries: u32) -> Wire {
    let (first, config) = (server(), client());
    let mut wire = Wire::new(&first);
    wire.connect(&config);
    wire.run_for(300);
    let now = wire.instant();
    let conn = wire.client.conn();
    conn.close(now, VarInt::from_u32(0), [][..].into());
    wire.run_for(10);

    let mut wire = Wire::new(&second(&first));
    wire.retries = retries;
    wire.connect(&config);
    assert!(wire.client.conn().has_0rtt());
    wire.send(true, 3_000);
    wire
}

#[test]
fn early_data_that_is_accepted_is_acknowledged() {
    let mut wire = early(ServerConfig::clone, 0);
    wire.run_for(5);
    let early = wire.client.eliciting(Space::Data);
    assert!(early.len() >= 2, "{early:?}");
    wire.run_for(200);
    assert!(wire.client.conn().accepted_0rtt());
    assert_eq!(wire.client.seen.discarded, [1, 1, 0]);
    wire.send(false, 1_000);
    wire.run_for(100);
    wire.check_acked();
    assert!(early.is_subset(&wire.client.acked(Space::Data)));
}

#[test]
fn early_data_that_is_not_accepted_is_discarded() {
    let mut wire = early(|_| server(), 0);
    wire.run_for(5);
    let early = wire.client.eliciting(Space::Data);
    assert!(early.len() >= 2, "{early:?}");
    wire.run_for(200);
    assert!(wire.client.is_connected && !wire.client.conn().accepted_0rtt());
    assert_eq!(wire.client.seen.discarded, [1, 1, 1]);
    wire.check();
    let acked = wire.client.acked(Space::Data);
    assert!(early.is_disjoint(&acked));
    wire.send(true, 1_000);
    wire.run_for(100);
    let sent = wire.client.eliciting(Space::Data);
    let later: BTreeSet<u64> = sent.difference(&early).copied().collect();
    assert!(!later.is_empty() && later.is_subset(&wire.client.acked(Space::Data)));
}

#[test]
fn a_retry_discards_early_data() {
    let mut wire = early(ServerConfig::clone, 1);
    wire.run_for(5);
    let early = wire.client.eliciting(Space::Data);
    wire.run_for(300);
    assert!(wire.client.conn().accepted_0rtt());
    assert_eq!(wire.client.seen.discarded, [2, 1, 1]);
    wire.send(false, 1_000);
    wire.run_for(100);
    wire.check();
    let sent = wire.client.eliciting(Space::Data);
    let later: BTreeSet<u64> = sent.difference(&early).copied().collect();
    assert!(later.is_subset(&wire.client.acked(Space::Data)));
}
