//! A QUIC connection that carries sessions.

use super::codes::{H3_NO_ERROR, H3_REQUEST_CANCELLED};
use super::error::{ConnectError, SessionError};
use super::handle::Link;
use super::peer::Peer;
use super::queue::Queue;
use super::request::Request;
use super::router::{Routes, route};
use super::session::Session;
use super::sessions::Sessions;
use super::shared::Shared;
use crate::connection;
use http::{HeaderMap, HeaderName, HeaderValue};
use quinn_proto::ConnectionError;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use url::Url;
use web_transport_proto::{ConnectRequest, ConnectResponse};

/// A QUIC connection that carries WebTransport sessions: a server accepts them, a client opens
/// them.
///
/// When this is dropped, requests that were not taken are rejected; sessions stay. The QUIC
/// connection is closed with H3_NO_ERROR once all of them are over: by a client at once, by a
/// server a second later, unless the client has closed it.
#[derive(Debug)]
pub struct Connection {
    routes: Arc<Routes>,
    link: Arc<Link>,
}

/// What a client asks for.
#[derive(Debug, Clone)]
pub struct ConnectOptions {
    url: String,
    protocols: Vec<String>,
    headers: HeaderMap,
}

impl Connection {
    /// The whole connection becomes WebTransport's. Its handshake has to have chosen
    /// [`ALPN`](super::ALPN). Has to be called in the tokio runtime of the endpoint, because a task
    /// is spawned.
    pub fn new(quic: connection::Connection) -> Self {
        Self::with_most_sessions(quic, MOST_SESSIONS)
    }

    /// The same, for a server on which a client may have `most_sessions` at once, 16 otherwise.
    /// Requests beyond are rejected with H3_REQUEST_REJECTED.
    pub fn with_most_sessions(quic: connection::Connection, most_sessions: u32) -> Self {
        let routes = Arc::new(Routes {
            sessions: Arc::new(Sessions::new(quic.side())),
            peer: Peer::default(),
            requests: Queue::of_streams(),
            // A client that permits none has no WebTransport.
            most_sessions: if quic.side().is_client() {
                MOST_SESSIONS
            } else {
                most_sessions
            },
        });
        tokio::spawn(route(quic.clone(), Arc::clone(&routes)));
        Self {
            routes,
            link: Arc::new(Link::new(quic)),
        }
    }

    /// The next request for a session, of a server's client.
    ///
    /// Requests that are not for WebTransport do not come here: they are answered with 404, and
    /// those for another protocol with 501.
    ///
    /// # Errors
    /// When the connection is lost.
    ///
    /// # Cancel safety
    /// If this does not resolve, no request was taken.
    pub async fn accept(&self) -> Result<Request, ConnectionError> {
        let Some(asked) = self.routes.requests.pop().await else {
            return Err(self.quic().closed().await);
        };
        let sessions = Arc::clone(&self.routes.sessions);
        Ok(Request::new(asked, sessions, Arc::clone(&self.link)))
    }

    /// Opens a session; a client's. Waits for the server's SETTINGS and for its answer.
    ///
    /// # Errors
    /// When the URL is not one of WebTransport, the server does not know WebTransport, permits no
    /// more sessions or answers with a status other than 2xx, or the connection is lost.
    ///
    /// # Cancel safety
    /// If this does not resolve, there is no session.
    pub async fn connect(
        &self,
        options: impl Into<ConnectOptions>,
    ) -> Result<Session, ConnectError> {
        let options = options.into();
        let mut request = Vec::new();
        let encoded = options.request()?.encode(&mut request);
        encoded.map_err(|error| ConnectError::Request(error.to_string()))?;
        if self.quic().side().is_server() {
            return Err(ConnectError::NotAClient);
        }
        let most = match self.routes.peer.most_sessions.wait().await {
            Ok(0) => return Err(ConnectError::Unsupported),
            Ok(most) => *most,
            Err(error) => return Err(error.clone().into()),
        };
        if self.routes.peer.is_going_away.load(Ordering::Relaxed) {
            return Err(ConnectError::GoingAway);
        }
        let (send, recv) = self.quic().open_bi().await?;
        let shared = Arc::new(Shared::new(send.id(), self.quic().clone()));
        let mut entering = Entering {
            shared: Arc::clone(&shared),
            sessions: Arc::clone(&self.routes.sessions),
            stream: Some((send, recv)),
        };
        if !self.routes.sessions.enter(&shared, most) {
            return Err(ConnectError::TooManySessions { limit: most });
        }
        let response = entering.ask(&request).await?;
        let stream = entering.stream.take().expect("it was not taken");
        let sessions = Arc::clone(&self.routes.sessions);
        let link = Arc::clone(&self.link);
        Ok(Session::run(
            shared,
            stream,
            response.protocol,
            sessions,
            link,
        ))
    }

