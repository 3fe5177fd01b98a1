use crate::packet::Packet;
use units::Timestamp;

/// A packet that has reached the far end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery<T> {
    /// When the link let go of it. In real time, now − `due` is how late the host is.
    pub due: Timestamp,
    /// The packet.
    pub packet: Packet<T>,
}
