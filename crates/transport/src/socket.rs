//! The endpoint's socket: batches of datagrams out to the kernel, or to a socket of the
//! application's, and in.

mod batch_options;
mod ecn;
mod kernel;
mod own;
mod readiness;
#[cfg(target_os = "linux")]
mod recvmmsg;
#[cfg(target_os = "linux")]
mod sendmsg;

pub(crate) use batch_options::BatchOptions;

use crate::datagram_socket::DatagramSocket;
use crate::dscp::Dscp;
use crate::kernel_pacing::NoKernelPacing;
use crate::lock::{Guard, Lock, Locked, Rank};
use kernel::KernelSocket;
use own::OwnSocket;
use quinn_proto::{EcnCodepoint, Transmit};
use quinn_udp::RecvMeta;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// A non-blocking UDP socket with segmentation offload, ECN and enlarged buffers, or what the
/// application has put in its place.
///
/// Nothing that the network does to a datagram is an error here: what cannot be sent is lost, as
/// it could have been lost on its way, and QUIC repairs that.
#[derive(Debug)]
pub(crate) struct Socket {
    carrier: Carrier,
    is_ipv6: bool,
    counts: Arc<Counts>,
}

#[derive(Debug)]
enum Carrier {
    Kernel(KernelSocket),
    Own(OwnSocket),
}

impl Socket {
    /// # Errors
    /// When the socket cannot be made non-blocking or lacks an option that QUIC needs.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub(crate) fn new(socket: std::net::UdpSocket) -> io::Result<Self> {
        Self::with(Carrier::Kernel(KernelSocket::new(socket)?))
    }

    /// # Errors
    /// When it has no address.
    pub(crate) fn own(socket: Arc<dyn DatagramSocket>) -> io::Result<Self> {
        Self::with(Carrier::Own(OwnSocket::new(socket)))
    }

    fn with(carrier: Carrier) -> io::Result<Self> {
        let mut socket = Self {
            carrier,
            is_ipv6: false,
            counts: Arc::default(),
        };
        socket.is_ipv6 = socket.local_addr()?.is_ipv6();
        Ok(socket)
    }

    /// Goes on with the counts of `former`, whose place it takes.
    pub(crate) fn in_place_of(self, former: &Self) -> Self {
        Self {
            counts: Arc::clone(&former.counts),
            ..self
        }
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        match &self.carrier {
            Carrier::Kernel(kernel) => kernel.local_addr(),
            Carrier::Own(own) => own.local_addr(),
        }
    }

    /// Whether it takes IPv6 addresses, IPv4 ones only in their mapped form.
    pub(crate) fn is_ipv6(&self) -> bool {
        self.is_ipv6
    }

    /// Whether routers may split our packets, so that no MTU can be discovered.
    pub(crate) fn may_fragment(&self) -> bool {
        match &self.carrier {
            Carrier::Kernel(kernel) => kernel.may_fragment(),
            Carrier::Own(own) => own.may_fragment(),
        }
    }

    /// Packets of `mtu` bytes that go out in one system call.
    ///
    /// The kernel takes 64 segments, in a buffer no larger than one UDP datagram; a byte more and
    /// the whole batch fails with EMSGSIZE.
    pub(crate) fn max_segments(&self, mtu: u16) -> usize {
        let most = match &self.carrier {
            Carrier::Kernel(kernel) => kernel.max_batch(),
            Carrier::Own(own) => own.max_batch(),
        };
        let that_fit = MAX_UDP_PAYLOAD / usize::from(mtu);
        most.min(64).min(that_fit).max(1)
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
        match &self.carrier {
            Carrier::Kernel(kernel) => kernel.try_recv(buffers, metas),
            Carrier::Own(own) => own.try_recv(buffers, metas),
        }
    }

    /// Receives what is there; if that is nothing, the task will be woken by the next datagram.
    pub(crate) fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        match &self.carrier {
            Carrier::Kernel(kernel) => kernel.poll_recv(cx, buffers, metas),
            Carrier::Own(own) => own.poll_recv(cx, buffers, metas),
        }
    }

    /// Whether the kernel sends packets to `remote` at the times that
    /// [`send_at`](Self::send_at) tells it.
    ///
    /// # Errors
    /// Why it does not.
    pub(crate) fn time_departures(&self, remote: IpAddr) -> Result<(), NoKernelPacing> {
        match &self.carrier {
            Carrier::Kernel(kernel) => kernel.time_departures(remote),
            Carrier::Own(_) => Err(NoKernelPacing::OwnSocket),
        }
    }

    /// As [`send`](Self::send), but the packets have a DSCP, and the kernel keeps them until their
    /// departure, if there is one and [`time_departures`](Self::time_departures) has found that it
    /// can.
    pub(crate) fn send_with(
        &self,
        options: BatchOptions,
        transmit: &Transmit,
        contents: &[u8],
        now: Instant,
    ) -> bool {
        #[cfg(target_os = "linux")]
        if let Carrier::Kernel(kernel) = &self.carrier
            && (options.departure.is_some() || !options.dscp.is_default())
        {
            match kernel.send_with(&udp_transmit(transmit, contents), options) {
                Ok(()) => return true,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.counts.send_blocked.fetch_add(1, Ordering::Relaxed);
                    return false;
                }
                // What is wrong with the packets is found out without these.
                Err(_) => {}
            }
        }
        self.send_to(options.dscp, transmit, contents, now)
    }

    /// Sends the packets of `transmit`, whose bytes are `contents`. `false` means that the socket
    /// takes none at present, and [`poll_writable`](Self::poll_writable) says when to try again.
    pub(crate) fn send(&self, transmit: &Transmit, contents: &[u8], now: Instant) -> bool {
        self.send_to(Dscp::default(), transmit, contents, now)
    }

    /// The same, with a DSCP where the socket is the application's.
    fn send_to(&self, dscp: Dscp, transmit: &Transmit, contents: &[u8], now: Instant) -> bool {
        let packets = udp_transmit(transmit, contents);
        let sent = match &self.carrier {
            Carrier::Kernel(kernel) => kernel.send(&packets),
            Carrier::Own(own) => own.try_send(&packets, dscp),
        };
        match sent {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.counts.send_blocked.fetch_add(1, Ordering::Relaxed);
                false
            }
            Err(error) => {
                self.note(&error, transmit, now);
                true
            }
        }
    }

    /// Ready when the socket takes packets again.
    pub(crate) fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<()> {
        match &self.carrier {
            Carrier::Kernel(kernel) => kernel.poll_writable(cx),
            Carrier::Own(own) => own.poll_writable(cx),
        }
    }

    /// Datagrams or batches that the socket refused, MTU probes aside.
    pub(crate) fn send_errors(&self) -> u64 {
        self.errors().count
    }

    /// Times that the socket took no more packets.
    pub(crate) fn send_blocked(&self) -> u64 {
        self.counts.send_blocked.load(Ordering::Relaxed)
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
                "the socket refused packets",
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

fn udp_transmit<'a>(transmit: &Transmit, contents: &'a [u8]) -> quinn_udp::Transmit<'a> {
    quinn_udp::Transmit {
        destination: transmit.destination,
        ecn: transmit.ecn.map(ecn::to_udp),
        contents,
        segment_size: transmit.segment_size,
        src_ip: transmit.src_ip,
    }
}

