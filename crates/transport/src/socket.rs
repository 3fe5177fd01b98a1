//! The UDP socket: batches of datagrams in and out of the kernel.

#[cfg(target_os = "linux")]
mod departure;
mod readiness;

use crate::kernel_pacing::{self, NoKernelPacing};
use crate::lock::{Guard, Lock, Locked, Rank};
use quinn_proto::{EcnCodepoint, Transmit};
use quinn_udp::{RecvMeta, UdpSockRef, UdpSocketState};
use readiness::Io;
use socket2::SockRef;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// A non-blocking UDP socket with segmentation offload, ECN and enlarged buffers.
///
/// Nothing that the network does to a datagram is an error here: what cannot be sent is lost, as
/// it could have been lost on its way, and QUIC repairs that.
#[derive(Debug)]
pub(crate) struct Socket {
    io: Io,
    udp: UdpSocketState,
    is_ipv6: bool,
    counts: Arc<Counts>,
    #[cfg(test)]
    refusals: tests::Refusals,
}

impl Socket {
    /// # Errors
    /// When the socket cannot be made non-blocking or lacks an option that QUIC needs.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub(crate) fn new(socket: std::net::UdpSocket) -> io::Result<Self> {
        raise_buffers(&socket);
        let udp = UdpSocketState::new(UdpSockRef::from(&socket))?;
        make_room_for_ecn(&socket);
        let is_ipv6 = socket.local_addr()?.is_ipv6();
        Ok(Self {
            io: Io::new(socket)?,
            udp,
            is_ipv6,
            counts: Arc::default(),
            #[cfg(test)]
            refusals: tests::Refusals::default(),
        })
    }

    /// What takes this one's place, and counts on where this one ends.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub(crate) fn replaced_by(&self, socket: std::net::UdpSocket) -> io::Result<Self> {
        Ok(Self {
            counts: Arc::clone(&self.counts),
            ..Self::new(socket)?
        })
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.socket().local_addr()
    }

    /// Whether it takes IPv6 addresses, IPv4 ones only in their mapped form.
    pub(crate) fn is_ipv6(&self) -> bool {
        self.is_ipv6
    }

    /// Whether routers may split our packets, so that no MTU can be discovered.
    pub(crate) fn may_fragment(&self) -> bool {
        self.udp.may_fragment()
    }

    /// Packets of `mtu` bytes that go out in one system call.
    ///
    /// The kernel takes 64 segments, in a buffer no larger than one UDP datagram; a byte more and
    /// the whole batch fails with EMSGSIZE.
    pub(crate) fn max_segments(&self, mtu: u16) -> usize {
        let that_fit = MAX_UDP_PAYLOAD / usize::from(mtu);
        self.udp.max_gso_segments().min(64).min(that_fit).max(1)
    }

    /// Receives what is there, without asking the event loop whether anything is.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when nothing is there, and whatever the kernel reports.
    pub(crate) fn try_recv(
        &self,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> io::Result<usize> {
        self.udp
            .recv(UdpSockRef::from(self.io.socket()), buffers, metas)
    }

    /// Receives what is there; if that is nothing, the task will be woken by the next datagram.
    pub(crate) fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let most = buffers.len();
        self.io
            .poll_recv(cx, most, || self.try_recv(buffers, metas))
    }

    /// Whether the kernel sends packets to `remote` at the times that
    /// [`send_at`](Self::send_at) tells it.
    ///
    /// # Errors
    /// Why it does not.
    pub(crate) fn time_departures(&self, remote: IpAddr) -> Result<(), NoKernelPacing> {
        let local = self.local_addr().ok().map(|local| local.ip());
        kernel_pacing::check_path(local.filter(|ip| !ip.is_unspecified()), remote)?;
        #[cfg(target_os = "linux")]
        departure::allow(self.io.socket())
            .map_err(|error| NoKernelPacing::Socket(error.to_string()))?;
        Ok(())
    }

    /// As [`send`](Self::send), but the kernel keeps the packets until `departure`, if there is one
    /// and [`time_departures`](Self::time_departures) has found that it can.
    pub(crate) fn send_at(
        &self,
        departure: Option<Instant>,
        transmit: &Transmit,
        contents: &[u8],
        now: Instant,
    ) -> bool {
        #[cfg(target_os = "linux")]
        if let Some(departure) = departure {
            let packets = udp_transmit(transmit, contents);
            let sent = self.io.send(|| self.try_send_at(&packets, departure));
            match sent {
                Ok(()) => return true,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.counts.send_blocked.fetch_add(1, Ordering::Relaxed);
                    return false;
                }
                // What is wrong with the packets is found out without a departure time.
                Err(_) => {}
            }
        }
        #[cfg(not(target_os = "linux"))]
        let _ = departure;
        self.send(transmit, contents, now)
    }

    #[cfg(target_os = "linux")]
    fn try_send_at(&self, packets: &quinn_udp::Transmit<'_>, departure: Instant) -> io::Result<()> {
        #[cfg(test)]
        self.refusals.pass()?;
        departure::send(self.io.socket(), packets, departure)
    }

    /// Sends the packets of `transmit`, whose bytes are `contents`. `false` means that the kernel
    /// takes none at present, and [`poll_writable`](Self::poll_writable) says when to try again.
    pub(crate) fn send(&self, transmit: &Transmit, contents: &[u8], now: Instant) -> bool {
        let packets = udp_transmit(transmit, contents);
        let Err(error) = self.io.send(|| self.try_send(&packets)) else {
            return true;
        };
        if error.kind() == io::ErrorKind::WouldBlock {
            self.counts.send_blocked.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        self.note(&error, transmit, now);
        if transmit.segment_size.is_some() && self.udp.max_gso_segments() == 1 {
            self.send_one_by_one(&packets);
        }
        true
    }

    /// Ready when the kernel takes packets again.
    pub(crate) fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.io.poll_room(cx)
    }

    /// Datagrams or batches that the kernel refused, MTU probes aside.
    pub(crate) fn send_errors(&self) -> u64 {
        self.errors().count
    }

    /// Times that the kernel took no more packets.
    pub(crate) fn send_blocked(&self) -> u64 {
        self.counts.send_blocked.load(Ordering::Relaxed)
    }

    fn try_send(&self, packets: &quinn_udp::Transmit<'_>) -> io::Result<()> {
        #[cfg(test)]
        self.refusals.pass()?;
        self.udp
            .try_send(UdpSockRef::from(self.io.socket()), packets)
    }

    /// The batch with which the kernel first refused segmentation offload, without it. What does
    /// not go out now is lost.
    fn send_one_by_one(&self, packets: &quinn_udp::Transmit<'_>) {
        let segment_size = packets.segment_size.unwrap_or(packets.contents.len());
        for contents in packets.contents.chunks(segment_size) {
            let single = quinn_udp::Transmit {
                contents,
                segment_size: None,
                ..packets.clone()
            };
            if self.try_send(&single).is_err() {
                return;
            }
        }
    }

    /// Counts an error and logs one a second.
    fn note(&self, error: &io::Error, transmit: &Transmit, now: Instant) {
        // A probe for a larger MTU on an interface that is smaller: that is the answer.
        if quinn_udp::is_msg_size_err(error) && transmit.segment_size.is_none() {
            return;
        }
        let mut errors = self.errors();
        errors.count += 1;
        let is_due = errors
            .logged
            .is_none_or(|logged| now.saturating_duration_since(logged) >= LOG_INTERVAL);
        if is_due {
            errors.logged = Some(now);
            tracing::warn!(
                %error,
                destination = %transmit.destination,
                bytes = transmit.size,
                segment_size = transmit.segment_size,
                errors = errors.count,
                "the kernel refused packets",
            );
        }
    }

    fn errors(&self) -> Guard<'_, SendErrors> {
        self.counts.send_errors.lock()
    }
}

