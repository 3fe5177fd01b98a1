use super::engine::{Engine, Watch};
use super::port::Buffers;
use core::time::Duration;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io::{self, PipeReader};
use std::sync::{Mutex, PoisonError};

/// The relay's thread: works until the other end of `stop` is closed.
///
/// # Errors
/// When the kernel refuses to wait.
pub(super) fn run(engine: &Mutex<Engine>, stop: &PipeReader) -> io::Result<()> {
    // By default the kernel may end a sleep 50 µs late, to save wake-ups. If it insists, the
    // lateness shows.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_current_timer_slack(core::num::NonZeroU64::new(1));
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
    let timeout = wait.map(|wait| timespec(undershoot(wait)));
    match poll(&mut fds, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
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

/// Linux lengthens a sleep by up to a thousandth, so a long one ends early and is taken up again.
fn undershoot(wait: Duration) -> Duration {
    if wait < SHORT {
        wait
    } else {
        wait - wait / 256
    }
}

fn timespec(wait: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(wait.subsec_nanos()),
    }
}

/// Here a thousandth is a microsecond.
const SHORT: Duration = Duration::from_millis(1);
