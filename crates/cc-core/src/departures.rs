//! Which packets leave right after another.

use crate::control::Control;
use crate::controller::PathState;
use units::{Bytes, Timestamp};

/// When the newest packet left.
#[derive(Debug)]
pub(crate) struct Departures {
    newest: Option<Timestamp>,
    /// Whether the transport keeps one stamp for several packets.
    pub(crate) share_stamps: bool,
}

impl Departures {
    pub(crate) fn new(share_stamps: bool) -> Self {
        Self {
            newest: None,
            share_stamps,
        }
    }

    /// A packet of `bytes` leaves at `departure`, or at once if that is before now. Returns when,
    /// and sets [`PathState::is_back_to_back`].
    #[inline]
    pub(crate) fn on_sent(
        &mut self,
        departure: Timestamp,
        bytes: Bytes,
        control: &Control,
        path: &mut PathState,
    ) -> Timestamp {
        let departure = departure.max(path.now);
        let last = self.newest.replace(departure);
        let follows = |last| {
            let gap = departure.since(last);
            gap.is_zero() || control.pacing_rate.bytes_in(gap * GAPS) <= bytes
        };
        path.is_back_to_back = !self.share_stamps && last.is_some_and(follows);
        departure
    }
}

/// What leaves within an eighth of a packet's time at the pacing rate has not been paced.
const GAPS: u32 = 8;
