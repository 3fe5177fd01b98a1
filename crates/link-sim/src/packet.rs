use units::{Bytes, Timestamp};

/// One datagram on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet<T> {
    /// Length at layer 2, which is what `rate` and byte limits count: the UDP payload plus
    /// [`IPV4_UDP_OVERHEAD`] or [`IPV6_UDP_OVERHEAD`].
    pub size: Bytes,
    /// The codepoint in its IP header.
    pub ecn: Ecn,
    /// Names the flow that it belongs to, as a hash of addresses and ports would: fair queues
    /// serve flows in turn and look at nothing else.
    pub flow: u64,
    /// Whether the link has damaged it. The checksum of UDP, or a packet's authentication tag,
    /// tells the receiver.
    pub corrupted: bool,
    /// What the link carries without looking at it.
    pub payload: T,
}

impl<T> Packet<T> {
    /// An intact packet of flow 0 that is not ECN-capable.
    pub const fn new(size: Bytes, payload: T) -> Self {
        Self {
            size,
            ecn: Ecn::NotEct,
            flow: 0,
            corrupted: false,
            payload,
        }
    }

    /// The packet with this codepoint.
    #[must_use]
    pub fn ecn(self, ecn: Ecn) -> Self {
        Self { ecn, ..self }
    }

    /// The packet as one of this flow.
    #[must_use]
    pub fn flow(self, flow: u64) -> Self {
        Self { flow, ..self }
    }

    /// The packet with another payload, made of its own.
    #[must_use]
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Packet<U> {
        Packet {
            size: self.size,
            ecn: self.ecn,
            flow: self.flow,
            corrupted: self.corrupted,
            payload: change(self.payload),
        }
    }
}

/// A packet that has reached the far end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery<T> {
    /// When the link let go of it. In real time, now − `due` is how late the host is.
    pub due: Timestamp,
    /// The packet.
    pub packet: Packet<T>,
}

/// The ECN field of an IP header (RFC 3168, section 5; RFC 9331 for ECT(1)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Ecn {
    /// The sender does not react to marks.
    #[default]
    NotEct,
    /// ECN-capable, classic.
    Ect0,
    /// ECN-capable, L4S.
    Ect1,
    /// Congestion experienced.
    Ce,
}

/// What Ethernet (14, without preamble and check sequence), IPv4 (20) and UDP (8) add to a UDP
/// payload: the length that a kernel's queueing discipline sees on a veth or an Ethernet device.
pub const IPV4_UDP_OVERHEAD: Bytes = Bytes::new(14 + 20 + 8);

/// As [`IPV4_UDP_OVERHEAD`], with an IPv6 header of 40 bytes.
pub const IPV6_UDP_OVERHEAD: Bytes = Bytes::new(14 + 40 + 8);
