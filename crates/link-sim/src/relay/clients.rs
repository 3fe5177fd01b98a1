use super::batch_socket::BatchSocket;
use crate::packet::{IPV4_UDP_OVERHEAD, IPV6_UDP_OVERHEAD};
use core::time::Duration;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use units::{Bytes, Timestamp};

/// The clients of a relay, each with its own socket towards the server, so that the server sees
/// as many peers as there are.
#[derive(Debug)]
pub(super) struct Clients {
    server: SocketAddr,
    max: usize,
    numbers: BTreeMap<SocketAddr, u64>,
    known: BTreeMap<u64, Client>,
    /// Numbers are given once, so that an answer to a client that is gone reaches no other.
    next: u64,
}

#[derive(Debug)]
pub(super) struct Client {
    pub(super) address: SocketAddr,
    pub(super) listener: SocketAddr,
    pub(super) socket: BatchSocket,
    pub(super) local: SocketAddr,
    /// Names all its datagrams, in both directions and in every run.
    pub(super) flow: u64,
    /// What a link counts beside the payload.
    pub(super) overhead: Bytes,
    last_active: Timestamp,
}

impl Clients {
    /// Of at most `max` at a time.
    pub(super) fn new(server: SocketAddr, max: usize) -> Self {
        Self {
            server,
            max,
            numbers: BTreeMap::new(),
            known: BTreeMap::new(),
            next: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// The number of the client at `address`, noting that it is active.
    pub(super) fn number(&mut self, now: Timestamp, address: &SocketAddr) -> Option<u64> {
        let number = *self.numbers.get(address)?;
        self.touch(now, number);
        Some(number)
    }

    /// Opens a socket for the client at `address`, who sent to the socket bound to `listener`.
    ///
    /// # Errors
    /// When there are too many clients, or the kernel gives no socket.
    pub(super) fn add(
        &mut self,
        now: Timestamp,
        address: SocketAddr,
        listener: SocketAddr,
    ) -> io::Result<u64> {
        if self.known.len() >= self.max {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        let socket = BatchSocket::towards(self.server)?;
        let client = Client {
            address,
            listener: source_towards(address, listener)?,
            local: socket.local_addr()?,
            socket,
            flow: flow_of(address),
            overhead: overhead_of(address),
            last_active: now,
        };
        let number = self.next;
        self.next += 1;
        self.numbers.insert(address, number);
        self.known.insert(number, client);
        Ok(number)
    }

    /// The client with this number, unless it was silent for too long.
    pub(super) fn get(&self, number: u64) -> Option<&Client> {
        self.known.get(&number)
    }

    /// As [`get`](Self::get), to send or receive.
    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut Client> {
        self.known.get_mut(&number)
    }

    /// Closes a client's socket.
    pub(super) fn forget(&mut self, number: u64) {
        if let Some(client) = self.known.remove(&number) {
            self.numbers.remove(&client.address);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Client> {
        self.known.values()
    }

    /// Notes that something came from or for a client.
    pub(super) fn touch(&mut self, now: Timestamp, number: u64) {
        if let Some(client) = self.known.get_mut(&number) {
            client.last_active = now;
        }
    }

    /// Forgets clients that were silent for long, and tells their numbers.
    pub(super) fn expire(&mut self, now: Timestamp, mut gone: impl FnMut(u64)) {
        let numbers = &mut self.numbers;
        self.known.retain(|number, client| {
            let is_active = now.since(client.last_active) < IDLE;
            if !is_active {
                numbers.remove(&client.address);
                gone(*number);
            }
            is_active
        });
    }
}

/// Where a socket bound to `bound` sends from when it sends to `peer`: for one that is bound to
/// all addresses of this host, what the kernel chooses.
fn source_towards(peer: SocketAddr, bound: SocketAddr) -> io::Result<SocketAddr> {
    if !bound.ip().is_unspecified() {
        return Ok(bound);
    }
    let probe = UdpSocket::bind((bound.ip(), 0))?;
    probe.connect(peer)?;
    Ok(SocketAddr::new(probe.local_addr()?.ip(), bound.port()))
}

fn flow_of(address: SocketAddr) -> u64 {
    let mut hasher = DefaultHasher::new();
    address.hash(&mut hasher);
    hasher.finish()
}

fn overhead_of(address: SocketAddr) -> Bytes {
    match address.ip().to_canonical() {
        IpAddr::V4(_) => IPV4_UDP_OVERHEAD,
        IpAddr::V6(_) => IPV6_UDP_OVERHEAD,
    }
}

/// RFC 4787, REQ-5: what translates addresses keeps them for at least two minutes.
const IDLE: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
    use super::*;

    fn address(port: u16) -> SocketAddr {
        (std::net::Ipv4Addr::LOCALHOST, port).into()
    }

    #[test]
    fn too_many_clients_are_refused_and_idle_ones_make_room() {
        let mut clients = Clients::new(address(9), 10);
        let welcome =
            |clients: &mut Clients, now, port| clients.add(now, address(port), address(8));
        for port in 0..10 {
            let number = welcome(&mut clients, Timestamp::ZERO, 1_000 + port).unwrap();
            assert_eq!(number, u64::from(port));
        }
        assert!(welcome(&mut clients, Timestamp::ZERO, 1).is_err());
        let later = Timestamp::ZERO + Duration::from_secs(100);
        clients.touch(later, 0);
        assert_eq!(clients.number(later, &address(1_001)), Some(1));
        let mut gone = Vec::new();
        clients.expire(Timestamp::ZERO + IDLE, |number| gone.push(number));
        assert_eq!((clients.len(), gone), (2, (2..10).collect()));
        assert_eq!(clients.number(later, &address(1_002)), None);
        assert_eq!(welcome(&mut clients, later, 1_002).unwrap(), 10);
        assert!(clients.get(2).is_none());
        assert_eq!(clients.get(10).unwrap().address, address(1_002));
    }

    #[test]
    fn a_socket_for_all_addresses_answers_from_the_one_that_the_client_knows() {
        let wildcard = "0.0.0.0:7".parse().unwrap();
        let source = source_towards(address(9), wildcard).unwrap();
        assert_eq!(source, address(7));
        assert_eq!(source_towards(address(9), address(8)).unwrap(), address(8));
    }

    #[test]
    fn an_ipv4_client_of_a_dual_stack_socket_has_the_overhead_of_ipv4() {
        let mapped = "[::ffff:127.0.0.1]:5".parse().unwrap();
        assert_eq!(overhead_of(mapped), IPV4_UDP_OVERHEAD);
        assert_eq!(overhead_of("[::1]:5".parse().unwrap()), IPV6_UDP_OVERHEAD);
    }
}
