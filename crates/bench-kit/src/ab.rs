//! The A/B test: its rounds, in real time one after the other, in virtual time as many at once as
//! there are cores.

mod heat;
mod real;
mod simulated;

pub(crate) use heat::Heat;

use crate::client;
use crate::clock;
use crate::emulated::Links;
use crate::failure::Failure;
use crate::interrupt::Interrupts;
use crate::plan::{Controllers, Limits, Plan};
use crate::result::{AbKind, AbResult, CompetitionRound, Finite, Round, SCHEMA_VERSION, Variant};
use crate::stats::{self, Schedule, Slot};
use cc_core::Registry;
use heat::Ended;
use std::collections::BTreeMap;
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
    pub(crate) rounds: u32,
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
}

/// Where the rounds take place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Venue {
    /// In this process, over sockets and an emulated link.
    Embedded,
    /// In virtual time.
    Simulated,
}

/// Variants are called by letters, and a table of more is none that anybody reads.
pub(crate) const MOST_VARIANTS: usize = 8;

/// The connections of one variant: as many as a server takes by default.
pub(crate) const MOST_FLOWS: u32 = 256;

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
    /// What runs one after the other.
    fn heats(&self) -> Vec<Heat> {
        let slots: Vec<Slot> = Schedule::new(self.seed, self.variants.len(), self.rounds).collect();
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
    let ended = match setup.venue {
        Venue::Embedded => one_by_one(setup, &heats, interrupts, on_progress, &mut record),
        Venue::Simulated => simulated::all(setup, &heats, interrupts, &mut |ended| {
            record.take(ended, on_progress);
        }),
    };
    record.result.error = ended.err().map(|failure| failure.to_string());
    Ok(record.conclude())
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
fn blank(setup: &AbSetup) -> Result<AbResult, Failure> {
    let base_rtt = setup.links.base_rtt()?;
    let plan = &setup.variants[0].plan;
    let is_virtual = setup.venue == Venue::Simulated;
    let variants = setup.variants.iter().enumerate();
    Ok(AbResult {
        schema_version: SCHEMA_VERSION,
        kind: AbKind::Ab,
        complete: false,
        error: None,
        title: setup.title.clone(),
        version: crate::VERSION.to_owned(),
        seed: setup.seed,
        is_virtual,
        started_unix_seconds: (!is_virtual).then(|| clock::since_1970().as_secs()),
        link: setup.links.link.to_string(),
        return_link: setup.links.return_link.to_string(),
        link_rate_bits_per_second: setup.links.link.rate().map(units::Bandwidth::bits_per_sec),
        base_rtt_ms: base_rtt.map(Finite::millis),
        round_seconds: plan.measured_time().map(Finite::seconds),
        omit_seconds: Some(Finite::seconds(plan.omit)),
        variants: variants
            .map(|(index, variant)| Variant {
                name: name(index),
                cc: variant.cc.clone(),
                flows: variant.flows,
                start_seconds: Finite::seconds(variant.start),
                extra_delay_ms: Finite::millis(variant.extra_delay),
                rounds: Vec::new(),
                summary: BTreeMap::new(),
            })
            .collect(),
        comparison: BTreeMap::new(),
        further_comparisons: BTreeMap::new(),
        competition: None,
    })
}

/// What a variant is called: `a`, `b` and so on.
pub(crate) fn name(variant: usize) -> String {
    let letter = u8::try_from(variant)
        .ok()
        .and_then(|index| b'a'.checked_add(index));
    char::from(letter.expect("there are at most MOST_VARIANTS")).to_string()
}
