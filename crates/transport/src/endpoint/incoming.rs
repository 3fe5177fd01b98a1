//! Connection attempts that wait for the application's decision.

use super::inner::EndpointLease;
use crate::config::ServerConfig;
use crate::connection::{Connecting, Connection};
use quinn_proto::{ConnectionError, ConnectionId};
use std::fmt;
use std::future::{Future, IntoFuture};
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use thiserror::Error;

/// A client's first packet, not yet answered.
///
/// `await` it to accept. Dropping it refuses.
///
/// ```
/// use paceline::{Connection, ConnectionError, Incoming};
///
/// /// Has clients prove their addresses before anything is kept for them.
/// async fn admit(attempt: Incoming) -> Result<Option<Connection>, ConnectionError> {
///     if attempt.remote_address_validated() {
///         return attempt.await.map(Some);
///     }
///     // The client comes again, with a token.
///     if let Err(error) = attempt.retry() {
///         error.into_incoming().refuse();
///     }
///     Ok(None)
/// }
/// ```
pub struct Incoming(Option<Attempt>);

struct Attempt {
    proto: quinn_proto::Incoming,
    /// The configuration that was in force when it arrived.
    config: Arc<ServerConfig>,
    endpoint: EndpointLease,
}

impl Incoming {
    pub(super) fn new(
        proto: quinn_proto::Incoming,
        config: Arc<ServerConfig>,
        endpoint: EndpointLease,
    ) -> Self {
        Self(Some(Attempt {
            proto,
            config,
            endpoint,
        }))
    }

    /// Goes on with the handshake.
    ///
    /// # Errors
    /// When the packet turns out to be forged or broken, or has waited too long.
    pub fn accept(mut self) -> Result<Connecting, ConnectionError> {
        let attempt = self.0.take().expect("taken by value");
        attempt.endpoint.accept(attempt.proto, &attempt.config)
    }

    /// Goes on with the handshake under a configuration of its own.
    ///
    /// # Errors
    /// As [`accept`](Self::accept).
    pub fn accept_with(mut self, config: Arc<ServerConfig>) -> Result<Connecting, ConnectionError> {
        let attempt = self.0.take().expect("taken by value");
        attempt.endpoint.accept(attempt.proto, &config)
    }

    /// Answers that there is no connection to be had.
    pub fn refuse(mut self) {
        if let Some(attempt) = self.0.take() {
            attempt.endpoint.refuse(attempt.proto);
        }
    }

    /// Has the client prove its address by coming back with a token (RFC 9000 §8.1.2).
    ///
    /// # Errors
    /// When it has come with one already; the attempt is in the error.
    pub fn retry(mut self) -> Result<(), RetryError> {
        let attempt = self.0.take().expect("taken by value");
        attempt.endpoint.retry(attempt.proto).map_err(|error| {
            let proto = error.into_incoming();
            let attempt = Attempt { proto, ..attempt };
            RetryError(Box::new(Self(Some(attempt))))
        })
    }

    /// Forgets the attempt without an answer.
    pub fn ignore(mut self) {
        if let Some(attempt) = self.0.take() {
            attempt.endpoint.ignore(attempt.proto);
        }
    }

    /// The local address that the client sends to, where the platform reports it.
    pub fn local_ip(&self) -> Option<IpAddr> {
        self.proto().local_ip()
    }

    /// The client's UDP address.
    pub fn remote_address(&self) -> SocketAddr {
        self.proto().remote_address()
    }

    /// Whether the client has proved that it receives what is sent to its address.
    pub fn remote_address_validated(&self) -> bool {
        self.proto().remote_address_validated()
    }

    /// Whether [`retry`](Self::retry) is allowed.
    pub fn may_retry(&self) -> bool {
        self.proto().may_retry()
    }

    /// The connection ID that the client chose for the server.
    pub fn orig_dst_cid(&self) -> ConnectionId {
        *self.proto().orig_dst_cid()
    }

    fn proto(&self) -> &quinn_proto::Incoming {
        &self.0.as_ref().expect("there until taken by value").proto
    }
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Incoming")
            .field("proto", &self.0.as_ref().map(|attempt| &attempt.proto))
            .finish_non_exhaustive()
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if let Some(attempt) = self.0.take() {
            attempt.endpoint.refuse(attempt.proto);
        }
    }
}

impl IntoFuture for Incoming {
    type Output = Result<Connection, ConnectionError>;
    type IntoFuture = IncomingFuture;

    fn into_future(self) -> Self::IntoFuture {
        IncomingFuture(self.accept())
    }
}

/// The future of a [`Connection`] from an [`Incoming`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct IncomingFuture(Result<Connecting, ConnectionError>);

impl Future for IncomingFuture {
    type Output = Result<Connection, ConnectionError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Ok(connecting) => Pin::new(connecting).poll(cx),
            Err(error) => Poll::Ready(Err(error.clone())),
        }
    }
}

/// The client has come with a token already.
#[derive(Debug, Error)]
#[error("retry() of an attempt that came with a token")]
pub struct RetryError(Box<Incoming>);

impl RetryError {
    /// The attempt.
    pub fn into_incoming(self) -> Incoming {
        *self.0
    }
}
