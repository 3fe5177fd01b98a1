//! The A/B test: its rounds, in real time one after the other, in virtual time as many at once as
//! there are cores.

mod embedded;
mod simulated;

use crate::client;
use crate::clock;
use crate::emulated::Links;
use crate::failure::Failure;
use crate::interrupt::Interrupts;
use crate::plan::{Controllers, Limits, Plan};
use crate::result::{AbKind, AbResult, Finite, Round, SCHEMA_VERSION, Variant};
use crate::stats::{self, Schedule, Slot};
use cc_core::Registry;
use std::collections::BTreeMap;
use std::time::Duration;
use transport::tls::Cipher;

/// An A/B test that can be run.
#[derive(Debug)]
pub(crate) struct AbSetup {
    /// A controller each, and the plan of its rounds.
    pub(crate) variants: Vec<(String, Plan)>,
    pub(crate) rounds: u32,
    pub(crate) venue: Venue,
    pub(crate) links: Links,
    pub(crate) seed: u64,
    pub(crate) title: Option<String>,
    pub(crate) cipher: Option<Cipher>,
    pub(crate) mtu: Option<u16>,
    pub(crate) connect_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) registry: Registry,
}

/// Where the rounds take place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Venue {
    /// In this process, over sockets and an emulated link.
    Embedded,
    /// In virtual time.
    Simulated,
}

/// What a test tells while it goes on.
#[derive(Debug)]
pub(crate) enum AbProgress<'a> {
    /// A round has begun to connect. Not told in virtual time.
    Begun { slot: Slot },
    /// It goes on: time since its begin, and the payload that arrived or left here since the
    /// sample before, with that sample's length. Not told in virtual time.
    Moved {
        at: Duration,
        bytes: u64,
        length: Duration,
    },
    /// It is over. Rounds are told in their order, although they may have run at once.
    Ended { slot: Slot, round: &'a Round },
    /// The emulated link was not what it should have been.
    Complaint(String),
}

impl AbSetup {
    fn slots(&self) -> Schedule {
        Schedule::new(self.seed, self.variants.len(), self.rounds)
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
    let mut result = blank(setup)?;
    let ended = match setup.venue {
        Venue::Embedded => one_by_one(setup, interrupts, on_progress, &mut result),
        Venue::Simulated => simulated::all(setup, interrupts, &mut |slot, round| {
            on_progress(AbProgress::Ended {
                slot,
                round: &round,
            });
            result.variants[slot.variant].rounds.push(round);
        }),
    };
    result.error = ended.err().map(|failure| failure.to_string());
    let failed = |variant: &Variant| variant.rounds.iter().any(|round| !round.succeeded());
    result.complete = result.error.is_none() && !result.variants.iter().any(failed);
    stats::conclude(&mut result);
    Ok(result)
}

fn one_by_one(
    setup: &AbSetup,
    interrupts: &Interrupts,
    on_progress: &mut dyn FnMut(AbProgress<'_>),
    result: &mut AbResult,
) -> Result<(), Failure> {
    for slot in setup.slots() {
        if interrupts.is_interrupted() {
            return Err(Failure::run(client::INTERRUPTED));
        }
        let (_, plan) = &setup.variants[slot.variant];
        on_progress(AbProgress::Begun { slot });
        let round = embedded::round(setup, plan, slot, interrupts, on_progress)?;
        on_progress(AbProgress::Ended {
            slot,
            round: &round,
        });
        result.variants[slot.variant].rounds.push(round);
    }
    Ok(())
}

/// The result before its first round.
fn blank(setup: &AbSetup) -> Result<AbResult, Failure> {
    let base_rtt = setup.links.base_rtt()?;
    let plan = &setup.variants[0].1;
    let is_virtual = setup.venue == Venue::Simulated;
    let variants = setup.variants.iter().zip(b'a'..);
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
        round_seconds: plan.measured_seconds(),
        omit_seconds: Some(Finite::seconds(plan.omit)),
        variants: variants
            .map(|((cc, _), name)| Variant {
                name: char::from(name).to_string(),
                cc: cc.clone(),
                rounds: Vec::new(),
                summary: BTreeMap::new(),
            })
            .collect(),
        comparison: BTreeMap::new(),
    })
}
