//! quinn's client and server.

use crate::interop::{ALPN, Client, NAME, any};
use paceline::rustls::{self, RootCertStore, crypto::aws_lc_rs::default_provider};
use paceline::tls::SelfSigned;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncWriteExt as _, copy};

pub(crate) fn serve(certificate: &SelfSigned, retry: bool) -> SocketAddr {
    let chain = vec![certificate.cert.clone()];
    let mut tls = rustls::ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, certificate.key.clone_key())
        .unwrap();
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let crypto = Arc::new(QuicServerConfig::try_from(tls).unwrap());
    let config = quinn::ServerConfig::with_crypto(crypto);
    let server = quinn::Endpoint::server(config, any()).unwrap();
    let address = server.local_addr().unwrap();
    tokio::spawn(async move {
        while let Some(attempt) = server.accept().await {
            if retry && !attempt.remote_address_validated() {
                attempt.retry().unwrap();
            } else {
                tokio::spawn(echo(attempt));
            }
        }
    });
    address
}

async fn echo(attempt: quinn::Incoming) {
    let connection = attempt.await.unwrap();
    let (mut send, mut recv) = connection.accept_bi().await.unwrap();
    copy(&mut recv, &mut send).await.unwrap();
    send.shutdown().await.unwrap();
    connection.closed().await;
}

pub(crate) async fn connect(certificate: &SelfSigned, server: SocketAddr) -> Client {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.cert.clone()).unwrap();
    let mut tls = rustls::ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let crypto = Arc::new(QuicClientConfig::try_from(tls).unwrap());
    let endpoint = quinn::Endpoint::client(any()).unwrap();
    let connecting = endpoint.connect_with(quinn::ClientConfig::new(crypto), server, NAME);
    let connection = connecting.unwrap().await.unwrap();
    let (send, recv) = connection.open_bi().await.unwrap();
    let keys = connection.clone();
    Client {
        send: Box::new(send),
        recv: Box::new(recv),
        update_keys: Box::new(move || keys.force_key_update()),
        close: Box::new(move || connection.close(0_u32.into(), b"")),
    }
}
