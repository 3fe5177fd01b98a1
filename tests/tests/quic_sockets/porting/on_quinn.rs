//! The application on quinn.

#[path = "application.rs"]
pub(crate) mod application;

use quinn as q;
use std::net::UdpSocket;
use std::sync::Arc;

/// quinn is told the runtime.
pub(crate) fn endpoint(server: Option<q::ServerConfig>, socket: UdpSocket) -> q::Endpoint {
    let config = q::EndpointConfig::default();
    q::Endpoint::new(config, server, socket, Arc::new(q::TokioRuntime)).unwrap()
}
