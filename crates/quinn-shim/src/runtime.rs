//! quinn's runtimes, of which tokio alone is possible here.

use quinn_udp::{RecvMeta, Transmit};
use std::fmt::Debug;
use std::future::Future;
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;
use tokio::runtime::Handle;
use tokio::time::{Sleep, sleep_until};

/// What quinn has done by the application's runtime. Here only [`TokioRuntime`] is accepted, and it
/// is asked for nothing: paceline has its own timer and event loop on tokio.
pub trait Runtime: Send + Sync + Debug + 'static {
    /// A timer that goes off at `i`.
    fn new_timer(&self, i: Instant) -> Pin<Box<dyn AsyncTimer>>;

    /// Runs `future` as a task.
    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>);

    /// A socket of the runtime's.
    ///
    /// # Errors
    /// When the runtime cannot use it.
    fn wrap_udp_socket(&self, t: UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>>;

    /// The present time.
    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    /// Whether it is this crate's own [`TokioRuntime`].
    #[doc(hidden)]
    fn is_tokio(&self) -> bool {
        false
    }
}

/// A timer of a [`Runtime`].
pub trait AsyncTimer: Send + Debug + 'static {
    /// Has it go off at `i` instead.
    fn reset(self: Pin<&mut Self>, i: Instant);

    /// Whether it has gone off; if not, the task is woken when it does.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()>;
}

/// A socket that is not the system's. Whatever implements it compiles, and is refused by
/// [`Endpoint::new_with_abstract_socket`](crate::Endpoint::new_with_abstract_socket).
pub trait AsyncUdpSocket: Send + Sync + Debug + 'static {
    /// What a task waits with until the socket takes datagrams again.
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>>;

    /// Sends datagrams.
    ///
    /// # Errors
    /// `WouldBlock` when the socket takes none at present.
    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()>;

    /// Receives datagrams, and says how many buffers they fill.
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

/// tokio, in which every endpoint runs.
#[derive(Debug)]
pub struct TokioRuntime;

impl Runtime for TokioRuntime {
    fn new_timer(&self, i: Instant) -> Pin<Box<dyn AsyncTimer>> {
        Box::pin(sleep_until(i.into()))
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        tokio::spawn(future);
    }

    /// Is not possible: nothing here could use the result.
    fn wrap_udp_socket(&self, _: UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        Err(refused(
            "wrap_udp_socket",
            "Endpoint::new with the socket itself",
        ))
    }

    fn is_tokio(&self) -> bool {
        true
    }
}

impl AsyncTimer for Sleep {
    fn reset(self: Pin<&mut Self>, i: Instant) {
        Self::reset(self, i.into());
    }

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Future::poll(self, cx)
    }
}

/// [`TokioRuntime`] inside a tokio runtime, `None` elsewhere.
pub fn default_runtime() -> Option<Arc<dyn Runtime>> {
    Handle::try_current().ok()?;
    Some(Arc::new(TokioRuntime))
}

pub(crate) fn refused(what: &str, expected: &str) -> io::Error {
    let message = format!("{what}: paceline, in quinn's place here, needs {expected}");
    io::Error::new(io::ErrorKind::Unsupported, message)
}
