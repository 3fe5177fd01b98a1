//! A connection whose handshake is under way.

use super::{Connection, Lease};
use quinn_proto::ConnectionError;
use std::any::Any;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

/// The future of a [`Connection`]. Dropping it abandons the attempt.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Connecting {
    lease: Option<Lease>,
}

impl Connecting {
    pub(crate) fn new(lease: Lease) -> Self {
        Self { lease: Some(lease) }
    }

    /// What the handshake has agreed on, as soon as it is known: for rustls a
    /// [`HandshakeData`](quinn_proto::crypto::rustls::HandshakeData).
    ///
    /// # Errors
    /// When the connection was lost before.
    ///
    /// # Panics
    /// After the future has resolved.
    pub async fn handshake_data(&mut self) -> Result<Box<dyn Any>, ConnectionError> {
        let lease = self.lease();
        loop {
            let ready = {
                let mut state = lease.lock();
                if let Some(data) = state.driver.conn().crypto_session().handshake_data() {
                    return Ok(data);
                }
                if let Some(error) = &state.error {
                    return Err(error.clone());
                }
                lease.signals.handshake_data.notified()
            };
            ready.await;
        }
    }

    /// The local address that the peer speaks to, where the platform tells; `None` on clients.
    ///
    /// # Panics
    /// After the future has resolved.
    pub fn local_ip(&self) -> Option<IpAddr> {
        self.lease().lock().driver.conn().local_ip()
    }

    /// The peer's UDP address.
    ///
    /// # Panics
    /// After the future has resolved.
    pub fn remote_address(&self) -> SocketAddr {
        self.lease().lock().driver.conn().remote_address()
    }

    fn lease(&self) -> &Lease {
        self.lease.as_ref().expect("used before it has resolved")
    }
}

impl Future for Connecting {
    type Output = Result<Connection, ConnectionError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.lease().lock();
        let result = if state.is_connected {
            Ok(())
        } else if let Some(error) = &state.error {
            Err(error.clone())
        } else {
            state.connecting = Some(cx.waker().clone());
            return Poll::Pending;
        };
        drop(state);
        let lease = self.lease.take().expect("used before it has resolved");
        Poll::Ready(result.map(|()| Connection::new(lease)))
    }
}