impl Locked for SendErrors {
    const RANK: Rank = Rank::SocketState;
}

#[derive(Debug, Default)]
struct Counts {
    send_errors: Lock<SendErrors>,
    send_blocked: AtomicU64,
}

#[derive(Debug, Default)]
struct SendErrors {
    count: u64,
    logged: Option<Instant>,
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

/// quinn-udp 0.6.3 has 96 bytes for what the kernel says about what it received: its time (32),
/// the length of its segments (24), the address it was sent to (32, IPv6 40) and, behind these, its
/// codepoint (24), which therefore is cut off wherever there are segments. An endpoint does not
/// need the time.
#[cfg(target_os = "linux")]
fn make_room_for_ecn(socket: &std::net::UdpSocket) {
    use nix::sys::socket::{setsockopt, sockopt::ReceiveTimestampns};
    if let Err(error) = setsockopt(socket, ReceiveTimestampns, &false) {
        tracing::debug!(%error, "batches will be received without ECN marks");
    }
}

/// Segments are Linux's.
#[cfg(not(target_os = "linux"))]
fn make_room_for_ecn(_: &std::net::UdpSocket) {}

fn udp_transmit<'a>(transmit: &Transmit, contents: &'a [u8]) -> quinn_udp::Transmit<'a> {
    quinn_udp::Transmit {
        destination: transmit.destination,
        ecn: transmit.ecn.map(|ecn| match ecn {
            EcnCodepoint::Ect0 => quinn_udp::EcnCodepoint::Ect0,
            EcnCodepoint::Ect1 => quinn_udp::EcnCodepoint::Ect1,
            EcnCodepoint::Ce => quinn_udp::EcnCodepoint::Ce,
        }),
        contents,
        segment_size: transmit.segment_size,
        src_ip: transmit.src_ip,
    }
}

