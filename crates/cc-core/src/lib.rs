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

mod ack_aggregation;
mod bbr;
mod bbr1;
mod bbr2;
mod bbr3;
mod bbr_v1;
mod bbrplus;
mod brutal;
mod carry;
mod control;
mod controller;
mod copa;
mod cubic;
mod cwnd;
mod cwnd_pacing;
mod delivery_rate;
mod event;
mod fast_recovery;
mod filter;
mod fixed;
mod fixed_rate;
mod flow;
#[cfg(test)]
mod flow_driver;
mod full_pipe;
mod hystart;
mod ledbat_pp;
mod loss_based;
mod new_reno;
mod observe;
mod pacer;
mod prague;
mod prr;
mod recovery;
mod registry;
mod round;
mod rtt;
mod sliding_min;
#[cfg(test)]
mod test_driver;
mod transition;

pub use control::Control;
pub use controller::{Controller, PathState, Setup, initial_window};
pub use delivery_rate::RateSample;
pub use event::{AckedPacket, Feedback, LostPacket, PacketStamp};
pub use flow::Flow;
pub use observe::{Event, Observer, Snapshot};
pub use pacer::Pacer;
pub use registry::{
    ChooseError, ControllerChoice, ControllerSpec, ParamSpec, Params, Range, Registry, Value,
};

/// The controllers of this crate, in the order in which they are listed.
const STANDARD: &[ControllerSpec] = &[
    cubic::SPEC,
    new_reno::SPEC,
    bbr3::SPEC,
    bbr2::SPEC,
    bbr1::SPEC,
    bbrplus::SPEC,
    copa::SPEC,
    prague::SPEC,
    ledbat_pp::SPEC,
    brutal::SPEC,
    fixed::SPEC,
];
