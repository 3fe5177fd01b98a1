//! Application datagrams.

use crate::support::{Endpoints, within_a_minute};
use bytes::Bytes;
use paceline::{SendDatagramError, TransportConfig};

#[tokio::test]
async fn datagrams_arrive_whole() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        let size = client.max_datagram_size().unwrap();
        client.send_datagram(Bytes::from_static(b"ping")).unwrap();
        assert_eq!(server.read_datagram().await.unwrap(), "ping");
        server
            .send_datagram_wait(Bytes::from(vec![1; size]))
            .await
            .unwrap();
        assert_eq!(client.read_datagram().await.unwrap(), vec![1; size]);
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_sender_waits_for_room_rather_than_drop() {
    within_a_minute(async {
        let mut config = TransportConfig::default();
        config.datagram_send_buffer_size(4_000);
        let endpoints = Endpoints::with(&TransportConfig::default(), &config);
        let (client, server) = endpoints.connect().await;
        assert!(client.datagram_send_buffer_space() <= 4_000);
        let send = async {
            for number in 0..100_u8 {
                client
                    .send_datagram_wait(Bytes::from(vec![number; 1_000]))
                    .await
                    .unwrap();
            }
        };
        let receive = async {
            for number in 0..100 {
                assert_eq!(server.read_datagram().await.unwrap()[0], number);
            }
        };
        tokio::join!(send, receive);
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn what_cannot_be_sent_says_why() {
    within_a_minute(async {
        let mut deaf = TransportConfig::default();
        deaf.datagram_receive_buffer_size(None);
        let endpoints = Endpoints::with(&deaf, &TransportConfig::default());
        let (client, server) = endpoints.connect().await;
        let data = Bytes::from_static(b"x");
        let error = client.send_datagram(data.clone()).unwrap_err();
        assert_eq!(error, SendDatagramError::UnsupportedByPeer);
        let error = server.send_datagram(data).unwrap_err();
        assert_eq!(error, SendDatagramError::Disabled);
        let endpoints_for_all = Endpoints::new();
        let (client, _server) = endpoints_for_all.connect().await;
        let error = client
            .send_datagram(Bytes::from(vec![0; 3_000]))
            .unwrap_err();
        assert_eq!(error, SendDatagramError::TooLarge);
        endpoints_for_all.close().await;
        endpoints.close().await;
    })
    .await;
}
