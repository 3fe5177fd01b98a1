//! What all sessions of a server use.

use crate::admission::{Admission, Origin, Verdict};
use crate::journal::{Journal, Topic};
use crate::setup::{Log, ServerSetup};
use bench_kit::clock;
use bench_kit::plan::Limits;
use bench_kit::token::Token;
use cc_core::{ControllerChoice, Registry};
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What all sessions use.
pub(crate) struct Shared {
    /// Where the server listens.
    pub(crate) address: SocketAddr,
    pub(crate) limits: Limits,
    pub(crate) registry: Registry,
    pub(crate) idle_timeout: Duration,
    pub(crate) token: Option<Token>,
    /// The controller that sends to clients of `perf`; `None` when there are none.
    pub(crate) perf_congestion: Option<ControllerChoice>,
    pub(crate) totals: Totals,
    admission: Mutex<Admission>,
    journal: Mutex<Journal>,
    log: Log,
}

impl Shared {
    pub(crate) fn new(setup: ServerSetup, address: SocketAddr, log: Log) -> Self {
        Self {
            address,
            limits: setup.limits,
            registry: setup.registry,
            idle_timeout: setup.idle_timeout,
            token: setup.token,
            perf_congestion: setup.perf_congestion,
            totals: Totals::default(),
            admission: Mutex::new(Admission::new(setup.rules)),
            journal: Mutex::new(Journal::new(clock::now())),
            log,
        }
    }

    /// Logs a line about a client from `origin`, if there is room for it.
    pub(crate) fn log(&self, origin: Origin, topic: Topic, line: fmt::Arguments<'_>) {
        let mut journal = self.journal.lock().expect(NO_PANIC);
        if let Some(left_out) = journal.turn(clock::now()) {
            (self.log)(format_args!(
                "{left_out} log lines of the last minute suppressed"
            ));
        }
        if journal.has_room(origin, topic) {
            (self.log)(line);
        }
    }

    /// Logs what all runs together have moved, if there were any.
    pub(crate) fn sum_up(&self) {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let runs = read(&self.totals.runs);
        if runs > 0 {
            (self.log)(format_args!(
                "Served {runs} {}: {} bytes received, {} bytes sent",
                if runs == 1 { "run" } else { "runs" },
                read(&self.totals.received),
                read(&self.totals.sent)
            ));
        }
    }
}

/// What the runs of a server have moved: payload of their measured parts.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    runs: AtomicU64,
    received: AtomicU64,
    sent: AtomicU64,
}

impl Totals {
    /// Adds a run, as the server counted it.
    pub(crate) fn add(&self, received: u64, sent: u64) {
        self.runs.fetch_add(1, Ordering::Relaxed);
        self.received.fetch_add(received, Ordering::Relaxed);
        self.sent.fetch_add(sent, Ordering::Relaxed);
    }
}

/// A client's place, given back when it is dropped.
pub(crate) struct Place {
    shared: Arc<Shared>,
    origin: Origin,
    has_greeted: bool,
}

impl Place {
    /// A place for a client from `origin`, whose address is known to be its own if `has_proved`.
    pub(crate) fn take(
        shared: &Arc<Shared>,
        now: Instant,
        origin: Origin,
        has_proved: bool,
    ) -> Result<Self, Verdict> {
        let mut admission = shared.admission.lock().expect(NO_PANIC);
        match admission.judge(now, origin, has_proved) {
            Verdict::Admit => Ok(Self {
                shared: Arc::clone(shared),
                origin,
                has_greeted: false,
            }),
            other => Err(other),
        }
    }

    /// Where its client comes from.
    pub(crate) fn origin(&self) -> Origin {
        self.origin
    }

    /// The client has finished its handshake, to be called once.
    pub(crate) fn greeted(&mut self) {
        self.has_greeted = true;
        self.shared.admission.lock().expect(NO_PANIC).greeted();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut admission = self.shared.admission.lock().expect(NO_PANIC);
        admission.leave(self.origin, self.has_greeted);
    }
}

/// Nothing that could panic runs while it is locked, but for broken invariants.
const NO_PANIC: &str = "a broken invariant ends the server";