/// The ECN mark of received datagrams, in quinn-proto's words.
pub(crate) fn received_ecn(meta: &RecvMeta) -> Option<EcnCodepoint> {
    meta.ecn.map(|ecn| match ecn {
        quinn_udp::EcnCodepoint::Ect0 => EcnCodepoint::Ect0,
        quinn_udp::EcnCodepoint::Ect1 => EcnCodepoint::Ect1,
        quinn_udp::EcnCodepoint::Ce => EcnCodepoint::Ce,
    })
}

/// Largest UDP payload over IPv4: 65,535 less 20 bytes of IP and 8 of UDP header.
const MAX_UDP_PAYLOAD: usize = 65_507;

/// What is asked of the kernel for each socket buffer, in bytes: 4 ms at 8 Gbit/s. Linux grants
/// the smaller of this and its limit, often 208 KiB.
const BUFFER: usize = 4 << 20;

const LOG_INTERVAL: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use std::net::Ipv4Addr;

    /// Batches that the kernel is said not to take. What fills a socket's buffer is an interface
    /// with a rate, and loopback has none.
    #[derive(Debug, Default)]
    pub(super) struct Refusals {
        batches: AtomicU64,
        interval: AtomicU64,
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

    #[cfg(feature = "rcgen")]
    impl Socket {
        /// Refuses one of so many batches from now on.
        pub(crate) fn refuse_one_of(&self, batches: u64) {
            self.refusals.interval.store(batches, Ordering::Relaxed);
        }
    }

    fn socket() -> Socket {
        let bound = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        Socket::new(bound).unwrap()
    }

    fn transmit(destination: SocketAddr, size: usize) -> Transmit {
        Transmit {
            destination,
            ecn: Some(EcnCodepoint::Ect0),
            size,
            segment_size: None,
            src_ip: None,
        }
    }

    #[tokio::test]
    async fn a_batch_is_no_larger_than_one_udp_datagram() {
        let socket = socket();
        let most = socket.udp.max_gso_segments().min(64);
        for (mtu, fit) in [
            (1_200, 54),
            (1_452, 45),
            (8_952, 7),
            (40_000, 1),
            (65_507, 1),
        ] {
            assert_eq!(socket.max_segments(mtu), fit.min(most));
        }
    }

    #[tokio::test]
    async fn packets_arrive_with_their_ecn_mark() {
        let (from, to) = (socket(), socket());
        let destination = to.local_addr().unwrap();
        assert!(from.send(&transmit(destination, 3), b"abc", clock::now()));
        let mut memory = [0; 100];
        let mut metas = [RecvMeta::default()];
        let count = std::future::poll_fn(|cx| {
            to.poll_recv(cx, &mut [IoSliceMut::new(&mut memory)], &mut metas)
        });
        assert_eq!(count.await.unwrap(), 1);
        assert_eq!(&memory[..metas[0].len], b"abc");
        assert_eq!(received_ecn(&metas[0]), Some(EcnCodepoint::Ect0));
        let again = to.try_recv(&mut [IoSliceMut::new(&mut memory)], &mut metas);
        assert_eq!(again.unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    #[tokio::test]
    #[cfg(target_os = "linux")]
    async fn a_departure_time_changes_nothing_of_what_arrives() {
        let (from, to) = (socket(), socket());
        departure::allow(from.io.socket()).unwrap();
        let mut memory = vec![0; 65_535];
        let mut metas = [RecvMeta::default()];
        for (ecn, src_ip) in [
            (EcnCodepoint::Ect0, None),
            (EcnCodepoint::Ect1, Some(Ipv4Addr::LOCALHOST.into())),
        ] {
            let batch = Transmit {
                segment_size: (from.max_segments(1_200) > 1).then_some(2),
                ecn: Some(ecn),
                src_ip,
                ..transmit(to.local_addr().unwrap(), 5)
            };
            let departure = clock::now() + Duration::from_micros(300);
            assert!(from.send_at(Some(departure), &batch, b"aabbc", clock::now()));
            let count = std::future::poll_fn(|cx| {
                to.poll_recv(cx, &mut [IoSliceMut::new(&mut memory)], &mut metas)
            });
            assert_eq!(count.await.unwrap(), 1);
            assert_eq!(&memory[..metas[0].len], b"aabbc");
            assert_eq!(metas[0].addr, from.local_addr().unwrap());
            assert_eq!(received_ecn(&metas[0]), Some(ecn));
        }
    }

    #[tokio::test]
    #[cfg(target_os = "linux")]
    async fn what_cannot_be_sent_at_a_time_is_tried_without() {
        let socket = socket();
        let nowhere = SocketAddr::from((Ipv4Addr::BROADCAST, 9));
        let now = clock::now();
        assert!(socket.send_at(Some(now), &transmit(nowhere, 1), b"x", now));
        assert_eq!(socket.send_errors(), 1);
        // A socket that takes no departure times refuses them (EINVAL).
        let here = socket.local_addr().unwrap();
        assert!(socket.send_at(Some(now), &transmit(here, 1), b"x", now));
        assert_eq!(socket.send_errors(), 1);
        let mut memory = [0; 9];
        let mut metas = [RecvMeta::default()];
        let count = socket.try_recv(&mut [IoSliceMut::new(&mut memory)], &mut metas);
        assert_eq!(count.unwrap(), 1);
    }

    #[tokio::test]
    async fn packets_that_arrive_as_one_batch_keep_their_ecn_mark() {
        let (from, to) = (socket(), socket());
        let destination = to.local_addr().unwrap();
        let codepoints = [
            EcnCodepoint::Ect0,
            EcnCodepoint::Ect1,
            EcnCodepoint::Ce,
            EcnCodepoint::Ect1,
        ];
        for ecn in codepoints {
            let batch = Transmit {
                segment_size: (from.max_segments(1_200) > 1).then_some(2),
                ecn: Some(ecn),
                ..transmit(destination, 5)
            };
            assert!(from.send(&batch, b"aabbc", clock::now()));
        }
        let mut memory = vec![0; 65_535];
        let mut metas = [RecvMeta::default()];
        let mut received = Vec::new();
        while received.len() < codepoints.len() {
            let count = std::future::poll_fn(|cx| {
                to.poll_recv(cx, &mut [IoSliceMut::new(&mut memory)], &mut metas)
            });
            assert_eq!(count.await.unwrap(), 1);
            assert_eq!(metas[0].len, 5);
            received.push(received_ecn(&metas[0]));
        }
        assert_eq!(received, codepoints.map(Some));
    }

    #[tokio::test]
    async fn what_the_kernel_refuses_is_lost_and_counted() {
        let socket = socket();
        // Broadcasting takes an option that this socket does not have.
        let nowhere = SocketAddr::from((Ipv4Addr::BROADCAST, 9));
        assert!(socket.send(&transmit(nowhere, 1), b"x", clock::now()));
        assert_eq!(socket.send_errors(), 1);
        let here = socket.local_addr().unwrap();
        // An MTU probe larger than any datagram is its own answer.
        assert!(socket.send(&transmit(here, 70_000), &[0; 70_000], clock::now()));
        assert_eq!(socket.send_errors(), 1);
    }

    #[tokio::test]
    async fn a_batch_without_offload_goes_packet_by_packet() {
        let (from, to) = (socket(), socket());
        let destination = to.local_addr().unwrap();
        let batch = Transmit {
            segment_size: Some(2),
            ..transmit(destination, 5)
        };
        from.send_one_by_one(&udp_transmit(&batch, b"aabbc"));
        let mut lens = Vec::new();
        let (mut memory, mut metas) = ([0; 100], [RecvMeta::default()]);
        while to
            .try_recv(&mut [IoSliceMut::new(&mut memory)], &mut metas)
            .is_ok()
        {
            lens.push(metas[0].len);
        }
        assert_eq!(lens, [2, 2, 1]);
    }
}
