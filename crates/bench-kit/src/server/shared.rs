//! What all sessions of a server use.

use super::Log;
use super::admission::{Admission, Origin, Rules, Verdict};
use super::journal::{Journal, Topic};
use crate::clock;
use crate::plan::Limits;
use crate::sample::SideReport;
use crate::token::Token;
use cc_core::Registry;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What all sessions use.
pub(super) struct Shared {
    pub(super) limits: Limits,
    pub(super) registry: Registry,
    pub(super) idle_timeout: Duration,
    pub(super) token: Option<Token>,
    pub(super) totals: Totals,
    admission: Mutex<Admission>,
    journal: Mutex<Journal>,
    log: Log,
}

impl Shared {
    pub(super) fn new(
        limits: Limits,
        registry: Registry,
        idle_timeout: Duration,
        token: Option<Token>,
        rules: Rules,
        log: Log,
    ) -> Self {
        Self {
            limits,
            registry,
            idle_timeout,
            token,
            totals: Totals::default(),
            admission: Mutex::new(Admission::new(rules)),
            journal: Mutex::new(Journal::new(clock::now())),
            log,
        }
    }

    /// Logs a line about a client from `origin`, if there is room for it.
    pub(super) fn log(&self, origin: Origin, topic: Topic, line: fmt::Arguments<'_>) {
        let mut journal = self.journal.lock().expect(NO_PANIC);
        if let Some(left_out) = journal.turn(clock::now()) {
            (self.log)(format_args!(
                "{left_out} lines of the last minute were left out"
            ));
        }
        if journal.has_room(origin, topic) {
            (self.log)(line);
        }
    }

    /// Logs what all runs together have moved, if there were any.
    pub(super) fn sum_up(&self) {
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
pub(super) struct Totals {
    runs: AtomicU64,
    received: AtomicU64,
    sent: AtomicU64,
}

impl Totals {
    /// Adds a run, as the server counted it.
    pub(super) fn add(&self, report: &SideReport) {
        self.runs.fetch_add(1, Ordering::Relaxed);
        self.received
            .fetch_add(report.total_received(), Ordering::Relaxed);
        self.sent.fetch_add(report.total_sent(), Ordering::Relaxed);
    }
}

/// A client's place, given back when it is dropped.
pub(super) struct Place {
    shared: Arc<Shared>,
    origin: Origin,
    has_greeted: bool,
}

impl Place {
    /// A place for a client from `origin`, whose address is known to be its own if `has_proved`.
    pub(super) fn take(
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
    pub(super) fn origin(&self) -> Origin {
        self.origin
    }

    /// The client has finished its handshake, to be called once.
    pub(super) fn greeted(&mut self) {
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
