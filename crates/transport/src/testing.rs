//! Applications and QUIC endpoints in virtual time (feature `testing`).
//!
//! A [`Simulation`] runs a whole application, as its own tests need it. What follows is for tests
//! of the transport, which drive connections themselves and look inside.
//!
//! ```text
//!  client { quinn-proto, ConnectionDriver } ──▶ link ▶ link … ──▶ server { quinn-proto,
//!                                           ◀── … link ◀ link ◀──          ConnectionDriver }
//! ```
//!
//! Handshake, encryption, acknowledgements, loss recovery, congestion control and pacing are those
//! that ship; only sockets, timers and the clock are replaced. The same configuration and seed give
//! the same packets at the same times on every machine, whatever the keys were. Encryption changes
//! nothing of that and is a quarter of the work: [`World::unencrypted`] spares it.
//!
//! A [`Pair`] is one connection over one link each way:
//!
//! ```
//! use std::time::Duration;
//! use paceline::testing::{Load, Pair, PairConfig, Side};
//!
//! let mut config = PairConfig::default();
//! config.link = "delay 20ms rate 10mbit queue 1bdp".parse()?;
//! let mut pair = Pair::new(&config)?;
//! pair.connect(Duration::from_secs(1))?;
//! pair.send(Side::Client, Load::Bytes(1_000_000));
//! pair.run_for(Duration::from_secs(2));
//!
//! assert_eq!(pair.received(Side::Server).get(), 1_000_000);
//! assert!(pair.stats(Side::Client).path.sent_packets > 690);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`World`] has any number of them over links that they share in whole or in part, each with
//! its own controllers, start and loads. Here the second joins a second later and sends the other
//! way, so that its data shares the links with the first one's acknowledgements:
//!
//! ```
//! use std::time::Duration;
//! use paceline::testing::{ConnectionPlan, Load, World};
//!
//! let mut world = World::new(1);
//! let link = "delay 10ms rate 20mbit queue 1bdp".parse()?;
//! let (there, back) = world.add_links(&link, &link)?;
//! let plan = ConnectionPlan {
//!     there: vec![there],
//!     back: vec![back],
//!     ..ConnectionPlan::default()
//! };
//! let first = world.add_connection(&ConnectionPlan {
//!     client_load: Some(Load::Endless),
//!     ..plan.clone()
//! });
//! let second = world.add_connection(&ConnectionPlan {
//!     start: Duration::from_secs(1),
//!     server_load: Some(Load::Endless),
//!     ..plan
//! });
//! world.run_until(Duration::from_secs(3));
//!
//! assert!(world.received(first.server).get() > 5_000_000);
//! assert!(world.received(second.client).get() > 3_000_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod acks;
mod application;
mod certificate;
mod codepoint;
mod endpoint;
mod engine;
mod host;
mod host_hooks;
mod live;
mod outgoing;
mod pair;
mod plaintext;
mod simulation;
mod watch;
mod world;

pub use crate::cc_adapter::{Fact, PacketId};
pub use acks::{AckRead, ReadAcks, read_acks};
pub use application::Load;
pub use engine::PlainQuinn;
pub use link_sim::sim::{LinkId, RouteStats};
pub use link_sim::{LinkSpec, LinkStats, SpecError};
pub use pair::{Pair, PairConfig};
pub use plaintext::plaintext_suite;
pub use quinn_proto::Side;
pub use simulation::Simulation;
pub use watch::{Datagram, Departure};
pub use world::{ConnectError, ConnectionPlan, EndId, Ends, World};
