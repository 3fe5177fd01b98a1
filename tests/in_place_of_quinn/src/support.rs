//! A certificate, and endpoints as quinn's users configure them.

use crate::witness;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::rustls::crypto::ring::default_provider;
use quinn::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use quinn::rustls::{self, RootCertStore, version};
use quinn::{ClientConfig, Connection, Endpoint, ServerConfig};
use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::Arc;
use std::time::Duration;

pub(crate) struct Certificate {
    pub(crate) der: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl Certificate {
    /// For [`NAME`] and the address of loopback.
    pub(crate) fn new() -> Self {
        let names = vec![NAME.to_owned(), "127.0.0.1".to_owned()];
        let certified = rcgen::generate_simple_self_signed(names).unwrap();
        Self {
            der: certified.cert.into(),
            key: certified.signing_key.into(),
        }
    }

    pub(crate) fn server(&self, alpn: &[&[u8]]) -> ServerConfig {
        let mut tls = rustls::ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[&version::TLS13])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![self.der.clone()], self.key.clone_key())
            .unwrap();
        tls.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
        ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls).unwrap()))
    }

    pub(crate) fn client(&self, alpn: &[&[u8]]) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add(self.der.clone()).unwrap();
        let mut tls = rustls::ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[&version::TLS13])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
        ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap()))
    }
}

/// A connection between two endpoints: the client's handle, the server's, and both endpoints.
pub(crate) async fn connected(
    client: ClientConfig,
    server: ServerConfig,
) -> (Connection, Connection, [Endpoint; 2]) {
    let listening = Endpoint::server(server, ANY).unwrap();
    let mut dialing = Endpoint::client(ANY).unwrap();
    dialing.set_default_client_config(client);
    let address = listening.local_addr().unwrap();
    let accept = async { listening.accept().await.unwrap().await.unwrap() };
    let connect = async { dialing.connect(address, NAME).unwrap().await.unwrap() };
    let (accepted, connected) = tokio::join!(accept, connect);
    (connected, accepted, [dialing, listening])
}

/// Watches for connections, and ends a test that nothing else ends.
pub(crate) async fn limited<T>(test: impl Future<Output = T>) -> T {
    witness::install();
    let finished = tokio::time::timeout(Duration::from_secs(30), test).await;
    finished.expect("a test on loopback takes less than a second")
}

pub(crate) fn noise(len: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let octets = std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state.to_be_bytes()[0]
    });
    octets.take(len).collect()
}

pub(crate) const MEGABYTE: usize = 1 << 20;

pub(crate) const NAME: &str = "localhost";

/// Some port of loopback.
pub(crate) const ANY: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0));
