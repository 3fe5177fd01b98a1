//! What a test sees of an endpoint's datagrams, and may change.

use link_sim::Ecn;
use units::{Bytes, Timestamp};

/// A batch of datagrams that leaves at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// When.
    pub at: Timestamp,
    /// UDP payload of all its datagrams.
    pub bytes: Bytes,
    /// Number of datagrams.
    pub datagrams: u64,
    /// Bytes in flight, the batch included.
    pub in_flight: Bytes,
    /// The congestion window.
    pub cwnd: Bytes,
}

/// A datagram at one end of its way.
#[derive(Debug, Clone, Copy)]
pub enum Datagram<'a> {
    /// It leaves its endpoint; whether it gets anywhere is the network's business.
    Leaves {
        /// When.
        at: Timestamp,
        /// UDP payload.
        payload: &'a [u8],
    },
    /// It arrives at an endpoint.
    Arrives {
        /// When.
        at: Timestamp,
        /// UDP payload.
        payload: &'a [u8],
        /// With which codepoint.
        ecn: Ecn,
    },
}

/// Called for each departure.
pub(super) type Watch = Box<dyn FnMut(&Departure)>;

/// Called for each datagram.
pub(super) type DatagramWatch = Box<dyn FnMut(Datagram<'_>)>;

/// Puts other datagrams, or none, in the place of one.
pub(super) type Tamper = Box<dyn FnMut(Vec<u8>) -> Vec<Vec<u8>>>;

/// Called for each datagram of the application (RFC 9221) that arrives.
pub(super) type ReceivedWatch = Box<dyn FnMut(Timestamp, bytes::Bytes)>;
