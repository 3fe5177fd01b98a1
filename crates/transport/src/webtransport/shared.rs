//! What a session's handles, its streams, its task and the connection's router have in common.

use super::codes::{BUFFERED_STREAM_REJECTED, SESSION_GONE};
use super::error::SessionError;
use super::queue::Queue;
use crate::connection::{Connection, RecvStream, SendStream};
use bytes::Bytes;
use quinn_proto::{StreamId, VarInt};
use tokio::sync::SetOnce;

/// A session, from the CONNECT request on.
#[derive(Debug)]
pub(super) struct Shared {
    /// Of the CONNECT stream, which is the session's name in streams and datagrams.
    pub(super) id: u64,
    pub(super) quic: Connection,
    pub(super) bi: Queue<(SendStream, RecvStream)>,
    pub(super) uni: Queue<RecvStream>,
    pub(super) datagrams: Queue<Bytes>,
    /// Why it is over.
    pub(super) ended: SetOnce<SessionError>,
    /// What its task is to send to the peer as the reason.
    pub(super) to_close: SetOnce<(u32, String)>,
}

/// Something that belongs to a session.
#[derive(Debug)]
pub(super) enum Arrival {
    Bi(SendStream, RecvStream),
    Uni(RecvStream),
    Datagram(Bytes),
}

impl Shared {
    pub(super) fn new(id: StreamId, quic: Connection) -> Self {
        Self {
            id: u64::from(id),
            quic,
            bi: Queue::of_streams(),
            uni: Queue::of_streams(),
            datagrams: Queue::new(DATAGRAM_BYTES, |data| data.len() + DATAGRAM_OVERHEAD),
            ended: SetOnce::new(),
            to_close: SetOnce::new(),
        }
    }

    /// Hands over what has come for it.
    pub(super) fn deliver(&self, arrival: Arrival) {
        let refused = match arrival {
            Arrival::Bi(send, recv) => {
                let pushed = self.bi.push((send, recv));
                pushed.map_err(|(send, recv)| Arrival::Bi(send, recv))
            }
            Arrival::Uni(recv) => self.uni.push(recv).map_err(Arrival::Uni),
            Arrival::Datagram(data) => self.datagrams.push(data).map_err(Arrival::Datagram),
        };
        if let Err(arrival) = refused {
            arrival.refuse(SESSION_GONE);
        }
    }

    /// The first end counts; whoever waits for something of it gets this error.
    pub(super) fn end(&self, error: SessionError) {
        if self.ended.set(error).is_err() {
            return;
        }
        for (send, recv) in self.bi.close() {
            Arrival::Bi(send, recv).refuse(SESSION_GONE);
        }
        for recv in self.uni.close() {
            Arrival::Uni(recv).refuse(SESSION_GONE);
        }
        drop(self.datagrams.close());
    }

    /// Ends it on this side; its task tells the peer.
    pub(super) fn close(&self, code: u32, reason: &str) {
        let mut end = reason.len().min(MAX_REASON);
        while !reason.is_char_boundary(end) {
            end -= 1;
        }
        if self.ended.get().is_none() {
            // Whoever is first says why.
            let _ = self.to_close.set((code, reason[..end].to_owned()));
        }
        self.end(SessionError::ClosedHere);
    }

    /// Why it is over, which it is, or will be because its queues are closed.
    pub(super) async fn reason(&self) -> SessionError {
        self.ended.wait().await.clone()
    }
}

impl Arrival {
    pub(super) const fn is_datagram(&self) -> bool {
        matches!(self, Self::Datagram(_))
    }

    /// Ends a stream that the application has not seen, in both directions.
    pub(super) fn refuse(self, code: VarInt) {
        let (send, recv) = match self {
            Self::Bi(send, recv) => (Some(send), recv),
            Self::Uni(recv) => (None, recv),
            Self::Datagram(_) => return,
        };
        // One that is closed already needs no end.
        let _ = { recv }.stop(code);
        if let Some(mut send) = send {
            let _ = send.reset(code);
        }
    }

    /// The same because too many wait for sessions that are not there.
    pub(super) fn refuse_early(self) {
        self.refuse(BUFFERED_STREAM_REJECTED);
    }
}

/// Datagrams of a session that were not read.
const DATAGRAM_BYTES: usize = 1 << 20;
/// What one costs besides its bytes, so that empty ones have a bound too.
const DATAGRAM_OVERHEAD: usize = 64;
/// draft-ietf-webtrans-http3-07, "Session Termination".
pub(super) const MAX_REASON: usize = 1024;
