//! A connection whose handshake is under way.

use super::handle::Connection;
use super::shared::{Lease, Shared};
use quinn_proto::ConnectionError;
use std::any::Any;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
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

    /// Goes on without waiting for the handshake: a client that has connected to the server before
    /// sends 0-RTT data with its first packets, a server answers in 0.5-RTT.
    ///
    /// The second value resolves to how it ended.
    ///
    /// ```
    /// use paceline::{Connection, ClientConfig, Endpoint};
    /// use std::error::Error;
    /// use std::net::SocketAddr;
    ///
    /// async fn early(
    ///     endpoint: &Endpoint,
    ///     config: &ClientConfig,
    ///     server: SocketAddr,
    /// ) -> Result<Connection, Box<dyn Error>> {
    ///     let connecting = endpoint.connect_with(config.clone(), server, "localhost")?;
    ///     let (connection, accepted) = match connecting.into_0rtt() {
    ///         Ok(early) => early,
    ///         // The first visit.
    ///         Err(connecting) => return Ok(connecting.await?),
    ///     };
    ///     connection.open_uni().await?.write_all(b"GET /").await?;
    ///     if !accepted.await {
    ///         connection.open_uni().await?.write_all(b"GET /").await?;
    ///     }
    ///     Ok(connection)
    /// }
    /// ```
    ///
    /// # Clients
    /// What is sent before [`ZeroRttAccepted`] resolves can be **recorded and replayed** by
    /// anyone on the way: send nothing that does harm if it is done twice. The server may reject
    /// it and go on with the handshake; streams opened until then have never been, fail with
    /// `ZeroRttRejected`, and it is for the application to send again.
    ///
    /// Sessions are kept with the [`ClientConfig`](crate::ClientConfig) and its clones, so 0-RTT
    /// takes a second connection to the same name with the same configuration. Those of
    /// [`tls`](crate::tls) allow it. They end with the process: rustls 0.23 has no form of a
    /// session that a file could hold.
    ///
    /// # Servers
    /// Always possible. The client is not authenticated yet, and what it has sent may be a replay;
    /// [`RecvStream::is_0rtt`](crate::RecvStream::is_0rtt) tells. rustls keeps each session of a
    /// server once, in memory, so that its 0-RTT data is accepted once.
    ///
    /// # Errors
    /// On clients that know no session of this server; here is the attempt back.
    ///
    /// # Panics
    /// After the future has resolved.
    pub fn into_0rtt(mut self) -> Result<(Connection, ZeroRttAccepted), Self> {
        let is_possible = {
            let mut state = self.lease().lock();
            let conn = state.driver.conn();
            conn.has_0rtt() || conn.side().is_server()
        };
        if !is_possible {
            return Err(self);
        }
        let lease = self.lease.take().expect("used before it has resolved");
        let accepted = ZeroRttAccepted(Arc::clone(&lease));
        Ok((Connection::new(lease), accepted))
    }

    /// What the handshake has agreed on, as soon as it is known: for rustls a
    /// [`HandshakeData`](quinn_proto::crypto::rustls::HandshakeData).
    ///
    /// # Errors
    /// When the connection was lost before.
    ///
    /// # Cancel safety
    /// It may be dropped at any time.
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

    /// The local address that the peer sends to, where the platform reports it; `None` on clients.
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

/// The future of whether the server has accepted 0-RTT data; resolves when the handshake is
/// finished. `true` on servers, and `false` when the connection is lost before.
///
/// It does not keep the connection open.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct ZeroRttAccepted(Arc<Shared>);

impl Future for ZeroRttAccepted {
    type Output = bool;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<bool> {
        let mut state = self.0.lock();
        if state.is_connected {
            return Poll::Ready(!state.has_rejected_0rtt());
        }
        if state.error.is_some() {
            return Poll::Ready(false);
        }
        state.connecting = Some(cx.waker().clone());
        Poll::Pending
    }
}
