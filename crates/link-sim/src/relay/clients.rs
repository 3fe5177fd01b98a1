use super::port::Port;
use core::time::Duration;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use units::Timestamp;

/// The clients of a relay, each with its own socket towards the server, so that the server sees
/// as many peers as there are.
#[derive(Debug)]
pub(super) struct Clients {
    server: SocketAddr,
    known: BTreeMap<SocketAddr, Client>,
    generation: u64,
}

#[derive(Debug)]
struct Client {
    port: Arc<Port>,
    last_active: Timestamp,
}

impl Clients {
    pub(super) fn new(server: SocketAddr) -> Self {
        Self {
            server,
            known: BTreeMap::new(),
            generation: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// Makes sure that `client` has a socket.
    ///
    /// # Errors
    /// When there are too many clients, or the kernel gives no socket.
    pub(super) fn welcome(&mut self, now: Timestamp, client: SocketAddr) -> io::Result<()> {
        if let Some(known) = self.known.get_mut(&client) {
            known.last_active = now;
            return Ok(());
        }
        if self.known.len() >= MAX_CLIENTS {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        let port = Arc::new(Port::towards(self.server)?);
        self.generation += 1;
        let last_active = now;
        self.known.insert(client, Client { port, last_active });
        Ok(())
    }

    /// The socket through which `client` reaches the server, unless it was idle for too long.
    pub(super) fn port(&self, client: &SocketAddr) -> Option<&Arc<Port>> {
        self.known.get(client).map(|client| &client.port)
    }

    /// Another number after a client came or went.
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// Every client and its socket.
    pub(super) fn ports(&self) -> impl Iterator<Item = (SocketAddr, &Arc<Port>)> {
        self.known
            .iter()
            .map(|(address, client)| (*address, &client.port))
    }

    /// Notes that the server sent something to a client.
    pub(super) fn touch(&mut self, now: Timestamp, client: &SocketAddr) {
        if let Some(client) = self.known.get_mut(client) {
            client.last_active = now;
        }
    }

    /// Forgets clients that were silent for long.
    pub(super) fn expire(&mut self, now: Timestamp) {
        let before = self.known.len();
        self.known
            .retain(|_, client| now.since(client.last_active) < IDLE);
        self.generation += u64::from(self.known.len() < before);
    }
}

const MAX_CLIENTS: usize = 256;
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
        let mut clients = Clients::new(address(9));
        for port in 0..MAX_CLIENTS as u16 {
            clients
                .welcome(Timestamp::ZERO, address(1_000 + port))
                .unwrap();
        }
        assert!(clients.welcome(Timestamp::ZERO, address(1)).is_err());
        let later = Timestamp::ZERO + Duration::from_secs(100);
        clients.touch(later, &address(1_000));
        clients.welcome(later, address(1_001)).unwrap();
        clients.expire(Timestamp::ZERO + IDLE);
        assert_eq!(clients.len(), 2);
        clients.welcome(later, address(1)).unwrap();
        assert!(clients.port(&address(1)).is_some());
        assert!(clients.port(&address(1_002)).is_none());
    }
}
