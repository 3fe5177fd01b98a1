//! This transport and `h3-quinn` as each other's client and server.

use crate::h3::{NAME, any, ask, connect, connected, drive, echo, limited, noise, ours, sha256};
use bytes::Bytes;
use h3::{client, quic};
use paceline::tls::SelfSigned;
use paceline::{Endpoint, TransportConfig};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::RootCertStore;
use rustls::crypto::aws_lc_rs::default_provider;
use std::net::SocketAddr;
use std::sync::Arc;

/// An echo server on quinn.
fn serve_quinn(certificate: &SelfSigned) -> SocketAddr {
    let chain = vec![certificate.cert.clone()];
    let mut tls = rustls::ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, certificate.key.clone_key())
        .unwrap();
    tls.alpn_protocols = vec![ours::ALPN.to_vec()];
    let crypto = Arc::new(QuicServerConfig::try_from(tls).unwrap());
    let config = quinn::ServerConfig::with_crypto(crypto);
    let endpoint = quinn::Endpoint::server(config, any()).unwrap();
    let address = endpoint.local_addr().unwrap();
    tokio::spawn(async move {
        let connection = endpoint.accept().await.unwrap().await.unwrap();
        echo(h3_quinn::Connection::new(connection)).await
    });
    address
}

fn serve_ours(certificate: &SelfSigned) -> SocketAddr {
    let config = certificate.server().alpn(&[ours::ALPN]).config().unwrap();
    let endpoint = Endpoint::server(config, any()).unwrap();
    let address = endpoint.local_addr().unwrap();
    tokio::spawn(async move {
        let connection = endpoint.accept().await.unwrap().await.unwrap();
        echo(ours::Connection::new(connection)).await
    });
    address
}

async fn connect_quinn(certificate: &SelfSigned, server: SocketAddr) -> h3_quinn::Connection {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.cert.clone()).unwrap();
    let mut tls = rustls::ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![ours::ALPN.to_vec()];
    let crypto = Arc::new(QuicClientConfig::try_from(tls).unwrap());
    let endpoint = quinn::Endpoint::client(any()).unwrap();
    let connecting = endpoint.connect_with(quinn::ClientConfig::new(crypto), server, NAME);
    h3_quinn::Connection::new(connecting.unwrap().await.unwrap())
}

/// Eight bodies at once, the last of 2 MB, come back from an echo server as they were.
async fn exchange<C>(connection: C)
where
    C: quic::Connection<Bytes> + Send + 'static,
    C::SendStream: Send,
    C::RecvStream: Send,
    C::BidiStream: quic::BidiStream<Bytes, SendStream: Send, RecvStream: Send> + Send,
    <C as quic::OpenStreams<Bytes>>::BidiStream: quic::BidiStream<Bytes>,
    C::OpenStreams: Clone + Send + 'static,
    <C::OpenStreams as quic::OpenStreams<Bytes>>::BidiStream:
        quic::BidiStream<Bytes, SendStream: Send, RecvStream: Send> + Send,
{
    let (mut driver, requests) = client::new(connection).await.unwrap();
    let driver = tokio::spawn(async move { driver.wait_idle().await });
    let bodies = (0..8).map(|index| {
        let mut requests = requests.clone();
        tokio::spawn(async move {
            let body = noise(1 << (3 * index));
            let echoed = ask(&mut requests, body.clone()).await;
            assert_eq!(echoed.len(), body.len());
            assert_eq!(sha256(&echoed).as_ref(), sha256(&body).as_ref());
        })
    });
    for body in bodies.collect::<Vec<_>>() {
        limited(body).await.unwrap();
    }
    drop(requests);
    let closed = limited(driver).await.unwrap();
    assert!(closed.is_h3_no_error(), "{closed}");
}

#[tokio::test]
async fn quinns_server_answers_our_client() {
    let certificate = SelfSigned::generate([NAME]).unwrap();
    let server = serve_quinn(&certificate);
    exchange(connect(&certificate, server).await).await;
}

#[tokio::test]
async fn our_server_answers_quinns_client() {
    let certificate = SelfSigned::generate([NAME]).unwrap();
    let server = serve_ours(&certificate);
    exchange(connect_quinn(&certificate, server).await).await;
}

#[tokio::test]
async fn more_requests_than_streams_are_all_answered() {
    let [client, server] = connected(TransportConfig::default()).await;
    let server = tokio::spawn(echo(ours::Connection::new(server)));
    let requests = drive(ours::Connection::new(client)).await;
    let body = noise(500);
    let asked = (1..=body.len()).map(|len| {
        let (mut requests, body) = (requests.clone(), body.slice(..len));
        tokio::spawn(async move { assert_eq!(ask(&mut requests, body.clone()).await, body) })
    });
    for asked in asked.collect::<Vec<_>>() {
        limited(asked).await.unwrap();
    }
    drop(requests);
    let closed = limited(server).await.unwrap();
    assert!(closed.is_h3_no_error(), "{closed}");
}
