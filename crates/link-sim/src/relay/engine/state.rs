use crate::link::Link;
use crate::packet::{Delivery, Packet};
use crate::realtime::Clock;
use crate::relay::batch_socket::{BatchSocket, Buffers};
use crate::relay::capture::Capture;
use crate::relay::clients::Clients;
use crate::relay::config::Direction;
use crate::relay::datagram::Datagram;
use crate::relay::pool::Pool;
use crate::relay::stats::RelayStats;
use crate::spec::LinkSpec;
use std::net::SocketAddr;
use units::{Rng, Timestamp};

/// Both links and the sockets at their ends.
#[derive(Debug)]
pub(in crate::relay) struct Engine {
    pub(super) clock: Clock,
    pub(super) listener: BatchSocket,
    pub(super) listen_addr: SocketAddr,
    pub(super) clients: Clients,
    pub(super) server: SocketAddr,
    pub(super) link: ActiveLink,
    pub(super) return_link: ActiveLink,
    pub(super) damage: Rng,
    pub(super) next_sweep: Timestamp,
    pub(super) buffers: Buffers,
    pub(super) pool: Pool,
    pub(super) answers: Vec<(Timestamp, Packet<Datagram>)>,
    pub(super) due: Vec<Delivery<Datagram>>,
    /// Segments that leave together, one behind the other.
    pub(super) segments: Vec<u8>,
    pub(super) capture: Option<Capture>,
    pub(super) stats: RelayStats,
}

#[derive(Debug)]
pub(super) struct ActiveLink {
    pub(super) link: Link<Datagram>,
    pub(super) spec: LinkSpec,
}

impl Engine {
    pub(super) fn active_link(&mut self, direction: Direction) -> &mut ActiveLink {
        match direction {
            Direction::ToServer => &mut self.link,
            Direction::ToClient => &mut self.return_link,
        }
    }
}
