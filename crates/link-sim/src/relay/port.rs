use super::engine::Datagram;
use crate::{Ecn, IPV4_UDP_OVERHEAD, IPV6_UDP_OVERHEAD, Packet};
use core::time::Duration;
use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use rustix::fd::{AsFd, BorrowedFd};
use socket2::{Domain, Protocol, Socket, Type};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use units::Bytes;

/// A non-blocking UDP socket that receives and sends batches with their ECN codepoints.
#[derive(Debug)]
pub(super) struct Port {
    socket: UdpSocket,
    state: UdpSocketState,
}

impl Port {
    /// Bound to `address`, for anybody to send to.
    pub(super) fn listen(address: SocketAddr) -> io::Result<Self> {
        let socket = Socket::new(
            Domain::for_address(address),
            Type::DGRAM,
            Some(Protocol::UDP),
        )?;
        socket.bind(&address.into())?;
        // With the least as with the most that the kernel allows, the relay works.
        let _ = socket.set_send_buffer_size(SOCKET_BUFFER);
        enlarge_receive_buffer(&socket);
        let socket = UdpSocket::from(socket);
        let state = UdpSocketState::new((&socket).into())?;
        Ok(Self { socket, state })
    }

    /// Bound to a free port and connected, so that the kernel lets nobody else in.
    pub(super) fn towards(peer: SocketAddr) -> io::Result<Self> {
        let any: SocketAddr = match peer {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let port = Self::listen(any)?;
        port.socket.connect(peer)?;
        Ok(port)
    }

    pub(super) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Reads one batch and hands each datagram in it to `take`. Answers whether there may be more.
    ///
    /// An error belongs to a datagram sent before (ICMP says that nobody listens there) and is
    /// over once it was read.
    pub(super) fn receive(
        &self,
        buffers: &mut Buffers,
        mut take: impl FnMut(SocketAddr, Option<Duration>, Ecn, &[u8]),
    ) -> bool {
        let mut slices = buffers.slices();
        let mut metas = [RecvMeta::default(); BATCH_SIZE];
        let count = match self
            .state
            .recv((&self.socket).into(), &mut slices, &mut metas)
        {
            Ok(count) => count,
            Err(error) => return error.kind() != io::ErrorKind::WouldBlock,
        };
        for (meta, slice) in metas.iter().zip(&slices).take(count) {
            // An empty datagram has no stride, but it is a datagram.
            let stride = meta.stride.max(1);
            let data = &slice[..meta.len];
            let ecn = ecn_of(meta.ecn);
            if data.is_empty() {
                take(meta.addr, meta.timestamp, ecn, data);
            }
            for datagram in data.chunks(stride) {
                take(meta.addr, meta.timestamp, ecn, datagram);
            }
        }
        true
    }

    /// Sends datagrams of `segment` bytes each, the last may be shorter, with one system call.
    pub(super) fn send(
        &self,
        to: SocketAddr,
        ecn: Ecn,
        contents: &[u8],
        segment: usize,
    ) -> io::Result<()> {
        let transmit = Transmit {
            destination: to,
            ecn: codepoint_of(ecn),
            contents,
            segment_size: (segment < contents.len()).then_some(segment),
            src_ip: None,
        };
        self.state.try_send((&self.socket).into(), &transmit)
    }

    /// How many datagrams one `send` takes.
    pub(super) fn max_segments(&self) -> usize {
        self.state.max_gso_segments()
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Room for one batch of received datagrams.
#[derive(Debug)]
pub(super) struct Buffers {
    memory: Box<[u8]>,
}

impl Buffers {
    pub(super) fn new() -> Self {
        Self {
            memory: vec![0; BATCH_SIZE * MAX_DATAGRAM].into(),
        }
    }

    fn slices(&mut self) -> Vec<IoSliceMut<'_>> {
        self.memory
            .chunks_mut(MAX_DATAGRAM)
            .map(IoSliceMut::new)
            .collect()
    }
}

/// A datagram to or from `peer`, as a link counts it.
pub(super) fn packet(peer: SocketAddr, ecn: Ecn, payload: Datagram) -> Packet<Datagram> {
    let overhead = match peer.ip().to_canonical() {
        IpAddr::V4(_) => IPV4_UDP_OVERHEAD,
        IpAddr::V6(_) => IPV6_UDP_OVERHEAD,
    };
    let size = Bytes::new(payload.data.len() as u64) + overhead;
    Packet::new(size, payload).ecn(ecn).flow(flow_of(peer))
}

/// All datagrams of one client are one flow, the same in every run.
fn flow_of(peer: SocketAddr) -> u64 {
    let mut hasher = DefaultHasher::new();
    peer.hash(&mut hasher);
    hasher.finish()
}

fn ecn_of(codepoint: Option<EcnCodepoint>) -> Ecn {
    match codepoint {
        None => Ecn::NotEct,
        Some(EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(EcnCodepoint::Ce) => Ecn::Ce,
    }
}

fn codepoint_of(ecn: Ecn) -> Option<EcnCodepoint> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 => Some(EcnCodepoint::Ect0),
        Ecn::Ect1 => Some(EcnCodepoint::Ect1),
        Ecn::Ce => Some(EcnCodepoint::Ce),
    }
}

/// Beyond net.core.rmem_max where this process may, else up to it.
fn enlarge_receive_buffer(socket: &Socket) {
    #[cfg(target_os = "linux")]
    if rustix::net::sockopt::set_socket_recv_buffer_size_force(socket, SOCKET_BUFFER).is_ok() {
        return;
    }
    let _ = socket.set_recv_buffer_size(SOCKET_BUFFER);
}

/// What GRO puts together at most; also the largest UDP datagram.
const MAX_DATAGRAM: usize = 65_535;
/// Half a second at 100 Mbit/s: long enough for a machine that pauses for a moment.
const SOCKET_BUFFER: usize = 8 << 20;
