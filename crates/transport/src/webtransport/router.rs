//! The task of a connection: hands streams and datagrams to the sessions that they belong to.

use super::codes::{
    H3_CLOSED_CRITICAL_STREAM, H3_DATAGRAM_ERROR, H3_FRAME_UNEXPECTED, H3_MESSAGE_ERROR,
    H3_NO_ERROR, H3_REQUEST_INCOMPLETE, H3_REQUEST_REJECTED, H3_STREAM_CREATION_ERROR,
    QPACK_DECOMPRESSION_FAILED,
};
use super::peer::{Checked, Fault, Peer, fault, own_settings, read_session_id, read_uni};
use super::queue::Queue;
use super::request::{Asked, send_rejection};
use super::sessions::Sessions;
use super::shared::Arrival;
use crate::connection::{Connection, RecvStream, SendStream};
use bytes::Bytes;
use http::StatusCode;
use quinn_proto::{ConnectionError, Side};
use std::sync::Arc;
use tokio::io::AsyncReadExt;
use tokio::task::JoinSet;
use web_transport_proto::{ConnectError, ConnectRequest, Frame, VarInt};

/// What a connection's handle and its task share.
#[derive(Debug)]
pub(super) struct Routes {
    pub(super) sessions: Arc<Sessions>,
    pub(super) peer: Peer,
    /// Requests that the application has not taken.
    pub(super) requests: Queue<Asked>,
    /// That may be open at once; a server's.
    pub(super) most_sessions: u32,
}

/// Runs until the connection is lost, and ends with it all that is in it.
///
/// The number of tasks is that of the peer's streams whose beginning is not read, which its
/// credit of streams bounds.
pub(super) async fn route(quic: Connection, routes: Arc<Routes>) {
    let mut tasks = JoinSet::new();
    tasks.spawn(send_settings(quic.clone(), routes.most_sessions));
    let lost = loop {
        tokio::select! {
            biased;
            Some(done) = tasks.join_next() => {
                if let Ok(Err(Fault { code, reason })) = done {
                    quic.close(code, reason.as_bytes());
                }
            }
            accepted = quic.accept_uni() => match accepted {
                Ok(recv) => {
                    let (routes, side) = (Arc::clone(&routes), quic.side());
                    tasks.spawn(async move {
                        read_uni(&routes.peer, &routes.sessions, side, recv).await
                    });
                }
                Err(error) => break error,
            },
            accepted = quic.accept_bi() => match accepted {
                Ok((send, recv)) => {
                    if quic.side().is_server() {
                        routes.sessions.see(u64::from(recv.id()));
                    }
                    tasks.spawn(read_bi(Arc::clone(&routes), quic.side(), send, recv));
                }
                Err(error) => break error,
            },
            received = quic.read_datagram() => match received {
                Ok(data) => {
                    if let Err(Fault { code, reason }) = read_datagram(&routes.sessions, data) {
                        quic.close(code, reason.as_bytes());
                    }
                }
                Err(error) => break error,
            },
        }
    };
    // Its tasks hold streams, which may be sessions' by now.
    tasks.shutdown().await;
    end(&routes, lost);
}

fn end(routes: &Routes, lost: ConnectionError) {
    routes.sessions.end(&lost);
    drop(routes.requests.close());
    // It may have been known before.
    let _ = routes.peer.most_sessions.set(Err(lost));
}

/// Opens the control stream, which stays open as long as the connection.
async fn send_settings(quic: Connection, most_sessions: u32) -> Checked {
    let Ok(mut send) = quic.open_uni().await else {
        return Ok(());
    };
    // Lost connections are found elsewhere.
    let _ = send.write_all(&own_settings(most_sessions)).await;
    match send.stopped().await {
        Ok(_) => fault(H3_CLOSED_CRITICAL_STREAM, "the control stream was stopped"),
        Err(_) => Ok(()),
    }
}

