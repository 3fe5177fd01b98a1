//! What cannot be had in quinn's place is refused, with a reason.

use crate::support::{ANY, limited};
use quinn::congestion::{Controller, ControllerFactory, NewRenoConfig};
use quinn::{
    AsyncTimer, AsyncUdpSocket, Endpoint, EndpointConfig, Runtime, TokioRuntime, TransportConfig,
    default_runtime,
};
use std::any::Any;
use std::future::Future;
use std::io;
use std::net::UdpSocket;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

#[derive(Debug, Clone)]
struct OwnController;

impl Controller for OwnController {
    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, _: u64) {}

    fn on_mtu_update(&mut self, _: u16) {}

    fn window(&self) -> u64 {
        12_000
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        12_000
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl ControllerFactory for OwnController {
    fn build(self: Arc<Self>, _: Instant, _: u16) -> Box<dyn Controller> {
        Box::new(Self)
    }
}

fn panic_of(factory: Arc<dyn ControllerFactory + Send + Sync>) -> String {
    let set = || {
        TransportConfig::default().congestion_controller_factory(factory);
    };
    let panic = catch_unwind(AssertUnwindSafe(set)).unwrap_err();
    *panic.downcast::<String>().unwrap()
}

#[test]
fn a_controller_of_quinn_protos_trait_is_refused() {
    let message = panic_of(Arc::new(OwnController));
    assert!(
        message.contains("CubicConfig, NewRenoConfig and BbrConfig"),
        "{message}"
    );
}

#[test]
fn a_reduction_that_ours_does_not_allow_is_refused() {
    let mut config = NewRenoConfig::default();
    config.loss_reduction_factor(0.99);
    let message = panic_of(Arc::new(config));
    assert!(
        message.contains("beta") && message.contains("0.95"),
        "{message}"
    );
}

#[derive(Debug)]
struct OwnRuntime;

impl Runtime for OwnRuntime {
    fn new_timer(&self, i: Instant) -> Pin<Box<dyn AsyncTimer>> {
        TokioRuntime.new_timer(i)
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        TokioRuntime.spawn(future);
    }

    fn wrap_udp_socket(&self, t: UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        TokioRuntime.wrap_udp_socket(t)
    }
}

fn assert_refused<T>(result: io::Result<T>, what: &str) {
    let Err(error) = result else {
        panic!("{what} is taken");
    };
    assert_eq!(error.kind(), io::ErrorKind::Unsupported);
    let message = error.to_string();
    assert!(
        message.contains(what) && message.contains("paceline"),
        "{message}"
    );
}

#[tokio::test]
async fn another_runtime_is_refused() {
    limited(async {
        let config = EndpointConfig::default;
        let socket = UdpSocket::bind(ANY).unwrap();
        let endpoint = Endpoint::new(config(), None, socket, Arc::new(OwnRuntime));
        assert_refused(endpoint, "OwnRuntime");
    })
    .await;
}

#[test]
fn outside_of_tokio_there_is_an_error_and_no_panic() {
    assert!(default_runtime().is_none());
    let error = Endpoint::client(ANY).unwrap_err();
    assert!(error.to_string().contains("runtime"), "{error}");
}
