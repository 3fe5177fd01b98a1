//! The application on this library.

#[path = "application.rs"]
#[expect(clippy::duplicate_mod, reason = "one source on two libraries")]
pub(crate) mod application;

use ::paceline as q;
use std::net::UdpSocket;

/// No runtime but the one that this is called in.
pub(crate) fn endpoint(server: Option<q::ServerConfig>, socket: UdpSocket) -> q::Endpoint {
    q::Endpoint::new(q::EndpointConfig::default(), server, socket).unwrap()
}
