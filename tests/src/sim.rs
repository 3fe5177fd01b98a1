//! A small transport in virtual time: congestion control over emulated links, without QUIC.
//!
//! ```text
//!  App ─▶ Sender (cc_core::Flow, Pacer, loss detection) ─[access link]─▶ shared link ─▶ Receiver
//!              ▲                                                                           │
//!              └──────────────────────── return link ◀── acks ─────────────────────────────┘
//! ```
//!
//! Unlike a real QUIC stack it tells a controller everything: exact packet numbers, ranges of
//! losses, losses that were none. Loss detection is RFC 9002's: a packet threshold of 3, a time
//! threshold of 9/8 RTT, probe timeouts, persistent congestion. Nothing but the seed is random.
//!
//! ```
//! use core::time::Duration;
//! use e2e::sim::{Flow, Scenario};
//!
//! let outcome = Scenario::new("rate 10mbit delay 10ms queue 1bdp")
//!     .return_link("delay 10ms")
//!     .flow(Flow::of("new_reno").bytes(1_000_000))
//!     .run_for(Duration::from_secs(10));
//! assert_eq!(outcome.flow(0).delivered.get(), 1_000_000);
//! ```
//!
//! An [`Outcome`] that is dropped by a failing test prints the scenario and its seed; the
//! environment variable `PACELINE_SEED` overrides every seed. The event loop is
//! [`link_sim::sim`], which watches the links while they run; after a run the books of both ends
//! are compared.

mod app;
mod check;
mod flow;
mod outcome;
mod path;
mod persistent;
mod ranges;
mod receiver;
mod scenario;
mod sender;
mod sent;
mod world;

pub use flow::{Acks, Flow};
pub use outcome::{FlowOutcome, Outcome, Point, StateVisit};
pub use scenario::Scenario;
