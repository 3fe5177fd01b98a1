//! Programs that print, behind one that reads no more, such as `head`.

#![allow(
    clippy::duplicate_mod,
    reason = "a test has several examples as modules, and each has this one"
)]

use std::error::Error;
use std::io;

/// How the program has ended; quietly if whoever read its output has gone.
pub(crate) fn unless_unread<T: Default>(
    ended: Result<T, Box<dyn Error>>,
) -> Result<T, Box<dyn Error>> {
    ended.or_else(|error| match error.downcast_ref::<io::Error>() {
        Some(unread) if unread.kind() == io::ErrorKind::BrokenPipe => Ok(T::default()),
        _ => Err(error),
    })
}
