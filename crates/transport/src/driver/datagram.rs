//! A datagram that has arrived.

use crate::tap::Head;
use quinn_proto::{ConnectionEvent, EcnCodepoint};
use std::net::SocketAddr;
use std::time::Instant;

/// What a caller knows of a datagram besides quinn-proto's event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Datagram {
    /// When the host had it, which may have been busy since.
    pub(super) came_at: Instant,
    pub(super) remote: SocketAddr,
    pub(super) mark: Option<EcnCodepoint>,
    pub(super) bytes: usize,
    pub(super) head: Option<Head>,
}

impl Datagram {
    /// `contents` have arrived from `remote` with this ECN mark.
    #[inline]
    pub(crate) fn new(
        came_at: Instant,
        remote: SocketAddr,
        mark: Option<EcnCodepoint>,
        contents: &[u8],
    ) -> Self {
        Self {
            came_at,
            remote,
            mark,
            bytes: contents.len(),
            head: Head::of(contents),
        }
    }
}

/// A datagram for quinn-proto, whose event has the time at which it came.
#[derive(Debug)]
pub(super) struct Arrived {
    pub(super) mark: Option<EcnCodepoint>,
    pub(super) bytes: usize,
    pub(super) event: ConnectionEvent,
}
