//! s2n-quic's client and server, with rustls for TLS.

use crate::interop::{ALPN, Client, NAME, any};
use paceline::tls::SelfSigned;
use s2n_quic::client::Connect;
use s2n_quic::provider::endpoint_limits;
use s2n_quic::provider::event::{ConnectionInfo, ConnectionMeta, Subscriber, events};
use s2n_quic::provider::tls::rustls as tls;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::io::{AsyncWriteExt as _, copy};

pub(crate) fn serve(certificate: &SelfSigned, retry: bool) -> SocketAddr {
    let key = certificate.key.secret_der();
    let tls = tls::Server::builder()
        .with_certificate(&certificate.cert[..], key)
        .unwrap()
        .with_application_protocols([ALPN].iter())
        .unwrap();
    // Above so many handshakes at a time, each has to prove its address.
    let handshakes = if retry { 0 } else { usize::MAX };
    let limits = endpoint_limits::Default::builder()
        .with_inflight_handshake_limit(handshakes)
        .unwrap();
    let mut server = s2n_quic::Server::builder()
        .with_tls(tls.build().unwrap())
        .unwrap()
        .with_endpoint_limits(limits.build().unwrap())
        .unwrap()
        .with_event(Watch)
        .unwrap()
        .with_io(any())
        .unwrap()
        .start()
        .unwrap();
    let address = server.local_addr().unwrap();
    tokio::spawn(async move {
        while let Some(mut connection) = server.accept().await {
            tokio::spawn(async move {
                while let Ok(Some(stream)) = connection.accept_bidirectional_stream().await {
                    let (mut recv, mut send) = stream.split();
                    copy(&mut recv, &mut send).await.unwrap();
                    send.shutdown().await.unwrap();
                }
            });
        }
    });
    address
}

pub(crate) async fn connect(certificate: &SelfSigned, server: SocketAddr) -> Client {
    let tls = tls::Client::builder()
        .with_certificate(&certificate.cert[..])
        .unwrap()
        .with_application_protocols([ALPN].iter())
        .unwrap();
    let client = s2n_quic::Client::builder()
        .with_tls(tls.build().unwrap())
        .unwrap()
        .with_event(Watch)
        .unwrap()
        .with_io(any())
        .unwrap()
        .start()
        .unwrap();
    let connect = Connect::new(server).with_server_name(NAME);
    let mut connection = client.connect(connect).await.unwrap();
    let stream = connection.open_bidirectional_stream().await.unwrap();
    let (recv, send) = stream.split();
    Client {
        send: Box::new(send),
        recv: Box::new(recv),
        update_keys: Box::new(|| {}),
        close: Box::new(move || connection.close(0_u32.into())),
    }
}

/// How often connections of this library's took other keys than the handshake's.
pub(crate) fn key_updates() -> u64 {
    KEY_UPDATES.load(Ordering::Relaxed)
}

static KEY_UPDATES: AtomicU64 = AtomicU64::new(0);

struct Watch;

impl Subscriber for Watch {
    type ConnectionContext = ();

    fn create_connection_context(&mut self, _: &ConnectionMeta, _: &ConnectionInfo<'_>) {}

    fn on_key_update(&mut self, (): &mut (), _: &ConnectionMeta, event: &events::KeyUpdate) {
        if let events::KeyType::OneRtt {
            generation: 1.., ..
        } = event.key_type
        {
            KEY_UPDATES.fetch_add(1, Ordering::Relaxed);
        }
    }
}
