//! The decision that comes out.

use units::{Bandwidth, Bytes};

/// What a sender may do from now on. Nobody else derives a rate or a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Control {
    /// Congestion window: the most bytes that may be in flight.
    pub cwnd: Bytes,
    /// Rate at which bytes may leave; [`Bandwidth::MAX`] means as fast as the window allows.
    pub pacing_rate: Bandwidth,
    /// Most bytes that may leave in one burst: the depth of the pacer's token bucket.
    pub send_quantum: Bytes,
}

impl Control {
    /// Sends `cwnd` as it comes, without pacing.
    pub const fn unpaced(cwnd: Bytes) -> Self {
        Self {
            cwnd,
            pacing_rate: Bandwidth::MAX,
            send_quantum: Bytes::MAX,
        }
    }
}
