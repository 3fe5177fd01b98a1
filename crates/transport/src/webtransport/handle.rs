//! What keeps a session and its connection open.

use super::codes::H3_NO_ERROR;
use super::shared::Shared;
use crate::connection::Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// While one of these is left the QUIC connection stays open.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) quic: Connection,
    /// Whether the peer may just be learning of a session's end.
    has_ended_session: AtomicBool,
}

impl Link {
    pub(super) fn new(quic: Connection) -> Self {
        Self {
            quic,
            has_ended_session: AtomicBool::new(false),
        }
    }

    pub(super) fn on_session_ended(&self) {
        self.has_ended_session.store(true, Ordering::Relaxed);
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let closing = Closing(self.quic.clone());
        // The connection is the client's to keep or to close. Its QUIC has the session's end now; a
        // browser's session learns of it in a task that the connection's end overtakes.
        let is_clients = self.quic.side().is_server() && *self.has_ended_session.get_mut();
        if is_clients && let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let _ = tokio::time::timeout(GRACE, closing.0.closed()).await;
            });
        }
    }
}

/// A connection that is closed with this.
struct Closing(Connection);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.close(H3_NO_ERROR, b"");
    }
}

/// While one of these is left the session stays open.
#[derive(Debug)]
pub(super) struct Handle {
    pub(super) shared: Arc<Shared>,
    /// After the session, whose task has one too, until the peer knows of the end.
    pub(super) _link: Arc<Link>,
    pub(super) protocol: Option<String>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.close(0, "");
    }
}

/// How long a server leaves the end of the connection to a client after a session's end.
const GRACE: Duration = Duration::from_secs(1);
