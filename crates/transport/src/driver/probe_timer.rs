//! When a path that is silent is probed next.

use cc_core::PathState;
use std::time::Duration;
use units::Timestamp;

/// When a path that is silent is probed next.
#[derive(Debug)]
pub(super) struct ProbeTimer {
    /// Longest time between probes, if there is a bound.
    most: Option<Duration>,
    /// When a packet last left that the peer has to acknowledge.
    last_sent: Option<Timestamp>,
}

impl ProbeTimer {
    pub(super) fn new(most: Option<Duration>) -> Self {
        Self {
            most,
            last_sent: None,
        }
    }

    pub(super) fn is_off(&self) -> bool {
        self.most.is_none()
    }

    pub(super) fn on_sent(&mut self, leaves: Timestamp) {
        self.last_sent = Some(leaves);
    }

    /// When it is due, with something in flight.
    ///
    /// By the shortest round trip, not by the probe timeout: where ACKs were lost, a packet may be
    /// acknowledged by a probe of the peer's half a minute later, and that delay counts as a round
    /// trip (RFC 9002 §5.3). Timeouts of minutes come of that, without any backoff.
    pub(super) fn due(&self, path: &PathState) -> Option<Timestamp> {
        Some(self.last_sent? + self.most?.max(path.min_rtt? * 2))
    }
}