/// The ECN mark of received datagrams, in quinn-proto's words.
pub(crate) fn received_ecn(meta: &RecvMeta) -> Option<EcnCodepoint> {
    meta.ecn.map(ecn::to_proto)
}

/// Largest UDP payload over IPv4: 65,535 less 20 bytes of IP and 8 of UDP header.
const MAX_UDP_PAYLOAD: usize = 65_507;

const LOG_INTERVAL: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use std::net::Ipv4Addr;

    impl Socket {
        fn kernel(&self) -> &KernelSocket {
            match &self.carrier {
                Carrier::Kernel(kernel) => kernel,
                Carrier::Own(_) => panic!("it is the application's"),
            }
        }
    }

    #[cfg(feature = "rcgen")]
    impl Socket {
        /// Refuses one of so many batches from now on.
        pub(crate) fn refuse_one_of(&self, batches: u64) {
            self.kernel()
                .refusals
                .interval
                .store(batches, Ordering::Relaxed);
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

    #[cfg(target_os = "linux")]
    fn leaving_at(departure: Instant) -> BatchOptions {
        BatchOptions {
            departure: Some(departure),
            ..BatchOptions::default()
        }
    }

    #[tokio::test]
    async fn a_batch_is_no_larger_than_one_udp_datagram() {
        let socket = socket();
        let most = socket.kernel().max_batch().min(64);
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
        from.kernel().allow_departures().unwrap();
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
            assert!(from.send_with(leaving_at(departure), &batch, b"aabbc", clock::now()));
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
        assert!(socket.send_with(leaving_at(now), &transmit(nowhere, 1), b"x", now));
        assert_eq!(socket.send_errors(), 1);
        // A socket that takes no departure times refuses them (EINVAL).
        let here = socket.local_addr().unwrap();
        assert!(socket.send_with(leaving_at(now), &transmit(here, 1), b"x", now));
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
        from.kernel()
            .send_one_by_one(&udp_transmit(&batch, b"aabbc"));
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
