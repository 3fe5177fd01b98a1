use core::time::Duration;
use rustix::event::{PollFd, Timespec, poll};
use rustix::io::Errno;

/// Asks the kernel to end this thread's sleeps on time. By default it may be 50 µs late, to save
/// wake-ups. If it insists, the lateness shows.
pub(crate) fn minimize_timer_slack() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_current_timer_slack(core::num::NonZeroU64::new(1));
}

/// Waits until something happens at one of `fds` or `wait` is nearly over: a caller looks what is
/// due and comes back. `None` is without end.
///
/// # Errors
/// When the kernel refuses to wait.
pub(crate) fn poll_for(fds: &mut [PollFd<'_>], wait: Option<Duration>) -> Result<(), Errno> {
    let timeout = wait.map(|wait| timespec(undershoot(wait)));
    match poll(fds, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error),
    }
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
