//! Application datagrams.

use crate::support::{Endpoints, within_a_minute};
use bytes::Bytes;
use paceline::{DatagramOptions, DatagramOutcome, SendDatagramError, TransportConfig};
use std::time::Duration;

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

#[tokio::test]
async fn what_becomes_of_datagrams_is_told_until_the_end() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        let mut events = client.datagram_events();
        let options = DatagramOptions::default().notify(true);
        let id = client
            .send_datagram_with(Bytes::from_static(b"ping"), options)
            .unwrap();
        client.send_datagram(Bytes::from_static(b"quiet")).unwrap();
        for outcome in [DatagramOutcome::Sent, DatagramOutcome::Acknowledged] {
            let event = events.next().await.unwrap();
            assert_eq!((event.id, event.outcome), (id, outcome));
        }
        assert_eq!(&server.read_datagram().await.unwrap()[..], b"ping");
        assert_eq!(client.stats().datagrams.sent, 2);
        client.close(0_u32.into(), b"");
        assert_eq!(events.next().await, None);
        assert_eq!(client.datagram_events().next().await, None);
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_path_watch_wakes_its_reader_and_ends_with_the_connection() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        let mut watch = client.path_watch();
        watch.set_interval(Duration::from_millis(10)).unwrap();
        let reading = tokio::spawn(async move {
            while let Ok(mut stream) = server.accept_uni().await {
                let _ = stream.read_to_end(10_000_000).await;
            }
        });
        let mut stream = client.open_uni().await.unwrap();
        stream.write_all(&vec![1; 1_000_000]).await.unwrap();
        let estimate = watch.next().await.unwrap();
        assert!(estimate.min_rtt.is_some() && estimate.send_rate_hint.bits_per_sec() > 0);
        assert!(client.send_rate_hint().bits_per_sec() > 0);
        client.close(0_u32.into(), b"");
        while watch.next().await.is_some() {}
        assert_eq!(client.path_watch().next().await, None);
        reading.await.unwrap();
        endpoints.close().await;
    })
    .await;
}
