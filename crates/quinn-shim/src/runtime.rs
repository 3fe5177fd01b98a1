//! quinn's runtimes, of which tokio alone is possible here.

use crate::abstract_socket::{AsyncUdpSocket, TokioSocket};
use std::fmt::Debug;
use std::future::Future;
use std::io;
use std::net::UdpSocket;
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

    /// Something to put a socket of one's own around, for
    /// [`Endpoint::new_with_abstract_socket`](crate::Endpoint::new_with_abstract_socket). As it is,
    /// [`Endpoint::new`](crate::Endpoint::new) with the socket itself is faster.
    fn wrap_udp_socket(&self, t: UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        Ok(Arc::new(TokioSocket::new(t)?))
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
