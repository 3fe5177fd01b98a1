//! Congestion control without a network: facts in, decisions out.
//!
//! ```text
//!  Feedback { acked, lost, rtt, ce }
//!      │
//!  Flow ── delivery-rate sampler ── RateSample ──▶ Controller ──▶ Control { cwnd,
//!      │                                            │               pacing_rate,
//!      └─▶ PacketStamp on each send                 └─▶ Observer    send_quantum }
//!                                                                     │
//!                                              Pacer: "n bytes now" / "not before t"
//! ```
//!
//! The crate knows no socket, no clock, no log and no QUIC. Time, randomness and configuration
//! come in as arguments, so a run is a function of its inputs and its seed. Nothing allocates
//! after construction.
//!
//! A [`Controller`] is chosen from a [`Registry`] by a string, `cubic` or
//! `bbr3:loss_thresh=5%`. A transport makes one [`Flow`] and one [`Pacer`] per connection:
//!
//! ```
//! use cc_core::{AckedPacket, Feedback, Flow, Pacer, Registry, Setup};
//! use core::time::Duration;
//! use units::{Bytes, Timestamp};
//!
//! let start = Timestamp::ZERO;
//! let mss = Bytes::new(1_200);
//! let setup = Setup::new(start, mss, 7);
//! let choice = Registry::standard().choose("new_reno")?;
//! let mut flow = Flow::new(choice.build(&setup), &setup);
//! let mut pacer = Pacer::new(start, flow.control(), mss);
//!
//! assert!(pacer.budget(start) >= mss);
//! let stamp = flow.on_sent(start, mss);
//! pacer.on_sent(start, mss);
//!
//! let now = start + Duration::from_millis(40);
//! let acked = [AckedPacket { stamp, bytes: mss }];
//! let rtt = Some(Duration::from_millis(40));
//! flow.on_feedback(&Feedback { acked: &acked, rtt, ..Feedback::at(now) }, &mut ());
//! pacer.set_control(now, flow.control(), mss);
//! assert!(flow.path_state().inflight.is_zero());
//! # Ok::<(), cc_core::ChooseError>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod control;
mod controller;
mod controllers;
mod departures;
mod events;
mod flow;
mod observer;
mod pacer;
mod params;
mod parts;
mod registry;
mod resume;
mod resume_phase;
mod rtt;
mod sampler;
mod saved_path;
#[cfg(test)]
mod tests;
mod utilization;

pub use control::Control;
pub use controller::{Controller, PathState, ResumedWindow, Setup, initial_window};
pub use events::{AckedPacket, Feedback, LostPacket, PacketStamp};
pub use flow::Flow;
pub use observer::{Event, Observer, Snapshot};
pub use pacer::Pacer;
pub use params::{ParamSpec, Params, Range, Value};
pub use registry::{ChooseError, ControllerChoice, ControllerSpec, Registry, SharedSpec};
pub use resume::ResumePlan;
pub use resume_phase::{ResumePhase, ResumePhaseChange, ResumeTrigger};
pub use sampler::RateSample;
pub use saved_path::SavedPath;

/// The examples of the crate's README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
