use super::engine::{Engine, Watch};
use super::port::Buffers;
use crate::realtime::{poll_for, sleep_precisely};
use core::time::Duration;
use rustix::event::{PollFd, PollFlags};
use std::io::{self, PipeReader};
use std::sync::{Mutex, PoisonError};

/// The relay's thread: works until the other end of `stop` is closed.
///
/// # Errors
/// When the kernel refuses to wait.
pub(super) fn run(engine: &Mutex<Engine>, stop: &PipeReader) -> io::Result<()> {
    sleep_precisely();
    let (mut watches, mut buffers) = (Vec::new(), Buffers::new());
    loop {
        let wait = engine
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .turn(&mut watches, &mut buffers);
        if sleep(stop, &mut watches, wait)? {
            return Ok(());
        }
    }
}

/// Sleeps until a socket is readable, `wait` is over, or the relay shall stop: then `true`.
fn sleep(stop: &PipeReader, watches: &mut [Watch], wait: Option<Duration>) -> io::Result<bool> {
    let ports = watches
        .iter()
        .map(|watch| PollFd::new(&*watch.port, PollFlags::IN));
    let mut fds: Vec<PollFd<'_>> = [PollFd::new(stop, PollFlags::IN)]
        .into_iter()
        .chain(ports)
        .collect();
    poll_for(&mut fds, wait)?;
    let mut readable = fds
        .iter()
        .map(|fd| !fd.revents().is_empty())
        .collect::<Vec<_>>();
    let stopped = readable.remove(0);
    for (watch, is_readable) in watches.iter_mut().zip(readable) {
        watch.is_readable = is_readable;
    }
    Ok(stopped)
}
