//! A session, and the task that looks after its CONNECT stream.

use super::capsules;
use super::codes::{H3_MESSAGE_ERROR, H3_REQUEST_CANCELLED, SESSION_GONE};
use super::error::{SendDatagramError, SessionError};
use super::handle::{Handle, Link};
use super::sessions::Sessions;
use super::shared::Shared;
use super::stream::{RecvStream, SendStream};
use crate::connection::{self, Connection};
use crate::datagrams::{DatagramId, DatagramOptions};
use bytes::{BufMut, Bytes, BytesMut};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use web_transport_proto::{Capsule, Frame, StreamUni, VarInt};

/// A WebTransport session: streams and datagrams of its own within an HTTP/3 connection.
///
/// Clones are handles of the same session. It is closed with code 0 when the last of them and of
/// its streams is dropped, and the QUIC connection is when no session and no handle of it is left.
#[derive(Debug, Clone)]
pub struct Session(Arc<Handle>);

impl Session {
    /// The session of a CONNECT stream whose answer has been sent, or received.
    pub(super) fn begin(
        stream: (connection::SendStream, connection::RecvStream),
        protocol: Option<String>,
        sessions: Arc<Sessions>,
        link: Arc<Link>,
    ) -> Self {
        let shared = Arc::new(Shared::new(stream.0.id(), link.quic.clone()));
        sessions.enter(&shared, u64::MAX);
        Self::run(shared, stream, protocol, sessions, link)
    }

    /// The same, where it is among the connection's sessions already.
    pub(super) fn run(
        shared: Arc<Shared>,
        stream: (connection::SendStream, connection::RecvStream),
        protocol: Option<String>,
        sessions: Arc<Sessions>,
        link: Arc<Link>,
    ) -> Self {
        let task = look_after(Arc::clone(&shared), sessions, Arc::clone(&link), stream);
        tokio::spawn(task);
        Self(Arc::new(Handle {
            shared,
            _link: link,
            protocol,
        }))
    }

    /// The QUIC connection: its statistics, its controller, its addresses. Sessions of one
    /// connection share them. Closing it ends all of its sessions.
    pub fn connection(&self) -> &Connection {
        &self.0.shared.quic
    }

    /// Its number: that of its CONNECT stream in the QUIC connection.
    pub fn id(&self) -> u64 {
        self.0.shared.id
    }

    /// The application protocol that the server has chosen.
    pub fn protocol(&self) -> Option<&str> {
        self.0.protocol.as_deref()
    }

    /// Opens a stream in both directions. Waits while the peer permits no more.
    ///
    /// # Errors
    /// When the session is over.
    ///
    /// # Cancel safety
    /// If this does not resolve, the session has no stream more; one of which the header was not
    /// written is reset.
    pub async fn open_bi(&self) -> Result<(SendStream, RecvStream), SessionError> {
        let opened = async {
            let (send, recv) = self.connection().open_bi().await?;
            Ok((self.send_header(Frame::WEBTRANSPORT.0, send).await?, recv))
        };
        let (send, recv) = self.or_ended(opened).await?;
        Ok((
            SendStream::new(send, &self.0),
            RecvStream::new(recv, &self.0),
        ))
    }

    /// Opens a stream to the peer. Waits while the peer permits no more.
    ///
    /// # Errors
    /// When the session is over.
    ///
    /// # Cancel safety
    /// As [`open_bi`](Self::open_bi).
    pub async fn open_uni(&self) -> Result<SendStream, SessionError> {
        let opened = async {
            let send = self.connection().open_uni().await?;
            self.send_header(StreamUni::WEBTRANSPORT.0, send).await
        };
        let send = self.or_ended(opened).await?;
        Ok(SendStream::new(send, &self.0))
    }

    /// The next stream in both directions that the peer opens.
    ///
    /// # Errors
    /// When the session is over.
    ///
    /// # Cancel safety
    /// If this does not resolve, no stream was taken.
    pub async fn accept_bi(&self) -> Result<(SendStream, RecvStream), SessionError> {
        match self.0.shared.bi.pop().await {
            Some((send, recv)) => Ok((
                SendStream::new(send, &self.0),
                RecvStream::new(recv, &self.0),
            )),
            None => Err(self.0.shared.reason().await),
        }
    }

