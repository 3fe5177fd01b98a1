//! A small transport in virtual time: congestion control over emulated links, without QUIC.
//!
//! ```text
//!  App ─▶ Sender (cc_core::Flow, Pacer, loss detection) ─[access link]─▶ shared link ─▶ Receiver
//!              ▲                                                                           │
//!              └──────────────────────── return link ◀── acks ─────────────────────────────┘
//! ```
//!
//! That is where a flow goes that says nothing else. A scenario may name any number of further
//! links, and a flow the links of its data and those of its ACKs, so that flows share a part of
//! their ways, cross several bottlenecks or meet each other's ACKs:
//!
//! ```
//! # use core::time::Duration;
//! # use flow_sim::{Flow, Scenario};
//! let bottleneck = "rate 10mbit delay 5ms queue 1bdp";
//! let outcome = Scenario::new(bottleneck)
//!     .link("second", bottleneck)
//!     .return_link(bottleneck)
//!     .flow(Flow::of("cubic").via(&[Scenario::LINK, "second"]))
//!     .flow(Flow::of("cubic").via(&["second"]))
//!     .flow(Flow::of("bbr3").reversed())
//!     .run_for(Duration::from_secs(5));
//! let second = outcome.link_named("second");
//! assert!(second.arrived.packets > outcome.flow(1).packets_sent);
//! ```
//!
//! Unlike a real QUIC stack it tells a controller everything: exact packet numbers, ranges of
//! losses, losses that were none. Loss detection is RFC 9002's: a packet threshold of 3, a time
//! threshold of 9/8 RTT, probe timeouts, persistent congestion. Nothing but the seed is random.
//!
//! ```
//! use core::time::Duration;
//! use flow_sim::{Flow, Scenario};
//!
//! let outcome = Scenario::new("rate 10mbit delay 10ms queue 1bdp")
//!     .return_link("delay 10ms")
//!     .flow(Flow::of("new_reno").bytes(1_000_000))
//!     .run_for(Duration::from_secs(10));
//! assert_eq!(outcome.flow(0).delivered.get(), 1_000_000);
//! ```
//!
//! A test that fails prints its scenarios and their [seeds](crate::seed). The event loop is
//! [`link_sim::sim`], which watches links and routes while they run; after a run the books of both
//! ends are compared with them.

mod app;
mod check;
mod default_links;
mod flow;
mod host;
mod outcome;
mod path;
mod pauses;
mod persistent;
mod plan;
mod ranges;
mod receiver;
mod run;
mod scenario;
pub mod seed;
mod sender;
mod sent;
mod world;

pub use flow::{Acks, Flow};
pub use outcome::{FlowOutcome, Outcome, Packets, Point, StateVisit};
pub use run::Run;
pub use scenario::Scenario;
