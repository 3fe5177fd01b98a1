//! Datagrams of a request, here and to `h3-quinn`'s code: they are the same traits.

use crate::h3::{Pair, limited};
use bytes::Bytes;
use h3_datagram::datagram_handler::{HandleDatagramsExt, SendDatagramError};
use paceline::{TransportConfig, VarInt};

#[tokio::test]
async fn a_datagram_arrives_with_its_request() {
    let mut pair = Pair::new().await;
    let (client, server) = pair.request().await;
    let mut sender = pair.server.get_datagram_sender(server.id());
    // The client's connection is driven elsewhere; its QUIC connection has what comes.
    sender.send_datagram(Bytes::from_static(b"hello")).unwrap();
    let received = limited(pair.quic[0].read_datagram()).await.unwrap();
    assert_eq!(&received[..], b"\0hello");

    let mut reader = pair.server.get_datagram_reader();
    pair.quic[0]
        .send_datagram(Bytes::from_static(b"\0hi"))
        .unwrap();
    let received = limited(reader.read_datagram()).await.unwrap();
    assert_eq!(
        (received.stream_id(), &received.payload()[..]),
        (client.id(), &b"hi"[..])
    );

    let large = sender.send_datagram(Bytes::from(vec![0; 100_000]));
    assert!(
        matches!(large, Err(SendDatagramError::TooLarge { .. })),
        "{large:?}"
    );
    pair.quic[0].close(VarInt::from_u32(0x100), b"");
    let lost = limited(reader.read_datagram()).await;
    assert!(lost.is_err_and(|error| error.is_h3_no_error()));
}

#[tokio::test]
async fn a_peer_without_datagrams_gets_none() {
    let mut config = TransportConfig::default();
    config.datagram_receive_buffer_size(None);
    let mut pair = Pair::with(config).await;
    let (_client, server) = pair.request().await;
    let mut sender = pair.server.get_datagram_sender(server.id());
    let sent = sender.send_datagram(Bytes::from_static(b"hello"));
    assert!(
        matches!(sent, Err(SendDatagramError::NotAvailable { .. })),
        "{sent:?}"
    );
}
