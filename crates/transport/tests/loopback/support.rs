//! Two connected endpoints, and what else the tests share.

use paceline::tls::{self, SelfSigned};
use paceline::{
    ClientConfig, Connection, Endpoint, RecvStream, SendStream, ServerConfig, TransportConfig,
};
use std::collections::hash_map::DefaultHasher;
use std::future::Future;
use std::hash::Hasher;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

pub(crate) const NAME: &str = "localhost";

/// A loopback address, any port.
pub(crate) fn any() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

/// Runs `test`, and fails if that takes a minute.
pub(crate) async fn within_a_minute<T>(test: impl Future<Output = T>) -> T {
    let limited = tokio::time::timeout(Duration::from_secs(60), test).await;
    limited.expect("hangs")
}

/// Endpoints that know each other.
pub(crate) struct Endpoints {
    pub(crate) server: Endpoint,
    pub(crate) client: Endpoint,
    pub(crate) certificate: SelfSigned,
}

impl Endpoints {
    pub(crate) fn new() -> Self {
        Self::with(&TransportConfig::default(), &TransportConfig::default())
    }

    pub(crate) fn with(server: &TransportConfig, client: &TransportConfig) -> Self {
        let certificate = SelfSigned::generate([NAME]).unwrap();
        let config = server_config(&certificate, server);
        let server = Endpoint::server(config, any()).unwrap();
        let client = client_endpoint(&certificate, client);
        Self {
            server,
            client,
            certificate,
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.local_addr().unwrap()
    }

    /// A connection, as client and server have it.
    pub(crate) async fn connect(&self) -> (Connection, Connection) {
        let connecting = self.client.connect(self.address(), NAME).unwrap();
        let accepting = async { self.server.accept().await.unwrap().await };
        let (client, server) = tokio::join!(connecting, accepting);
        (client.unwrap(), server.unwrap())
    }

    pub(crate) async fn close(self) {
        self.client.close(0_u32.into(), b"");
        self.server.close(0_u32.into(), b"");
        self.client.wait_idle().await;
        self.server.wait_idle().await;
    }
}

pub(crate) fn server_config(cert: &SelfSigned, transport: &TransportConfig) -> ServerConfig {
    let mut config = cert.server().config().unwrap();
    config.transport_config(Arc::new(transport.clone()));
    config
}

pub(crate) fn client_config(cert: &SelfSigned, transport: &TransportConfig) -> ClientConfig {
    let config = tls::client_with_fingerprint(cert.fingerprint).config();
    let mut config = config.unwrap();
    config.transport_config(Arc::new(transport.clone()));
    config
}

pub(crate) fn client_endpoint(cert: &SelfSigned, transport: &TransportConfig) -> Endpoint {
    let mut client = Endpoint::client(any()).unwrap();
    client.set_default_client_config(client_config(cert, transport));
    client
}

/// Bytes that do not repeat within any packet, different for each seed.
pub(crate) fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        bytes.extend((state ^ (state >> 29)).to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

/// Writes everything and finishes.
pub(crate) async fn send_all(mut send: SendStream, data: &[u8]) {
    send.write_all(data).await.unwrap();
    send.finish().unwrap();
}

/// Reads to the end, by chunks.
pub(crate) async fn receive_all(mut recv: RecvStream) -> Vec<u8> {
    let mut data = Vec::new();
    while let Some(chunk) = recv.read_chunk(usize::MAX, true).await.unwrap() {
        data.extend_from_slice(&chunk.bytes);
    }
    data
}
