//! Batches from the kernel, each message with its codepoint and the time at which it came.
//!
//! quinn-udp 0.6.3 has 96 bytes for what the kernel says of a message: its time (32), the length of
//! its segments (24), the address it was sent to (32, IPv6 40) and, behind these, its codepoint
//! (24), which is cut off wherever there are segments. Here there is room for all of it.

use nix::cmsg_space;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, MultiHeaders, RecvMsg, SockaddrStorage, recvmmsg,
};
use quinn_udp::{EcnCodepoint, RecvMeta};
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::Duration;

/// Receives into `buffers` what is there, one message into each; how many there are.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] when nothing is there, and whatever the kernel reports.
pub(super) fn recv(
    socket: &UdpSocket,
    buffers: &mut [IoSliceMut<'_>],
    metas: &mut [RecvMeta],
) -> io::Result<usize> {
    let room = cmsg_space!([u8; CONTROL]);
    let mut headers = MultiHeaders::<SockaddrStorage>::preallocate(buffers.len(), Some(room));
    let mut slices: Vec<_> = buffers
        .iter_mut()
        .map(|buffer| [IoSliceMut::new(buffer)])
        .collect();
    let fd = socket.as_raw_fd();
    let messages = recvmmsg(fd, &mut headers, &mut slices, MsgFlags::empty(), None)?;
    let mut count = 0;
    for (meta, message) in metas.iter_mut().zip(messages) {
        *meta = meta_of(&message);
        count += 1;
    }
    Ok(count)
}

/// A message that was cut off is none, since QUIC cannot read it: it costs those beside it nothing.
fn meta_of(message: &RecvMsg<'_, '_, SockaddrStorage>) -> RecvMeta {
    let mut meta = RecvMeta::default();
    let Some(source) = message.address.as_ref().and_then(socket_address) else {
        return meta;
    };
    meta.addr = source;
    if !message.flags.contains(MsgFlags::MSG_TRUNC) {
        meta.len = message.bytes;
        meta.stride = message.bytes;
    }
    let Ok(said) = message.cmsgs() else {
        // Without the length of its segments nobody can tell them apart.
        tracing::debug!("a message is lost: its socket has options with too much to say");
        meta.len = 0;
        return meta;
    };
    for said in said {
        match said {
            ControlMessageOwned::ScmTimestampns(time) => {
                let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
                let nanos = u32::try_from(time.tv_nsec()).unwrap_or(0);
                meta.timestamp = Some(Duration::new(seconds, nanos));
            }
            ControlMessageOwned::UdpGroSegments(stride) => {
                meta.stride = usize::try_from(stride).unwrap_or(0);
            }
            ControlMessageOwned::Ipv4PacketInfo(info) => {
                let address = Ipv4Addr::from(info.ipi_addr.s_addr.to_ne_bytes());
                meta.dst_ip = Some(IpAddr::V4(address));
                meta.interface_index = u32::try_from(info.ipi_ifindex).ok();
            }
            ControlMessageOwned::Ipv6PacketInfo(info) => {
                let address = Ipv6Addr::from(info.ipi6_addr.s6_addr);
                meta.dst_ip = Some(IpAddr::V6(address));
                meta.interface_index = Some(info.ipi6_ifindex);
            }
            ControlMessageOwned::Ipv4Tos(tos) => meta.ecn = EcnCodepoint::from_bits(tos),
            ControlMessageOwned::Ipv6TClass(class) => {
                meta.ecn = EcnCodepoint::from_bits(class as u8);
            }
            _ => {}
        }
    }
    meta
}

/// Bytes: twice what is asked for, since an application may have set other options of its socket.
const CONTROL: usize = 240;

fn socket_address(address: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = address
        .as_sockaddr_in()
        .map(|v4| SocketAddr::V4((*v4).into()));
    v4.or_else(|| {
        address
            .as_sockaddr_in6()
            .map(|v6| SocketAddr::V6((*v6).into()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use quinn_udp::{Transmit, UdpSockRef, UdpSocketState};

    /// With all that is set for an endpoint's.
    fn socket(address: IpAddr) -> (UdpSocket, UdpSocketState) {
        let socket = UdpSocket::bind((address, 0)).unwrap();
        let state = UdpSocketState::new(UdpSockRef::from(&socket)).unwrap();
        socket.set_nonblocking(true).unwrap();
        (socket, state)
    }

    fn send(from: &(UdpSocket, UdpSocketState), to: SocketAddr, contents: &[u8]) {
        let batch = Transmit {
            destination: to,
            ecn: Some(EcnCodepoint::Ce),
            contents,
            segment_size: (from.1.max_gso_segments() > 1).then_some(2),
            src_ip: None,
        };
        from.1.try_send(UdpSockRef::from(&from.0), &batch).unwrap();
    }

    fn since_1970() -> Duration {
        let mut readings = std::iter::repeat_with(|| clock::read_both(clock::now()));
        let reading = readings.find_map(|reading| reading);
        reading.unwrap().since_1970
    }

    #[test]
    fn a_message_has_all_that_the_kernel_says_of_it() {
        let [v4, v6] = [
            IpAddr::from(Ipv4Addr::LOCALHOST),
            Ipv6Addr::LOCALHOST.into(),
        ];
        let mapped = IpAddr::from(Ipv4Addr::LOCALHOST.to_ipv6_mapped());
        for (bound, from, reached) in [
            (v4, v4, v4),
            (Ipv4Addr::UNSPECIFIED.into(), v4, v4),
            (v6, v6, v6),
            (Ipv6Addr::UNSPECIFIED.into(), v6, v6),
            (Ipv6Addr::UNSPECIFIED.into(), v4, mapped),
        ] {
            let (from, (to, _)) = (socket(from), socket(bound));
            let port = to.local_addr().unwrap().port();
            let before = since_1970();
            send(&from, (reached.to_canonical(), port).into(), b"aabbc");
            let mut memory = [[0; 65_535], [0; 65_535]];
            let mut buffers = memory.each_mut().map(|memory| IoSliceMut::new(memory));
            let mut metas = [RecvMeta::default(); 2];
            assert_eq!(recv(&to, &mut buffers, &mut metas).unwrap(), 1);
            let meta = &metas[0];
            let stride = if from.1.max_gso_segments() > 1 { 2 } else { 5 };
            assert_eq!((meta.len, meta.stride), (5, stride), "{bound}");
            assert_eq!(meta.addr.ip().to_canonical(), reached.to_canonical());
            assert_eq!(meta.addr.port(), from.0.local_addr().unwrap().port());
            assert_eq!(meta.ecn, Some(EcnCodepoint::Ce), "{bound}");
            let sent_to = meta.dst_ip.map(|ip| ip.to_canonical());
            assert_eq!(sent_to, Some(reached.to_canonical()), "{bound}");
            assert!(meta.interface_index.is_some());
            let came = meta.timestamp.unwrap();
            assert!(before <= came && came <= since_1970(), "{bound}");
            assert_eq!(&memory[0][..5], b"aabbc");
        }
    }

    #[test]
    fn a_message_that_does_not_fit_is_none_and_costs_no_other() {
        let (from, (to, _)) = (
            socket(Ipv4Addr::LOCALHOST.into()),
            socket(Ipv4Addr::LOCALHOST.into()),
        );
        for contents in [b"a".as_slice(), &[0; 50], b"c", b"d"] {
            from.0.send_to(contents, to.local_addr().unwrap()).unwrap();
        }
        let mut memory = [[0; 9]; 3];
        let mut metas = [RecvMeta::default(); 3];
        let mut receive = |memory: &mut [[u8; 9]; 3]| {
            let mut buffers = memory.each_mut().map(|memory| IoSliceMut::new(memory));
            let count = recv(&to, &mut buffers, &mut metas);
            count.map(|count| {
                metas[..count]
                    .iter()
                    .map(|meta| meta.len)
                    .collect::<Vec<_>>()
            })
        };
        assert_eq!(receive(&mut memory).unwrap(), [1, 0, 1]);
        assert_eq!([memory[0][0], memory[2][0]], *b"ac");
        assert_eq!(receive(&mut memory).unwrap(), [1]);
        let nothing = receive(&mut memory).unwrap_err();
        assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
    }
}
