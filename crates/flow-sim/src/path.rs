//! What travels over the links.

use core::ops::Range;
use core::time::Duration;
use link_sim::{Ecn, IPV4_UDP_OVERHEAD, Packet};
use units::Bytes;

/// A packet's content.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    Data(Data),
    Ack(Ack),
}

/// A stretch of a flow's stream of bytes.
#[derive(Debug, Clone)]
pub(crate) struct Data {
    pub(crate) number: u64,
    pub(crate) span: Range<u64>,
}

/// What a receiver reports.
#[derive(Debug, Clone)]
pub(crate) struct Ack {
    /// Packet numbers received, ascending.
    pub(crate) ranges: Vec<Range<u64>>,
    /// How long the packet of the largest number waited for this report.
    pub(crate) delay: Duration,
    /// Packets that came marked Congestion Experienced, over the connection's life.
    pub(crate) ce_count: u64,
}

impl Content {
    pub(crate) fn data(data: Data, ecn: Ecn) -> Packet<Self> {
        let size = Bytes::new(data.span.end - data.span.start) + IPV4_UDP_OVERHEAD;
        Packet::new(size, Self::Data(data)).ecn(ecn)
    }

    pub(crate) fn ack(ack: Ack) -> Packet<Self> {
        Packet::new(ACK_PAYLOAD + IPV4_UDP_OVERHEAD, Self::Ack(ack))
    }
}

/// Of a UDP datagram with nothing but an ACK frame of a range or two: header 10, frame about 10,
/// authentication tag 16.
pub(crate) const ACK_PAYLOAD: Bytes = Bytes::new(36);
