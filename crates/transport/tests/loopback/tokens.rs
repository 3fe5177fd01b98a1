//! Tokens that prove an address: used again, late, or by somebody else.

use crate::hostile::{Datagrams, recording_proxy};
use crate::support::{Endpoints, NAME, any, receive_all, send_all, server_config, within_a_minute};
use paceline::{TokenMemoryCache, TokenStore as _, TransportConfig};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::time::timeout;

/// A connection through `proxy` that the server accepts after a Retry, if it is to be one.
async fn come_and_go(endpoints: &Endpoints, proxy: SocketAddr, retry: bool) {
    let connecting = endpoints.client.connect(proxy, NAME).unwrap();
    let accepting = async {
        let mut attempt = endpoints.server.accept().await.unwrap();
        if retry {
            attempt.retry().unwrap();
            attempt = endpoints.server.accept().await.unwrap();
            assert!(attempt.remote_address_validated());
        }
        let connection = attempt.await.unwrap();
        // A round trip, with which NEW_TOKEN has come.
        send_all(connection.open_uni().await.unwrap(), b"x").await;
        connection.closed().await;
    };
    let asking = async {
        let connection = connecting.await.unwrap();
        receive_all(connection.accept_uni().await.unwrap()).await;
        connection.close(0_u32.into(), b"");
    };
    tokio::join!(accepting, asking);
    endpoints.server.wait_idle().await;
}

/// The first Initial packet with a token (RFC 9000 §17.2.2), whose fixed bit a client that comes
/// back draws (RFC 9287).
fn with_token(recorded: &Datagrams) -> Option<Vec<u8>> {
    let recorded = recorded.lock().unwrap();
    let has_token = |datagram: &&Vec<u8>| {
        if datagram[0] & 0xb0 != 0x80 {
            return false;
        }
        let destination = usize::from(datagram[5]);
        let source = usize::from(datagram[6 + destination]);
        datagram[7 + destination + source] != 0
    };
    recorded.iter().find(has_token).cloned()
}

/// Sends `datagram` from an address of its own: the server refuses it, and the application hears
/// nothing of it.
async fn assert_refused(endpoints: &Endpoints, datagram: &[u8]) {
    let somebody = UdpSocket::bind(any()).await.unwrap();
    let server = endpoints.address();
    let accepting = endpoints.server.accept();
    let refusal = async {
        somebody.send_to(datagram, server).await.unwrap();
        let (len, from) = somebody.recv_from(&mut [0; 1_500]).await.unwrap();
        assert_eq!(from, server);
        // CONNECTION_CLOSE with INVALID_TOKEN (RFC 9000 §8.1.3), no more than what came.
        assert!(len <= datagram.len());
    };
    tokio::select! {
        _ = accepting => panic!("an attempt with an invalid token"),
        () = refusal => {}
    }
}

#[tokio::test]
async fn a_retry_token_is_of_no_use_from_another_address() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (proxy, recorded) = recording_proxy(endpoints.address()).await;
        come_and_go(&endpoints, proxy, true).await;
        let initial = with_token(&recorded).expect("it came after a Retry");
        assert_refused(&endpoints, &initial).await;
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_retry_token_expires() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let mut config = server_config(&endpoints.certificate, &TransportConfig::default());
        config.retry_token_lifetime(Duration::ZERO);
        endpoints.server.set_server_config(Some(config));
        let connecting = endpoints.client.connect(endpoints.address(), NAME).unwrap();
        endpoints.server.accept().await.unwrap().retry().unwrap();
        let second = timeout(Duration::from_secs(20), endpoints.server.accept());
        tokio::select! {
            _ = second => panic!("an attempt with an expired token"),
            result = connecting => {
                let error = result.unwrap_err().to_string();
                assert!(error.contains("invalid Retry Token"), "{error}");
            }
        }
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_token_of_an_earlier_connection_proves_an_address_once() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (proxy, recorded) = recording_proxy(endpoints.address()).await;
        // A connection that is closed soon may have got none.
        let again = loop {
            come_and_go(&endpoints, proxy, false).await;
            if let Some(initial) = with_token(&recorded) {
                break initial;
            }
        };
        let somebody = UdpSocket::bind(any()).await.unwrap();
        somebody.send_to(&again, endpoints.address()).await.unwrap();
        let attempt = endpoints.server.accept().await.unwrap();
        assert!(!attempt.remote_address_validated(), "it was used before");
        attempt.ignore();
        endpoints.close().await;
    })
    .await;
}

#[test]
fn a_client_keeps_two_tokens_of_each_of_256_servers() {
    let store = TokenMemoryCache::default();
    let names: Vec<_> = (0..300).map(|number| format!("server{number}")).collect();
    for name in &names {
        for token in 0..3 {
            store.insert(name, vec![token; 8].into());
        }
    }
    let mut kept = 0;
    for name in &names {
        kept += std::iter::from_fn(|| store.take(name)).count();
    }
    assert_eq!(kept, 2 * 256);
}