    /// The QUIC connection: its statistics, its controller, its addresses.
    pub fn quic(&self) -> &connection::Connection {
        &self.link.quic
    }

    /// Closes the connection with H3_NO_ERROR at once, and all sessions with it: the peer's end
    /// without a code of their own. [`Session::close`] sends one.
    pub fn close(&self) {
        self.quic().close(H3_NO_ERROR, b"");
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        for asked in self.routes.requests.close() {
            self.routes.sessions.forget(asked.id);
        }
    }
}

impl ConnectOptions {
    /// A session at this address: `https://HOST[:PORT]/PATH`, port 443 unless given.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            protocols: Vec::new(),
            headers: HeaderMap::new(),
        }
    }

    /// Proposes an application protocol; the server chooses at most one of those proposed
    /// (draft-ietf-webtrans-http3-14 §3.3).
    pub fn protocol(mut self, name: impl Into<String>) -> Self {
        self.protocols.push(name.into());
        self
    }

    /// Adds a header to the request.
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.append(name, value);
        self
    }

    /// # Errors
    /// When it is not one of WebTransport.
    pub(super) fn parsed_url(&self) -> Result<Url, ConnectError> {
        let error = |why: String| ConnectError::Url {
            url: self.url.clone(),
            why,
        };
        let url = Url::parse(&self.url).map_err(|why| error(why.to_string()))?;
        if url.scheme() != "https" {
            return Err(error(format!("its scheme is {}", url.scheme())));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(error("it has a user's name".to_owned()));
        }
        Ok(url)
    }

    fn request(self) -> Result<ConnectRequest, ConnectError> {
        let url = self.parsed_url()?;
        let request = ConnectRequest::new(url).with_protocols(self.protocols);
        Ok(request.with_headers(self.headers))
    }
}

impl From<&str> for ConnectOptions {
    fn from(url: &str) -> Self {
        Self::new(url)
    }
}

impl From<&String> for ConnectOptions {
    fn from(url: &String) -> Self {
        Self::new(url)
    }
}

impl From<String> for ConnectOptions {
    fn from(url: String) -> Self {
        Self::new(url)
    }
}

/// A session that is asked for.
struct Entering {
    shared: Arc<Shared>,
    sessions: Arc<Sessions>,
    stream: Option<(connection::SendStream, connection::RecvStream)>,
}

impl Entering {
    async fn ask(&mut self, request: &[u8]) -> Result<ConnectResponse, ConnectError> {
        let (send, recv) = self.stream.as_mut().expect("it was not taken");
        let unwritten = |error| match SessionError::from_write(error) {
            SessionError::ConnectionLost(error) => ConnectError::ConnectionLost(error),
            error => ConnectError::Answer(error.to_string()),
        };
        // A server that refuses may stop the request before it is written.
        let written = send.write_all(request).await.map_err(unwritten);
        match ConnectResponse::read(recv).await {
            Ok(response) => written.map(|()| response),
            Err(web_transport_proto::ConnectError::WrongStatus(Some(status))) => {
                Err(ConnectError::Rejected(status))
            }
            Err(error) => Err(match self.shared.quic.close_reason() {
                Some(lost) => ConnectError::ConnectionLost(lost),
                None => ConnectError::Answer(error.to_string()),
            }),
        }
    }
}

impl Drop for Entering {
    fn drop(&mut self) {
        let Some((mut send, mut recv)) = self.stream.take() else {
            return;
        };
        // Where the server has ended it there is nothing to end.
        let _ = send.reset(H3_REQUEST_CANCELLED);
        let _ = recv.stop(H3_REQUEST_CANCELLED);
        self.sessions.forget(self.shared.id);
        self.shared.end(SessionError::ClosedHere);
    }
}

/// Unless the server says otherwise.
const MOST_SESSIONS: u32 = 16;