    /// The next stream from the peer.
    ///
    /// # Errors
    /// When the session is over.
    ///
    /// # Cancel safety
    /// If this does not resolve, no stream was taken.
    pub async fn accept_uni(&self) -> Result<RecvStream, SessionError> {
        match self.0.shared.uni.pop().await {
            Some(recv) => Ok(RecvStream::new(recv, &self.0)),
            None => Err(self.0.shared.reason().await),
        }
    }

    /// Sends `data` in one packet, once. When the connection's buffer is full, the oldest in it
    /// makes room.
    ///
    /// # Errors
    /// When it does not fit into a packet, datagrams are off, or the session is over.
    pub fn send_datagram(&self, data: &[u8]) -> Result<(), SendDatagramError> {
        self.send_datagram_with(data, DatagramOptions::default())?;
        Ok(())
    }

    /// The same, with a lifetime, a priority, a group, or news of what becomes of it, as
    /// [`Connection::send_datagram_with`]. Tracks of groups are those of the connection: sessions
    /// that share one choose different numbers.
    ///
    /// Returns its number, which the [events](Connection::datagram_events) of the session's
    /// [`connection`](Self::connection) have.
    ///
    /// # Errors
    /// As [`send_datagram`](Self::send_datagram).
    pub fn send_datagram_with(
        &self,
        data: &[u8],
        options: DatagramOptions,
    ) -> Result<DatagramId, SendDatagramError> {
        if let Some(error) = self.0.shared.ended.get() {
            return Err(error.clone().into());
        }
        let name = self.datagram_name();
        let mut datagram = BytesMut::with_capacity(name.size() + data.len());
        name.encode(&mut datagram);
        datagram.put_slice(data);
        let sent = self
            .connection()
            .send_datagram_with(datagram.freeze(), options);
        sent.map_err(|error| match error {
            crate::SendDatagramError::TooLarge => SendDatagramError::TooLarge,
            crate::SendDatagramError::UnsupportedByPeer | crate::SendDatagramError::Disabled => {
                SendDatagramError::Disabled
            }
            crate::SendDatagramError::ConnectionLost(error) => {
                SessionError::ConnectionLost(error).into()
            }
        })
    }

    /// The next datagram from the peer. What is not read in time is dropped, the oldest first.
    ///
    /// # Errors
    /// When the session is over.
    ///
    /// # Cancel safety
    /// If this does not resolve, no datagram was taken.
    pub async fn read_datagram(&self) -> Result<Bytes, SessionError> {
        match self.0.shared.datagrams.pop().await {
            Some(data) => Ok(data),
            None => Err(self.0.shared.reason().await),
        }
    }

    /// Most bytes that a datagram may have at present, which depends on the MTU; `None` when
    /// datagrams are off.
    pub fn max_datagram_size(&self) -> Option<usize> {
        let most = self.connection().max_datagram_size()?;
        most.checked_sub(self.datagram_name().size())
    }

    /// Closes the session: all its streams are reset, and the peer gets `code` and `reason`, of
    /// which at most 1,024 bytes are sent. Data that is not delivered is dropped: for streams that
    /// are finished, wait for [`SendStream::stopped`] first.
    pub fn close(&self, code: u32, reason: &str) {
        self.0.shared.close(code, reason);
    }

    /// Waits until the session is over, and says why.
    ///
    /// # Cancel safety
    /// It may be dropped at any time. What this has returned is returned again.
    pub async fn closed(&self) -> SessionError {
        self.0.shared.reason().await
    }

    /// Why the session is over; `None` while it is open.
    pub fn close_reason(&self) -> Option<SessionError> {
        self.0.shared.ended.get().cloned()
    }

    /// The session's name in datagrams: a quarter of its number (RFC 9297 §2.1).
    fn datagram_name(&self) -> VarInt {
        VarInt::from_u64(self.id() / 4).expect("it is a stream's number")
    }

