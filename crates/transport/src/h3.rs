//! HTTP/3 (RFC 9114) by the crate [`h3`], which does requests, responses and header
//! compression over any transport that implements its [traits](quic). Feature `h3`.
//!
//! Names are those of `h3-quinn` 0.0.10, so porting is a change of import. The controller is the
//! QUIC connection's, and is chosen and exchanged there.
//!
//! ```
//! use ::h3::{client, server};
//! use paceline::{Endpoint, h3, tls};
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
//! | use of a stream that this side has abandoned, 0-RTT rejected | [`Unknown`](quic::StreamErrorIncoming::Unknown): a [`WriteError`](crate::WriteError), [`ReadError`](crate::ReadError) or [`ClosedStream`](crate::ClosedStream) |
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

mod connection;
#[cfg(feature = "h3-datagram")]
pub mod datagram;
mod error;
mod stream;

#[cfg(doc)]
use ::h3::quic;
pub use connection::{Connection, OpenStreams};
#[cfg(doc)]
use quinn_proto::ConnectionError;
pub use stream::{BidiStream, RecvStream, SendStream};

/// The application protocol's name in the TLS handshake (RFC 9114 §3.1).
pub const ALPN: &[u8] = b"h3";
