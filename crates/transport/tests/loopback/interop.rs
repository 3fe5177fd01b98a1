//! Both ways with stock quinn.

use crate::support::{NAME, any, client_endpoint, hash, noise, server_config, within_a_minute};
use paceline::tls::SelfSigned;
use paceline::{Endpoint, TransportConfig, quinn_controller};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::RootCertStore;
use std::sync::Arc;

/// Names and meaning are the same in both libraries, so the same code tests both ways.
macro_rules! sides {
    ($module:ident, $library:ident) => {
        mod $module {
            use super::{hash, noise};
            use $library::{Connecting, Connection, Incoming, RecvStream, SendStream};

            const LEN: usize = 8 << 20;

            /// Uploads and downloads a few MB at once; returns the hash of the download.
            pub(super) async fn ask(connection: &Connection) -> u64 {
                let (mut send, recv) = connection.open_bi().await.unwrap();
                let data = noise(1, LEN);
                tokio::join!(write(&mut send, &data), read(recv)).1
            }

            /// The other side of it.
            pub(super) async fn answer(connection: &Connection) -> u64 {
                let (mut send, recv) = connection.accept_bi().await.unwrap();
                let data = noise(2, LEN);
                let received = tokio::join!(write(&mut send, &data), read(recv)).1;
                connection.closed().await;
                received
            }

            pub(super) fn hashes() -> (u64, u64) {
                (hash(&noise(1, LEN)), hash(&noise(2, LEN)))
            }

            /// Asks with the first packets; whether the server took that.
            pub(super) async fn ask_early(connecting: Connecting) -> bool {
                let (connection, accepted) = connecting.into_0rtt().expect("a session to resume");
                let (mut send, recv) = connection.open_bi().await.unwrap();
                let data = noise(3, 2_000);
                write(&mut send, &data).await;
                assert_eq!(read(recv).await, hash(&data));
                connection.close(0_u32.into(), b"done");
                accepted.await
            }

            /// The other side of it; whether what came was early.
            pub(super) async fn answer_early(attempt: Incoming) -> bool {
                let (connection, _) = attempt.accept().unwrap().into_0rtt().unwrap();
                let (mut send, mut recv) = connection.accept_bi().await.unwrap();
                let data = recv.read_to_end(LEN).await.unwrap();
                connection.force_key_update();
                write(&mut send, &data).await;
                connection.closed().await;
                recv.is_0rtt()
            }

            async fn write(send: &mut SendStream, data: &[u8]) {
                send.write_all(data).await.unwrap();
                send.finish().unwrap();
                assert_eq!(send.stopped().await.unwrap(), None);
            }

            async fn read(mut recv: RecvStream) -> u64 {
                hash(&recv.read_to_end(LEN).await.unwrap())
            }
        }
    };
}

sides!(ours, paceline);
sides!(theirs, quinn);

#[tokio::test]
async fn a_client_of_quinns_is_served() {
    within_a_minute(async {
        let certificate = SelfSigned::generate([NAME]).unwrap();
        let config = server_config(&certificate, &TransportConfig::default());
        let server = Endpoint::server(config, any()).unwrap();
        let client = quinn_client(&certificate);
        for with_retry in [false, true] {
            let connecting = client.connect(server.local_addr().unwrap(), NAME).unwrap();
            let asking = async {
                let connection = connecting.await.unwrap();
                let received = theirs::ask(&connection).await;
                connection.close(0_u32.into(), b"done");
                received
            };
            let answering = async {
                let mut attempt = server.accept().await.unwrap();
                if with_retry {
                    attempt.retry().unwrap();
                    attempt = server.accept().await.unwrap();
                }
                ours::answer(&attempt.await.unwrap()).await
            };
            let (down, up) = tokio::join!(asking, answering);
            assert_eq!((up, down), ours::hashes());
        }
        let connecting = client.connect(server.local_addr().unwrap(), NAME).unwrap();
        let answering = async { ours::answer_early(server.accept().await.unwrap()).await };
        let early = tokio::join!(theirs::ask_early(connecting), answering);
        assert_eq!(early, (true, true));
    })
    .await;
}

#[tokio::test]
async fn a_server_of_quinns_serves() {
    within_a_minute(async {
        let certificate = SelfSigned::generate([NAME]).unwrap();
        let client = client_endpoint(&certificate, &TransportConfig::default());
        let server = quinn_server(&certificate);
        for with_retry in [false, true] {
            let connecting = client.connect(server.local_addr().unwrap(), NAME).unwrap();
            let asking = async {
                let connection = connecting.await.unwrap();
                let received = ours::ask(&connection).await;
                connection.close(0_u32.into(), b"done");
                received
            };
            let answering = async {
                let mut attempt = server.accept().await.unwrap();
                if with_retry {
                    attempt.retry().unwrap();
                    attempt = server.accept().await.unwrap();
                }
                theirs::answer(&attempt.await.unwrap()).await
            };
            let (down, up) = tokio::join!(asking, answering);
            assert_eq!((up, down), theirs::hashes());
        }
        let connecting = client.connect(server.local_addr().unwrap(), NAME).unwrap();
        let answering = async { theirs::answer_early(server.accept().await.unwrap()).await };
        let early = tokio::join!(ours::ask_early(connecting), answering);
        assert_eq!(early, (true, true));
    })
    .await;
}

#[tokio::test]
async fn our_controllers_serve_applications_that_stay_on_quinn() {
    within_a_minute(async {
        let certificate = SelfSigned::generate([NAME]).unwrap();
        let server = quinn_server(&certificate);
        let address = server.local_addr().unwrap();
        let client = quinn_client(&certificate);
        for (controller, window) in [
            ("fixed:pacing=off,cwnd=50000", Some(50_000)),
            ("bbr3", None),
        ] {
            let mut transport = quinn::TransportConfig::default();
            transport.congestion_controller_factory(quinn_controller(controller).unwrap());
            let mut config = quinn_client_config(&certificate);
            config.transport_config(Arc::new(transport));
            let connecting = client.connect_with(config, address, NAME).unwrap();
            let asking = async {
                let connection = connecting.await.unwrap();
                let received = theirs::ask(&connection).await;
                let cwnd = connection.stats().path.cwnd;
                // quinn sends while in flight stays below what it takes for the window.
                assert!(window.is_none_or(|window| cwnd == window + 1), "{cwnd}");
                connection.close(0_u32.into(), b"done");
                received
            };
            let answering =
                async { theirs::answer(&server.accept().await.unwrap().await.unwrap()).await };
            let (down, up) = tokio::join!(asking, answering);
            assert_eq!((up, down), theirs::hashes());
        }
        assert!(quinn_controller("bbr33").is_err());
    })
    .await;
}

fn quinn_client(certificate: &SelfSigned) -> quinn::Endpoint {
    let mut client = quinn::Endpoint::client(any()).unwrap();
    client.set_default_client_config(quinn_client_config(certificate));
    client
}

fn quinn_client_config(certificate: &SelfSigned) -> quinn::ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.cert.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.enable_early_data = true;
    let crypto = QuicClientConfig::try_from(tls).unwrap();
    quinn::ClientConfig::new(Arc::new(crypto))
}

fn quinn_server(certificate: &SelfSigned) -> quinn::Endpoint {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.cert.clone()], certificate.key.clone_key())
        .unwrap();
    tls.max_early_data_size = u32::MAX;
    let crypto = QuicServerConfig::try_from(tls).unwrap();
    let config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
    quinn::Endpoint::server(config, any()).unwrap()
}
