//! Kernel pacing where there is none: loopback queues nothing.
#![cfg(target_os = "linux")]

use crate::support::{Endpoints, hash, noise, receive_all, send_all, within_a_minute};
use paceline::{ConnectionError, KernelPacing, NoKernelPacing, TransportConfig};

fn transport(mode: KernelPacing) -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport.kernel_pacing(mode);
    transport
}

#[tokio::test]
async fn off_and_auto_go_on_without_and_say_why() {
    within_a_minute(async {
        for mode in [KernelPacing::Off, KernelPacing::Auto] {
            let endpoints = Endpoints::with(&transport(mode), &transport(mode));
            let (client, server) = endpoints.connect().await;
            for connection in [&client, &server] {
                match (mode, connection.kernel_pacing().unwrap_err()) {
                    (KernelPacing::Off, NoKernelPacing::Off) => {}
                    (_, NoKernelPacing::Qdisc { device, qdisc, .. }) => {
                        assert_eq!((&*device, &*qdisc), ("lo", "noqueue"));
                    }
                    (mode, reason) => panic!("{mode}: {reason}"),
                }
            }
            let data = noise(1, 4 << 20);
            let sent = hash(&data);
            let send = client.open_uni().await.unwrap();
            tokio::spawn(async move { send_all(send, &data).await });
            let received = receive_all(server.accept_uni().await.unwrap()).await;
            assert_eq!(hash(&received), sent);
            endpoints.close().await;
        }
    })
    .await;
}

/// What a connection that must have kernel pacing ends with on loopback.
fn assert_says_what_to_do(error: &ConnectionError) {
    let error = error.to_string();
    for part in [
        "no kernel pacing",
        "noqueue",
        "tc qdisc replace dev lo root fq",
    ] {
        assert!(error.contains(part), "{error}");
    }
}

#[tokio::test]
async fn a_client_that_must_have_it_does_not_connect() {
    within_a_minute(async {
        let on = transport(KernelPacing::On);
        let endpoints = Endpoints::with(&TransportConfig::default(), &on);
        let connecting = endpoints.client.connect(endpoints.address(), "localhost");
        assert_says_what_to_do(&connecting.unwrap().await.unwrap_err());
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_server_that_must_have_it_takes_nobody() {
    within_a_minute(async {
        let on = transport(KernelPacing::On);
        let endpoints = Endpoints::with(&on, &TransportConfig::default());
        let connecting = endpoints.client.connect(endpoints.address(), "localhost");
        let accepting = async { endpoints.server.accept().await.unwrap().await };
        let (client, server) = tokio::join!(connecting.unwrap(), accepting);
        assert!(client.is_err());
        assert_says_what_to_do(&server.unwrap_err());
        endpoints.close().await;
    })
    .await;
}
