//! Echo over loopback.

use std::net::{Ipv4Addr, SocketAddr};
use transport::{ConnectionError, Endpoint, VarInt, tls};

#[tokio::test]
async fn what_is_sent_comes_back_and_the_close_code_arrives() {
    let cert = tls::SelfSigned::generate(["localhost"]).unwrap();
    let any: SocketAddr = (Ipv4Addr::LOCALHOST, 0).into();
    let server = Endpoint::server(cert.server().config().unwrap(), any).unwrap();
    let address = server.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let connection = server.accept().await.unwrap().await.unwrap();
        let (mut send, mut recv) = connection.accept_bi().await.unwrap();
        tokio::io::copy(&mut recv, &mut send).await.unwrap();
        send.finish().unwrap();
        connection.closed().await
    });

    let mut client = Endpoint::client(any).unwrap();
    let config = tls::client_with_fingerprint(cert.fingerprint).config();
    client.set_default_client_config(config.unwrap());
    let connection = client.connect(address, "localhost").unwrap().await.unwrap();
    let (mut send, mut recv) = connection.open_bi().await.unwrap();
    let data: Vec<u8> = (0..1_000_000).map(|i: u32| (i >> 3) as u8).collect();
    let (_, back) = tokio::join!(
        async {
            send.write_all(&data).await.unwrap();
            send.finish().unwrap();
        },
        recv.read_to_end(data.len()),
    );
    assert!(back.unwrap() == data);
    connection.close(VarInt::from_u32(7), b"done");
    client.wait_idle().await;

    let ConnectionError::ApplicationClosed(close) = server.await.unwrap() else {
        panic!("closed by the application")
    };
    assert_eq!(close.error_code, VarInt::from_u32(7));
    assert_eq!(&close.reason[..], b"done");
}
