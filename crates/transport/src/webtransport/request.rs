//! A client's request for a session.

use super::codes::{H3_NO_ERROR, H3_REQUEST_REJECTED};
use super::error::SessionError;
use super::handle::Link;
use super::session::Session;
use super::sessions::Sessions;
use crate::connection::{Connection, RecvStream, SendStream};
use http::{HeaderMap, StatusCode};
use std::sync::Arc;
use web_transport_proto::{ConnectRequest, ConnectResponse};

/// A client's request for a session, which the server accepts or rejects.
///
/// Dropping it resets the request with H3_REQUEST_REJECTED.
#[derive(Debug)]
pub struct Request {
    asked: Asked,
    sessions: Arc<Sessions>,
    link: Arc<Link>,
}

/// One that no handle of the connection has taken yet.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) request: ConnectRequest,
    /// Absent once it is answered.
    pub(super) stream: Option<(SendStream, RecvStream)>,
    pub(super) id: u64,
}

impl Request {
    pub(super) fn new(asked: Asked, sessions: Arc<Sessions>, link: Arc<Link>) -> Self {
        Self {
            asked,
            sessions,
            link,
        }
    }

    /// The URL, put together from the request's scheme, authority, path and query.
    pub fn url(&self) -> &str {
        self.asked.request.url.as_str()
    }

    /// The URL's path, which begins with a slash.
    pub fn path(&self) -> &str {
        self.asked.request.url.path()
    }

    /// What follows the path's question mark.
    pub fn query(&self) -> Option<&str> {
        self.asked.request.url.query()
    }

    /// The request's headers. **A browser's `origin` names the page that asks**: a server that
    /// trusts its own pages alone compares it.
    pub fn headers(&self) -> &HeaderMap {
        &self.asked.request.headers
    }

    /// The application protocols that the client proposes, the best first.
    pub fn protocols(&self) -> &[String] {
        &self.asked.request.protocols
    }

    /// The connection, for its addresses and its controller.
    pub fn connection(&self) -> &Connection {
        &self.link.quic
    }

    /// Answers with status 200: the session is open.
    ///
    /// # Errors
    /// When the client has gone.
    ///
    /// # Cancel safety
    /// None: if this does not resolve, the request is rejected as if it had been dropped.
    pub async fn accept(self) -> Result<Session, SessionError> {
        self.answer(ConnectResponse::OK).await
    }

    /// The same, and chooses one of the [`protocols`](Self::protocols).
    ///
    /// # Errors
    /// When the client has gone.
    ///
    /// # Cancel safety
    /// As [`accept`](Self::accept).
    pub async fn accept_protocol(self, protocol: &str) -> Result<Session, SessionError> {
        self.answer(ConnectResponse::OK.with_protocol(protocol))
            .await
    }

    /// Answers with another status, such as 404.
    ///
    /// # Errors
    /// When the client has gone.
    ///
    /// # Cancel safety
    /// None: if this does not resolve, a part of the answer may have been sent.
    pub async fn reject(mut self, status: StatusCode) -> Result<(), SessionError> {
        let Some((mut send, mut recv)) = self.asked.stream.take() else {
            return Ok(());
        };
        self.sessions.forget(self.asked.id);
        let sent = send_rejection(&mut send, status).await;
        // What else the client sends is not read; it may have ended.
        let _ = recv.stop(H3_NO_ERROR);
        sent
    }

    /// Until the answer is written the stream stays where it is rejected when this is dropped.
    async fn answer(mut self, response: ConnectResponse) -> Result<Session, SessionError> {
        let Some((send, _)) = &mut self.asked.stream else {
            return Err(SessionError::ClosedHere);
        };
        let mut bytes = Vec::new();
        let encoded = response.encode(&mut bytes);
        encoded.map_err(|_| SessionError::Malformed("choice of protocols"))?;
        let written = send.write_all(&bytes).await;
        written.map_err(SessionError::from_write)?;
        Ok(Session::begin(
            self.asked.stream.take().expect("it was written to"),
            response.protocol,
            Arc::clone(&self.sessions),
            Arc::clone(&self.link),
        ))
    }
}

/// Answers a request with a status, and ends the answer.
pub(super) async fn send_rejection(
    send: &mut SendStream,
    status: StatusCode,
) -> Result<(), SessionError> {
    let mut bytes = Vec::new();
    let encoded = ConnectResponse::new(status).encode(&mut bytes);
    encoded.expect("a status and no protocol can be written");
    let written = send.write_all(&bytes).await;
    written.map_err(SessionError::from_write)?;
    // It was neither finished nor reset before.
    let _ = send.finish();
    Ok(())
}

impl Asked {
    /// Whatever was not answered is rejected.
    fn abandon(&mut self) -> bool {
        let Some((mut send, mut recv)) = self.stream.take() else {
            return false;
        };
        // What the client has closed needs no end.
        let _ = send.reset(H3_REQUEST_REJECTED);
        let _ = recv.stop(H3_REQUEST_REJECTED);
        true
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.abandon();
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if self.asked.abandon() {
            self.sessions.forget(self.asked.id);
        }
    }
}
