//! Batches that the kernel sends at a time that it is told, or with a DSCP.
//!
//! quinn-udp sends no departure times, and sets the whole traffic class of each packet to its ECN
//! codepoint. So this is a `sendmsg` beside its own, with the same control messages, SCM_TXTIME and
//! the DSCP.

use super::batch_options::BatchOptions;
use crate::clock;
use nix::libc::{CLOCK_MONOTONIC, c_int, in_addr, in_pktinfo, in6_addr, in6_pktinfo, sock_txtime};
use nix::sys::socket::sockopt::TxTime;
use nix::sys::socket::{ControlMessage, MsgFlags, SockaddrStorage, sendmsg, setsockopt};
use quinn_udp::Transmit;
use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::AsRawFd;

/// Has the kernel take departure times by CLOCK_MONOTONIC, which is what `fq` keeps. Batches
/// without one leave as before.
///
/// # Errors
/// When the kernel knows none.
pub(super) fn allow_departures(socket: &UdpSocket) -> io::Result<()> {
    let clock = sock_txtime {
        clockid: CLOCK_MONOTONIC,
        flags: 0,
    };
    Ok(setsockopt(socket, TxTime, &clock)?)
}

/// Sends `packets`, which the kernel is to keep until their departure. A time that has passed is
/// now.
///
/// # Errors
/// As quinn-udp's `try_send`.
pub(super) fn send(
    socket: &UdpSocket,
    packets: &Transmit<'_>,
    options: BatchOptions,
) -> io::Result<()> {
    let is_ipv4 = packets.destination.ip().to_canonical().is_ipv4();
    let ecn = packets.ecn.map_or(0, |ecn| ecn as u8);
    let tos = options.dscp.traffic_class() | ecn;
    let traffic_class = c_int::from(tos);
    let mut control = vec![if is_ipv4 {
        ControlMessage::Ipv4Tos(&tos)
    } else {
        ControlMessage::Ipv6TClass(&traffic_class)
    }];
    let departure = options.departure.map(clock::monotonic_nanos);
    control.extend(departure.as_ref().map(ControlMessage::TxTime));
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

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::socket::sockopt::{IpRecvTos, Ipv6RecvTClass};
    use nix::sys::socket::{ControlMessageOwned, recvmsg};
    use quinn_udp::EcnCodepoint;
    use std::io::IoSliceMut;

    /// The traffic class of the next packet at this socket.
    fn traffic_class(socket: &UdpSocket) -> u8 {
        let mut memory = [0; 100];
        let mut contents = [IoSliceMut::new(&mut memory)];
        let mut space = nix::cmsg_space!(c_int);
        let fd = socket.as_raw_fd();
        let received =
            recvmsg::<SockaddrStorage>(fd, &mut contents, Some(&mut space), MsgFlags::empty());
        let received = received.unwrap();
        match received.cmsgs().unwrap().next() {
            Some(ControlMessageOwned::Ipv4Tos(tos)) => tos,
            Some(ControlMessageOwned::Ipv6TClass(class)) => u8::try_from(class).unwrap(),
            other => panic!("no traffic class but {other:?}"),
        }
    }

    #[test]
    fn packets_have_the_dscp_beside_their_ecn_codepoint() {
        for local in ["127.0.0.1:0", "[::1]:0"] {
            let (from, to) = (UdpSocket::bind(local), UdpSocket::bind(local));
            let (Ok(from), Ok(to)) = (from, to) else {
                // A machine without IPv6.
                continue;
            };
            if local.starts_with('[') {
                setsockopt(&to, Ipv6RecvTClass, &true).unwrap();
            } else {
                setsockopt(&to, IpRecvTos, &true).unwrap();
            }
            let packets = Transmit {
                destination: to.local_addr().unwrap(),
                ecn: Some(EcnCodepoint::Ect0),
                contents: b"abc",
                segment_size: None,
                src_ip: None,
            };
            for dscp in ["cs0", "ef", "63"] {
                let options = BatchOptions {
                    departure: None,
                    dscp: dscp.parse().unwrap(),
                };
                send(&from, &packets, options).unwrap();
                let expected = options.dscp.traffic_class() | 0b10;
                assert_eq!(traffic_class(&to), expected, "{local} {dscp}");
            }
        }
    }
}
