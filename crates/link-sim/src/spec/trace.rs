//! Recorded links: when packets may leave, how long each takes, and which are lost.

mod built_in;
mod delay;
mod file;
mod loss;
mod packed;
mod rate;
mod recorded;
mod text;

pub(super) use built_in::known_traces;
pub use built_in::{BuiltInTrace, built_in_traces};
pub use delay::DelayTrace;
pub(super) use file::{read_trace_file, text_of};
pub use loss::LossTrace;
pub use rate::{OPPORTUNITY, RateTrace};
pub(crate) use recorded::Recorded;
pub(super) use recorded::Recordings;