    /// Writes what a stream begins with. One that has no more than a part of it is reset: its end
    /// would be that of a message which the peer cannot read.
    async fn send_header(
        &self,
        kind: VarInt,
        send: connection::SendStream,
    ) -> Result<connection::SendStream, SessionError> {
        let mut header = Vec::new();
        kind.encode(&mut header);
        let id = VarInt::from_u64(self.id()).expect("it is a stream's number");
        id.encode(&mut header);
        let mut opening = Opening(Some(send));
        let send = opening.0.as_mut().expect("it is there until the end");
        let written = send.write_all(&header).await;
        written.map_err(SessionError::from_write)?;
        Ok(opening.0.take().expect("it is there until the end"))
    }

    /// What becomes of `work`, unless the session ends first.
    async fn or_ended<T>(
        &self,
        work: impl Future<Output = Result<T, SessionError>>,
    ) -> Result<T, SessionError> {
        tokio::select! {
            biased;
            error = self.0.shared.reason() => Err(error),
            done = work => done,
        }
    }
}

/// A stream whose header is being written.
struct Opening(Option<connection::SendStream>);

impl Drop for Opening {
    fn drop(&mut self) {
        if let Some(mut send) = self.0.take() {
            // Where the connection is lost there is nothing to reset.
            let _ = send.reset(H3_REQUEST_CANCELLED);
        }
    }
}

/// Waits for the end of a session, which the peer tells or is told.
async fn look_after(
    shared: Arc<Shared>,
    sessions: Arc<Sessions>,
    link: Arc<Link>,
    (mut send, mut recv): (connection::SendStream, connection::RecvStream),
) {
    let stopped = send.stopped();
    let ended = tokio::select! {
        biased;
        (code, reason) = shared.to_close.wait() => Err((*code, reason.clone())),
        read = capsules::closing(&mut recv) => Ok(match read {
            Ok((code, reason)) => SessionError::Closed { code, reason },
            Err(error) => error,
        }),
        stopped = stopped => Ok(match stopped {
            Ok(code) => abandoned(code),
            Err(error) => SessionError::from_write(error.into()),
        }),
    };
    match ended {
        Ok(error) => {
            // A peer that has said its end gets one, another gets none.
            let _ = match &error {
                SessionError::Closed { .. } => send.finish(),
                SessionError::Malformed(_) => send.reset(H3_MESSAGE_ERROR),
                _ => send.reset(SESSION_GONE),
            };
            let _ = recv.stop(SESSION_GONE);
            // Whoever learns of the end may open another at once.
            sessions.forget(shared.id);
            shared.end(error);
            // The connection stays until the peer has the end.
            let _ = tokio::time::timeout(LINGER, send.stopped()).await;
        }
        Err((code, reason)) => {
            sessions.forget(shared.id);
            // Whether or not it arrives, the session is over.
            let told = async {
                send_close(&mut send, code, reason).await?;
                // An acknowledgement says that the peer's QUIC has it, and not yet that its session
                // does: that answers with an end of its own (draft-ietf-webtrans-http3-07, "Session
                // Termination").
                while recv.read_chunk(usize::MAX, false).await?.is_some() {}
                Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
            };
            let _ = tokio::time::timeout(LINGER, told).await;
            let _ = recv.stop(SESSION_GONE);
        }
    }
    link.on_session_ended();
    drop(link);
}

/// Sends the session's end, and waits until the peer has it.
async fn send_close(
    send: &mut connection::SendStream,
    code: u32,
    reason: String,
) -> Result<(), crate::WriteError> {
    let mut capsule = Vec::new();
    Capsule::CloseWebTransportSession { code, reason }.encode(&mut capsule);
    let mut frame = Vec::new();
    Frame::DATA.encode(&mut frame);
    VarInt::from_u32(u32::try_from(capsule.len()).expect("a reason has 1,024 bytes"))
        .encode(&mut frame);
    frame.extend(capsule);
    send.write_all(&frame).await?;
    send.finish()?;
    send.stopped().await?;
    Ok(())
}

/// The peer has stopped the CONNECT stream.
fn abandoned(code: Option<quinn_proto::VarInt>) -> SessionError {
    match code {
        Some(code) => SessionError::from_write(crate::WriteError::Stopped(code)),
        None => SessionError::ClosedHere,
    }
}

/// How long the connection stays for a peer that does not answer a session's end.
const LINGER: Duration = Duration::from_secs(10);
