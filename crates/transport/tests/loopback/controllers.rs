//! Controllers of the application's that panic.

use crate::support::{Endpoints, NAME, noise, receive_all, send_all, within_a_minute};
use cc_core::{
    Control, Controller, ControllerChoice, ControllerSpec, LostPacket, Observer, PathState,
    RateSample, Registry, Setup, SharedSpec, Snapshot,
};
use paceline::TransportConfig;
use units::Bytes;

/// Panics in one of its methods.
#[derive(Debug)]
struct Clumsy {
    control: Control,
    fault: &'static str,
}

impl Clumsy {
    fn build(setup: &Setup, fault: &'static str) -> Box<dyn Controller> {
        assert_ne!(fault, "build", "fault in {fault}");
        let control = Control {
            cwnd: setup.initial_cwnd,
            ..Registry::standard()
                .choose("new_reno")
                .unwrap()
                .build(setup)
                .control()
        };
        Box::new(Self { control, fault })
    }

    fn may_fail(&self, method: &str) {
        assert_ne!(method, self.fault, "fault in {method}");
    }
}

impl Controller for Clumsy {
    fn on_sent(&mut self, path: &PathState, _: Bytes) {
        // Not in the handshake.
        if path.delivered > Bytes::new(10_000) {
            self.may_fail("on_sent");
        }
    }

    fn on_lost(&mut self, _: &PathState, _: &LostPacket, _: &mut dyn Observer) {}

    fn on_ack(&mut self, _: &PathState, _: &RateSample, _: &mut dyn Observer) {
        self.may_fail("on_ack");
    }

    fn control(&self) -> Control {
        self.control
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot::new("clumsy", "", self.control)
    }
}

/// A controller that panics in this method.
fn clumsy(name: &'static str, fault: &'static str) -> SharedSpec {
    ControllerSpec::sharing(name, "", move |_, setup| Clumsy::build(setup, fault))
}

#[tokio::test]
async fn a_controller_that_panics_ends_its_connection_alone() {
    within_a_minute(async {
        for name in ["clumsy_build", "clumsy_on_sent", "clumsy_on_ack"] {
            let fault = name.strip_prefix("clumsy_").unwrap();
            let registry = Registry::standard().with(clumsy(name, fault));
            panics_alone(&registry.choose(name).unwrap(), name).await;
        }
    })
    .await;
}

/// A client's connection is under `choice` and uploads; its endpoint's next one is served.
async fn panics_alone(choice: &ControllerChoice, name: &str) {
    let mut faulty = TransportConfig::default();
    faulty.congestion(choice.clone());
    let endpoints = Endpoints::with(&TransportConfig::default(), &faulty);
    let connecting = endpoints.client.connect(endpoints.address(), NAME);
    let accepting = async { endpoints.server.accept().await.unwrap().await };
    let (client, server) = tokio::join!(connecting.unwrap(), accepting);
    let reason = match client {
        Ok(client) => {
            if let Ok(mut send) = client.open_uni().await {
                let _ = send.write_all(&noise(1, 1_000_000)).await;
            }
            client.closed().await
        }
        Err(reason) => reason,
    };
    let reason = reason.to_string();
    let fault = name.strip_prefix("clumsy_").unwrap();
    assert!(
        reason.contains(&format!("controller {name} panicked: ")) && reason.contains(fault),
        "{reason}"
    );
    if let Ok(server) = server {
        server.closed().await;
    }
    // The same endpoints go on.
    let config = paceline::tls::client_with_fingerprint(endpoints.certificate.fingerprint);
    let config = config.config().unwrap();
    let connecting = endpoints
        .client
        .connect_with(config, endpoints.address(), NAME);
    let accepting = async { endpoints.server.accept().await.unwrap().await };
    let (client, server) = tokio::join!(connecting.unwrap(), accepting);
    let (client, server) = (client.unwrap(), server.unwrap());
    let data = noise(2, 100_000);
    let send = client.open_uni().await.unwrap();
    let receive = async { receive_all(server.accept_uni().await.unwrap()).await };
    let ((), received) = tokio::join!(send_all(send, &data), receive);
    assert!(received == data);
    endpoints.close().await;
}
