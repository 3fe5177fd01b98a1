//! tokio's paused clock, moved by the nanosecond.
//!
//! While nothing can run, tokio moves its paused clock to its next timer, in whole milliseconds.
//! The network's events lie between. So the clock is moved here:
//!
//! ```text
//!  nothing can run ──▶ the network's next event is
//!                        due                       ──▶ it happens
//!                        in this millisecond       ──▶ the clock goes there, it happens
//!                        later                     ──▶ the clock goes to the end of this
//!                                                      millisecond, and tokio to its next timer,
//!                                                      of which one is at the millisecond of
//!                                                      the event
//! ```
//!
//! No timer of tokio's is passed over, and whatever is woken at an instant runs before the clock
//! moves on.

use super::current;
use super::network::Network;
use super::world::SimulatedWorld;
use crate::lock::{Lock, Locked, Rank};
use crate::virtual_time;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::{Instant, Sleep};
use units::Timestamp;

/// Runs `future` to its end.
///
/// # Panics
/// When it has not ended after `limit`, or the thread is in a simulation or a runtime.
pub(super) fn run<F: Future>(network: Network, seed: u64, limit: Duration, future: F) -> F::Output {
    assert!(
        Handle::try_current().is_err(),
        "`Simulation::run` is called inside of a tokio runtime or another simulation; call it from \
         a function that is not async, such as a plain #[test]"
    );
    let signals = Arc::new(Signals {
        main: Lock::default(),
        is_woken: AtomicBool::new(true),
        is_idle: AtomicBool::new(false),
    });
    let runtime = {
        let signals = Arc::clone(&signals);
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .on_thread_park(move || signals.on_idle())
            .build()
            .expect("a runtime without I/O takes nothing of the system")
    };
    let origin = runtime.block_on(async { Instant::now() });
    let world = Rc::new(SimulatedWorld::new(origin, seed));
    let _entered = (virtual_time::enter(world), current::enter(network));
    // What the application has spawned ends, in a panic too, while its world is there.
    let runtime = runtime;
    let mut clockwork = Clockwork {
        signals: Arc::clone(&signals),
        origin,
        limit: limit.min(LONGEST),
        sleep: None,
    };
    let mut future = pin!(future);
    let own_waker = Waker::from(Arc::clone(&signals));
    runtime.block_on(std::future::poll_fn(|cx| {
        signals.main.lock().waker = Some(cx.waker().clone());
        if signals.is_woken.swap(false, Ordering::Relaxed) {
            let polled = future.as_mut().poll(&mut Context::from_waker(&own_waker));
            if polled.is_ready() {
                return polled;
            }
        }
        clockwork.poll(cx);
        Poll::Pending
    }))
}

/// What the thread's idleness, the future's wakers and the clockwork tell each other.
#[derive(Debug)]
struct Signals {
    main: Lock<Main>,
    /// The future has been woken.
    is_woken: AtomicBool,
    is_idle: AtomicBool,
}

/// The runtime's first future, in which all of this is polled.
#[derive(Debug, Default)]
struct Main {
    waker: Option<Waker>,
    /// While tokio's clock is on its way to the millisecond of the network's next event: when that
    /// is, if there is one.
    plan: Option<Plan>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Plan(Option<Timestamp>);

impl Locked for Main {
    const RANK: Rank = Rank::Queue;
}

impl Signals {
    /// The runtime is about to wait for its next timer, which is right as long as what was planned
    /// with it is what comes next.
    fn on_idle(&self) {
        if self.is_woken.load(Ordering::Relaxed) {
            return;
        }
        let plan = self.main.lock().plan;
        if plan != Some(Plan(next_event())) {
            self.is_idle.store(true, Ordering::Relaxed);
            self.wake_main();
        }
    }

    fn wake_main(&self) {
        let main = self.main.lock().waker.clone();
        if let Some(main) = main {
            main.wake();
        }
    }
}

/// As the waker of the future.
impl Wake for Signals {
    fn wake(self: Arc<Self>) {
        self.is_woken.store(true, Ordering::Relaxed);
        self.wake_main();
    }
}

struct Clockwork {
    signals: Arc<Signals>,
    origin: Instant,
    limit: Duration,
    /// Until the millisecond of the event that was planned.
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Clockwork {
    fn poll(&mut self, cx: &mut Context<'_>) {
        if let Some(sleep) = &mut self.sleep
            && sleep.as_mut().poll(cx).is_ready()
        {
            self.forget_plan();
        }
        if self.signals.is_idle.swap(false, Ordering::Relaxed) {
            self.forget_plan();
            self.step(cx);
        }
    }

    /// Goes on until something can run, or tokio's next timer has to be waited for.
    fn step(&mut self, cx: &mut Context<'_>) {
        loop {
            let now = self.origin.elapsed();
            let next = next_event();
            assert!(now < self.limit, "{}", self.too_long(next));
            let at = next.map_or(self.limit, |at| at.since(Timestamp::ZERO).min(self.limit));
            if at > now && whole_millis(at) > now {
                return self.wait(now, at, next, cx);
            }
            advance(at.saturating_sub(now));
            let has_woken = current::with(|network| {
                network.run(Timestamp::ZERO + at.max(now));
                network.has_woken()
            });
            if has_woken == Some(true) {
                return;
            }
        }
    }

    /// Has tokio's timers expire until the millisecond of `at`.
    fn wait(&mut self, now: Duration, at: Duration, next: Option<Timestamp>, cx: &mut Context<'_>) {
        advance(whole_millis(now + Duration::from_nanos(999_999)).saturating_sub(now));
        let deadline = self.origin + whole_millis(at);
        let mut sleep = Box::pin(tokio::time::sleep_until(deadline));
        if sleep.as_mut().poll(cx).is_pending() {
            self.signals.main.lock().plan = Some(Plan(next));
            self.sleep = Some(sleep);
        }
    }

    fn forget_plan(&mut self) {
        self.signals.main.lock().plan = None;
        self.sleep = None;
    }

    fn too_long(&self, next: Option<Timestamp>) -> String {
        let hint = if next.is_some() {
            "if it takes that long, raise `Simulation::time_limit`"
        } else {
            "nothing is on its way to it: see what it waits for (other threads are not waited for)"
        };
        format!(
            "the future has not ended after {:?} of virtual time; {hint}",
            self.limit
        )
    }
}

fn next_event() -> Option<Timestamp> {
    current::with(|network| network.next_event()).flatten()
}

/// Moves tokio's clock, which happens when this is first polled. What it waits for after that is
/// that other tasks have run, and they do.
fn advance(by: Duration) {
    if !by.is_zero() {
        let _ = pin!(tokio::time::advance(by)).poll(&mut Context::from_waker(Waker::noop()));
    }
}

/// `time` without fractions of a millisecond.
fn whole_millis(time: Duration) -> Duration {
    time - Duration::from_nanos(u64::from(time.subsec_nanos() % 1_000_000))
}

/// Instants far beyond it overflow on some systems: a century.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 86_400);
