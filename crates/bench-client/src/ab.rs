//! The A/B test: its rounds, in real time one after the other, in virtual time as many at once as
//! there are cores.

mod heat;
mod real;
mod simulated;

pub(crate) use heat::Heat;

use crate::client::{self, Trust};
use crate::emulated::Links;
use bench_kit::clock;
use bench_kit::failure::Failure;
use bench_kit::interrupt::Interrupts;
use bench_kit::plan::{Controllers, Direction, Limits, Plan};
use bench_kit::token::Token;
use bench_report::result::{
    self, AbKind, AbResult, CompetitionRound, Finite, Round, SCHEMA_VERSION, Variant,
};
use bench_report::stats::{self, Schedule, Slot};
use cc_core::Registry;
use heat::Ended;
use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZero;
use std::time::Duration;
use transport::tls::Cipher;

/// An A/B test that can be run.
#[derive(Debug)]
pub(crate) struct AbSetup {
    /// The baseline, and at least one more.
    pub(crate) variants: Vec<AbVariant>,
    /// Whether the variants of a block run at once, through one bottleneck.
    pub(crate) competes: bool,
    /// Whether each round draws its own random numbers, instead of all rounds of a block the same.
    pub(crate) is_independent: bool,
    /// The blocks.
    pub(crate) rounds: u32,
    /// When there may be more of them.
    pub(crate) until: Option<Until>,
    pub(crate) venue: Venue,
    /// In virtual time: how many heats run at once.
    pub(crate) workers: NonZero<usize>,
    pub(crate) links: Links,
    pub(crate) seed: u64,
    pub(crate) title: Option<String>,
    pub(crate) cipher: Option<Cipher>,
    pub(crate) mtu: Option<u16>,
    pub(crate) connect_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) registry: Registry,
}

/// One side of a test.
#[derive(Debug, Clone)]
pub(crate) struct AbVariant {
    /// The controller with its parameters, as the registry writes it.
    pub(crate) cc: String,
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
    pub(crate) duplicate: u32,
}

/// A test that goes on until it knows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Until {
    /// What [`goodput_half_width`](stats::goodput_half_width) of every comparison has to be below.
    pub(crate) half_width: Finite,
    /// The most blocks.
    pub(crate) most: u32,
}

/// Where the rounds take place.
#[derive(Debug, Clone)]
pub(crate) enum Venue {
    /// In this process, over sockets and an emulated link.
    Embedded,
    /// In virtual time.
    Simulated,
    /// Against a server elsewhere.
    Network(Box<Remote>),
}

/// A server elsewhere, and how to reach it.
#[derive(Debug, Clone)]
pub(crate) struct Remote {
    /// Where packets go to: the server, or a relay in front of it.
    pub(crate) target: SocketAddr,
    /// The server as the user wrote it.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) trust: Trust,
    pub(crate) token: Option<Token>,
    pub(crate) bind: Option<IpAddr>,
}

impl fmt::Display for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// Variants are called by letters, and a table of more is none that anybody reads.
pub(crate) const MOST_VARIANTS: usize = 8;

/// The connections of one variant: as many as a server takes by default.
pub(crate) const MOST_FLOWS: u32 = 256;

/// Each datagram once more is what tools that do so put on the wire.
pub(crate) const MOST_COPIES: u32 = 2;

/// In real time copies are made on the client's side of the path, where its own part of it is.
pub(crate) const COPIES_OF_A_SERVER: &str =
    "what a server sends can be sent twice in virtual time alone: have the client send";

