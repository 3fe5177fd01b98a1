//! What a connection knows of its path from an earlier one.

use crate::path_memory::{PathMemory, PathStore, Slot};
use std::sync::Arc;
use std::time::Duration;
use units::Bytes;

/// What a connection may resume from.
#[derive(Debug)]
pub(crate) struct ResumeConfig {
    /// What it was given.
    pub(crate) memory: Option<PathMemory>,
    /// Where it looks otherwise, and leaves its own.
    pub(crate) store: Option<Arc<PathStore>>,
    /// The name that a client keeps memories by; servers do so by the client's network.
    pub(crate) server_name: Option<String>,
    pub(crate) lifetime: Duration,
    pub(crate) max_jump: Bytes,
}

/// What the connection began with, and where it leaves what it learns.
#[derive(Debug)]
pub(super) struct Remembered {
    pub(super) memory: Option<PathMemory>,
    pub(super) slot: Option<Slot>,
}
