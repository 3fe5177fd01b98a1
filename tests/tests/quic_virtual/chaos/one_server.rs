//! An honest server, an honest client, and a hostile one, on a good path.

use super::endpoint;
use super::frames::CRYPTO_ERROR;
use super::hostile::{Takeover, client_config};
use super::{address, answer, suites};
use paceline::testing::Simulation;
use paceline::{
    Connection, ConnectionError, DatagramSocket, Endpoint, TransportConfig, VarInt, tls,
};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use units::Rng;

pub(super) fn simulation() -> Simulation {
    let link = "delay 10ms rate 20mbit".parse().unwrap();
    Simulation::new(1).links(&link, &link).unwrap()
}

/// A server that echoes streams and reports how connections end.
pub(super) struct Server {
    pub(super) certificate: Arc<tls::SelfSigned>,
    ends: mpsc::UnboundedReceiver<(SocketAddr, ConnectionError)>,
}

impl Server {
    pub(super) fn start() -> Self {
        let certificate = Arc::new(tls::SelfSigned::generate(["server.test"]).unwrap());
        let mut config = certificate.server().suites(&suites()).config().unwrap();
        let mut transport = TransportConfig::default();
        transport.receive_window(VarInt::from_u32(WINDOW));
        config.transport_config(Arc::new(transport));
        let endpoint = Endpoint::server(config, SERVER.parse().unwrap()).unwrap();
        let (sender, ends) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some(incoming) = endpoint.accept().await {
                let (sender, peer) = (sender.clone(), incoming.remote_address());
                tokio::spawn(async move {
                    let error = match incoming.await {
                        Ok(connection) => answer(connection, Rng::new(1)).await,
                        Err(error) => error,
                    };
                    let _ = sender.send((peer, error));
                });
            }
        });
        Self { certificate, ends }
    }

    /// With which error the connection with `peer` is ended, if it is soon.
    pub(super) async fn error_of(&mut self, peer: SocketAddr) -> Option<u64> {
        let found = timeout(Duration::from_secs(5), async {
            while let Some((of, error)) = self.ends.recv().await {
                if of == peer {
                    return Some(error);
                }
            }
            None
        });
        match found.await.ok().flatten()? {
            ConnectionError::TransportError(error) => Some(match u64::from(error.code) {
                alert @ 0x100..0x200 => alert & CRYPTO_ERROR,
                code => code,
            }),
            other => panic!("{other}"),
        }
    }
}

/// A client that has finished its handshake and is taken over.
pub(super) struct Hostile {
    socket: Arc<Takeover>,
    _endpoint: Endpoint,
    _connection: Connection,
}

impl Hostile {
    pub(super) async fn connect() -> Option<Self> {
        let socket = Takeover::bind(address("0.0.0.0:0"));
        let taken = Arc::clone(&socket) as _;
        let endpoint = endpoint::bind(None, taken);
        let server = SERVER.parse().unwrap();
        let connecting = endpoint.connect_with(client_config(), server, "server.test");
        let connection = connecting.ok()?.await.ok()?;
        connection.send_datagram(vec![1; 10].into()).ok()?;
        sleep(Duration::from_millis(100)).await;
        assert!(socket.take(server), "a datagram has left");
        Some(Self {
            socket,
            _endpoint: endpoint,
            _connection: connection,
        })
    }

    pub(super) fn send(&self, frames: &[u8], header: u8) {
        self.socket.send(SERVER.parse().unwrap(), frames, header);
    }

    pub(super) fn socket_address(&self) -> SocketAddr {
        self.socket.local_addr().unwrap()
    }
}

/// An honest client's bytes, there and back.
pub(super) async fn fetch(certificate: Arc<tls::SelfSigned>) {
    let endpoint = Endpoint::client(address("0.0.0.0:0")).unwrap();
    let tls = tls::client_with_fingerprint(certificate.fingerprint);
    let config = tls.config().unwrap();
    let connecting = endpoint.connect_with(config, SERVER.parse().unwrap(), "server.test");
    let connection = connecting.unwrap().await.unwrap();
    let (mut send, mut recv) = connection.open_bi().await.unwrap();
    let bytes: Vec<u8> = (0..100_000).map(|n: u32| n as u8).collect();
    let sent = bytes.clone();
    let sender = tokio::spawn(async move {
        send.write_all(&sent).await.unwrap();
        send.finish().unwrap();
    });
    assert!(recv.read_to_end(bytes.len()).await.unwrap() == bytes);
    sender.await.unwrap();
    connection.close(VarInt::from_u32(0), b"done");
}

pub(super) const SERVER: &str = "10.0.0.1:443";
/// Of a connection of the server's.
const WINDOW: u32 = 1 << 20;
