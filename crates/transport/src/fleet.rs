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
//! A client may change its address while it keeps its connection. A balancer that goes by
//! addresses sends it to a stranger then; one that reads the server ID out of the connection ID
//! does not. How that is written is draft-ietf-quic-load-balancers-21, QUIC-LB, whose sections are
//! meant by § in this module. [`CidConfig`] is what all agree on, [`ConnectionIds`] is what a
//! server has, [`CidDecoder`] what a balancer has.
//!
//! ```
//! use transport::EndpointConfig;
//! use transport::fleet::{CidConfig, ConnectionIds};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let config = CidConfig::encrypted(0, 4, 12, *b"sixteen octets!!")?;
//! let ids = ConnectionIds::new(config, "0000002a".parse()?)?;
//! let mut endpoint = EndpointConfig::default();
//! ids.install(&mut endpoint);
//! # Ok(())
//! # }
//! ```

mod cid_cipher;
mod cid_config;
mod cid_decoder;
mod connection_ids;
mod hex;
mod nonces;

pub use cid_config::{CidConfig, CidConfigError, ServerId};
pub use cid_decoder::CidDecoder;
pub use connection_ids::ConnectionIds;
