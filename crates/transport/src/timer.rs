//! One alarm with the kernel's resolution.
//!
//! tokio's timer wheel turns once a millisecond: at 1 Gbit/s a paced sender would have to let
//! 125 kB go at once. On Linux a timerfd wakes the task within tens of microseconds without
//! spinning. Elsewhere tokio's timer stands in, and quanta have to be larger.

#[cfg(feature = "testing")]
use crate::virtual_time;
use crate::{clock, histogram};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use units::duration;
use units::histogram::Buckets;

/// Wakes a task at a time that can be moved.
#[derive(Debug)]
pub(crate) struct Timer {
    alarm: Alarm,
    /// When the alarm will go off, if it is set.
    armed: Option<Instant>,
    lateness: Arc<Lateness>,
}

impl Timer {
    /// # Errors
    /// When the kernel gives no timer, such as at the limit of open files.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub(crate) fn new(lateness: Arc<Lateness>) -> std::io::Result<Self> {
        Ok(Self {
            alarm: Alarm::new()?,
            armed: None,
            lateness,
        })
    }

    /// Ready once `deadline` has passed; before that, the task will be woken then.
    ///
    /// A deadline that moves back does not move the alarm: waking once too early costs less
    /// than a system call for every packet that pushes a timeout further away.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        deadline: Option<Instant>,
        mut now: Instant,
    ) -> Poll<()> {
        let Some(deadline) = deadline else {
            return Poll::Pending;
        };
        loop {
            self.settle(now);
            if deadline <= now {
                return Poll::Ready(());
            }
            if self.armed.is_none_or(|armed| deadline < armed) {
                self.alarm.set(deadline, deadline - now);
                self.armed = Some(deadline);
            }
            if self.alarm.poll(cx).is_pending() {
                return Poll::Pending;
            }
            now = clock::now();
        }
    }

    /// Takes note of an alarm whose time has come, noticed by the kernel's wake-up or by the
    /// clock during other work.
    fn settle(&mut self, now: Instant) {
        if let Some(armed) = self.armed.take_if(|armed| *armed <= now) {
            self.lateness.record(now - armed);
        }
    }
}

#[derive(Debug)]
enum Alarm {
    Kernel(platform::Alarm),
    #[cfg(feature = "testing")]
    Virtual(Box<dyn virtual_time::Alarm>),
}

impl Alarm {
    fn new() -> std::io::Result<Self> {
        #[cfg(feature = "testing")]
        if let Some(alarm) = virtual_time::with(|world| world.alarm()) {
            return Ok(Self::Virtual(alarm));
        }
        Ok(Self::Kernel(platform::Alarm::new()?))
    }

    fn set(&mut self, at: Instant, after: Duration) {
        match self {
            Self::Kernel(alarm) => alarm.set(at, after),
            #[cfg(feature = "testing")]
            Self::Virtual(alarm) => alarm.set(clock::timestamp(at)),
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self {
            Self::Kernel(alarm) => alarm.poll(cx),
            #[cfg(feature = "testing")]
            Self::Virtual(alarm) => alarm.poll(cx),
        }
    }
}

/// Distribution of the time between an alarm and the task's waking.
///
/// Four buckets to the octave, so that a quantile is at most a quarter too large.
#[derive(Debug)]
pub(crate) struct Lateness {
    counts: [AtomicU64; Quarters::COUNT],
}

type Quarters = Buckets<2>;

impl Lateness {
    fn record(&self, late: Duration) {
        self.counts[Quarters::index(duration::nanos(late))].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count(&self) -> u64 {
        self.counts().sum()
    }

    /// The lateness that `percent` of the alarms did not exceed, rounded up to its bucket's end.
    pub(crate) fn quantile(&self, percent: u64) -> Duration {
        histogram::quantile(self.counts(), percent).map_or(Duration::ZERO, histogram::end::<2>)
    }

    fn counts(&self) -> impl Iterator<Item = u64> + Clone {
        self.counts
            .iter()
            .map(|count| count.load(Ordering::Relaxed))
    }
}

impl Default for Lateness {
    fn default() -> Self {
        Self {
            counts: [const { AtomicU64::new(0) }; Quarters::COUNT],
        }
    }
}

#[cfg(target_os = "linux")]
mod platform {
    use crate::event_loop::register;
    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use std::io;
    use std::os::fd::OwnedFd;
    use std::task::{Context, Poll};
    use std::time::{Duration, Instant};
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    #[derive(Debug)]
    pub(super) struct Alarm(AsyncFd<OwnedFd>);

