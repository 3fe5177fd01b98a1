//! The description of a link: words of tc's netem, and a few of our own where netem has none.

pub(crate) mod clauses;
mod error;
mod link_spec;
mod ping;
mod preset;
mod schedule;
mod tc;
mod trace;
mod values;
mod vocabulary;
mod words;

#[cfg(test)]
pub(crate) mod tests;

pub(crate) use clauses::aqm::{self, Aqm};
pub(crate) use clauses::chance::Chance;
pub(crate) use clauses::delay::{Delay, Distribution, NetemDelay};
pub(crate) use clauses::loss::{FourState, GilbertElliott, Loss, LossModel};
pub(crate) use clauses::queue::{Capacity, FULL_FRAME, Policer};
pub(crate) use clauses::radio::{Radio, Suspension};
pub(crate) use clauses::reorder::Reorder;
pub(crate) use clauses::service::{Rate, Service, TokenBucketFilter};
pub(crate) use clauses::slot::{Slot, SlotInterval};
pub(crate) use clauses::{Clauses, NETEM_LIMIT};
pub use error::SpecError;
pub use link_spec::LinkSpec;
pub use ping::PingExpectation;
pub use preset::{Preset, presets};
pub(crate) use schedule::Changes;
pub use tc::TcDevices;
pub use trace::{BuiltInTrace, DelayTrace, LossTrace, OPPORTUNITY, RateTrace, built_in_traces};
pub use vocabulary::{LINK_WORDS, LinkWord};
