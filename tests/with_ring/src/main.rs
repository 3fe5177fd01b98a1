//! A server of Paceline's, ready for a load balancer, and a client of quinn's with ring.
//!
//! Both are in one program: quinn's default features turn on the feature `ring` of quinn-proto,
//! which they share. That this compiles is what is tested first; run, it shows that the server's
//! keys, which are aws-lc-rs', still do their work: the client connects after a Retry.

use paceline::quic_lb::{CidConfig, ConnectionIds, Secrets};
use paceline::tls::SelfSigned;
use paceline::{Endpoint, EndpointConfig};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::rustls::crypto::ring::default_provider;
use quinn::rustls::{ClientConfig, RootCertStore, version};
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::sync::Arc;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let certificate = SelfSigned::generate(["localhost"])?;
    let server = server(&certificate)?;
    let address = server.local_addr()?;
    let serving = tokio::spawn(async move {
        let first = server.accept().await?;
        first.retry().ok()?;
        let connection = server.accept().await?.await.ok()?;
        let (mut send, mut recv) = connection.accept_bi().await.ok()?;
        let question = recv.read_to_end(100).await.ok()?;
        send.write_all(&question).await.ok()?;
        send.finish().ok()?;
        Some(connection.closed().await)
    });
    let client = client(&certificate)?;
    let connection = client.connect(address, "localhost")?.await?;
    let (mut send, mut recv) = connection.open_bi().await?;
    send.write_all(b"hello").await?;
    send.finish()?;
    assert_eq!(recv.read_to_end(100).await?, b"hello");
    connection.close(0_u32.into(), b"done");
    client.wait_idle().await;
    assert!(serving.await?.is_some(), "the server had an error");
    Ok(())
}

fn server(certificate: &SelfSigned) -> Result<Endpoint> {
    let secret = "07".repeat(32);
    let secrets = format!("overlap 86400\nreset {secret}\nepoch 1 from 0 {secret}");
    let secrets = Secrets::new(secrets.as_bytes())?;
    let ids = CidConfig::encrypted(0, 4, 12, *b"sixteen octets!!")?;
    let ids = ConnectionIds::new(ids, "0000002a".parse()?)?;
    let mut config = EndpointConfig::default();
    ids.install(&mut config);
    config.reset_key(secrets.reset_key(&ids));
    let tls = certificate.server().tickets(secrets.ticketer());
    let mut server = tls.config()?;
    server.token_key(secrets.token_key());
    let socket = UdpSocket::bind(ANY)?;
    Ok(Endpoint::new(config, Some(server), socket)?)
}

fn client(certificate: &SelfSigned) -> Result<quinn::Endpoint> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.cert.clone())?;
    let tls = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let crypto = QuicClientConfig::try_from(tls)?;
    let mut client = quinn::Endpoint::client(ANY)?;
    client.set_default_client_config(quinn::ClientConfig::new(Arc::new(crypto)));
    Ok(client)
}

/// Some port of loopback.
const ANY: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0));
