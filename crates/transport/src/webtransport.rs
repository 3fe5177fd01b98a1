//! WebTransport over HTTP/3: streams and datagrams of a session, with browsers too. Feature
//! `webtransport`.
//!
//! A [`Connection`] makes a QUIC connection carry sessions: a server [accepts](Connection::accept)
//! what its client [opens](Connection::connect), several on a connection if need be. A [`Session`]
//! opens and accepts streams, sends and reads datagrams, and ends with a code and a reason.
//! Congestion control is the QUIC connection's ([`Session::connection`]), and is chosen and
//! exchanged there. docs/webtransport.md has the browser's side.
//!
//! ```
//! use paceline::webtransport::{self, Connection, SessionError, http::StatusCode};
//! use paceline::{Endpoint, tls};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let certificate = tls::SelfSigned::generate(["127.0.0.1"])?;
//! let config = certificate.server().alpn(&[webtransport::ALPN]).config()?;
//! let server = Endpoint::server(config, "127.0.0.1:0".parse()?)?;
//! let url = format!("https://{}/echo", server.local_addr()?);
//! tokio::spawn(async move {
//!     let connection = Connection::new(server.accept().await?.await.ok()?);
//!     while let Ok(request) = connection.accept().await {
//!         if request.path() != "/echo" {
//!             request.reject(StatusCode::NOT_FOUND).await.ok()?;
//!             continue;
//!         }
//!         let session = request.accept().await.ok()?;
//!         session.connection().set_congestion("bbr3").ok()?;
//!         let (mut send, mut recv) = session.accept_bi().await.ok()?;
//!         tokio::io::copy(&mut recv, &mut send).await.ok()?;
//!         send.finish().ok()?;
//!         send.stopped().await.ok()?;
//!         session.close(7, "that is all");
//!     }
//!     Some(())
//! });
//!
//! let mut client = Endpoint::client("127.0.0.1:0".parse()?)?;
//! let config = tls::client_with_fingerprint(certificate.fingerprint);
//! client.set_default_client_config(config.alpn(&[webtransport::ALPN]).config()?);
//! let session = webtransport::connect(&client, url).await?;
//! let (mut send, mut recv) = session.open_bi().await?;
//! send.write_all(b"hello").await?;
//! send.finish()?;
//! assert_eq!(recv.read_to_end(100).await?, b"hello");
//! let SessionError::Closed { code, reason } = session.closed().await else {
//!     return Err("closed in another way".into());
//! };
//! assert_eq!((code, &*reason), (7, "that is all"));
//! # Ok(())
//! # }
//! ```
//!
//! # Specification
//! draft-ietf-webtrans-http3-07, with the SETTINGS of draft 02 beside its own, because browsers
//! send these; protocol negotiation is that of draft 14, §3.3. Frames, SETTINGS, header compression
//! and capsules are read and written by the crate `web-transport-proto`.
//!
//! # Codes
//! An application's codes of streams and sessions have 32 bits. Those of streams are mapped to
//! HTTP/3's range and back; what is outside of it is a [`StreamCode::Http3`]. Streams of a session
//! that is over end with WT_SESSION_GONE.
//!
//! # End
//! Closing a session drops what is not delivered: wait for [`SendStream::stopped`] first. A stream
//! that is held and not used when its session ends is reset when it is next used, or dropped. A
//! peer that does not acknowledge the end keeps the connection for ten seconds at most.
//!
//! # Limits
//! Everything that a peer can make a connection hold has a bound.
//!
//! | what | bound |
//! |---|---|
//! | sessions of a client, with requests that wait for the application | 16, or [`Connection::with_most_sessions`] |
//! | streams that wait for the application, and tasks that read their beginnings | QUIC's limits of streams, 100 each way unless set |
//! | streams for sessions that are not there yet | 16, more are rejected with WT_BUFFERED_STREAM_REJECTED |
//! | datagrams for such sessions | 16, more are dropped |
//! | datagrams of a session that were not read | 1 MiB, counting 64 bytes more for each; the oldest go |
//! | headers of a request or an answer | 16 KiB |
//! | SETTINGS | 64 KiB |
//! | a capsule | 64 KiB |
//! | a session's reason | 1,024 bytes |

mod capsules;
mod codes;
mod connection;
mod error;
mod handle;
mod peer;
mod queue;
mod request;
mod router;
mod session;
mod sessions;
mod shared;
mod stream;

use crate::endpoint::Endpoint;
pub use codes::StreamCode;
pub use connection::{ConnectOptions, Connection};
pub use error::{
    ConnectError, ReadError, ReadToEndError, SendDatagramError, SessionError, WriteError,
};
pub use http;
use quinn_proto::ConnectionError;
pub use request::Request;
pub use session::Session;
pub use stream::{RecvStream, SendStream};

/// The application protocol's name in the TLS handshake (RFC 9114 §3.1).
pub const ALPN: &[u8] = b"h3";

/// Connects to the host of a URL, and opens a session there.
///
/// The endpoint's default client configuration has to offer [`ALPN`] and to have datagrams, which
/// are on unless turned off. For another configuration, or several sessions on a connection, make a
/// [`Connection`].
///
/// # Errors
/// As [`Connection::connect`], and when the host has no address or none of them answers.
///
/// # Cancel safety
/// If this does not resolve, there is no session.
pub async fn connect(
    endpoint: &Endpoint,
    options: impl Into<ConnectOptions>,
) -> Result<Session, ConnectError> {
    let options = options.into();
    let url = options.parsed_url()?;
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let port = url.port_or_known_default().unwrap_or(443);
    let lookup = |source| ConnectError::Lookup {
        host: host.to_owned(),
        source,
    };
    let found = tokio::net::lookup_host((host, port)).await;
    let own = endpoint.local_addr().map_err(|error| lookup(Some(error)))?;
    let mut failed = lookup(None);
    for address in found.map_err(|error| lookup(Some(error)))? {
        if address.is_ipv4() != own.is_ipv4() {
            continue;
        }
        let connected: Result<_, ConnectionError> = endpoint.connect(address, host)?.await;
        match connected {
            Ok(quic) => return Connection::new(quic).connect(options).await,
            Err(error) => failed = ConnectError::from_handshake(error),
        }
    }
    Err(failed)
}
