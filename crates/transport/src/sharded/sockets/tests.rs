//! What the kernel does with a group.

use super::{Sockets, bind, bind_with};
use crate::sharded::Steering;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
#[cfg(target_os = "linux")]
use {
    crate::shard_routing::owner,
    std::net::{Ipv6Addr, UdpSocket},
    std::time::Duration,
};

#[test]
fn a_single_shard_needs_no_steering() {
    let Sockets { sockets, steering } = bind(any(Ipv4Addr::LOCALHOST), 1, 8).unwrap();
    assert_eq!((sockets.len(), steering), (1, Steering::Unneeded));
}

#[test]
#[cfg(target_os = "linux")]
fn the_kernel_gives_each_packet_to_its_owner() {
    let (v4, v6) = (Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into());
    let anywhere: IpAddr = Ipv6Addr::UNSPECIFIED.into();
    let bound_and_from: [(IpAddr, IpAddr); 4] =
        [(v4, v4), (v6, v6), (anywhere, v6), (anywhere, v4)];
    for (bound, from) in bound_and_from {
        let Sockets { sockets, steering } = match bind(any(bound), 5, 8) {
            // A system without IPv6.
            Err(_) if UdpSocket::bind(any(Ipv6Addr::LOCALHOST)).is_err() => continue,
            bound => bound.unwrap(),
        };
        assert_eq!((sockets.len(), steering), (5, Steering::Kernel));
        let to = (from, sockets[0].local_addr().unwrap().port());
        let client = UdpSocket::bind(any(from)).unwrap();
        for last in 0..=255_u8 {
            let short = [&[0x40; 8][..], &[last; 12]].concat();
            let long = [&[0xc0, 0, 0, 0, 1, 12][..], &[last; 30]].concat();
            for packet in [short, long, vec![last], vec![0xc0, last]] {
                client.send_to(&packet, to).unwrap();
                let socket = &sockets[owner(&packet, 8, 5)];
                socket
                    .set_read_timeout(Some(Duration::from_secs(5)))
                    .unwrap();
                let mut received = [0; 100];
                let (len, _) = socket.recv_from(&mut received).unwrap();
                assert_eq!(received[..len], packet, "{bound} from {from}");
            }
        }
    }
}

#[test]
fn there_is_one_shard_where_nobody_can_steer() {
    let refusal = |_: &_| Err(ErrorKind::Unsupported.into());
    let Sockets { sockets, steering } = bind_with(any(Ipv4Addr::LOCALHOST), 4, refusal).unwrap();
    assert_eq!((sockets.len(), steering), (1, Steering::Unavailable));
}

#[test]
#[cfg(target_os = "linux")]
fn no_group_joins_another() {
    let Sockets { sockets, .. } = bind(any(Ipv4Addr::LOCALHOST), 2, 8).unwrap();
    let address = sockets[0].local_addr().unwrap();
    for shards in [1, 2] {
        let error = bind(address, shards, 8).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
    }
}

fn any(ip: impl Into<IpAddr>) -> SocketAddr {
    (ip.into(), 0).into()
}
