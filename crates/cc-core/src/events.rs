//! The inputs: what a transport reports about its packets.

use core::time::Duration;
use units::{Bytes, Timestamp};

/// What was true of a connection when a packet left: made by
/// [`Flow::on_sent`](crate::Flow::on_sent), kept by the transport beside the packet, handed back
/// with its acknowledgement or loss.
///
/// The names follow draft-ietf-ccwg-bbr-06 §4.1.2 ("P.…"). A transport that cannot keep one stamp
/// per packet may share one among packets that left at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketStamp {
    /// Position in the order of sending, which breaks ties between packets of equal send time.
    pub sequence: u64,
    /// When the packet left.
    pub sent_at: Timestamp,
    /// When the first packet of the flight left that the newest acknowledged packet ended.
    pub first_sent_at: Timestamp,
    /// Bytes delivered over the connection's life until the packet left.
    pub delivered: Bytes,
    /// When `delivered` was last raised.
    pub delivered_at: Timestamp,
    /// Bytes declared lost over the connection's life until the packet left.
    pub lost: Bytes,
    /// Bytes in flight right after the packet left, the packet included.
    pub tx_in_flight: Bytes,
    /// Whether the application, not the network, limited the rate at which packets left.
    pub is_app_limited: bool,
    /// [`PathState::is_back_to_back`](crate::PathState::is_back_to_back) when the packet left.
    pub is_back_to_back: bool,
}

/// A packet that the peer has received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckedPacket {
    /// The stamp it got when it left.
    pub stamp: PacketStamp,
    /// Its size as it was counted in flight.
    pub bytes: Bytes,
}

/// A packet that the transport has declared lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostPacket {
    /// The stamp it got when it left.
    pub stamp: PacketStamp,
    /// Its size as it was counted in flight.
    pub bytes: Bytes,
    /// Whether it starts a range: the packet sent just before it was not declared lost with it.
    pub starts_range: bool,
}

/// What one received ACK, or one expiry of the loss timer, has reported.
#[derive(Debug, Clone, Copy)]
pub struct Feedback<'a> {
    /// When it was received: by the host, where the transport knows, since a busy host reads it
    /// later. A time before that of an earlier event counts as that.
    pub now: Timestamp,
    /// Packets newly acknowledged, in any order.
    pub acked: &'a [AckedPacket],
    /// Packets newly declared lost, in the order in which they left.
    pub lost: &'a [LostPacket],
    /// Round-trip time of the newest acknowledged packet, if the ACK gave a sample (RFC 9002 §5.1),
    /// less the peer's reported delay.
    pub rtt: Option<Duration>,
    /// Packets newly reported as marked Congestion Experienced (RFC 3168).
    pub ce_marked: u64,
    /// Whether the losses establish persistent congestion (RFC 9002 §7.6).
    pub is_persistent_congestion: bool,
    /// Bytes in flight after all this as the transport counts them, if it does. The
    /// [`Flow`](crate::Flow) adopts it.
    pub inflight: Option<Bytes>,
}

impl Feedback<'_> {
    /// Feedback that reports nothing yet.
    pub const fn at(now: Timestamp) -> Self {
        Feedback {
            now,
            acked: &[],
            lost: &[],
            rtt: None,
            ce_marked: 0,
            is_persistent_congestion: false,
            inflight: None,
        }
    }
}
