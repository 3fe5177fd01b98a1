//! quinn as it is configured by hand, and the certificate of all servers.

use paceline::tls::SelfSigned;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::rustls::crypto::ring::default_provider;
use quinn::rustls::{ClientConfig, RootCertStore, ServerConfig, version};
use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::Arc;
use std::time::Duration;

pub(crate) fn certificate() -> SelfSigned {
    SelfSigned::generate([NAME]).unwrap()
}

/// A client with ring.
pub(crate) fn quinn_client(certificate: &SelfSigned) -> quinn::Endpoint {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.cert.clone()).unwrap();
    let tls = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let crypto = QuicClientConfig::try_from(tls).unwrap();
    let mut client = quinn::Endpoint::client(ANY).unwrap();
    client.set_default_client_config(quinn::ClientConfig::new(Arc::new(crypto)));
    client
}

/// A server with ring and these application protocols.
pub(crate) fn quinn_server(certificate: &SelfSigned, alpn: &[&[u8]]) -> quinn::Endpoint {
    let chain = vec![certificate.cert.clone()];
    let mut tls = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, certificate.key.clone_key())
        .unwrap();
    tls.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    let crypto = QuicServerConfig::try_from(tls).unwrap();
    let config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
    quinn::Endpoint::server(config, ANY).unwrap()
}

/// Ends a test that nothing else ends.
pub(crate) async fn limited<T>(test: impl Future<Output = T>) -> T {
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

/// More than a window's worth.
pub(crate) const MEGABYTE: usize = 1 << 20;

pub(crate) const NAME: &str = "localhost";

/// Some port of loopback.
pub(crate) const ANY: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0));
