//! Servers outside, reached over the link: ports of the server's end that lead to them.
//!
//! The kernel at the server's end answers the client, so what crosses the link is TCP between these
//! two, or UDP. What follows, to the server outside, does not cross the link.

use super::namespace::Namespace;
use crate::failure::Failure;
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::str::FromStr;
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinSet;
use tokio::time::{Duration, timeout};

/// `PORT=HOST:PORT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Forward {
    /// The port at the server's end, TCP and UDP.
    port: u16,
    /// The server outside, as it was given.
    to: String,
}

impl FromStr for Forward {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let (port, to) = text.split_once('=')?;
            let (host, port_outside) = to.rsplit_once(':')?;
            let is_port = |text: &str| text.parse().ok().filter(|port: &u16| *port > 0);
            is_port(port_outside).filter(|_| !host.is_empty())?;
            Some(Self {
                port: is_port(port)?,
                to: to.to_owned(),
            })
        };
        read().ok_or_else(|| "expected PORT=HOST:PORT, such as 8080=localhost:80".to_owned())
    }
}

impl fmt::Display for Forward {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--forward {}={}", self.port, self.to)
    }
}

/// Sockets at the server's end and the server outside.
#[derive(Debug)]
pub(super) struct Gate {
    to: SocketAddr,
    stream: std::net::TcpListener,
    datagrams: std::net::UdpSocket,
}

impl Gate {
    /// Listens in `namespace`, on this address.
    ///
    /// # Errors
    /// When the server outside has no address, or the port is asked for twice.
    pub(super) fn open(
        forward: &Forward,
        namespace: &Namespace,
        address: IpAddr,
    ) -> Result<Self, Failure> {
        let failure = |error: io::Error| Failure::run(format!("{forward}: {error}"));
        let mut found = forward.to.to_socket_addrs().map_err(failure)?;
        let to = found
            .next()
            .ok_or_else(|| Failure::run(format!("{forward}: host has no address")))?;
        let (stream, datagrams) = namespace
            .inside(|| {
                let at = (address, forward.port);
                Ok((
                    std::net::TcpListener::bind(at)?,
                    std::net::UdpSocket::bind(at)?,
                ))
            })
            .map_err(failure)?;
        Ok(Self {
            to,
            stream,
            datagrams,
        })
    }

    /// Forwards until it is dropped.
    ///
    /// # Errors
    /// When the system has no more sockets.
    pub(super) async fn serve(self) -> io::Result<()> {
        self.stream.set_nonblocking(true)?;
        let stream = TcpListener::from_std(self.stream)?;
        let mut tasks = JoinSet::new();
        self.datagrams.set_nonblocking(true)?;
        let datagrams = UdpSocket::from_std(self.datagrams)?;
        tasks.spawn(forward_datagrams(datagrams, self.to));
        loop {
            tokio::select! {
                accepted = stream.accept(), if tasks.len() < MAX_CLIENTS => {
                    let (client, _) = accepted?;
                    tasks.spawn(forward_stream(client, self.to));
                }
                Some(_) = tasks.join_next() => {}
            }
        }
    }
}

/// Both ends see the other's end, an error as a reset.
async fn forward_stream(mut client: TcpStream, to: SocketAddr) -> io::Result<()> {
    let mut server = TcpStream::connect(to).await?;
    for stream in [&client, &server] {
        stream.set_nodelay(true)?;
    }
    tokio::io::copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}

/// Each client has a socket of its own towards the server, for as long as something comes back.
async fn forward_datagrams(socket: UdpSocket, to: SocketAddr) -> io::Result<()> {
    let socket = Arc::new(socket);
    let mut clients: HashMap<SocketAddr, Arc<UdpSocket>> = HashMap::new();
    let mut answering = JoinSet::new();
    let mut datagram = vec![0; MAX_DATAGRAM];
    loop {
        tokio::select! {
            received = socket.recv_from(&mut datagram) => {
                let Ok((length, client)) = received else { continue };
                let outside = match clients.get(&client) {
                    Some(outside) => outside,
                    None if clients.len() < MAX_CLIENTS => {
                        let any: IpAddr = match to {
                            SocketAddr::V4(_) => [0, 0, 0, 0].into(),
                            SocketAddr::V6(_) => [0_u16; 8].into(),
                        };
                        let outside = Arc::new(UdpSocket::bind((any, 0)).await?);
                        outside.connect(to).await?;
                        answering.spawn(answer(Arc::clone(&outside), Arc::clone(&socket), client));
                        clients.entry(client).or_insert(outside)
                    }
                    None => continue,
                };
                // A datagram that is refused is lost, as anywhere.
                let _ = outside.send(&datagram[..length]).await;
            }
            Some(ended) = answering.join_next() => {
                if let Ok(client) = ended {
                    clients.remove(&client);
                }
            }
        }
    }
}

/// Hands on what comes from the server, until nothing has for a while; whose it was.
async fn answer(outside: Arc<UdpSocket>, socket: Arc<UdpSocket>, client: SocketAddr) -> SocketAddr {
    let mut datagram = vec![0; MAX_DATAGRAM];
    while let Ok(received) = timeout(IDLE, outside.recv(&mut datagram)).await {
        if let Ok(length) = received {
            let _ = socket.send_to(&datagram[..length], client).await;
        }
    }
    client
}

/// Connections, and senders of datagrams, at a time.
const MAX_CLIENTS: usize = 1_024;
/// As most NATs forget who sent a datagram (RFC 4787 REQ-5).
const IDLE: Duration = Duration::from_secs(120);
const MAX_DATAGRAM: usize = 65_535;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forward_has_two_ports_and_a_host() {
        let forward: Forward = "8080=[::1]:80".parse().unwrap();
        assert_eq!(forward.port, 8_080);
        assert_eq!(forward.to, "[::1]:80");
        for wrong in [
            "",
            "80",
            "80=",
            "80=host",
            "0=host:80",
            "80=:80",
            "80=host:0",
            "x=h:1",
        ] {
            assert!(wrong.parse::<Forward>().is_err(), "{wrong}");
        }
    }
}