/// A datagram for a session (RFC 9297 §2.1).
fn read_datagram(sessions: &Sessions, mut data: Bytes) -> Checked {
    let quarter = VarInt::decode(&mut data).ok().map(VarInt::into_inner);
    let Some(quarter) = quarter.filter(|quarter| *quarter < 1 << 60) else {
        return fault(H3_DATAGRAM_ERROR, "a datagram without a stream's number");
    };
    sessions.deliver(quarter * 4, Arrival::Datagram(data));
    Ok(())
}

/// Reads the beginning of a bidirectional stream: a session's, or a request.
async fn read_bi(
    routes: Arc<Routes>,
    side: Side,
    send: SendStream,
    mut recv: RecvStream,
) -> Checked {
    let id = u64::from(recv.id());
    let Ok(kind) = VarInt::read(&mut recv).await else {
        routes.sessions.forget(id);
        Arrival::Bi(send, recv).refuse(H3_REQUEST_INCOMPLETE);
        return Ok(());
    };
    if Frame(kind) == Frame::WEBTRANSPORT {
        routes.sessions.forget(id);
        return match read_session_id(&mut recv).await? {
            Some(session) => {
                routes.sessions.deliver(session, Arrival::Bi(send, recv));
                Ok(())
            }
            None => Ok(()),
        };
    }
    if side.is_client() {
        return fault(
            H3_STREAM_CREATION_ERROR,
            "a server opens streams of sessions alone",
        );
    }
    let mut header = Vec::new();
    kind.encode(&mut header);
    let read = ConnectRequest::read(&mut (&header[..]).chain(&mut recv)).await;
    let kept = match read {
        Ok(request) => ask(&routes, request, send, recv).await,
        Err(error) => decline(error, send, recv).await.map(|()| false),
    };
    if !matches!(kept, Ok(true)) {
        routes.sessions.forget(id);
    }
    kept.map(drop)
}

/// Puts a request before the application; `false` where it does not get there.
async fn ask(
    routes: &Routes,
    request: ConnectRequest,
    send: SendStream,
    recv: RecvStream,
) -> Checked<bool> {
    let id = u64::from(recv.id());
    // Whether the client knows WebTransport is in its SETTINGS, which may arrive later.
    match routes.peer.most_sessions.wait().await {
        Ok(0) => {
            Arrival::Bi(send, recv).refuse(H3_MESSAGE_ERROR);
            return Ok(false);
        }
        Ok(_) => {}
        Err(_) => return Ok(false),
    }
    if !routes.sessions.ask(id, routes.most_sessions) {
        Arrival::Bi(send, recv).refuse(H3_REQUEST_REJECTED);
        return Ok(false);
    }
    let stream = Some((send, recv));
    let asked = Asked {
        request,
        stream,
        id,
    };
    // Where nobody takes requests any more it is dropped, which rejects it.
    Ok(routes.requests.push(asked).is_ok())
}

/// Answers what is no request for a session.
async fn decline(error: ConnectError, mut send: SendStream, mut recv: RecvStream) -> Checked {
    let status = match error {
        ConnectError::QpackError(_) => {
            return fault(QPACK_DECOMPRESSION_FAILED, "headers that cannot be read");
        }
        ConnectError::UnexpectedFrame(_) => {
            return fault(
                H3_FRAME_UNEXPECTED,
                "another frame where HEADERS have to be",
            );
        }
        ConnectError::UnexpectedEnd | ConnectError::Io(_) => {
            Arrival::Bi(send, recv).refuse(H3_REQUEST_INCOMPLETE);
            return Ok(());
        }
        ConnectError::FieldSectionTooLarge | ConnectError::FrameTooLarge => {
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE
        }
        // An ordinary request: there are no pages here.
        ConnectError::WrongMethod(_) => StatusCode::NOT_FOUND,
        ConnectError::WrongProtocol(_) => StatusCode::NOT_IMPLEMENTED,
        _ => {
            Arrival::Bi(send, recv).refuse(H3_MESSAGE_ERROR);
            return Ok(());
        }
    };
    // A client that has gone gets no answer.
    let _ = send_rejection(&mut send, status).await;
    let _ = recv.stop(H3_NO_ERROR);
    Ok(())
}
