//! The output: window, pacing rate and burst size.

use core::time::Duration;
use units::{Bandwidth, Bytes};

/// What a sender may do from now on. No other code derives a rate or a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Control {
    /// Congestion window: the most bytes that may be in flight.
    pub cwnd: Bytes,
    /// Rate at which bytes may leave; [`Bandwidth::MAX`] means as fast as the window allows.
    pub pacing_rate: Bandwidth,
    /// The most bytes that may leave in one burst: the depth of the pacer's token bucket.
    pub send_quantum: Bytes,
}

impl Control {
    /// Sends `cwnd` as it comes, without pacing.
    #[inline]
    pub const fn unpaced(cwnd: Bytes) -> Self {
        Self {
            cwnd,
            pacing_rate: Bandwidth::MAX,
            send_quantum: Bytes::MAX,
        }
    }

    /// Puts `by` in its place; whether that is a change.
    ///
    /// Word by word: to copy words that were just written one by one, the processor waits until
    /// they have reached its cache.
    #[inline]
    pub(crate) fn replace(&mut self, by: Self) -> bool {
        replace(&mut self.cwnd, by.cwnd)
            | replace(&mut self.pacing_rate, by.pacing_rate)
            | replace(&mut self.send_quantum, by.send_quantum)
    }
}

#[inline]
fn replace<T: PartialEq>(value: &mut T, by: T) -> bool {
    let is_new = *value != by;
    if is_new {
        *value = by;
    }
    is_new
}

/// What a sender of this rate may let leave at once: a millisecond's worth, `least` at least and at
/// most what one segmentation-offload call takes (draft-ietf-ccwg-bbr-06 §5.6.3), or what leaves in
/// [`TIMER_TIME`], if that is more, to [`MAX_QUANTUM`]. The draft leaves the choice to the sender's
/// overheads: above 2 Gbit/s the bucket would otherwise overflow while a timer of user space is
/// late.
#[inline]
pub(crate) fn send_quantum(rate: Bandwidth, least: Bytes) -> Bytes {
    (rate * QUANTUM_TIME)
        .min((rate * TIMER_TIME).clamp(OFFLOAD_BYTES, MAX_QUANTUM))
        .max(least)
}

/// The minimum rate that a controller asks for or a pacer obeys: a round-trip time of hours, as of
/// a host that slept, would round it down to zero. A bucket that never fills ends the connection;
/// one byte a second only starves it.
pub(crate) const MIN_RATE: Bandwidth = Bandwidth::from_bytes_per_sec(1);

const QUANTUM_TIME: Duration = Duration::from_millis(1);
const OFFLOAD_BYTES: Bytes = Bytes::new(64 * 1024);
const MAX_QUANTUM: Bytes = Bytes::new(256 * 1024);
/// A pacer has itself woken when its bucket is half full: a timer may be late by half of this.
const TIMER_TIME: Duration = Duration::from_micros(250);
