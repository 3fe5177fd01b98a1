use super::capture::CaptureConfig;
use crate::spec::LinkSpec;
use std::net::SocketAddr;

/// What a relay connects and how.
#[derive(Debug, Clone)]
pub struct RelayConfig {
    /// Where clients send to; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The server that they reach.
    pub to: SocketAddr,
    /// From the clients to the server.
    pub link: LinkSpec,
    /// From the server to the clients.
    pub return_link: LinkSpec,
    /// For both links, which draw different numbers from it.
    pub seed: u64,
    /// Clients at a time; what comes from others is refused and counted. Each costs a file
    /// descriptor and up to 8 MiB in the kernel, for answers that were not read yet.
    pub max_clients: usize,
    /// Files for what is carried.
    pub capture: Option<CaptureConfig>,
}

impl RelayConfig {
    /// Links that hand everything on at once, seed 0, [`MAX_CLIENTS`](Self::MAX_CLIENTS), no
    /// capture.
    pub fn new(listen: SocketAddr, to: SocketAddr) -> Self {
        Self {
            listen,
            to,
            link: LinkSpec::default(),
            return_link: LinkSpec::default(),
            seed: 0,
            max_clients: Self::MAX_CLIENTS,
            capture: None,
        }
    }

    /// As many as a process has descriptors on most systems.
    pub const MAX_CLIENTS: usize = 1_024;
}

/// One of the two links of a relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The link from the clients.
    ToServer,
    /// The return link.
    ToClient,
}
