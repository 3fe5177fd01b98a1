//! Servers behind a load balancer.
//!
//! ```text
//!              ┌── reads the server ID in each packet's connection ID, and nothing else ──┐
//!  clients ──▶ │ balancer: CidDecoder, or any that speaks QUIC-LB                         │
//!              └──┬────────────────────┬────────────────────┬─────────────────────────────┘
//!              server 01            server 02            server 03
//!              ConnectionIds        ConnectionIds        ConnectionIds     write that server ID
//! ```
//!
//! A client may change its address while it keeps its connection. A balancer that routes by
//! addresses sends it to another server then; one that reads the server ID out of the connection
//! ID does not. How that is written is draft-ietf-quic-load-balancers-21, QUIC-LB, whose sections
//! are meant by § in this module, from §3 to §9. [`CidConfig`] is what all agree on,
//! [`ConnectionIds`] is what a server has, [`CidDecoder`] what a balancer has.
//!
//! A new connection comes to any server, so each has to take what another has given out:
//!
//! | what a client brings | what servers share |
//! |---|---|
//! | the token of a Retry or of an earlier connection | [`Secrets::token_key`] |
//! | a TLS ticket, to resume a session | [`Secrets::ticketer`] |
//! | a TLS ticket and 0-RTT data | [`Sessions`] |
//! | a packet of a connection that its server has lost | [`Secrets::reset_key`] |
//!
//! [`Endpoint::drain`](crate::Endpoint::drain) takes a server out of service. `docs/deployment.md`
//! is about all this in operation.
//!
//! ```
//! use paceline::quic_lb::{CidConfig, ConnectionIds, Secrets};
//! use paceline::{Endpoint, EndpointConfig, tls::SelfSigned};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let file = format!("overlap 86400\nreset {0}\nepoch 1 from 0 {0}", "07".repeat(32));
//! let config = CidConfig::encrypted(0, 4, 12, *b"sixteen octets!!")?;
//! let ids = ConnectionIds::new(config, "0000002a".parse()?)?;
//! let secrets = Secrets::new(file.as_bytes())?;
//!
//! let mut endpoint = EndpointConfig::default();
//! ids.install(&mut endpoint);
//! endpoint.reset_key(secrets.reset_key(&ids));
//! let certificate = SelfSigned::generate(["localhost"])?;
//! let mut server = certificate.server().tickets(secrets.ticketer()).config()?;
//! server.token_key(secrets.token_key());
//!
//! let socket = std::net::UdpSocket::bind("127.0.0.1:0")?;
//! let endpoint = Endpoint::new(endpoint, Some(server), socket)?;
//! # Ok(())
//! # }
//! ```

mod cid_cipher;
mod cid_config;
mod cid_decoder;
mod connection_ids;
mod hex;
mod nonces;
mod reset;
mod sealing;
mod secrets;
mod sessions;

pub use cid_config::{CidConfig, CidConfigError, ServerId};
pub use cid_decoder::CidDecoder;
pub use connection_ids::ConnectionIds;
pub use secrets::{Secrets, SecretsError};
pub use sessions::Sessions;
