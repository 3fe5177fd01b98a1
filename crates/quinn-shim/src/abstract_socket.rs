//! Sockets of the application's, with quinn's traits.

use paceline::{ArrivedDatagrams, DatagramBatch, DatagramSocket, EcnCodepoint};
use quinn_udp::{RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use std::fmt::Debug;
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use tokio::io::Interest;

/// A socket that is not the system's, or has something around it.
pub trait AsyncUdpSocket: Send + Sync + Debug + 'static {
    /// What a task waits with until the socket takes datagrams again.
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>>;

    /// Sends datagrams.
    ///
    /// # Errors
    /// `WouldBlock` when the socket takes none at present.
    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()>;

    /// Receives datagrams, and says how many buffers they fill. It is given one at a time.
    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>>;

    /// The local address.
    ///
    /// # Errors
    /// When it has none.
    fn local_addr(&self) -> io::Result<SocketAddr>;

    /// Most datagrams in one [`Transmit`].
    fn max_transmit_segments(&self) -> usize {
        1
    }

    /// Most datagrams in one buffer received.
    fn max_receive_segments(&self) -> usize {
        1
    }

    /// Whether datagrams may be fragmented.
    fn may_fragment(&self) -> bool {
        true
    }
}

/// Waits for an [`AsyncUdpSocket`] to take datagrams.
pub trait UdpPoller: Send + Sync + Debug + 'static {
    /// Whether it takes some; if not, the task is woken when it does.
    fn poll_writable(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
}

/// Such a socket as paceline takes it.
#[derive(Debug)]
pub(crate) struct Adapted {
    socket: Arc<dyn AsyncUdpSocket>,
    /// While the socket takes nothing.
    poller: Mutex<Option<Pin<Box<dyn UdpPoller>>>>,
}

impl Adapted {
    pub(crate) fn new(socket: Arc<dyn AsyncUdpSocket>) -> Arc<Self> {
        Arc::new(Self {
            socket,
            poller: Mutex::default(),
        })
    }
}

impl DatagramSocket for Adapted {
    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    fn try_send(&self, batch: &DatagramBatch<'_>) -> io::Result<()> {
        self.socket.try_send(&Transmit {
            destination: batch.destination,
            ecn: batch.ecn.map(udp_codepoint),
            contents: batch.contents,
            segment_size: (batch.size < batch.contents.len()).then_some(batch.size),
            src_ip: batch.source,
        })
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut poller = self.poller.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = poller.get_or_insert_with(|| Arc::clone(&self.socket).create_io_poller());
        // An error comes again, from the next attempt to send.
        let _ = ready!(waiting.as_mut().poll_writable(cx));
        *poller = None;
        Poll::Ready(())
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<ArrivedDatagrams>> {
        let mut meta = [RecvMeta::default()];
        let mut buffers = [IoSliceMut::new(buffer)];
        let count = ready!(self.socket.poll_recv(cx, &mut buffers, &mut meta))?;
        if count == 0 {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let [meta] = meta;
        let mut arrived = ArrivedDatagrams::one(meta.len, meta.addr);
        arrived.size = meta.stride;
        arrived.destination = meta.dst_ip;
        arrived.ecn = meta.ecn.map(codepoint);
        Poll::Ready(Ok(arrived))
    }

    fn max_batch(&self) -> usize {
        self.socket.max_transmit_segments()
    }

    fn may_fragment(&self) -> bool {
        self.socket.may_fragment()
    }
}

fn udp_codepoint(ecn: EcnCodepoint) -> quinn_udp::EcnCodepoint {
    match ecn {
        EcnCodepoint::Ect0 => quinn_udp::EcnCodepoint::Ect0,
        EcnCodepoint::Ect1 => quinn_udp::EcnCodepoint::Ect1,
        EcnCodepoint::Ce => quinn_udp::EcnCodepoint::Ce,
    }
}

fn codepoint(ecn: quinn_udp::EcnCodepoint) -> EcnCodepoint {
    match ecn {
        quinn_udp::EcnCodepoint::Ect0 => EcnCodepoint::Ect0,
        quinn_udp::EcnCodepoint::Ect1 => EcnCodepoint::Ect1,
        quinn_udp::EcnCodepoint::Ce => EcnCodepoint::Ce,
    }
}

/// A UDP socket of the system's, to put something around.
#[derive(Debug)]
pub(crate) struct TokioSocket {
    io: tokio::net::UdpSocket,
    state: UdpSocketState,
}

impl TokioSocket {
    pub(crate) fn new(socket: UdpSocket) -> io::Result<Self> {
        Ok(Self {
            state: UdpSocketState::new(UdpSockRef::from(&socket))?,
            io: tokio::net::UdpSocket::from_std(socket)?,
        })
    }
}

impl AsyncUdpSocket for TokioSocket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(TokioPoller(self))
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.io.try_io(Interest::WRITABLE, || {
            self.state.try_send(UdpSockRef::from(&self.io), transmit)
        })
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.io.poll_recv_ready(cx))?;
            let received = self.io.try_io(Interest::READABLE, || {
                self.state.recv(UdpSockRef::from(&self.io), bufs, meta)
            });
            match received {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(result),
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.state.gro_segments()
    }

    fn may_fragment(&self) -> bool {
        self.state.may_fragment()
    }
}

#[derive(Debug)]
struct TokioPoller(Arc<TokioSocket>);

impl UdpPoller for TokioPoller {
    fn poll_writable(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.io.poll_send_ready(cx)
    }
}