/// What a test tells while it goes on.
#[derive(Debug)]
pub(crate) enum AbProgress<'a> {
    /// These rounds have begun to connect. Not told in virtual time.
    Begun { heat: &'a Heat },
    /// They go on: time since their begin, and the payload that arrived or left here since the
    /// sample before, with that sample's length. Not told in virtual time.
    Moved {
        at: Duration,
        bytes: u64,
        length: Duration,
    },
    /// One is over. Rounds are told in their order, although they may have run at once.
    Ended { slot: Slot, round: &'a Round },
    /// The emulated link was not what it should have been.
    Complaint(String),
}

impl AbSetup {
    /// The most blocks that there may be.
    pub(crate) fn most_rounds(&self) -> u32 {
        self.until
            .map_or(self.rounds, |until| until.most.max(self.rounds))
    }

    /// What runs one after the other.
    fn heats(&self) -> Vec<Heat> {
        let schedule = Schedule::new(self.seed, self.variants.len(), self.most_rounds());
        let slots: Vec<Slot> = if self.is_independent {
            schedule.independent().collect()
        } else {
            schedule.collect()
        };
        let at_once = if self.competes {
            self.variants.len()
        } else {
            1
        };
        let heats = slots.chunks(at_once).map(|slots| Heat {
            slots: slots.to_vec(),
        });
        heats.collect()
    }

    /// # Errors
    /// When a round in real time cannot have what is asked for.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let is_simulated = matches!(self.venue, Venue::Simulated);
        let asks = |variant: &AbVariant| {
            variant.duplicate > 1 && variant.plan.direction != Direction::Forward
        };
        if !is_simulated && self.variants.iter().any(asks) {
            return Err(Failure::usage(format!("--duplicate: {COPIES_OF_A_SERVER}")));
        }
        Ok(())
    }

    /// # Errors
    /// When the plan names none, or asks for what no run does.
    fn controllers(&self, plan: &Plan) -> Result<Controllers, Failure> {
        plan.check(&Limits::NONE, &self.registry)
            .map_err(|error| Failure::usage(error.to_string()))
    }
}

