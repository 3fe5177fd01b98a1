//! Packets that quinn-proto makes, against the rule; keys that shards share.

use super::cid::ConnectionIds;
use crate::clock;
use crate::config::ServerConfig;
use crate::shard_routing::owner;
use crate::tls::{self, SelfSigned};
use bytes::BytesMut;
use quinn_proto::{
    Connection, ConnectionHandle, ConnectionId, DatagramEvent, Endpoint, EndpointConfig, Incoming,
};
use std::collections::BTreeSet;
use std::mem;
use std::sync::Arc;

#[test]
fn a_connections_packets_are_its_shards_once_it_has_answered() {
    for shard in 0..SHARDS {
        let (mut client, config) = client_and_config();
        let mut server = End::shard(&config, shard);
        let first = client.packets();
        let (mut to_server, mut later) = (first.clone(), Vec::new());
        for round in 0..8 {
            for datagram in mem::take(&mut to_server) {
                server.receive_and_accept(&datagram);
            }
            for datagram in server.packets() {
                client.receive(&datagram);
            }
            if round == 4 {
                // To another network, with the next of the IDs that the server has issued.
                client.connection().local_address_changed();
            }
            client.connection().ping();
            to_server = client.packets();
            later.extend(to_server.iter().cloned());
        }
        assert!(!client.connection().is_handshaking() && !client.connection().is_closed());
        for datagram in first {
            assert_eq!(owner_of(&datagram), FIRST_ID[9] % SHARDS);
        }
        assert!(later.iter().all(|datagram| owner_of(datagram) == shard));
        let short = later.iter().filter(|datagram| datagram[0] & 0x80 == 0);
        let ids: BTreeSet<_> = short.map(|datagram| &datagram[1..9]).collect();
        assert_eq!(ids.len(), 2, "one before the move and one after");
    }
}

#[test]
fn a_retry_of_one_shard_convinces_another() {
    let (mut client, config) = client_and_config();
    let (mut first, mut second) = (End::shard(&config, 0), End::shard(&config, 1));
    let initial = client.packets().remove(0);
    let attempt = first.receive(&initial).unwrap();
    let mut retry = Vec::new();
    let transmit = first.endpoint.retry(attempt, &mut retry).unwrap();
    assert_eq!(transmit.size, retry.len());
    client.receive(&retry);
    let again = client.packets().remove(0);
    assert_eq!(owner_of(&again), 0, "it goes to whoever wanted it");
    let attempt = second.receive(&again).unwrap();
    assert!(attempt.remote_address_validated());
    second.endpoint.ignore(attempt);
}

fn owner_of(datagram: &[u8]) -> u8 {
    owner(datagram, 8, SHARDS.into()).try_into().unwrap()
}

/// A client that has begun to connect, and the configuration of the server's shards.
fn client_and_config() -> (End, ServerConfig) {
    let certificate = SelfSigned::generate(["localhost"]).unwrap();
    let config = tls::client_with_fingerprint(certificate.fingerprint).config();
    let mut config = config.unwrap().for_connection("localhost").0;
    config.initial_dst_cid_provider(Arc::new(|| ConnectionId::new(&FIRST_ID)));
    let mut client = Endpoint::new(Arc::default(), None, true, None);
    let live = client.connect(clock::now(), config, address(), "localhost");
    let client = End {
        live: Some(live.unwrap()),
        endpoint: client,
    };
    (client, certificate.server().config().unwrap())
}

/// One end: an endpoint with a single connection.
struct End {
    endpoint: Endpoint,
    live: Option<(ConnectionHandle, Connection)>,
}

impl End {
    fn shard(server: &ServerConfig, shard: u8) -> Self {
        let mut config = EndpointConfig::default();
        config.cid_generator(move || ConnectionIds::random(SHARDS.into()).make(shard));
        let server = Some(server.for_endpoint());
        Self {
            endpoint: Endpoint::new(Arc::new(config), server, true, None),
            live: None,
        }
    }

    fn connection(&mut self) -> &mut Connection {
        &mut self.live.as_mut().unwrap().1
    }

    /// Takes a datagram in; what to decide on comes out.
    fn receive(&mut self, datagram: &[u8]) -> Option<Incoming> {
        let (now, mut answer) = (clock::now(), Vec::new());
        let data = BytesMut::from(datagram);
        match self
            .endpoint
            .handle(now, address(), None, None, data, &mut answer)?
        {
            DatagramEvent::NewConnection(attempt) => return Some(attempt),
            DatagramEvent::ConnectionEvent(_, event) => self.connection().handle_event(event),
            DatagramEvent::Response(_) => panic!("an unknown connection: {answer:?}"),
        }
        None
    }

    fn receive_and_accept(&mut self, datagram: &[u8]) {
        if let Some(attempt) = self.receive(datagram) {
            let accepted = self
                .endpoint
                .accept(attempt, clock::now(), &mut Vec::new(), None);
            self.live = Some(accepted.unwrap());
        }
    }

    /// What the connection sends at present.
    fn packets(&mut self) -> Vec<Vec<u8>> {
        let (handle, connection) = self.live.as_mut().unwrap();
        let mut packets = Vec::new();
        loop {
            let mut packet = Vec::new();
            while let Some(event) = connection.poll_endpoint_events() {
                if let Some(reply) = self.endpoint.handle_event(*handle, event) {
                    connection.handle_event(reply);
                }
            }
            match connection.poll_transmit(clock::now(), 1, &mut packet) {
                Some(_) => packets.push(packet),
                None => return packets,
            }
        }
    }
}

fn address() -> std::net::SocketAddr {
    ([127, 0, 0, 1], 4433).into()
}

const SHARDS: u8 = 5;

/// The client's choice.
const FIRST_ID: [u8; 10] = [9; 10];
