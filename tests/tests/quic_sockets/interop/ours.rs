//! This transport's client and server.

use crate::interop::{ALPN, Client, NAME, any};
use paceline::tls::{self, SelfSigned};
use paceline::{Connection, Endpoint, Incoming};
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy};

/// An echo server, which uses new keys after the first `keys_after` bytes of a stream.
pub(crate) fn serve(
    certificate: &SelfSigned,
    retry: bool,
    keys_after: Option<usize>,
) -> SocketAddr {
    let config = certificate.server().alpn(&[ALPN]).config().unwrap();
    let server = Endpoint::server(config, any()).unwrap();
    let address = server.local_addr().unwrap();
    tokio::spawn(async move {
        while let Some(attempt) = server.accept().await {
            if retry && !attempt.remote_address_validated() {
                attempt.retry().unwrap();
            } else {
                tokio::spawn(echo(attempt, keys_after));
            }
        }
    });
    address
}

async fn echo(attempt: Incoming, keys_after: Option<usize>) {
    let connection = attempt.await.unwrap();
    let (mut send, mut recv) = connection.accept_bi().await.unwrap();
    if let Some(len) = keys_after {
        copy(&mut (&mut recv).take(len as u64), &mut send)
            .await
            .unwrap();
        connection.force_key_update();
    }
    copy(&mut recv, &mut send).await.unwrap();
    send.shutdown().await.unwrap();
    connection.closed().await;
}

pub(crate) async fn connect(certificate: &SelfSigned, server: SocketAddr) -> Client {
    let endpoint = Endpoint::client(any()).unwrap();
    let config = tls::client_with_fingerprint(certificate.fingerprint).alpn(&[ALPN]);
    let connecting = endpoint.connect_with(config.config().unwrap(), server, NAME);
    let connection: Connection = connecting.unwrap().await.unwrap();
    let (send, recv) = connection.open_bi().await.unwrap();
    let keys = connection.clone();
    Client {
        send: Box::new(send),
        recv: Box::new(recv),
        update_keys: Box::new(move || keys.force_key_update()),
        close: Box::new(move || connection.close(0_u32.into(), b"")),
    }
}
