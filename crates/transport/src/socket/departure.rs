//! Batches that the kernel sends at a time that it is told.
//!
//! quinn-udp sends no departure times, so this is a `sendmsg` beside its own, with the same
//! control messages and SCM_TXTIME.

use crate::clock;
use nix::libc::{CLOCK_MONOTONIC, c_int, in_addr, in_pktinfo, in6_addr, in6_pktinfo, sock_txtime};
use nix::sys::socket::sockopt::TxTime;
use nix::sys::socket::{ControlMessage, MsgFlags, SockaddrStorage, sendmsg, setsockopt};
use quinn_udp::Transmit;
use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::Instant;

/// Has the kernel take departure times by CLOCK_MONOTONIC, which is what `fq` keeps. Batches
/// without one leave as before.
///
/// # Errors
/// When the kernel knows none.
pub(super) fn allow(socket: &UdpSocket) -> io::Result<()> {
    let clock = sock_txtime {
        clockid: CLOCK_MONOTONIC,
        flags: 0,
    };
    Ok(setsockopt(socket, TxTime, &clock)?)
}

/// Sends `packets`, which the kernel is to keep until `departure`. A time that has passed is now.
///
/// # Errors
/// As quinn-udp's `try_send`.
pub(super) fn send(socket: &UdpSocket, packets: &Transmit<'_>, at: Instant) -> io::Result<()> {
    let is_ipv4 = packets.destination.ip().to_canonical().is_ipv4();
    let ecn = packets.ecn.map_or(0, |ecn| ecn as u8);
    let (at, traffic_class) = (clock::monotonic_nanos(at), c_int::from(ecn));
    let mut control = vec![
        ControlMessage::TxTime(&at),
        if is_ipv4 {
            ControlMessage::Ipv4Tos(&ecn)
        } else {
            ControlMessage::Ipv6TClass(&traffic_class)
        },
    ];
    let segment = packets
        .segment_size
        .filter(|size| *size < packets.contents.len());
    let segment = segment.and_then(|size| u16::try_from(size).ok());
    control.extend(segment.as_ref().map(ControlMessage::UdpGsoSegments));
    let source = packets.src_ip.map(Source::new);
    control.extend(source.as_ref().map(Source::message));
    let address = SockaddrStorage::from(packets.destination);
    let contents = [IoSlice::new(packets.contents)];
    let fd = socket.as_raw_fd();
    loop {
        match sendmsg(fd, &contents, &control, MsgFlags::empty(), Some(&address)) {
            Err(nix::errno::Errno::EINTR) => {}
            result => return result.map(drop).map_err(io::Error::from),
        }
    }
}

/// The local address to send from, in the kernel's words.
enum Source {
    V4(in_pktinfo),
    V6(in6_pktinfo),
}

impl Source {
    fn new(ip: IpAddr) -> Self {
        match ip {
            IpAddr::V4(v4) => Self::V4(in_pktinfo {
                ipi_ifindex: 0,
                ipi_spec_dst: in_v4(v4),
                ipi_addr: in_v4(Ipv4Addr::UNSPECIFIED),
            }),
            IpAddr::V6(v6) => Self::V6(in6_pktinfo {
                ipi6_ifindex: 0,
                ipi6_addr: in_v6(v6),
            }),
        }
    }

    fn message(&self) -> ControlMessage<'_> {
        match self {
            Self::V4(info) => ControlMessage::Ipv4PacketInfo(info),
            Self::V6(info) => ControlMessage::Ipv6PacketInfo(info),
        }
    }
}

fn in_v4(ip: Ipv4Addr) -> in_addr {
    in_addr {
        s_addr: u32::from_ne_bytes(ip.octets()),
    }
}

fn in_v6(ip: Ipv6Addr) -> in6_addr {
    in6_addr {
        s6_addr: ip.octets(),
    }
}
