//! Attempts of clients, with configurations of this crate's.

use crate::config::ServerConfig;
use crate::connection::{Connecting, Connection};
use crate::delegate::delegated;
use paceline::{ConnectionError, ConnectionId};
use std::error::Error;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A [`paceline::Incoming`] whose connection is a [`Connection`] of this crate.
#[derive(Debug)]
pub struct Incoming(pub(crate) paceline::Incoming);

impl Incoming {
    /// As [`paceline::Incoming::accept`].
    ///
    /// # Errors
    /// When the packet turns out to be forged or broken, or has waited too long.
    pub fn accept(self) -> Result<Connecting, ConnectionError> {
        self.0.accept().map(Connecting)
    }

    /// As [`paceline::Incoming::accept_with`].
    ///
    /// # Errors
    /// As [`accept`](Self::accept).
    pub fn accept_with(self, config: Arc<ServerConfig>) -> Result<Connecting, ConnectionError> {
        let config = Arc::new(config.for_paceline());
        self.0.accept_with(config).map(Connecting)
    }

    /// As [`paceline::Incoming::refuse`].
    pub fn refuse(self) {
        self.0.refuse();
    }

    /// As [`paceline::Incoming::retry`].
    ///
    /// # Errors
    /// When the client has come with a token already; the attempt is in the error.
    pub fn retry(self) -> Result<(), RetryError> {
        self.0.retry().map_err(RetryError)
    }

    /// As [`paceline::Incoming::ignore`].
    pub fn ignore(self) {
        self.0.ignore();
    }
}

delegated! { Incoming:
    local_ip() -> Option<IpAddr>;
    may_retry() -> bool;
    orig_dst_cid() -> ConnectionId;
    remote_address() -> SocketAddr;
    remote_address_validated() -> bool;
}

impl IntoFuture for Incoming {
    type Output = Result<Connection, ConnectionError>;
    type IntoFuture = IncomingFuture;

    fn into_future(self) -> IncomingFuture {
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
#[derive(Debug)]
pub struct RetryError(paceline::RetryError);

impl RetryError {
    /// The attempt.
    pub fn into_incoming(self) -> Incoming {
        Incoming(self.0.into_incoming())
    }
}

impl fmt::Display for RetryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for RetryError {}
