//! What an application may put in place of a UDP socket of the kernel's.

use crate::dscp::Dscp;
use quinn_proto::EcnCodepoint;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::task::{Context, Poll};

/// Carries an endpoint's datagrams, in place of a UDP socket of the kernel's: through a proxy,
/// after hole punching, beside another protocol on one port, over links of a test's own.
///
/// [`Endpoint::with_socket`](crate::Endpoint::with_socket) takes it. It is asked for datagrams and
/// given datagrams by the endpoint's task, on whatever thread that runs, in some of these calls
/// while a connection is locked. Therefore it may not use the endpoint or its connections: that
/// panics, and a panic is an error of the socket. Nor may it block.
///
/// # What pacing loses
/// The times at which packets leave are those at which [`try_send`](Self::try_send) is called. A
/// socket that passes them on at once loses nothing of it but
/// [kernel pacing](crate::TransportConfig::kernel_pacing), which `on` refuses. One that holds them
/// in a queue of its own adds that queue to the path: the controller takes its delay for the
/// network's, and bursts that leave it are not paced. So return
/// [`WouldBlock`](io::ErrorKind::WouldBlock) rather than store more than the network takes within a
/// millisecond or so.
pub trait DatagramSocket: fmt::Debug + Send + Sync + 'static {
    /// The address from which it sends. An IPv6 address says that it takes IPv6 destinations, and
    /// IPv4 ones in their mapped form.
    ///
    /// # Errors
    /// When it has none any more.
    fn local_addr(&self) -> io::Result<SocketAddr>;

    /// Sends a datagram, or several of one size to one destination.
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) when it takes none at present; the same batch
    /// comes again once [`poll_writable`](Self::poll_writable) is ready. After any other error it
    /// is lost, as it could be anywhere on its way; it is counted in
    /// [`EndpointStats::send_errors`](crate::EndpointStats::send_errors).
    fn try_send(&self, batch: &DatagramBatch<'_>) -> io::Result<()>;

    /// Ready when it may take datagrams again after `try_send` did not; before that, the task will
    /// be woken then.
    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<()>;

    /// Writes a datagram that has arrived to the beginning of `buffer`, of 65,535 bytes or more, or
    /// several of one size and one sender, one behind the other. If there is none, the task
    /// will be woken by the next.
    ///
    /// # Errors
    /// What concerns one datagram is better left out: after 1,000 errors in a row the endpoint
    /// ends, with all of its connections. [`WouldBlock`](io::ErrorKind::WouldBlock) is
    /// [`Poll::Pending`].
    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<ArrivedDatagrams>>;

    /// Most datagrams that one [`try_send`](Self::try_send) takes, from 1 on. Default: 1. Of more
    /// than 64, or than 64 KiB hold, it is never given.
    fn max_batch(&self) -> usize {
        1
    }

    /// Whether routers may split what it sends, so that no MTU can be discovered (RFC 9000
    /// §14): packets then keep [`initial_mtu`](crate::TransportConfig::initial_mtu) bytes.
    /// Default: they may not.
    fn may_fragment(&self) -> bool {
        false
    }
}

/// Datagrams to be sent.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct DatagramBatch<'a> {
    /// Where to.
    pub destination: SocketAddr,
    /// The local address to send from, if there are several and the connection uses one of them.
    pub source: Option<IpAddr>,
    /// The codepoint of their IP headers. One that is left out disables ECN on the path; one that
    /// is changed to another is an error of the path (RFC 9000 §13.4).
    pub ecn: Option<EcnCodepoint>,
    /// The other bits of the traffic class:
    /// [`TransportConfig::dscp`](crate::TransportConfig::dscp).
    pub dscp: Dscp,
    /// What is in them, one behind the other.
    pub contents: &'a [u8],
    /// Bytes of each but the last, which may have fewer. At least 1.
    pub size: usize,
}

impl<'a> DatagramBatch<'a> {
    /// `contents` in datagrams of `size` bytes, the last of which may have fewer, not ECN-capable,
    /// without a DSCP and from whatever address the socket has.
    ///
    /// # Panics
    /// When `size` is zero.
    pub const fn new(destination: SocketAddr, contents: &'a [u8], size: usize) -> Self {
        assert!(size > 0, "a datagram has at least a byte");
        Self {
            destination,
            source: None,
            ecn: None,
            dscp: Dscp::DEFAULT,
            contents,
            size,
        }
    }

    /// One by one.
    pub fn datagrams(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a> {
        self.contents.chunks(self.size)
    }
}

/// Datagrams that have arrived: [`one`](Self::one), and then whatever else is known of them.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ArrivedDatagrams {
    /// Bytes of all of them together.
    pub len: usize,
    /// Bytes of each but the last, which may have fewer. `len` for a single one.
    pub size: usize,
    /// Who sent them, in the form that destinations have.
    pub source: SocketAddr,
    /// The local address that they were sent to, if the socket knows it.
    pub destination: Option<IpAddr>,
    /// The codepoint of their IP headers, [`None`] for not ECN-capable.
    pub ecn: Option<EcnCodepoint>,
}

impl ArrivedDatagrams {
    /// A single one of `len` bytes, not ECN-capable.
    pub const fn one(len: usize, source: SocketAddr) -> Self {
        Self {
            len,
            size: len,
            source,
            destination: None,
            ecn: None,
        }
    }
}
