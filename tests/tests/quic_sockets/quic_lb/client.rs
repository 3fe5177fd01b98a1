//! What clients do, and how they see that it came right.

use crate::quic_lb::server::{Answer, hash, noise};
use paceline::tls::{self, SelfSigned};
use paceline::{
    ClientConfig, Connecting, Connection, Endpoint, EndpointConfig, RecvStream, TransportConfig,
    VarInt,
};
use std::net::SocketAddr;
use std::sync::Arc;

pub(crate) const NAME: &str = "localhost";

pub(crate) struct Client {
    pub(crate) endpoint: Endpoint,
    config: ClientConfig,
}

impl Client {
    pub(crate) fn new(certificate: &SelfSigned, socket: std::net::UdpSocket) -> Self {
        let mut transport = TransportConfig::default();
        transport.stream_receive_window(WINDOW);
        let config = tls::client_with_fingerprint(certificate.fingerprint).config();
        let mut config = config.unwrap();
        config.transport_config(Arc::new(transport));
        Self {
            endpoint: Endpoint::new(EndpointConfig::default(), None, socket).unwrap(),
            config,
        }
    }

    /// The same, with what `other` remembers of servers.
    pub(crate) fn with_sessions_of(self, other: &Self) -> Self {
        Self {
            config: other.config.clone(),
            ..self
        }
    }

    pub(crate) fn connecting(&self, address: SocketAddr) -> Connecting {
        let config = self.config.clone();
        self.endpoint.connect_with(config, address, NAME).unwrap()
    }

    pub(crate) async fn connect(&self, address: SocketAddr) -> Connection {
        self.connecting(address).await.unwrap()
    }
}

/// Asks a server who it is, with a short upload and a short download.
pub(crate) async fn ask(connection: &Connection) -> Answer {
    try_ask(connection).await.unwrap()
}

/// As [`ask`]; `None` when the connection is lost.
pub(crate) async fn try_ask(connection: &Connection) -> Option<Answer> {
    let mut transfer = Transfer::try_begin(connection, 10_000).await?;
    transfer.finish().await;
    Some(transfer.answer)
}

/// A download, checked by hash when it is finished.
pub(crate) struct Transfer {
    pub(crate) answer: Answer,
    recv: RecvStream,
    received: Vec<u8>,
    expected: Vec<u8>,
}

impl Transfer {
    pub(crate) async fn begin(connection: &Connection, len: usize) -> Self {
        Self::try_begin(connection, len).await.unwrap()
    }

    async fn try_begin(connection: &Connection, len: usize) -> Option<Self> {
        let (mut send, mut recv) = connection.open_bi().await.ok()?;
        let upload = noise(7, 1_000);
        send.write_all(&(len as u64).to_be_bytes()).await.ok()?;
        send.write_all(&upload).await.ok()?;
        send.finish().ok()?;
        let mut head = [0; Answer::LEN];
        recv.read_exact(&mut head).await.ok()?;
        let answer = Answer::read(&head);
        assert_eq!(answer.hash, hash(&upload));
        Some(Self {
            answer,
            recv,
            received: Vec::new(),
            expected: noise(answer.server, len),
        })
    }

    /// Reads so many bytes. The server can be ahead by no more than [`WINDOW`].
    pub(crate) async fn read(&mut self, len: usize) {
        let mut read = vec![0; len];
        self.recv.read_exact(&mut read).await.unwrap();
        self.received.extend(read);
    }

    pub(crate) async fn finish(&mut self) {
        while let Some(chunk) = self.recv.read_chunk(usize::MAX, true).await.unwrap() {
            self.received.extend_from_slice(&chunk.bytes);
        }
        assert_eq!(self.received.len(), self.expected.len());
        assert_eq!(hash(&self.received), hash(&self.expected));
    }
}

/// Bytes of a download that clients take before they are read.
const WINDOW: VarInt = VarInt::from_u32(256 << 10);
