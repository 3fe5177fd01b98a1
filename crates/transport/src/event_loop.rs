//! tokio's event loop, for descriptors that tokio has no type for.

use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsRawFd, OwnedFd};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// What owns one descriptor, whose number is the same for as long as it lives.
pub(crate) trait Owner: AsRawFd {}

impl Owner for OwnedFd {}
impl Owner for UdpSocket {}

/// Has the event loop watch `file`. The caller leaves it in its `AsyncFd`.
///
/// # Errors
/// When the event loop takes no more descriptors.
///
/// # Panics
/// Outside a tokio runtime.
#[expect(unsafe_code, reason = "tokio registers by the descriptor's number")]
pub(crate) fn register<T: Owner>(file: T, interest: Interest) -> io::Result<AsyncFd<T>> {
    // SAFETY: an `Owner` has one number, open for as long as it lives, and no caller replaces it in
    // the `AsyncFd` or takes it out.
    Ok(unsafe { AsyncFd::register_with_interest(file, interest) }?)
}