/// Runs all rounds, in the order of the [`Schedule`]; an interruption or a broken environment ends
/// the test early and is named in the result.
///
/// # Errors
/// When the setup makes no sense.
pub(crate) fn run(
    setup: &AbSetup,
    interrupts: &Interrupts,
    on_progress: &mut dyn FnMut(AbProgress<'_>),
) -> Result<AbResult, Failure> {
    let mut record = Record {
        result: blank(setup)?,
        competitions: Vec::new(),
    };
    let heats = setup.heats();
    let ended = in_batches(setup, &heats, interrupts, on_progress, &mut record);
    record.result.error = ended.err().map(|failure| failure.to_string());
    Ok(record.conclude())
}

/// Runs all heats, or as many as it takes to know.
fn in_batches(
    setup: &AbSetup,
    heats: &[Heat],
    interrupts: &Interrupts,
    on_progress: &mut dyn FnMut(AbProgress<'_>),
    record: &mut Record,
) -> Result<(), Failure> {
    let looks = (1..=setup.most_rounds()).filter(|blocks| {
        *blocks >= setup.rounds && setup.until.is_some() && stats::is_a_look(*blocks)
    });
    let mut begin = 0;
    for blocks in looks.chain([setup.most_rounds()]) {
        let is_in_batch = |heat: &&Heat| (begin..blocks).contains(&heat.slots[0].block);
        let batch: Vec<Heat> = heats.iter().filter(is_in_batch).cloned().collect();
        match setup.venue {
            Venue::Simulated => simulated::all(setup, &batch, interrupts, &mut |ended| {
                record.take(ended, on_progress);
            }),
            _ => one_by_one(setup, &batch, interrupts, on_progress, record),
        }?;
        begin = blocks;
        if record.is_narrow(setup.until) {
            break;
        }
    }
    Ok(())
}

/// Runs heats in real time.
fn one_by_one(
    setup: &AbSetup,
    heats: &[Heat],
    interrupts: &Interrupts,
    on_progress: &mut dyn FnMut(AbProgress<'_>),
    record: &mut Record,
) -> Result<(), Failure> {
    for heat in heats {
        if interrupts.is_interrupted() {
            return Err(Failure::run(client::INTERRUPTED));
        }
        on_progress(AbProgress::Begun { heat });
        let ended = real::heat(setup, heat, interrupts, on_progress)?;
        record.take(ended, on_progress);
    }
    Ok(())
}

/// What the test has come to so far.
struct Record {
    result: AbResult,
    competitions: Vec<CompetitionRound>,
}

impl Record {
    fn take(&mut self, ended: Ended, on_progress: &mut dyn FnMut(AbProgress<'_>)) {
        for (slot, round) in ended.rounds {
            on_progress(AbProgress::Ended {
                slot,
                round: &round,
            });
            self.result.variants[slot.variant].rounds.push(round);
        }
        self.competitions.extend(ended.competition);
    }

    /// Whether the test was to go on until now.
    fn is_narrow(&mut self, until: Option<Until>) -> bool {
        let (Some(until), Some((a, others))) = (until, self.result.variants.split_first()) else {
            return false;
        };
        let seed = self.result.seed;
        let is_narrow = others.iter().all(|other| {
            let half_width = stats::goodput_half_width(&a.rounds, &other.rounds, seed);
            half_width.is_some_and(|half_width| half_width <= until.half_width.get())
        });
        if let Some(until) = &mut self.result.until {
            until.reached = is_narrow;
        }
        is_narrow
    }

    fn conclude(self) -> AbResult {
        let mut result = self.result;
        let failed = |variant: &Variant| variant.rounds.iter().any(|round| !round.succeeded());
        result.complete = result.error.is_none() && !result.variants.iter().any(failed);
        result.competition = stats::competition(self.competitions, result.seed);
        stats::conclude(&mut result);
        result
    }
}

/// The result before its first round.
///
/// # Errors
/// When the setup makes no sense.
pub(crate) fn blank(setup: &AbSetup) -> Result<AbResult, Failure> {
    let base_rtt = setup.links.base_rtt()?;
    let plan = &setup.variants[0].plan;
    let is_virtual = matches!(setup.venue, Venue::Simulated);
    let variants = setup.variants.iter().enumerate();
    Ok(AbResult {
        schema_version: SCHEMA_VERSION,
        kind: AbKind::Ab,
        complete: false,
        error: None,
        title: setup.title.clone(),
        version: bench_kit::VERSION.to_owned(),
        seed: setup.seed,
        is_virtual,
        independent: setup.is_independent,
        server: match &setup.venue {
            Venue::Network(remote) => Some(remote.to_string()),
            _ => None,
        },
        until: setup.until.map(|until| result::Until {
            half_width: until.half_width,
            reached: false,
        }),
        started_unix_seconds: (!is_virtual).then(|| clock::since_1970().as_secs()),
        link: setup.links.link.to_string(),
        return_link: setup.links.return_link.to_string(),
        link_rate_bits_per_second: setup.links.link.rate().map(units::Bandwidth::bits_per_sec),
        base_rtt_ms: base_rtt.map(Finite::millis),
        round_seconds: plan.longest().map(Finite::seconds),
        round_bytes: plan.bytes(),
        omit_seconds: Some(Finite::seconds(plan.omit)),
        variants: variants
            .map(|(index, variant)| Variant {
                name: name(index),
                cc: variant.cc.clone(),
                flows: variant.flows,
                start_seconds: Finite::seconds(variant.start),
                extra_delay_ms: Finite::millis(variant.extra_delay),
                duplicate: variant.duplicate,
                rounds: Vec::new(),
                summary: BTreeMap::new(),
            })
            .collect(),
        ..AbResult::default()
    })
}

/// What a variant is called: `a`, `b` and so on.
pub(crate) fn name(variant: usize) -> String {
    let letter = u8::try_from(variant)
        .ok()
        .and_then(|index| b'a'.checked_add(index));
    char::from(letter.expect("there are at most MOST_VARIANTS")).to_string()
}
