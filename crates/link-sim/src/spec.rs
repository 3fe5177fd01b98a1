//! The description of a link: words of tc's netem, and a few of our own where netem has none.
//!
//! One file per clause: its type, how it is read and how it is written.

pub(crate) mod aqm;
mod chance;
mod clauses;
mod delay;
mod error;
mod link_spec;
mod loss;
mod ping;
mod preset;
mod queue;
mod radio;
mod reorder;
mod schedule;
mod service;
mod slot;
mod tc;
mod trace;
mod unsupported;
mod values;
mod vocabulary;
mod words;

#[cfg(test)]
pub(crate) mod tests;

pub(crate) use aqm::Aqm;
pub(crate) use chance::Chance;
pub(crate) use clauses::{Clauses, NETEM_LIMIT};
pub(crate) use delay::{Delay, Distribution};
pub use error::SpecError;
pub use link_spec::LinkSpec;
pub(crate) use loss::{FourState, GilbertElliott, Loss, LossModel};
pub use ping::PingExpectation;
pub use preset::{Preset, presets};
pub(crate) use queue::{Capacity, FULL_FRAME, Policer};
pub(crate) use radio::{Radio, Suspension};
pub(crate) use reorder::Reorder;
pub(crate) use schedule::Changes;
pub(crate) use service::{Rate, Service, TokenBucketFilter};
pub(crate) use slot::{Slot, SlotInterval};
pub use tc::TcDevices;
pub(crate) use trace::{OPPORTUNITY, Trace};
pub use vocabulary::{LINK_WORDS, LinkWord};
