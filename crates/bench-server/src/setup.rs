//! What a server is asked to do.

use crate::admission::AdmissionLimits;
use bench_kit::plan::Limits;
use bench_kit::qlog::Qlog;
use bench_kit::token::Token;
use cc_core::{ControllerChoice, Registry};
use paceline::tls::ServerTls;
use paceline::{KernelPacing, PathStore};
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// What a server is to do.
#[derive(Debug)]
pub struct ServerSetup {
    /// Where it listens.
    pub bind: SocketAddr,
    /// Its certificate; `None` makes one.
    pub identity: Option<ServerTls>,
    /// How long a client may be silent.
    pub idle_timeout: Duration,
    /// What a run may ask for.
    pub limits: Limits,
    /// What a run may ask for from a public address; `None` is the same as from any other.
    pub stranger_limits: Option<Limits>,
    /// How many clients are let in.
    pub admission: AdmissionLimits,
    /// How many runs go on at once; `None` is as many as there are clients. Others wait for their
    /// turn, if they want to.
    pub max_runs: Option<u32>,
    /// What clients have to know; `None` serves everybody.
    pub token: Option<Token>,
    /// Whether it ends after one run.
    pub is_one_off: bool,
    /// The controller for clients of `perf`, who cannot ask for one; `None` serves none of them.
    pub perf_congestion: Option<ControllerChoice>,
    /// Who waits until the server's packets may leave.
    pub kernel_pacing: KernelPacing,
    /// Where a qlog of each connection is written; `None` writes none.
    pub qlog: Option<Qlog>,
    /// What it remembers of the paths over which it sends; `None` forgets them.
    pub resume: Option<Resume>,
    /// The controllers that clients can ask for.
    pub registry: Registry,
    /// What random numbers are drawn from; `None` takes the system's.
    pub seed: Option<u64>,
}

/// How a server begins with what earlier connections to a client's network have learned.
#[derive(Debug, Clone)]
pub struct Resume {
    /// Where it is kept.
    pub store: Arc<PathStore>,
    /// The controller that resumes: it has to be there when the connection begins, before the
    /// client has asked for one.
    pub congestion: ControllerChoice,
}

/// Takes the server's log, line by line.
pub type Log = Arc<dyn Fn(fmt::Arguments<'_>) + Send + Sync>;
