//! An endpoint whose address changes under its connections.

use crate::support::{Endpoints, any, hash, noise, send_all, within_a_minute};
use paceline::Connection;
use std::net::UdpSocket;

const LEN: usize = 24 << 20;

/// Sends from `from` to `to`, and has the client move after each quarter but the last.
async fn transfer_while_moving(endpoints: &Endpoints, from: &Connection, to: &Connection) {
    let data = noise(1, LEN);
    let sent = hash(&data);
    let send = from.open_uni().await.unwrap();
    tokio::spawn(async move { send_all(send, &data).await });
    let mut recv = to.accept_uni().await.unwrap();
    let mut received = Vec::new();
    for quarter in 0..4 {
        let mut part = vec![0; LEN / 4];
        recv.read_exact(&mut part).await.unwrap();
        received.extend(part);
        if quarter < 3 {
            let socket = UdpSocket::bind(any()).unwrap();
            let address = socket.local_addr().unwrap();
            endpoints.client.rebind(socket).unwrap();
            assert_eq!(endpoints.client.local_addr().unwrap(), address);
        }
    }
    assert_eq!(recv.read(&mut [0]).await, Ok(None));
    assert_eq!(hash(&received), sent);
}

/// Or waits for ever.
async fn learns_where_the_client_is(endpoints: &Endpoints, server: &Connection) {
    let address = endpoints.client.local_addr().unwrap();
    while server.remote_address() != address {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_client_moves_while_it_sends() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        transfer_while_moving(&endpoints, &client, &server).await;
        learns_where_the_client_is(&endpoints, &server).await;
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_client_moves_while_it_receives() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        transfer_while_moving(&endpoints, &server, &client).await;
        learns_where_the_client_is(&endpoints, &server).await;
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn an_idle_connection_tells_its_peer_of_the_move() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (_client, server) = endpoints.connect().await;
        let socket = UdpSocket::bind(any()).unwrap();
        endpoints.client.rebind(socket).unwrap();
        learns_where_the_client_is(&endpoints, &server).await;
        endpoints.close().await;
    })
    .await;
}
