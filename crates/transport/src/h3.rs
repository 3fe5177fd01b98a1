//! HTTP/3 (RFC 9114) by the crate [`h3`], which does requests, responses and header
//! compression over any transport that implements its [traits](quic). Feature `h3`.
//!
//! Names are those of `h3-quinn` 0.0.10, so porting is a change of import. The controller is the
//! QUIC connection's, and is chosen and exchanged there.
//!
//! ```
//! use ::h3::{client, server};
//! use transport::{Endpoint, h3, tls};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let certificate = tls::SelfSigned::generate(["localhost"])?;
//! let mut config = certificate.server().alpn(&[h3::ALPN]).config()?;
//! config.congestion("bbr3")?;
//! let endpoint = Endpoint::server(config, "127.0.0.1:0".parse()?)?;
//! let address = endpoint.local_addr()?;
//! tokio::spawn(async move {
//!     let connection = endpoint.accept().await?.await.ok()?;
//!     let builder = server::builder();
//!     let mut requests = builder.build(h3::Connection::new(connection)).await.ok()?;
//!     while let Ok(Some(request)) = requests.accept().await {
//!         let (_, mut stream) = request.resolve_request().await.ok()?;
//!         stream.send_response(http::Response::new(())).await.ok()?;
//!         stream.send_data(bytes::Bytes::from_static(b"hello")).await.ok()?;
//!         stream.finish().await.ok()?;
//!     }
//!     Some(())
//! });
//!
//! let config = tls::client_with_fingerprint(certificate.fingerprint);
//! let config = config.alpn(&[h3::ALPN]).config()?;
//! let quic = Endpoint::client("127.0.0.1:0".parse()?)?;
//! let connection = quic.connect_with(config, address, "localhost")?.await?;
//! let (mut connection, mut requests) = client::new(h3::Connection::new(connection)).await?;
//! let get = async {
//!     let request = http::Request::get("https://localhost/").body(())?;
//!     let mut stream = requests.send_request(request).await?;
//!     stream.finish().await?;
//!     assert_eq!(stream.recv_response().await?.status(), 200);
//!     assert!(stream.recv_data().await?.is_some());
//!     // The last of these closes the connection.
//!     drop(requests);
//!     Ok::<_, Box<dyn std::error::Error>>(())
//! };
//! let (closed, got) = tokio::join!(connection.wait_idle(), get);
//! assert!(closed.is_h3_no_error());
//! got
//! # }
//! ```
//!
//! # What becomes of errors
//! | QUIC | here |
//! |---|---|
//! | closed by the peer with an application's code | [`ApplicationClose`](quic::ConnectionErrorIncoming::ApplicationClose) with that code |
//! | idle timeout | [`Timeout`](quic::ConnectionErrorIncoming::Timeout) |
//! | any other end of the connection | [`Undefined`](quic::ConnectionErrorIncoming::Undefined): a [`ConnectionError`] |
//! | RESET_STREAM, STOP_SENDING | [`StreamTerminated`](quic::StreamErrorIncoming::StreamTerminated) with the peer's code |
//! | use of a stream that this side has given up, 0-RTT rejected | [`Unknown`](quic::StreamErrorIncoming::Unknown): a [`WriteError`](crate::WriteError), [`ReadError`](crate::ReadError) or [`ClosedStream`](crate::ClosedStream) |
//!
//! # Streams that are dropped
//! A sending side that is dropped between two frames is finished, as in `h3-quinn`, and `h3` rests
//! on that itself. **To the peer that is the end of the message**: call `finish`, or `stop_stream`
//! with a code where there is more to come. A side that is dropped inside of a frame is reset with
//! H3_REQUEST_CANCELLED, because the cut frame would have the peer close the connection
//! (RFC 9114 §7.1). A receiving side that is dropped before its end asks the peer to stop, a
//! server with H3_NO_ERROR, because its response may be complete without (§4.1), a client with
//! H3_REQUEST_CANCELLED (§4.1.1).
//!
//! # Cancel safety
//! Futures of `h3` that accept, open or receive lose nothing when they are dropped. One that sends
//! leaves its frame in the stream, begun: `finish` writes the rest of it first, `stop_stream`
//! forgets it, and to send more is refused, with an error of this stream alone.
//!
//! # Limits
//! A stream holds one frame that was handed over and does not fit into the send window yet, and
//! nothing that was received: what `h3` does not ask for stays in the receive window. No task is
//! spawned.

#[cfg(feature = "h3-datagram")]
pub mod datagram;
mod error;
mod stream;

pub use stream::{BidiStream, RecvStream, SendStream};

use ::h3::error::Code;
use ::h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming};
use bytes::Buf;
use error::{connection_error, on_connection, wire_code};
use quinn_proto::{ConnectionError, Side};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The application protocol's name in the TLS handshake (RFC 9114 §3.1).
pub const ALPN: &[u8] = b"h3";

/// A QUIC connection for `h3::server` and `h3::client`.
#[derive(Debug)]
pub struct Connection {
    opener: OpenStreams,
    accepting_bi: Waiting<(crate::SendStream, crate::RecvStream)>,
    accepting_uni: Waiting<crate::RecvStream>,
}

impl Connection {
    /// The whole connection becomes HTTP/3's. A clone that is kept still tells its
    /// [`stats`](crate::Connection::stats) and exchanges its
    /// [controller](crate::Connection::set_congestion).
    pub fn new(connection: crate::Connection) -> Self {
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
        let OpenStreams {
            connection, side, ..
        } = &self.opener;
        let accepted = self.accepting_uni.poll(cx, || {
            let connection = connection.clone();
            async move { connection.accept_uni().await }
        });
        accepted
            .map_ok(|recv| RecvStream::new(recv, *side))
            .map_err(connection_error)
    }

    fn poll_accept_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<BidiStream<B>, ConnectionErrorIncoming>> {
        let OpenStreams {
            connection, side, ..
        } = &self.opener;
        let accepted = self.accepting_bi.poll(cx, || {
            let connection = connection.clone();
            async move { connection.accept_bi().await }
        });
        accepted
            .map_ok(|stream| BidiStream::new(stream, *side))
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
    connection: crate::Connection,
    side: Side,
    opening_bi: Waiting<(crate::SendStream, crate::RecvStream)>,
    opening_uni: Waiting<crate::SendStream>,
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
struct Waiting<T>(Option<BoxFuture<T>>);

type BoxFuture<T> = Pin<Box<dyn Future<Output = Result<T, ConnectionError>> + Send + Sync>>;

impl<T> Waiting<T> {
    /// Polls the future that waits, or else the one that `begin` makes.
    fn poll<F>(
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
