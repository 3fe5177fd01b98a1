//! Datagrams that nobody should send do not end an endpoint.

use crate::support::{Endpoints, NAME, any, noise, receive_all, send_all, within_a_minute};
use paceline::{ConnectionError, TransportConfig};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::UdpSocket;

#[tokio::test]
async fn garbage_is_dropped_and_the_next_client_is_served() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let attacker = UdpSocket::bind(any()).await.unwrap();
        for seed in 0..2_000_u64 {
            let len = (seed as usize * 37) % 1_600;
            let mut datagram = noise(seed, len);
            // Half of them with a long header of version 1, some with an unknown version.
            if seed % 2 == 0 && len > 5 {
                datagram[0] |= 0xc0;
                datagram[1..5].copy_from_slice(&u32::from(seed % 8 != 0).to_be_bytes());
            }
            attacker
                .send_to(&datagram, endpoints.address())
                .await
                .unwrap();
            if seed % 50 == 0 {
                tokio::task::yield_now().await;
            }
        }
        assert_serves(&endpoints).await;
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn replayed_and_mutilated_packets_neither_end_nor_disturb_a_connection() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (proxy, recorded) = recording_proxy(endpoints.address()).await;
        let connecting = endpoints.client.connect(proxy, NAME).unwrap();
        let accepting = async { endpoints.server.accept().await.unwrap().await };
        let (client, server) = tokio::join!(connecting, accepting);
        let (client, server) = (client.unwrap(), server.unwrap());
        send_all(client.open_uni().await.unwrap(), &noise(1, 100_000)).await;
        let first = receive_all(server.accept_uni().await.unwrap()).await;
        assert_eq!(first, noise(1, 100_000));

        let datagrams = recorded.lock().unwrap().clone();
        assert!(datagrams.len() > 10);
        let attacker = UdpSocket::bind(any()).await.unwrap();
        for (index, datagram) in datagrams.iter().enumerate() {
            attacker
                .send_to(datagram, endpoints.address())
                .await
                .unwrap();
            let mut mutilated = datagram.clone();
            let at = index * 7 % mutilated.len();
            mutilated[at] ^= 1 << (index % 8);
            attacker
                .send_to(&mutilated, endpoints.address())
                .await
                .unwrap();
            let half = &datagram[..datagram.len() / 2];
            attacker.send_to(half, endpoints.address()).await.unwrap();
            tokio::task::yield_now().await;
        }
        // The replayed Initials look like new clients. They are nobody's.
        let refusing = async {
            while let Some(attempt) = endpoints.server.accept().await {
                attempt.ignore();
            }
        };
        let working = async {
            send_all(client.open_uni().await.unwrap(), b"undisturbed").await;
            receive_all(server.accept_uni().await.unwrap()).await
        };
        tokio::select! {
            () = refusing => panic!("the server is open"),
            received = working => assert_eq!(received, b"undisturbed"),
        }
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn clients_that_only_say_hello_hold_nobody_up_and_are_forgotten() {
    within_a_minute(async {
        let mut config = TransportConfig::default();
        config.max_idle_timeout(Some(Duration::from_millis(800).try_into().unwrap()));
        let endpoints = Endpoints::with(&config, &TransportConfig::default());
        let helloes = helloes(&endpoints, HALF_OPEN).await;
        let attacker = UdpSocket::bind(any()).await.unwrap();
        let mut waiting = Vec::new();
        for hello in helloes {
            attacker.send_to(&hello, endpoints.address()).await.unwrap();
            let attempt = endpoints.server.accept().await.unwrap();
            waiting.push(tokio::spawn(async { attempt.await }));
        }
        assert_serves(&endpoints).await;
        assert!(endpoints.server.open_connections() > HALF_OPEN / 2);
        for handshake in waiting {
            let error = handshake.await.unwrap().unwrap_err();
            assert_eq!(error, ConnectionError::TimedOut);
        }
        endpoints.client.close(0_u32.into(), b"");
        endpoints.server.wait_idle().await;
        assert_eq!(endpoints.server.open_connections(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_handshake_that_nobody_answers_ends_in_time() {
    within_a_minute(async {
        let mut config = TransportConfig::default();
        // Nothing else would end it.
        config
            .max_idle_timeout(None)
            .handshake_timeout(Some(Duration::from_millis(300)));
        let endpoints = Endpoints::with(&TransportConfig::default(), &config);
        let nobody = UdpSocket::bind(any()).await.unwrap();
        let address = nobody.local_addr().unwrap();
        let connecting = endpoints.client.connect(address, NAME).unwrap();
        assert_eq!(connecting.await.unwrap_err(), ConnectionError::TimedOut);
        assert_serves(&endpoints).await;
        endpoints.close().await;
    })
    .await;
}

const HALF_OPEN: usize = 200;

/// The first packets of so many clients of their own.
pub(crate) async fn helloes(endpoints: &Endpoints, count: usize) -> Vec<Vec<u8>> {
    let nobody = UdpSocket::bind(any()).await.unwrap();
    let mut buffer = [0; 1_500];
    let mut helloes = Vec::new();
    for _ in 0..count {
        let address = nobody.local_addr().unwrap();
        let connecting = endpoints.client.connect(address, NAME).unwrap();
        let (len, _) = nobody.recv_from(&mut buffer).await.unwrap();
        helloes.push(buffer[..len].to_vec());
        drop(connecting);
        // Its goodbye.
        nobody.recv_from(&mut buffer).await.unwrap();
    }
    helloes
}

async fn assert_serves(endpoints: &Endpoints) {
    let connecting = endpoints.client.connect(endpoints.address(), NAME).unwrap();
    let serving = async {
        loop {
            let attempt = endpoints.server.accept().await.unwrap();
            if attempt.remote_address() == endpoints.client.local_addr().unwrap() {
                return attempt.await.unwrap();
            }
            attempt.ignore();
        }
    };
    let (client, server) = tokio::join!(connecting, serving);
    let client = client.unwrap();
    send_all(client.open_uni().await.unwrap(), b"served").await;
    let received = receive_all(server.accept_uni().await.unwrap()).await;
    assert_eq!(received, b"served");
}

pub(crate) type Datagrams = Arc<Mutex<Vec<Vec<u8>>>>;

/// An address that passes datagrams to `server` and answers back, and records the former.
pub(crate) async fn recording_proxy(server: SocketAddr) -> (SocketAddr, Datagrams) {
    let recorded = Datagrams::default();
    let socket = UdpSocket::bind(any()).await.unwrap();
    let address = socket.local_addr().unwrap();
    let log = Arc::clone(&recorded);
    tokio::spawn(async move {
        let mut client = server;
        let mut buffer = vec![0; 65_536];
        loop {
            let (len, from) = socket.recv_from(&mut buffer).await.unwrap();
            if from == server {
                socket.send_to(&buffer[..len], client).await.unwrap();
            } else {
                client = from;
                log.lock().unwrap().push(buffer[..len].to_vec());
                socket.send_to(&buffer[..len], server).await.unwrap();
            }
        }
    });
    (address, recorded)
}
