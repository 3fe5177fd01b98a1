//! What keeps a session and its connection open.

use super::codes::H3_NO_ERROR;
use super::shared::Shared;
use crate::connection::Connection;
use std::sync::Arc;

/// While one of these is left the QUIC connection stays open.
#[derive(Debug)]
pub(super) struct Link(pub(super) Connection);

impl Drop for Link {
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
