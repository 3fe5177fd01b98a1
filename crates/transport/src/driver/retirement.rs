//! Connection IDs that the peer has retired, until no packet with them is on its way any more.
//!
//! Where a path reorders, the frame that retires an ID overtakes packets that left before it with
//! that ID. quinn-proto forgets the ID with the frame, and answers such a packet with a stateless
//! reset, although it belongs to a connection that lives. A peer should not heed the reset (RFC
//! 9000 §10.3.1), but s2n-quic does until its frame is acknowledged; and the packet is lost. So
//! while the number of a packet is missing, the endpoint hears of a retirement no sooner than after
//! three probe timeouts, which is how long packets of a connection that closes are expected (RFC
//! 9000 §10.2). Until then the ID leads here, and the peer does not get the one that takes its
//! place.

use super::retired_ids::RetiredIds;
use super::state::ConnectionDriver;
use crate::clock;
use crate::quinn_proto_habits::is_retirement;
use quinn_proto::EndpointEvent;

impl ConnectionDriver {
    /// The next event for quinn-proto's endpoint.
    pub(crate) fn poll_endpoint_event(&mut self) -> Option<EndpointEvent> {
        let now = clock::timestamp(self.now);
        while let Some(event) = self.conn.poll_endpoint_events() {
            if is_retirement(&event) && self.congestion.tap().has_gaps() {
                let due = now + self.probe_timeout() * 3;
                self.arrivals.retired_ids.push(due, event);
                continue;
            }
            if event.is_drained() {
                // The endpoint forgets the connection with all its IDs.
                self.arrivals.retired_ids = RetiredIds::default();
            }
            return Some(event);
        }
        self.arrivals.retired_ids.pop(now)
    }
}
