//! What the peer says about the connection as a whole, in its unidirectional streams.

use super::codes::{
    H3_CLOSED_CRITICAL_STREAM, H3_EXCESSIVE_LOAD, H3_FRAME_ERROR, H3_FRAME_UNEXPECTED, H3_ID_ERROR,
    H3_MISSING_SETTINGS, H3_STREAM_CREATION_ERROR,
};
use super::sessions::Sessions;
use super::shared::Arrival;
use crate::connection::RecvStream;
use quinn_proto::{ConnectionError, Side};
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::SetOnce;
use web_transport_proto::{Frame, Settings, SettingsError, StreamUni, VarInt};

/// A peer's breach of HTTP/3, which ends the connection.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) code: quinn_proto::VarInt,
    pub(super) reason: &'static str,
}

pub(super) type Checked<T = ()> = Result<T, Fault>;

/// What is known of the peer.
#[derive(Debug, Default)]
pub(super) struct Peer {
    /// How many sessions its SETTINGS permit; 0 without WebTransport. An error once the connection
    /// is lost.
    pub(super) most_sessions: SetOnce<Result<u64, ConnectionError>>,
    /// It has sent GOAWAY.
    pub(super) is_going_away: AtomicBool,
    has_control: AtomicBool,
    has_encoder: AtomicBool,
    has_decoder: AtomicBool,
}

pub(super) const fn fault<T>(code: quinn_proto::VarInt, reason: &'static str) -> Checked<T> {
    Err(Fault { code, reason })
}

/// Reads a unidirectional stream as far as it is not the application's.
pub(super) async fn read_uni(
    peer: &Peer,
    sessions: &Sessions,
    side: Side,
    mut recv: RecvStream,
) -> Checked {
    // A stream that ends before its type belongs to nobody.
    let Ok(kind) = VarInt::read(&mut recv).await else {
        return Ok(());
    };
    match StreamUni(kind) {
        StreamUni::WEBTRANSPORT => {
            if let Some(id) = read_session_id(&mut recv).await? {
                sessions.deliver(id, Arrival::Uni(recv));
            }
            Ok(())
        }
        StreamUni::CONTROL => {
            only(&peer.has_control)?;
            read_control(peer, kind, recv).await
        }
        // Without a dynamic table (its size is 0 unless SETTINGS say so) nothing in them counts.
        StreamUni::QPACK_ENCODER => {
            only(&peer.has_encoder)?;
            skip_critical(recv).await
        }
        StreamUni::QPACK_DECODER => {
            only(&peer.has_decoder)?;
            skip_critical(recv).await
        }
        StreamUni::PUSH if side.is_server() => {
            fault(H3_STREAM_CREATION_ERROR, "a client does not push")
        }
        StreamUni::PUSH => fault(H3_ID_ERROR, "pushes are not permitted"),
        _ => {
            // Unknown ones are no error (RFC 9114 §6.2). Its end may have been read.
            let _ = recv.stop(H3_STREAM_CREATION_ERROR);
            Ok(())
        }
    }
}

/// A session's number; `None` where the stream ends before.
pub(super) async fn read_session_id(recv: &mut RecvStream) -> Checked<Option<u64>> {
    let Ok(id) = VarInt::read(recv).await else {
        return Ok(None);
    };
    let id = id.into_inner();
    if id % 4 != 0 {
        return fault(
            H3_ID_ERROR,
            "a session is named by a client's bidirectional stream",
        );
    }
    Ok(Some(id))
}

/// Each peer has one of these streams (RFC 9114 §6.2.1, RFC 9204 §4.2).
fn only(has_one: &AtomicBool) -> Checked {
    match has_one.swap(true, Ordering::Relaxed) {
        true => fault(H3_STREAM_CREATION_ERROR, "a second stream of its kind"),
        false => Ok(()),
    }
}

async fn skip_critical(mut recv: RecvStream) -> Checked {
    // However it ends: it may not.
    let _ = tokio::io::copy(&mut recv, &mut tokio::io::sink()).await;
    fault(
        H3_CLOSED_CRITICAL_STREAM,
        "a stream that has to stay open has ended",
    )
}

async fn read_control(peer: &Peer, kind: VarInt, mut recv: RecvStream) -> Checked {
    let mut header = Vec::new();
    kind.encode(&mut header);
    let settings = Settings::read(&mut (&header[..]).chain(&mut recv)).await;
    let settings = settings.or_else(|error| match error {
        SettingsError::UnexpectedFrame(_) => fault(
            H3_MISSING_SETTINGS,
            "another frame where SETTINGS have to be",
        ),
        SettingsError::FrameTooLarge => fault(H3_EXCESSIVE_LOAD, "SETTINGS of more than 64 KiB"),
        SettingsError::InvalidSize => fault(H3_FRAME_ERROR, "SETTINGS that end too early"),
        _ => fault(H3_CLOSED_CRITICAL_STREAM, "the control stream has ended"),
    })?;
    // There is one control stream, so this is the first.
    let _ = peer.most_sessions.set(Ok(settings.supports_webtransport()));
    while let Some((kind, length)) = read_frame(&mut recv).await {
        match kind {
            Frame::SETTINGS | Frame::DATA | Frame::HEADERS => {
                return fault(
                    H3_FRAME_UNEXPECTED,
                    "a frame that the control stream may not have",
                );
            }
            GOAWAY => peer.is_going_away.store(true, Ordering::Relaxed),
            _ => {}
        }
        let mut payload = (&mut recv).take(length);
        let skipped = tokio::io::copy(&mut payload, &mut tokio::io::sink()).await;
        if skipped.ok() != Some(length) {
            break;
        }
    }
    fault(H3_CLOSED_CRITICAL_STREAM, "the control stream has ended")
}

/// A frame's type and length; `None` at the end of the stream.
async fn read_frame<S: AsyncRead + Unpin>(stream: &mut S) -> Option<(Frame, u64)> {
    let kind = VarInt::read(stream).await.ok()?;
    let length = VarInt::read(stream).await.ok()?;
    Some((Frame(kind), length.into_inner()))
}

/// What SETTINGS announce: so many sessions, and datagrams.
pub(super) fn own_settings(most_sessions: u32) -> Vec<u8> {
    let mut settings = Settings::default();
    settings.enable_webtransport(most_sessions);
    let mut bytes = Vec::new();
    settings.encode(&mut bytes);
    bytes
}

/// RFC 9114 §7.2.6.
const GOAWAY: Frame = Frame(VarInt::from_u32(7));
