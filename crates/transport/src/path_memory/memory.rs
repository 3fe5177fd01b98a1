//! A memory, and its bytes.

use super::error::{ENCODED, PathMemoryError, VERSION, wrong};
use super::network::Network;
use crate::clock;
use crate::lock::{Locked, Rank};
use cc_core::SavedPath;
use std::net::IpAddr;
use std::time::Duration;
use units::Bytes;

/// What a connection has learned of its path, for a later one to the same peer.
///
/// Two things: the capacity in use with the minimum round-trip time, where this side has sent
/// enough (RFC 9959 §3.1), and the flow-control window that it has granted, where that has grown
/// (§4.8). [`Connection::path_memory`](crate::Connection::path_memory) gives it, and
/// [`TransportConfig::path_memory`](crate::TransportConfig::path_memory) uses it. It names no host,
/// only the peer's network.
///
/// [`to_bytes`](Self::to_bytes) is for files and databases. Whoever can write to them decides how
/// fast a connection begins, within the bounds of RFC 9959; keep them as you keep session tickets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathMemory {
    pub(crate) saved: Option<SavedPath>,
    pub(crate) receive_window: Option<u64>,
    /// Seconds since 1970.
    pub(crate) saved_at: u64,
    pub(crate) network: Network,
}

/// Where it waits for the connection that resumes from it.
impl Locked for Option<PathMemory> {
    const RANK: Rank = Rank::PathMemory;
}

impl PathMemory {
    /// So much is known of the path to `remote` as of now.
    pub fn new(saved: SavedPath, remote: IpAddr) -> Self {
        Self::observed(Some(saved), None, remote).expect("there is a capacity")
    }

    /// `None` if nothing is known.
    pub(crate) fn observed(
        saved: Option<SavedPath>,
        receive_window: Option<u64>,
        remote: IpAddr,
    ) -> Option<Self> {
        let is_any = saved.is_some() || receive_window.is_some();
        is_any.then(|| Self {
            saved: saved.map(|saved| SavedPath {
                capacity: saved.capacity.min(Bytes::new(MAX_CAPACITY)),
                min_rtt: saved.min_rtt.min(MAX_RTT),
            }),
            receive_window: receive_window.map(|bytes| bytes.min(MAX_CAPACITY)),
            saved_at: clock::unix_seconds(),
            network: Network::of(remote),
        })
    }

    /// The capacity and the minimum round-trip time of what this side sent, if that was enough.
    pub fn saved_path(&self) -> Option<SavedPath> {
        self.saved
    }

    /// The flow-control window in bytes that this side had granted, if it had grown.
    pub fn receive_window(&self) -> Option<u64> {
        self.receive_window
    }

    /// How long it is good at the time `now` in seconds since 1970, for connections to `remote`;
    /// `None` for another network, when it is older than `lifetime`, and from the future.
    pub(crate) fn time_left(
        &self,
        now: u64,
        lifetime: Duration,
        remote: IpAddr,
    ) -> Option<Duration> {
        let age = Duration::from_secs(now.checked_sub(self.saved_at)?);
        let left = lifetime.checked_sub(age).filter(|left| !left.is_zero());
        left.filter(|_| self.network == Network::of(remote))
    }

