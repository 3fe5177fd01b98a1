use crate::packet::Packet;
use units::Timestamp;

/// Something that sends and receives packets: a transport endpoint, a traffic source, a sink.
///
/// After every call to one of the `handle_` methods the simulator calls
/// [`poll_transmit`](Self::poll_transmit) until it answers `None`, then
/// [`poll_timeout`](Self::poll_timeout).
pub trait Node {
    /// What its packets carry.
    type Payload: Clone;

    /// A packet has come, undamaged: what a link corrupted fails its checksum and comes nowhere.
    fn handle_packet(&mut self, now: Timestamp, from: NodeId, packet: Packet<Self::Payload>);

    /// The time that `poll_timeout` named has come.
    fn handle_timeout(&mut self, now: Timestamp);

    /// When this node wants [`handle_timeout`](Self::handle_timeout) next. A node that begins by
    /// itself names the time at which it begins.
    fn poll_timeout(&self) -> Option<Timestamp>;

    /// The next packet this node sends now.
    fn poll_transmit(&mut self, now: Timestamp) -> Option<Transmit<Self::Payload>>;
}

/// A packet and the node it is for.
#[derive(Debug, Clone)]
pub struct Transmit<P> {
    /// Its destination, to which there must be a route.
    pub to: NodeId,
    /// The packet. Packets on different routes are of different flows, whatever it says; within a
    /// route its `flow` tells them apart.
    pub packet: Packet<P>,
}

/// Names a node of one simulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(super) usize);

/// Names a link of one simulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub(super) usize);