    impl Alarm {
        pub(super) fn new() -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let fd = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            Ok(Self(register(fd, Interest::READABLE)?))
        }

        pub(super) fn set(&mut self, _at: Instant, after: Duration) {
            // A zero would switch the timer off.
            let after = after.max(Duration::from_nanos(1));
            let value = Itimerspec {
                it_interval: Timespec {
                    tv_sec: 0,
                    tv_nsec: 0,
                },
                it_value: Timespec {
                    tv_sec: i64::try_from(after.as_secs()).unwrap_or(i64::MAX),
                    tv_nsec: after.subsec_nanos().into(),
                },
            };
            timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::empty(), &value)
                .expect("a timerfd takes any relative time");
        }

        /// The count of expirations is not read: setting the timer clears it, and readiness is
        /// signalled by the edge.
        pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
            match self.0.poll_read_ready(cx) {
                Poll::Ready(Ok(mut ready)) => {
                    ready.clear_ready();
                    Poll::Ready(())
                }
                // The runtime is shutting down; nothing will be polled any more.
                Poll::Ready(Err(_)) | Poll::Pending => Poll::Pending,
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use std::io;
    use std::pin::Pin;
    use std::task::{Context, Poll};
    use std::time::{Duration, Instant};
    use tokio::time::Sleep;

    #[derive(Debug)]
    pub(super) struct Alarm(Option<Pin<Box<Sleep>>>);

    impl Alarm {
        pub(super) fn new() -> io::Result<Self> {
            Ok(Self(None))
        }

        pub(super) fn set(&mut self, at: Instant, _after: Duration) {
            let sleep = self
                .0
                .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(at.into())));
            sleep.as_mut().reset(at.into());
        }

        pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
            self.0
                .as_mut()
                .map_or(Poll::Pending, |sleep| sleep.as_mut().poll(cx))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;

    #[test]
    fn quantiles_are_exact_to_a_quarter_octave() {
        let lateness = Lateness::default();
        for micros in 1..=100 {
            lateness.record(Duration::from_micros(micros));
        }
        assert_eq!(lateness.count(), 100);
        let p50 = lateness.quantile(50);
        assert!(p50 >= Duration::from_micros(50) && p50 <= Duration::from_micros(60));
        let p99 = lateness.quantile(99);
        assert!(p99 >= Duration::from_micros(99) && p99 <= Duration::from_micros(118));
    }

    #[test]
    fn extreme_times_have_a_bucket() {
        let lateness = Lateness::default();
        assert_eq!(lateness.quantile(99), Duration::ZERO);
        lateness.record(Duration::ZERO);
        lateness.record(Duration::MAX);
        assert_eq!(lateness.count(), 2);
        assert!(lateness.quantile(50) <= Duration::from_nanos(5));
        assert_eq!(lateness.quantile(100), Duration::from_nanos(u64::MAX));
    }

    #[tokio::test]
    async fn it_is_never_early_and_can_be_moved_forward() {
        let lateness = Arc::<Lateness>::default();
        let mut timer = Timer::new(Arc::clone(&lateness)).unwrap();
        let start = clock::now();
        let (far, near) = (
            start + Duration::from_secs(60),
            start + Duration::from_millis(2),
        );
        let is_pending = poll_fn(|cx| Poll::Ready(timer.poll(cx, Some(far), start).is_pending()));
        assert!(is_pending.await);
        poll_fn(|cx| timer.poll(cx, Some(near), clock::now())).await;
        assert!(clock::now() >= near);
        assert_eq!(lateness.count(), 1);
    }

    #[tokio::test]
    async fn a_deadline_that_moved_back_is_kept() {
        let mut timer = Timer::new(Arc::default()).unwrap();
        let start = clock::now();
        let (near, later) = (
            start + Duration::from_millis(1),
            start + Duration::from_millis(4),
        );
        let is_pending = poll_fn(|cx| Poll::Ready(timer.poll(cx, Some(near), start).is_pending()));
        assert!(is_pending.await);
        poll_fn(|cx| timer.poll(cx, Some(later), clock::now())).await;
        assert!(clock::now() >= later);
    }
}
