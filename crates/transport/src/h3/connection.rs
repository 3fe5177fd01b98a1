//! A connection and what opens its streams.

use super::error::{connection_error, on_connection, wire_code};
use super::stream::{BidiStream, RecvStream, SendStream};
use crate::connection;
use ::h3::error::Code;
use ::h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming};
use bytes::Buf;
use quinn_proto::{ConnectionError, Side};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A QUIC connection for `h3::server` and `h3::client`.
#[derive(Debug)]
pub struct Connection {
    pub(super) opener: OpenStreams,
    accepting_bi: Waiting<(connection::SendStream, connection::RecvStream)>,
    accepting_uni: Waiting<connection::RecvStream>,
}

impl Connection {
    /// The whole connection becomes HTTP/3's. A clone that is kept still has its
    /// [`stats`](crate::Connection::stats) and exchanges its
    /// [controller](crate::Connection::set_congestion).
    pub fn new(connection: connection::Connection) -> Self {
        Self {
            opener: OpenStreams {
                side: connection.side(),
                connection,
                opening_bi: Waiting::default(),
                opening_uni: Waiting::default(),
            },
            accepting_bi: Waiting::default(),
            accepting_uni: Waiting::default(),
        }
    }
}

impl<B: Buf> quic::Connection<B> for Connection {
    type RecvStream = RecvStream;
    type OpenStreams = OpenStreams;

    fn poll_accept_recv(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<RecvStream, ConnectionErrorIncoming>> {
        let (connection, side) = (&self.opener.connection, self.opener.side);
        let accepted = self.accepting_uni.poll(cx, || {
            let connection = connection.clone();
            async move { connection.accept_uni().await }
        });
        accepted
            .map_ok(|recv| RecvStream::new(recv, side))
            .map_err(connection_error)
    }

    fn poll_accept_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<BidiStream<B>, ConnectionErrorIncoming>> {
        let (connection, side) = (&self.opener.connection, self.opener.side);
        let accepted = self.accepting_bi.poll(cx, || {
            let connection = connection.clone();
            async move { connection.accept_bi().await }
        });
        accepted
            .map_ok(|stream| BidiStream::new(stream, side))
            .map_err(connection_error)
    }

    fn opener(&self) -> OpenStreams {
        self.opener.clone()
    }
}

impl<B: Buf> quic::OpenStreams<B> for Connection {
    type BidiStream = BidiStream<B>;
    type SendStream = SendStream<B>;

    fn poll_open_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<BidiStream<B>, StreamErrorIncoming>> {
        self.opener.poll_open_bidi(cx)
    }

    fn poll_open_send(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<SendStream<B>, StreamErrorIncoming>> {
        self.opener.poll_open_send(cx)
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        quic::OpenStreams::<B>::close(&mut self.opener, code, reason);
    }
}

/// Opens the streams of a [`Connection`]; in a client each request has its own.
#[derive(Debug)]
pub struct OpenStreams {
    pub(super) connection: connection::Connection,
    side: Side,
    opening_bi: Waiting<(connection::SendStream, connection::RecvStream)>,
    opening_uni: Waiting<connection::SendStream>,
}

impl<B: Buf> quic::OpenStreams<B> for OpenStreams {
    type BidiStream = BidiStream<B>;
    type SendStream = SendStream<B>;

    fn poll_open_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<BidiStream<B>, StreamErrorIncoming>> {
        let (connection, side) = (&self.connection, self.side);
        let opened = self.opening_bi.poll(cx, || {
            let connection = connection.clone();
            async move { connection.open_bi().await }
        });
        opened
            .map_ok(|stream| BidiStream::new(stream, side))
            .map_err(on_connection)
    }

    fn poll_open_send(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<SendStream<B>, StreamErrorIncoming>> {
        let connection = &self.connection;
        let opened = self.opening_uni.poll(cx, || {
            let connection = connection.clone();
            async move { connection.open_uni().await }
        });
        opened.map_ok(SendStream::new).map_err(on_connection)
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.connection.close(wire_code(code.value()), reason);
    }
}

impl Clone for OpenStreams {
    /// What this one waits for is not the clone's.
    fn clone(&self) -> Self {
        Self {
            connection: self.connection.clone(),
            side: self.side,
            opening_bi: Waiting::default(),
            opening_uni: Waiting::default(),
        }
    }
}

/// A future of the connection's that is kept between two polls, so that its place among the
/// waiting is, too.
pub(super) struct Waiting<T>(Option<BoxFuture<T>>);

type BoxFuture<T> = Pin<Box<dyn Future<Output = Result<T, ConnectionError>> + Send + Sync>>;

impl<T> Waiting<T> {
    /// Polls the future that waits, or else the one that `begin` makes.
    pub(super) fn poll<F>(
        &mut self,
        cx: &mut Context<'_>,
        begin: impl FnOnce() -> F,
    ) -> Poll<Result<T, ConnectionError>>
    where
        F: Future<Output = Result<T, ConnectionError>> + Send + Sync + 'static,
    {
        let future = self.0.get_or_insert_with(|| Box::pin(begin()));
        let result = ready!(future.as_mut().poll(cx));
        self.0 = None;
        Poll::Ready(result)
    }
}

impl<T> Default for Waiting<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> fmt::Debug for Waiting<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Waiting" } else { "Idle" })
    }
}
