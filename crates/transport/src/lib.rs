//! See DESIGN.

mod cc_adapter;
mod clock;
mod driver;
mod gate;
mod stats;

pub use stats::{ConnectionStats, FrameStats, LimitedBy, PathStats, UdpStats};
