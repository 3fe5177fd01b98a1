//! Whether the kernel can send packets at times that it is told.
//!
//! Linux takes a departure time with each batch (SO_TXTIME), and the queueing discipline of the
//! device keeps it: `fq` does, most others send at once. What a packet's device is, and what
//! queues there, the kernel tells over netlink, as it tells `ip` and `tc`.

#[cfg(target_os = "linux")]
mod netlink;
#[cfg(any(target_os = "linux", test))]
mod qdiscs;

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use thiserror::Error;

/// Who waits until a paced packet may leave: this program, or the kernel.
///
/// A timer wakes a program some 50 to 100 µs late, and a burst that is late is closer to the next
/// one than it was to be. The kernel's queueing discipline `fq` sends at the time that it is told,
/// within microseconds. It is given packets up to a millisecond before they are to leave; windows,
/// rates, and what round-trip times are measured from stay the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KernelPacing {
    /// This program, by a timer.
    #[default]
    Off,
    /// The kernel, on paths on which it can.
    Auto,
    /// The kernel. Connections whose path has no `fq` when they begin are closed with an error that
    /// says what is missing.
    On,
}

/// Why the kernel does not time a connection's packets.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NoKernelPacing {
    /// It was not asked for: [`KernelPacing::Off`].
    #[error("it is not turned on")]
    Off,
    /// The connection has not sent anything yet.
    #[error("the connection has not begun")]
    NotBegun,
    /// The endpoint has a socket of the application's.
    #[error("a socket of the application's takes no departure times; use one of the kernel's")]
    OwnSocket,
    /// Departure times are Linux's.
    #[error("this system takes no departure times; use Linux 4.20 or newer")]
    System,
    /// The socket refuses departure times, with this error of the kernel's.
    #[error("the kernel takes no departure times (SO_TXTIME): {0}; use Linux 4.20 or newer")]
    Socket(String),
    /// The kernel does not say what queues the packets.
    #[error("cannot find out what queues packets to {remote}: {reason}")]
    Unknown {
        /// Where the packets go.
        remote: IpAddr,
        /// What went wrong.
        reason: String,
    },
    /// The device of the path has another queueing discipline.
    #[error(
        "packets to {remote} leave by device {device}, whose qdisc {qdisc} keeps no departure \
         times; run `tc qdisc replace dev {device} root fq`"
    )]
    Qdisc {
        /// Where the packets go.
        remote: IpAddr,
        /// The name of the network device.
        device: String,
        /// The kind of its queueing discipline, in tc's words.
        qdisc: String,
    },
    /// A packet was acknowledged before it was to leave: its time was ignored.
    #[error("packets left before their departure time; is the device's qdisc still fq?")]
    Ignored,
}

/// A word that is none of `auto`, `on` and `off`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is no kernel pacing; expected auto, on or off")]
pub struct ParseKernelPacingError(String);

impl FromStr for KernelPacing {
    type Err = ParseKernelPacingError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "off" => Ok(Self::Off),
            "auto" => Ok(Self::Auto),
            "on" => Ok(Self::On),
            _ => Err(ParseKernelPacingError(word.to_owned())),
        }
    }
}

impl fmt::Display for KernelPacing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "off",
            Self::Auto => "auto",
            Self::On => "on",
        })
    }
}

/// Whether departure times of packets from `local`, if that is known, to `remote` are kept.
///
/// # Errors
/// What is in the way.
#[cfg(target_os = "linux")]
pub(crate) fn check_path(local: Option<IpAddr>, remote: IpAddr) -> Result<(), NoKernelPacing> {
    let (local, remote) = (local.map(|ip| ip.to_canonical()), remote.to_canonical());
    let unknown = |error: std::io::Error| NoKernelPacing::Unknown {
        remote,
        reason: error.to_string(),
    };
    let mut netlink = netlink::Netlink::new().map_err(unknown)?;
    let device = netlink.device_to(local, remote).map_err(unknown)?;
    let qdiscs = netlink.qdiscs_of(device).map_err(unknown)?;
    qdiscs::keep_departure_times(&qdiscs).map_err(|qdisc| NoKernelPacing::Qdisc {
        remote,
        device: netlink::name_of(device),
        qdisc,
    })
}

/// As on Linux, where there are departure times.
#[cfg(not(target_os = "linux"))]
pub(crate) fn check_path(_: Option<IpAddr>, _: IpAddr) -> Result<(), NoKernelPacing> {
    Err(NoKernelPacing::System)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back_and_others_are_refused_by_name() {
        for pacing in [KernelPacing::Off, KernelPacing::Auto, KernelPacing::On] {
            assert_eq!(pacing.to_string().parse(), Ok(pacing));
        }
        let refused = "yes".parse::<KernelPacing>().unwrap_err().to_string();
        assert_eq!(
            refused,
            "`yes` is no kernel pacing; expected auto, on or off"
        );
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn loopback_has_no_fq_and_the_error_says_what_to_do() {
        let loopback = IpAddr::from([127, 0, 0, 1]);
        let mapped = "::ffff:127.0.0.1".parse().unwrap();
        for (local, remote) in [(None, loopback), (Some(loopback), loopback), (None, mapped)] {
            let error = check_path(local, remote).unwrap_err().to_string();
            assert!(error.contains("device lo, whose qdisc noqueue"), "{error}");
            assert!(error.contains("tc qdisc replace dev lo root fq"), "{error}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn an_address_without_a_route_is_named() {
        // Class E is for no use, and Linux routes none of the last /32 (RFC 1122 §3.2.1.3).
        let nowhere = IpAddr::from([0, 0, 0, 1]);
        let error = check_path(None, nowhere).unwrap_err();
        assert!(error.to_string().contains("0.0.0.1"), "{error}");
    }
}