    /// The memory as 41 bytes of version 1, integers in network byte order: version, contents
    /// (1: capacity, 2: window), address family (4 or 6), 6 bytes of the network, then 8 bytes each
    /// of the time in seconds since 1970, capacity in bytes, minimum round-trip time in
    /// nanoseconds, and window in bytes. What is not there is zero.
    pub fn to_bytes(&self) -> [u8; ENCODED] {
        let contents = u8::from(self.saved.is_some()) + 2 * u8::from(self.receive_window.is_some());
        let (family, network) = match self.network {
            Network::V4([a, b, c]) => (4, [a, b, c, 0, 0, 0]),
            Network::V6(network) => (6, network),
        };
        let rtt = self.saved.map_or(Duration::ZERO, |saved| saved.min_rtt);
        let numbers = [
            self.saved_at,
            self.saved.map_or(0, |saved| saved.capacity.get()),
            units::duration::nanos(rtt),
            self.receive_window.unwrap_or(0),
        ];
        let mut bytes = [0; ENCODED];
        bytes[..3].copy_from_slice(&[VERSION, contents, family]);
        bytes[3..9].copy_from_slice(&network);
        for (place, number) in bytes[9..].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_be_bytes());
        }
        bytes
    }

    /// The memory that [`to_bytes`](Self::to_bytes) wrote.
    ///
    /// # Errors
    /// When the bytes are not exactly what it writes: another length or version, an unknown family,
    /// a number out of range, or something that is not there and not zero.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PathMemoryError> {
        let Some((&version, _)) = bytes.split_first() else {
            return Err(PathMemoryError::Length { found: 0 });
        };
        if version != VERSION {
            return Err(PathMemoryError::Version { found: version });
        }
        let bytes: &[u8; ENCODED] = bytes
            .try_into()
            .map_err(|_| PathMemoryError::Length { found: bytes.len() })?;
        let number = |index: usize| {
            let start = 9 + 8 * index;
            bytes[start..start + 8]
                .iter()
                .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
        };
        let [capacity, rtt, window] = [1, 2, 3].map(number);
        let contents = bytes[1];
        if !(1..=3).contains(&contents) {
            return Err(wrong("contents", "1, 2 or 3"));
        }
        let has = |bit| contents & bit != 0;
        let is_in = |value: u64, most: u64, is_there: bool| match is_there {
            true => (1..=most).contains(&value),
            false => value == 0,
        };
        if !is_in(capacity, MAX_CAPACITY, has(1)) {
            return Err(wrong(
                "capacity",
                "1 byte to 1 TiB, or 0 where there is none",
            ));
        }
        if !is_in(rtt, units::duration::nanos(MAX_RTT), has(1)) {
            return Err(wrong(
                "round-trip time",
                "1 ns to 60 s, or 0 where there is none",
            ));
        }
        if !is_in(window, MAX_CAPACITY, has(2)) {
            return Err(wrong("window", "1 byte to 1 TiB, or 0 where there is none"));
        }
        Ok(Self {
            saved: has(1).then_some(SavedPath {
                capacity: Bytes::new(capacity),
                min_rtt: Duration::from_nanos(rtt),
            }),
            receive_window: has(2).then_some(window),
            saved_at: number(0),
            network: Network::read(bytes[2], &bytes[3..9])?,
        })
    }
}

/// 1 TiB: more than any path holds.
const MAX_CAPACITY: u64 = 1 << 40;
const MAX_RTT: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(remote: &str) -> PathMemory {
        let saved = SavedPath {
            capacity: Bytes::new(1_000_000),
            min_rtt: Duration::from_millis(600),
        };
        PathMemory::new(saved, remote.parse().unwrap())
    }

    #[test]
    fn what_is_written_reads_back() {
        for remote in ["192.0.2.7", "2001:db8:7::1", "::ffff:192.0.2.1"] {
            let both = PathMemory {
                receive_window: Some(2_000_000),
                ..memory(remote)
            };
            let window = PathMemory {
                saved: None,
                ..both
            };
            for memory in [memory(remote), both, window] {
                assert_eq!(PathMemory::from_bytes(&memory.to_bytes()), Ok(memory));
            }
        }
    }

    #[test]
    fn every_byte_that_is_not_written_so_is_an_error_or_another_memory() {
        let bytes = memory("192.0.2.7").to_bytes();
        for (place, value) in (0..ENCODED).flat_map(|place| (0..=255).map(move |v| (place, v))) {
            let mut changed = bytes;
            changed[place] = value;
            if let Ok(read) = PathMemory::from_bytes(&changed) {
                assert_eq!(read.to_bytes(), changed, "byte {place} is {value}");
            }
        }
    }

    #[test]
    fn an_error_names_what_is_wrong_and_what_was_expected() {
        let bytes = memory("192.0.2.7").to_bytes();
        let error = |place: usize, value| {
            let mut bytes = bytes;
            bytes[place] = value;
            PathMemory::from_bytes(&bytes).unwrap_err().to_string()
        };
        let expected = "a path memory of version 2; expected 1";
        assert_eq!(error(0, 2), expected);
        assert_eq!(
            error(2, 5),
            "wrong address family in a path memory; expected 4 or 6"
        );
        assert!(error(8, 1).contains("three zeros"));
        assert!(error(17, 255).contains("capacity"));
        assert!(error(25, 255).contains("round-trip time"));
        assert!(error(40, 1).contains("window"));
        let short = PathMemory::from_bytes(&bytes[..40]).unwrap_err();
        let expected = "a path memory of 40 bytes; expected 41";
        assert_eq!(short.to_string(), expected);
        assert!(PathMemory::from_bytes(&[]).is_err());
    }

    #[test]
    fn it_is_good_for_its_lifetime_and_its_network() {
        let memory = memory("192.0.2.7");
        let hour = Duration::from_secs(3_600);
        let left = |after: i64, remote: &str| {
            let now = memory.saved_at.checked_add_signed(after).unwrap();
            memory.time_left(now, hour, remote.parse().unwrap())
        };
        assert_eq!(left(0, "192.0.2.200"), Some(hour));
        assert_eq!(left(3_599, "192.0.2.7"), Some(Duration::from_secs(1)));
        assert_eq!(left(3_600, "192.0.2.7"), None);
        assert_eq!(left(-1, "192.0.2.7"), None);
        assert_eq!(left(0, "192.0.3.7"), None);
    }
}
