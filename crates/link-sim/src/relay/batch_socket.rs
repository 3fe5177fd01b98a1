use crate::packet::Ecn;
use crate::realtime::Clock;
use core::array;
use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::net::SendFlags;
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, IoSliceMut};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use units::Timestamp;

/// A non-blocking UDP socket that receives and sends batches with their ECN codepoints.
#[derive(Debug)]
pub(super) struct BatchSocket {
    socket: UdpSocket,
    state: UdpSocketState,
    /// Connected, so that datagrams leave without an address.
    is_connected: bool,
    /// What datagrams leave with now.
    ecn: Ecn,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Incoming<'a> {
    pub(super) from: SocketAddr,
    /// When the kernel received it; when it was read, where the kernel does not tell.
    pub(super) at: Timestamp,
    pub(super) ecn: Ecn,
    pub(super) data: &'a [u8],
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Outgoing<'a> {
    pub(super) to: SocketAddr,
    pub(super) data: &'a [u8],
}

impl BatchSocket {
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
        make_room_for_ecn(&socket, address)?;
        Ok(Self {
            socket,
            state,
            is_connected: false,
            ecn: Ecn::NotEct,
        })
    }

    /// Bound to a free port and connected, so that the kernel lets nobody else in.
    pub(super) fn towards(peer: SocketAddr) -> io::Result<Self> {
        let any: SocketAddr = match peer {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = Self::listen(any)?;
        socket.socket.connect(peer)?;
        Ok(Self {
            is_connected: true,
            ..socket
        })
    }

    pub(super) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Reads one batch and hands each datagram in it to `take`, however the kernel put them
    /// together.
    ///
    /// An error belongs to a datagram sent before (ICMP says that nobody listens there) and is
    /// over once it was read.
    pub(super) fn receive(
        &self,
        clock: &Clock,
        buffers: &mut Buffers,
        mut take: impl FnMut(Incoming<'_>),
    ) {
        let mut slices = buffers.slices();
        let mut metas = [RecvMeta::default(); RECEIVE_BATCH];
        let received = self
            .state
            .recv((&self.socket).into(), &mut slices, &mut metas);
        let count = received.unwrap_or(0);
        if count == 0 {
            return;
        }
        // Not read before the system call: what comes in between would count as come before it,
        // and leave the link early.
        let wall = clock.wall();
        for (meta, slice) in metas.iter().zip(&slices).take(count) {
            let incoming = |data| Incoming {
                from: meta.addr,
                at: wall.to_timestamp(meta.timestamp),
                ecn: ecn_of(meta.ecn),
                data,
            };
            let data = &slice[..meta.len];
            // An empty datagram has no stride, but it is a datagram.
            if data.is_empty() {
                take(incoming(data));
            }
            data.chunks(meta.stride.max(1))
                .map(incoming)
                .for_each(&mut take);
        }
    }

    /// Sends datagrams to one place, of `segment` bytes each (the last may be shorter), with one
    /// system call: all of them or none.
    pub(super) fn send_segments(
        &mut self,
        to: SocketAddr,
        ecn: Ecn,
        contents: &[u8],
        segment: usize,
    ) -> io::Result<()> {
        self.mark(ecn)?;
        let transmit = Transmit {
            destination: to,
            ecn: codepoint_of(ecn),
            contents,
            segment_size: (segment < contents.len()).then_some(segment),
            src_ip: None,
        };
        self.state.try_send((&self.socket).into(), &transmit)
    }

    /// How many datagrams [`send_segments`](Self::send_segments) takes. It becomes 1 when a
    /// network device turns out not to know how.
    pub(super) fn max_segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    /// Sends datagrams one by one, [`MAX_MESSAGES`] with one system call. Answers how many went
    /// before the first that the kernel refused.
    pub(super) fn send_each(&mut self, ecn: Ecn, datagrams: &[Outgoing<'_>]) -> usize {
        if self.mark(ecn).is_err() {
            return 0;
        }
        match datagrams {
            [] => 0,
            [datagram] => usize::from(self.send_one(datagram).is_ok()),
            many => self.send_many(&many[..many.len().min(MAX_MESSAGES)]),
        }
    }

    fn send_one(&self, datagram: &Outgoing<'_>) -> rustix::io::Result<usize> {
        if self.is_connected {
            rustix::net::send(&self.socket, datagram.data, SendFlags::empty())
        } else {
            let (data, to) = (datagram.data, &datagram.to);
            rustix::net::sendto(&self.socket, data, SendFlags::empty(), to)
        }
    }

    #[cfg(target_os = "linux")]
    fn send_many(&self, datagrams: &[Outgoing<'_>]) -> usize {
        use rustix::io::IoSlice;
        use rustix::net::addr::SocketAddrArg as _;
        use rustix::net::{MMsgHdr, SendAncillaryBuffer, SocketAddrAny, sendmmsg};

        let slices = datagrams
            .iter()
            .map(|datagram| [IoSlice::new(datagram.data)]);
        let slices: Vec<[IoSlice<'_>; 1]> = slices.collect();
        let mut controls = array::from_fn::<_, MAX_MESSAGES, _>(|_| SendAncillaryBuffer::default());
        let parts = slices.iter().zip(&mut controls);
        let addresses: Vec<SocketAddrAny>;
        let mut messages: Vec<MMsgHdr<'_>> = if self.is_connected {
            parts
                .map(|(slice, control)| MMsgHdr::new(slice, control))
                .collect()
        } else {
            addresses = datagrams
                .iter()
                .map(|datagram| datagram.to.as_any())
                .collect();
            let parts = parts.zip(&addresses);
            parts
                .map(|((slice, control), to)| MMsgHdr::new_with_addr(to, slice, control))
                .collect()
        };
        sendmmsg(&self.socket, &mut messages, SendFlags::empty()).unwrap_or(0)
    }

    #[cfg(not(target_os = "linux"))]
    fn send_many(&self, datagrams: &[Outgoing<'_>]) -> usize {
        let sent = datagrams.iter().map(|datagram| self.send_one(datagram));
        sent.take_while(Result::is_ok).count()
    }

    /// Makes datagrams leave with this codepoint. It is a property of the socket, because
    /// sendmmsg's safe interface takes none with a message; runs of equal ones are long.
    fn mark(&mut self, ecn: Ecn) -> rustix::io::Result<()> {
        use rustix::net::sockopt::{set_ip_tos, set_ipv6_tclass};
        if self.ecn == ecn {
            return Ok(());
        }
        let bits = codepoint_of(ecn).map_or(0, |codepoint| codepoint as u8);
        if self.local_addr().is_ok_and(|local| local.is_ipv6()) {
            set_ipv6_tclass(&self.socket, u32::from(bits))?;
            // For IPv4 clients of a socket for both, where there is such a thing.
            let _ = set_ip_tos(&self.socket, bits);
        } else {
            set_ip_tos(&self.socket, bits)?;
        }
        self.ecn = ecn;
        Ok(())
    }
}

impl AsFd for BatchSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[derive(Debug)]
pub(super) struct Buffers {
    memory: Box<[u8]>,
}

impl Buffers {
    pub(super) fn new() -> Self {
        Self {
            memory: vec![0; RECEIVE_BATCH * MAX_DATAGRAM].into(),
        }
    }

    fn slices(&mut self) -> [IoSliceMut<'_>; RECEIVE_BATCH] {
        let mut chunks = self.memory.chunks_mut(MAX_DATAGRAM);
        array::from_fn(|_| IoSliceMut::new(chunks.next().expect("there is one for each")))
    }
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

/// quinn-udp 0.6.3 has 96 bytes for what the kernel says about what it received: its time (32),
/// the length of its segments (24), the address it was sent to (32, IPv6 40) and, behind these, its
/// codepoint (24), which therefore is cut off wherever there are segments. The relay needs no
/// address.
#[cfg(target_os = "linux")]
fn make_room_for_ecn(socket: &UdpSocket, address: SocketAddr) -> io::Result<()> {
    use nix::sys::socket::setsockopt;
    use nix::sys::socket::sockopt::{Ipv4PacketInfo, Ipv6RecvPacketInfo};
    Ok(match address {
        SocketAddr::V4(_) => setsockopt(socket, Ipv4PacketInfo, &false),
        SocketAddr::V6(_) => setsockopt(socket, Ipv6RecvPacketInfo, &false),
    }?)
}

/// Segments are Linux's.
#[cfg(not(target_os = "linux"))]
fn make_room_for_ecn(_: &UdpSocket, _: SocketAddr) -> io::Result<()> {
    Ok(())
}

/// Beyond net.core.rmem_max where this process may, else up to it.
fn enlarge_receive_buffer(socket: &Socket) {
    #[cfg(target_os = "linux")]
    if rustix::net::sockopt::set_socket_recv_buffer_size_force(socket, SOCKET_BUFFER).is_ok() {
        return;
    }
    let _ = socket.set_recv_buffer_size(SOCKET_BUFFER);
}

/// Messages per recvmmsg, each of up to 64 datagrams: enough to make the call cheap, few enough
/// that what is due in between is not late.
const RECEIVE_BATCH: usize = if quinn_udp::BATCH_SIZE < 16 {
    quinn_udp::BATCH_SIZE
} else {
    16
};
/// Datagrams per sendmmsg: a microsecond each, so that the first is not counted late for the last.
pub(super) const MAX_MESSAGES: usize = 16;
/// What GRO puts together at most; also the largest UDP datagram.
const MAX_DATAGRAM: usize = 65_535;
/// Half a second at 100 Mbit/s: long enough for a machine that pauses for a moment.
const SOCKET_BUFFER: usize = 8 << 20;
