//! A UDP socket of the kernel's: batches of datagrams with offload, ECN and the times at which they
//! came.

#[cfg(target_os = "linux")]
use super::batch_options::BatchOptions;
use super::readiness::Io;
#[cfg(target_os = "linux")]
use super::recvmmsg;
#[cfg(target_os = "linux")]
use super::sendmsg;
use crate::kernel_pacing::{self, NoKernelPacing};
use quinn_udp::{RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use socket2::SockRef;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::task::{Context, Poll};

#[derive(Debug)]
pub(super) struct KernelSocket {
    io: Io,
    udp: UdpSocketState,
    #[cfg(test)]
    pub(super) refusals: refusals::Refusals,
}

impl KernelSocket {
    /// # Errors
    /// When the socket cannot be made non-blocking or lacks an option that QUIC needs.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub(super) fn new(socket: std::net::UdpSocket) -> io::Result<Self> {
        raise_buffers(&socket);
        let udp = UdpSocketState::new(UdpSockRef::from(&socket))?;
        Ok(Self {
            io: Io::new(socket)?,
            udp,
            #[cfg(test)]
            refusals: refusals::Refusals::default(),
        })
    }

    pub(super) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.socket().local_addr()
    }

    pub(super) fn may_fragment(&self) -> bool {
        self.udp.may_fragment()
    }

    pub(super) fn max_batch(&self) -> usize {
        self.udp.max_gso_segments()
    }

    pub(super) fn try_recv(
        &self,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> io::Result<usize> {
        #[cfg(target_os = "linux")]
        return recvmmsg::recv(self.io.socket(), buffers, metas);
        #[cfg(not(target_os = "linux"))]
        self.udp
            .recv(UdpSockRef::from(self.io.socket()), buffers, metas)
    }

    pub(super) fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let most = buffers.len();
        self.io
            .poll_recv(cx, most, || self.try_recv(buffers, metas))
    }

    pub(super) fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.io.poll_room(cx)
    }

    /// As [`Socket::time_departures`](super::Socket::time_departures).
    pub(super) fn time_departures(&self, remote: IpAddr) -> Result<(), NoKernelPacing> {
        let local = self.local_addr().ok().map(|local| local.ip());
        kernel_pacing::check_path(local.filter(|ip| !ip.is_unspecified()), remote)?;
        #[cfg(target_os = "linux")]
        self.allow_departures()
            .map_err(|error| NoKernelPacing::Socket(error.to_string()))?;
        Ok(())
    }

    #[cfg(target_os = "linux")]
    pub(super) fn allow_departures(&self) -> io::Result<()> {
        sendmsg::allow_departures(self.io.socket())
    }

    #[cfg(target_os = "linux")]
    pub(super) fn send_with(
        &self,
        packets: &Transmit<'_>,
        options: BatchOptions,
    ) -> io::Result<()> {
        self.io.send(|| {
            #[cfg(test)]
            self.refusals.pass()?;
            sendmsg::send(self.io.socket(), packets, options)
        })
    }

    /// After [`io::ErrorKind::WouldBlock`], [`poll_writable`](Self::poll_writable) says when to try
    /// again. After other errors the batch may have gone out in part.
    pub(super) fn send(&self, packets: &Transmit<'_>) -> io::Result<()> {
        let result = self.io.send(|| self.try_send(packets));
        if let Err(error) = &result
            && error.kind() != io::ErrorKind::WouldBlock
            && packets.segment_size.is_some()
            && self.udp.max_gso_segments() == 1
        {
            self.send_one_by_one(packets);
        }
        result
    }

    fn try_send(&self, packets: &Transmit<'_>) -> io::Result<()> {
        #[cfg(test)]
        self.refusals.pass()?;
        self.udp
            .try_send(UdpSockRef::from(self.io.socket()), packets)
    }

    /// The batch with which the kernel first refused segmentation offload, without it. What does
    /// not go out now is lost.
    pub(super) fn send_one_by_one(&self, packets: &Transmit<'_>) {
        let segment_size = packets.segment_size.unwrap_or(packets.contents.len());
        for contents in packets.contents.chunks(segment_size) {
            let single = Transmit {
                contents,
                segment_size: None,
                ..packets.clone()
            };
            if self.try_send(&single).is_err() {
                return;
            }
        }
    }
}

/// Enlarges both kernel buffers as far as the system allows, without privileges.
fn raise_buffers(socket: &std::net::UdpSocket) {
    let socket = SockRef::from(socket);
    let is_smaller = |size: io::Result<usize>| size.is_ok_and(|size| size < BUFFER);
    let mut results = Vec::with_capacity(2);
    if is_smaller(socket.recv_buffer_size()) {
        results.push(socket.set_recv_buffer_size(BUFFER));
    }
    if is_smaller(socket.send_buffer_size()) {
        results.push(socket.set_send_buffer_size(BUFFER));
    }
    for error in results.into_iter().filter_map(Result::err) {
        tracing::debug!(%error, "keeping the socket buffer as it is");
    }
}

/// What is asked of the kernel for each socket buffer, in bytes: 4 ms at 8 Gbit/s. Linux grants
/// the smaller of this and its limit, often 208 KiB.
const BUFFER: usize = 4 << 20;

/// A kernel that takes no more at times.
#[cfg(test)]
mod refusals {
    use std::io;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Batches that the kernel is said not to take. What fills a socket's buffer is an interface
    /// with a rate, and loopback has none.
    #[derive(Debug, Default)]
    pub(in crate::socket) struct Refusals {
        batches: AtomicU64,
        pub(in crate::socket) interval: AtomicU64,
    }

    impl Refusals {
        pub(super) fn pass(&self) -> io::Result<()> {
            let interval = self.interval.load(Ordering::Relaxed);
            let batches = self.batches.fetch_add(1, Ordering::Relaxed);
            if interval > 0 && batches.is_multiple_of(interval) {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            Ok(())
        }
    }
}
