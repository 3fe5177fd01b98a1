//! What a test is to do.

use crate::client::Remote;
use crate::emulated::Links;
use bench_kit::failure::Failure;
use bench_kit::plan::{Controllers, Direction, Limits, Plan};
use bench_kit::qlog::Qlog;
use bench_report::result::{ComparedServer, Finite, is_one};
use cc_core::Registry;
use paceline::tls::Cipher;
use serde::Serialize;
use std::num::NonZero;
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct AbSetup {
    /// The baseline, and at least one more.
    pub(crate) variants: Vec<AbVariant>,
    /// Whether the variants of a block run at once, through one bottleneck.
    pub(crate) competes: bool,
    /// Whether each round draws its own random numbers, instead of all rounds of a block the same.
    pub(crate) is_independent: bool,
    pub(crate) rounds: u32,
    /// In real time: whether rounds are repeated in which the emulated link was late.
    pub(crate) rejects_late: bool,
    /// When there may be more of them.
    pub(crate) stopping_rule: Option<StoppingRule>,
    pub(crate) backend: Backend,
    /// In virtual time: how many trials run at once.
    pub(crate) workers: NonZero<usize>,
    pub(crate) links: Links,
    pub(crate) seed: u64,
    pub(crate) title: Option<String>,
    pub(crate) cipher: Option<Cipher>,
    pub(crate) mtu: Option<u16>,
    pub(crate) connect_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) registry: Registry,
    /// Where a qlog of each connection is written; `None` writes none.
    pub(crate) qlog: Option<Qlog>,
}

/// One side of a test. Its serialized form is part of the fingerprint of a matrix's cell.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct AbVariant {
    /// The controller with its parameters, as the registry writes it; unknown of a server.
    pub(crate) cc: String,
    /// The server that sends, where servers are compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<ComparedServer>,
    /// What each of its connections does; the controller of the side that sends is the same.
    pub(crate) plan: Plan,
    /// How many connections it has at a time, at least one.
    pub(crate) flows: u32,
    /// In a competition: when they start, after the begin of the round.
    pub(crate) start: Duration,
    /// How much longer their round trip is than the link's; on the client's side of the link, in
    /// the data's direction.
    pub(crate) extra_delay: Duration,
    /// How often each datagram of the sender is put on the wire, once or twice.
    #[serde(skip_serializing_if = "is_one")]
    pub(crate) duplicate: u32,
    /// In virtual time: how long after their handshake they keep to the plan's rate before they
    /// send without limit; for ever without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bulk_after: Option<Duration>,
    /// Whether each connection begins with what one of before, alone on the same links for as long,
    /// has learned of the path.
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) resumes: bool,
}

/// When a test with a flexible number of blocks stops.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StoppingRule {
    /// What [`bench_report::stats::goodput_half_width`] of every comparison has to be below.
    pub(crate) half_width: Finite,
    /// The blocks after which it stops in any case.
    pub(crate) max_rounds: u32,
}

#[derive(Debug, Clone)]
pub(crate) enum Backend {
    /// In this process, over sockets and an emulated link.
    Embedded,
    Simulated,
    /// Against a server elsewhere.
    Network(Box<Remote>),
    /// Over an emulated link from servers that speak `perf`, one for each variant.
    Servers(Vec<Remote>),
}

/// Variants are called by letters, and a table of more is none that anybody reads.
pub(crate) const MAX_VARIANTS: usize = 8;

/// The connections of one variant: as many as a server takes by default.
pub(crate) const MAX_FLOWS: u32 = 256;

/// Each datagram once more is what tools that do so put on the wire.
pub(crate) const MAX_COPIES: u32 = 2;

/// In real time copies are made on the client's side of the path, where its own part of it is.
pub(crate) const COPIES_OF_A_SERVER: &str =
    "a real server cannot duplicate its datagrams: let the client send, or use virtual time";

impl AbSetup {
    /// The largest number of blocks that there may be.
    pub(crate) fn max_rounds(&self) -> u32 {
        self.stopping_rule
            .map_or(self.rounds, |rule| rule.max_rounds.max(self.rounds))
    }

    /// # Errors
    /// When a round in real time cannot have what is asked for.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let is_simulated = matches!(self.backend, Backend::Simulated);
        let asks = |variant: &AbVariant| {
            variant.duplicate > 1 && variant.plan.direction != Direction::Forward
        };
        if !is_simulated && self.variants.iter().any(asks) {
            return Err(Failure::usage(format!("--duplicate: {COPIES_OF_A_SERVER}")));
        }
        if is_simulated {
            return Ok(());
        }
        let resuming = self.variants.iter().filter(|variant| variant.resumes);
        let fault = resuming
            .filter_map(|variant| self.no_resuming(variant))
            .next();
        fault.map_or(Ok(()), |fault| {
            Err(Failure::usage(format!("--resume: {fault}")))
        })
    }

    /// Why a variant cannot begin with what an earlier connection has learned in real time, if it
    /// cannot. A server remembers one path for all clients of a network.
    fn no_resuming(&self, variant: &AbVariant) -> Option<&'static str> {
        if variant.plan.direction == Direction::Forward {
            return None;
        }
        match self.backend {
            Backend::Embedded if self.competes || variant.flows > 1 => Some(
                "a server in real time resumes one connection at a time; leave out -R, or \
                 --compete and --flows, or use --virtual",
            ),
            Backend::Embedded => None,
            _ => Some(
                "a server elsewhere does not remember paths; leave out -R, or the server's name \
                 to use one in this process",
            ),
        }
    }

    /// # Errors
    /// When the plan names none, or asks for what no run does.
    pub(super) fn controllers(&self, plan: &Plan) -> Result<Controllers, Failure> {
        plan.check(&Limits::NONE, &self.registry)
            .map_err(|error| Failure::usage(error.to_string()))
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_false(value: &bool) -> bool {
    !value
}

/// What a variant is called: `a`, `b` and so on.
pub(crate) fn name(variant: usize) -> String {
    let letter = u8::try_from(variant)
        .ok()
        .and_then(|index| b'a'.checked_add(index));
    char::from(letter.expect("there are at most MAX_VARIANTS")).to_string()
}
