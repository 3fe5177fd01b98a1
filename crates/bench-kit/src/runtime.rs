//! Where the tasks of a run are carried out.

use crate::failure::Failure;
use tokio::runtime::{Builder, Runtime};

/// A runtime whose tasks all run on the calling thread, so that its processor time is theirs.
///
/// # Errors
/// When the system has no timer or event queue for it.
pub fn current_thread() -> Result<Runtime, Failure> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::run(format!("cannot wait for sockets: {error}")))
}
