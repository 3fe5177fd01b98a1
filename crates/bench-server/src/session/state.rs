//! What a session is made of.

use super::output::Output;
use crate::shared::{Permit, Shared};
use bench_kit::wire;
use std::sync::Arc;

pub(crate) struct Session {
    pub(super) shared: Arc<Shared>,
    pub(super) number: u64,
    /// Given back when the session ends.
    pub(super) permit: Permit,
    pub(super) output: Output,
}

impl Session {
    pub(crate) fn new(shared: Arc<Shared>, number: u64, permit: Permit) -> Self {
        Self {
            shared,
            number,
            permit,
            output: Output::default(),
        }
    }
}

/// Why a session ends before its run does.
pub(super) enum Fault {
    /// The client did something it must not.
    Client(String),
    /// The client does not know the token.
    Unauthorized,
    Lost,
    /// The session has panicked.
    Bug,
}

impl From<wire::WireError> for Fault {
    /// Of writing: it fails only with the connection.
    fn from(_: wire::WireError) -> Self {
        Self::Lost
    }
}

pub(super) const TOO_LONG: &str = "run exceeds this server's time limit";

/// What a client of a session that has panicked is told.
pub(super) const BUG: &str = "internal error of the server; see its messages";
