//! Connections as the application has them.

use super::shared::{Lease, State, index};
use super::stream::{RecvStream, SendStream};
use crate::clock;
use crate::dscp::Dscp;
use crate::lock::Guard;
use crate::path_memory::PathMemory;
use crate::stats::ConnectionStats;
use bytes::Bytes;
use quinn_proto::crypto::ExportKeyingMaterialError;
use quinn_proto::{ConnectionError, Dir, Side, StreamId, VarInt};
use std::any::Any;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// A QUIC connection.
///
/// Clones are handles to the same connection. When the last of them and of its streams is
/// dropped, the connection closes with code 0; [`close`](Self::close) does so with a code of the
/// application's.
///
/// # Closing without losing data
/// Closing drops what is on its way in either direction. The side that receives the last data
/// closes; the other waits for that with [`closed`](Self::closed), and
/// [`Endpoint::wait_idle`](crate::Endpoint::wait_idle) gives the closing packet time to leave.
#[derive(Clone)]
pub struct Connection(pub(super) Lease);

impl Connection {
    pub(crate) fn new(lease: Lease) -> Self {
        Self(lease)
    }

    /// Opens a stream to the peer, as soon as the peer allows one more.
    ///
    /// The peer learns of it with the first data.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/connected.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, server) = connected().await?;
    /// let mut stream = client.open_uni().await?;
    /// stream.write_all(b"a line for the log").await?;
    /// stream.finish()?;
    ///
    /// let mut stream = server.accept_uni().await?;
    /// assert_eq!(stream.read_to_end(1_000).await?, b"a line for the log");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the connection is lost.
    ///
    /// # Cancel safety
    /// If this does not resolve, no stream was opened.
    pub async fn open_uni(&self) -> Result<SendStream, ConnectionError> {
        let (id, is_0rtt) = self.open(Dir::Uni).await?;
        Ok(SendStream::new(self.0.clone(), id, is_0rtt))
    }

    /// Opens a stream in both directions, as soon as the peer allows one more.
    ///
    /// The peer learns of it with the first data: who reads an answer before it has written
    /// something waits forever.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/connected.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, server) = connected().await?;
    /// let (mut send, mut recv) = client.open_bi().await?;
    /// send.write_all(b"which time is it").await?;
    /// send.finish()?;
    ///
    /// let (mut answer, mut question) = server.accept_bi().await?;
    /// assert_eq!(question.read_to_end(100).await?, b"which time is it");
    /// answer.write_all(b"noon").await?;
    /// answer.finish()?;
    /// assert_eq!(recv.read_to_end(100).await?, b"noon");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the connection is lost.
    ///
    /// # Cancel safety
    /// If this does not resolve, no stream was opened.
    pub async fn open_bi(&self) -> Result<(SendStream, RecvStream), ConnectionError> {
        let (id, is_0rtt) = self.open(Dir::Bi).await?;
        Ok(self.both_directions(id, is_0rtt))
    }

    /// The next stream that the peer has opened in its direction only.
    ///
    /// # Errors
    /// When the connection is lost and no stream that came before is left.
    ///
    /// # Cancel safety
    /// If this does not resolve, no stream was accepted.
    pub async fn accept_uni(&self) -> Result<RecvStream, ConnectionError> {
        let (id, is_0rtt) = self.accept(Dir::Uni).await?;
        Ok(RecvStream::new(self.0.clone(), id, is_0rtt))
    }

    /// The next stream that the peer has opened in both directions.
    ///
    /// # Errors
    /// When the connection is lost and no stream that came before is left.
    ///
    /// # Cancel safety
    /// If this does not resolve, no stream was accepted.
    pub async fn accept_bi(&self) -> Result<(SendStream, RecvStream), ConnectionError> {
        let (id, is_0rtt) = self.accept(Dir::Bi).await?;
        Ok(self.both_directions(id, is_0rtt))
    }

