//! What all sessions of a server use.

use crate::admission::{Admission, ClientPrefix, Verdict};
use crate::log_limiter::{LogLimiter, Topic};
use crate::setup::{Log, ServerSetup};
use crate::turns::Turns;
use bench_kit::clock;
use bench_kit::perf::BLOCK;
use bench_kit::plan::Limits;
use bench_kit::token::Token;
use bench_kit::transfer::payload;
use bytes::Bytes;
use cc_core::{ControllerChoice, Registry};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

pub(crate) struct Shared {
    pub(crate) address: SocketAddr,
    limits: Limits,
    stranger_limits: Limits,
    pub(crate) registry: Registry,
    pub(crate) idle_timeout: Duration,
    pub(crate) token: Option<Token>,
    /// The controller that sends to clients of `perf`; `None` when there are none.
    pub(crate) perf_congestion: Option<ControllerChoice>,
    /// The controller that connections begin with and may resume, as the registry writes it.
    pub(crate) resuming: Option<String>,
    pub(crate) totals: Totals,
    pub(crate) turns: Arc<Turns>,
    /// What is sent to clients of `perf`, over and over; made for the first of them.
    perf_block: OnceLock<Bytes>,
    admission: Mutex<Admission>,
    log_limiter: Mutex<LogLimiter>,
    log: Log,
}

impl Shared {
    pub(crate) fn new(setup: ServerSetup, address: SocketAddr, log: Log) -> Self {
        Self {
            address,
            limits: setup.limits,
            stranger_limits: setup.stranger_limits.unwrap_or(setup.limits),
            registry: setup.registry,
            idle_timeout: setup.idle_timeout,
            token: setup.token,
            perf_congestion: setup.perf_congestion,
            resuming: setup.resume.map(|resume| resume.congestion.to_string()),
            totals: Totals::default(),
            turns: Arc::new(Turns::new(setup.max_runs)),
            perf_block: OnceLock::new(),
            admission: Mutex::new(Admission::new(setup.admission)),
            log_limiter: Mutex::new(LogLimiter::new(clock::now())),
            log,
        }
    }

    /// What a client at this address may ask for.
    pub(crate) fn limits(&self, client: IpAddr) -> &Limits {
        if is_public(client) {
            &self.stranger_limits
        } else {
            &self.limits
        }
    }

    /// A block of payload for clients of `perf`.
    pub(crate) fn perf_block(&self) -> Bytes {
        let block = || payload(units::Bytes::new(BLOCK));
        self.perf_block.get_or_init(block).clone()
    }

    /// Logs a line about a client from `prefix`, if there is room for it.
    pub(crate) fn log(&self, prefix: ClientPrefix, topic: Topic, line: fmt::Arguments<'_>) {
        // It counts, and no panic of the log's makes its counts wrong.
        let mut log_limiter = self
            .log_limiter
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(left_out) = log_limiter.turn(clock::now()) {
            (self.log)(format_args!(
                "{left_out} log lines of the last minute suppressed"
            ));
        }
        if log_limiter.admits_line(prefix, topic) {
            (self.log)(line);
        }
    }

    /// Tells that `shed` of the `received` packets of new clients were dropped unread.
    pub(crate) fn log_shed(&self, shed: u64, received: u64) {
        if shed > 0 {
            (self.log)(format_args!(
                "Dropped {shed} of {received} first packets: more came than could be answered \
                 beside the runs"
            ));
        }
    }

    /// Logs what all runs together have transferred, if there were any.
    pub(crate) fn log_totals(&self) {
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

/// Whether it is neither this machine's nor that of a network of one's own, which are those of
/// RFC 1918, RFC 3927, RFC 4193 and RFC 4291 §2.5.6, and RFC 6598, behind a provider's NAT.
fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let is_shared = address.to_bits() >> 22 == SHARED.to_bits() >> 22;
            !(address.is_private() || address.is_loopback() || address.is_link_local() || is_shared)
        }
        IpAddr::V6(address) => {
            let is_local = address.is_unique_local() || address.is_unicast_link_local();
            !(is_local || address.is_loopback())
        }
    }
}

/// 100.64.0.0/10.
const SHARED: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 0);

/// What the runs of a server have transferred: payload of their measured parts.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    runs: AtomicU64,
    received: AtomicU64,
    sent: AtomicU64,
}

impl Totals {
    pub(crate) fn add(&self, received: u64, sent: u64) {
        self.runs.fetch_add(1, Ordering::Relaxed);
        self.received.fetch_add(received, Ordering::Relaxed);
        self.sent.fetch_add(sent, Ordering::Relaxed);
    }
}

/// A client's permit, given back when it is dropped.
pub(crate) struct Permit {
    shared: Arc<Shared>,
    prefix: ClientPrefix,
    is_connected: bool,
}

impl Permit {
    /// A permit for a client from `prefix`, whose address is known to be its own if `is_validated`.
    pub(crate) fn take(
        shared: &Arc<Shared>,
        now: Instant,
        prefix: ClientPrefix,
        is_validated: bool,
    ) -> Result<Self, Verdict> {
        let mut admission = shared.admission.lock().expect(NO_PANIC);
        match admission.decide(now, prefix, is_validated) {
            Verdict::Admit => Ok(Self {
                shared: Arc::clone(shared),
                prefix,
                is_connected: false,
            }),
            other => Err(other),
        }
    }

    pub(crate) fn prefix(&self) -> ClientPrefix {
        self.prefix
    }

    /// The client has finished its handshake, to be called once.
    pub(crate) fn connected(&mut self) {
        self.is_connected = true;
        self.shared.admission.lock().expect(NO_PANIC).connected();
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut admission = self.shared.admission.lock().expect(NO_PANIC);
        admission.leave(self.prefix, self.is_connected);
    }
}

/// Nothing that could panic runs while it is locked, but for broken invariants.
const NO_PANIC: &str = "a broken invariant ends the server";
