use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Files for what a relay carries: pcap with nanoseconds, raw IP packets whose headers are those
/// that the datagrams have outside of the relay. Their times are those of arrival and departure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureConfig {
    /// What clients send before the link, and what they get behind the return link.
    pub client_side: PathBuf,
    /// What the server gets behind the link, and what it sends before the return link.
    pub server_side: PathBuf,
    /// Bytes kept of each IP packet, its headers included.
    pub snap_length: u32,
}

impl CaptureConfig {
    /// Whole packets, in `PREFIX-client.pcap` and `PREFIX-server.pcap`. Files that are there are
    /// overwritten.
    pub fn with_prefix(prefix: &Path) -> Self {
        let file = |side: &str| {
            let mut name = OsString::from(prefix);
            name.push(side);
            PathBuf::from(name)
        };
        Self {
            client_side: file("-client.pcap"),
            server_side: file("-server.pcap"),
            snap_length: Self::WHOLE,
        }
    }

    /// A [`snap_length`](Self::snap_length) that cuts nothing off: tcpdump's.
    pub const WHOLE: u32 = 262_144;
}

/// How far a capture has come.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CaptureStats {
    /// Packets in the file of the clients' side.
    pub client_side: u64,
    /// Packets in the file of the server's side.
    pub server_side: u64,
    /// Packets that are in neither, because the disk did not keep up or failed.
    pub dropped: u64,
    /// Why nothing is written any more.
    pub error: Option<String>,
}