    /// Closes the connection at once.
    ///
    /// Whatever waits for it fails with [`ConnectionError::LocallyClosed`]; data not yet
    /// delivered is dropped. `code` and `reason` are the peer's to read, the reason as far as it
    /// fits into one packet.
    ///
    /// ```
    /// use paceline::ConnectionError;
    ///
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/connected.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, server) = connected().await?;
    /// client.close(7_u32.into(), b"that is all");
    ///
    /// let ConnectionError::ApplicationClosed(end) = server.closed().await else {
    ///     return Err("closed in another way".into());
    /// };
    /// assert_eq!((u64::from(end.error_code), &end.reason[..]), (7, &b"that is all"[..]));
    /// # Ok(())
    /// # }
    /// ```
    pub fn close(&self, code: VarInt, reason: &[u8]) {
        self.0.close(code, Bytes::copy_from_slice(reason));
    }

    /// Waits until the connection is over, and says why: closed by either side is no failure by
    /// itself.
    ///
    /// # Cancel safety
    /// It may be dropped at any time. What this has returned is returned again.
    pub async fn closed(&self) -> ConnectionError {
        loop {
            let closed = {
                let state = self.state();
                if let Some(error) = &state.error {
                    return error.clone();
                }
                self.0.signals.closed.notified()
            };
            closed.await;
        }
    }

    /// Why the connection is over; `None` while it is open.
    pub fn close_reason(&self) -> Option<ConnectionError> {
        self.state().error.clone()
    }

    /// Counters and estimates at this moment.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/connected.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, server) = connected().await?;
    /// let stats = client.stats();
    /// println!("{} bytes, {} packets lost", stats.udp_tx.bytes, stats.path.lost_packets);
    /// assert!(stats.path.sent_packets > 0 && stats.cwnd.get() > 0);
    /// # drop(server);
    /// # Ok(())
    /// # }
    /// ```
    pub fn stats(&self) -> ConnectionStats {
        self.state().driver.stats(clock::now())
    }

    /// What a later connection to the same peer may resume from, see
    /// [`TransportConfig::path_memory`](crate::TransportConfig::path_memory): the capacity in use,
    /// once it is four initial windows, and the flow-control window that has grown. `None` while
    /// neither is known, and without the capacity while the connection resumes itself (RFC 9959
    /// §3.1, §4.7).
    pub fn path_memory(&self) -> Option<PathMemory> {
        self.state().driver.path_memory()
    }

    /// Current best estimate of the round-trip time.
    pub fn rtt(&self) -> Duration {
        self.state().driver.conn().rtt()
    }

    /// The least round-trip time on this path, without the peer's delay.
    pub fn min_rtt(&self) -> Duration {
        self.state().driver.conn().min_rtt()
    }

    /// The peer's UDP address. A client may change its address, see
    /// [`ServerConfig::migration`](crate::ServerConfig::migration).
    pub fn remote_address(&self) -> SocketAddr {
        self.state().driver.conn().remote_address()
    }

    /// The local address that the peer sends to, where the platform reports it; `None` on clients.
    pub fn local_ip(&self) -> Option<IpAddr> {
        self.state().driver.conn().local_ip()
    }

    /// Bytes of a stream that have left, been in a packet at least once, while this side has its
    /// [`SendStream`]; of other streams 0. [`SendStream::unsent`] is the rest of what was written.
    pub fn stream_bytes_sent(&self, id: StreamId) -> u64 {
        self.state().driver.departed(id)
    }

    /// Changes [`TransportConfig::dscp`](crate::TransportConfig::dscp) from now on.
    pub fn set_dscp(&self, dscp: Dscp) {
        self.state().driver.set_dscp(dscp);
    }

    /// Client or server.
    pub fn side(&self) -> Side {
        self.state().driver.conn().side()
    }

    /// A number that is the connection's own for its life, unlike addresses and connection IDs.
    pub fn stable_id(&self) -> usize {
        self.0.stable_id()
    }

    /// What the handshake has agreed on: for rustls a
    /// [`HandshakeData`](quinn_proto::crypto::rustls::HandshakeData).
    pub fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.state().driver.conn().crypto_session().handshake_data()
    }

    /// Who the peer has proved to be: for rustls a `Vec<CertificateDer>`.
    pub fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.state().driver.conn().crypto_session().peer_identity()
    }

    /// Fills `output` with secret bytes that the peer gets by the same `label` and `context`
    /// (RFC 5705).
    ///
    /// # Errors
    /// When `output` is longer than the session can provide.
    pub fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        let mut state = self.state();
        let session = state.driver.conn().crypto_session();
        session.export_keying_material(output, label, context)
    }

    /// Starts using new keys (RFC 9001 §6), for tests.
    pub fn force_key_update(&self) {
        self.state().driver.conn().force_key_update();
    }

    /// Changes how many unidirectional streams the peer may have open at once, granted as those of
    /// [`TransportConfig`](crate::TransportConfig::max_concurrent_bidi_streams) are.
    pub fn set_max_concurrent_uni_streams(&self, count: VarInt) {
        let mut state = self.state();
        state.driver.set_max_concurrent_streams(Dir::Uni, count);
        self.0.schedule();
    }

    /// Changes how many bidirectional streams the peer may have open at once, granted as those of
    /// [`TransportConfig`](crate::TransportConfig::max_concurrent_bidi_streams) are.
    pub fn set_max_concurrent_bi_streams(&self, count: VarInt) {
        let mut state = self.state();
        state.driver.set_max_concurrent_streams(Dir::Bi, count);
        self.0.schedule();
    }

    /// Changes [`TransportConfig::send_window`](crate::TransportConfig::send_window), which does
    /// not follow the path any more until [`set_max_send_window`](Self::set_max_send_window).
    pub fn set_send_window(&self, bytes: u64) {
        self.state().driver.set_send_window(bytes);
        self.0.schedule();
    }

    /// Changes [`TransportConfig::max_send_window`](crate::TransportConfig::max_send_window): the
    /// window follows the path from now on, between what it was set to last and `bytes`. If that
    /// is less than what it was set to, the window stays as it was set.
    pub fn set_max_send_window(&self, bytes: u64) {
        self.state().driver.set_max_send_window(bytes);
        self.0.schedule();
    }

    /// Changes [`TransportConfig::receive_window`](crate::TransportConfig::receive_window), which
    /// does not follow the path any more until
    /// [`set_max_receive_window`](Self::set_max_receive_window).
    pub fn set_receive_window(&self, bytes: VarInt) {
        self.state().driver.set_receive_window(bytes);
        self.0.schedule();
    }

    /// Changes [`TransportConfig::max_receive_window`](crate::TransportConfig::max_receive_window):
    /// the window follows the path from now on, between what it was set to last and `bytes`. If
    /// that is less than what it was set to, the window stays as it was set.
    ///
    /// A single stream has no more than
    /// [`TransportConfig::stream_receive_window`](crate::TransportConfig::stream_receive_window),
    /// by default the most that the connection's window was configured to come to.
    pub fn set_max_receive_window(&self, bytes: VarInt) {
        self.state().driver.set_max_receive_window(bytes);
        self.0.schedule();
    }

    /// A stream, and whether it is one of 0-RTT.
    async fn open(&self, dir: Dir) -> Result<(StreamId, bool), ConnectionError> {
        loop {
            let available = {
                let mut state = self.state();
                if let Some(error) = &state.error {
                    return Err(error.clone());
                }
                let conn = state.driver.conn();
                if let Some(id) = conn.streams().open(dir) {
                    let is_0rtt = conn.side().is_client() && conn.is_handshaking();
                    if dir == Dir::Bi {
                        state.driver.begin_reading(id);
                    }
                    return Ok((id, is_0rtt));
                }
                self.0.signals.available[index(dir)].notified()
            };
            available.await;
        }
    }

    /// A stream, and whether it came with 0-RTT.
    async fn accept(&self, dir: Dir) -> Result<(StreamId, bool), ConnectionError> {
        loop {
            let incoming = {
                let mut state = self.state();
                let conn = state.driver.conn();
                if let Some(id) = conn.streams().accept(dir) {
                    let is_0rtt = conn.is_handshaking();
                    state.driver.begin_reading(id);
                    drop(state);
                    // The peer may be due the credit for another stream.
                    self.0.schedule();
                    return Ok((id, is_0rtt));
                }
                if let Some(error) = &state.error {
                    return Err(error.clone());
                }
                self.0.signals.incoming[index(dir)].notified()
            };
            incoming.await;
        }
    }

    fn both_directions(&self, id: StreamId, is_0rtt: bool) -> (SendStream, RecvStream) {
        let send = SendStream::new(self.0.clone(), id, is_0rtt);
        (send, RecvStream::new(self.0.clone(), id, is_0rtt))
    }

    pub(super) fn state(&self) -> Guard<'_, State> {
        self.0.lock()
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
