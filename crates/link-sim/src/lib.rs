//! Network links as tc's netem describes them, without I/O, a clock or threads.
//!
//! One string describes a link, and the same link runs in virtual and in real time:
//!
//! ```text
//!  "delay 20ms loss 1% rate 100mbit queue 1bdp"
//!        │ parse
//!     LinkSpec ── build(base RTT, seed) ──▶ Link<T>
//!                                            │
//!  handle_packet(now, packet) ──▶ duplicate ─▶ loss ─▶ limit ─▶ queue ─▶ rate ─▶ reorder, delay
//!                                            │                                        │
//!  poll_timeout() ◀── when the next one is due                                        │
//!  poll_output(now) ◀── Delivery { packet, due } ◀────────────────────────────────────┘
//! ```
//!
//! A link holds packets of any payload `T`, takes its time as an argument and draws its random
//! numbers from a seed: the same calls give the same deliveries on every machine.
//!
//! ```
//! use core::time::Duration;
//! use link_sim::{Link, LinkSpec, Packet, IPV4_UDP_OVERHEAD};
//! use units::{Bytes, Timestamp};
//!
//! let spec: LinkSpec = "delay 10ms rate 8mbit queue 20p".parse()?;
//! let mut link: Link<&str> = spec.build(Duration::from_millis(10), 1);
//!
//! let size = Bytes::new(1_000) + IPV4_UDP_OVERHEAD;
//! link.handle_packet(Timestamp::ZERO, Packet::new(size, "hello"));
//!
//! let due = link.poll_timeout().expect("a packet is under way");
//! assert_eq!(due, Timestamp::ZERO + Duration::from_micros(1_042 + 10_000));
//! let delivery = link.poll_output(due).expect("it is due");
//! assert_eq!(delivery.packet.payload, "hello");
//! # Ok::<(), link_sim::SpecError>(())
//! ```
//!
//! The grammar, netem's exact semantics and every place where this crate differs are in
//! `docs/links.md`.
#![forbid(unsafe_code)]

#[cfg(all(feature = "relay", not(unix)))]
compile_error!("the relay runs on Unix; elsewhere take link-sim with default-features = false");

pub mod convert;
mod histogram;
mod link;
mod packet;
#[cfg(feature = "relay")]
pub mod program;
#[cfg(feature = "relay")]
mod realtime;
#[cfg(feature = "relay")]
pub mod relay;
pub mod sim;
mod spec;
mod stats;
#[cfg(all(feature = "relay", target_os = "linux"))]
pub mod tun;

pub use histogram::Histogram;
pub use link::Link;
pub use packet::{Delivery, Ecn, IPV4_UDP_OVERHEAD, IPV6_UDP_OVERHEAD, Packet};
#[cfg(feature = "relay")]
pub use realtime::Lateness;
pub use spec::{
    BuiltInTrace, DelayTrace, LINK_WORDS, LinkSpec, LinkWord, LossTrace, OPPORTUNITY,
    PingExpectation, Preset, RateTrace, SpecError, TcDevices, built_in_traces, presets,
};
pub use stats::{Count, Drops, LinkStats};

/// The examples of the crate's README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
