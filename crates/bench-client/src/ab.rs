//! The A/B test: its rounds, in real time one after the other, in virtual time as many at once as
//! there are cores.

mod progress;
mod real;
mod setup;
mod simulated;
mod trial;

pub(crate) use progress::AbProgress;
pub(crate) use setup::{
    AbSetup, AbVariant, Backend, COPIES_OF_A_SERVER, MAX_COPIES, MAX_FLOWS, MAX_VARIANTS,
    StoppingRule, name,
};
pub(crate) use trial::Trial;

use crate::client;
use bench_kit::clock;
use bench_kit::failure::Failure;
use bench_kit::interrupt::Interrupts;
use bench_report::result::{
    self, AbKind, AbResult, CompetitionRound, Finite, SCHEMA_VERSION, Variant,
};
use bench_report::stats;
use std::collections::BTreeMap;
use std::time::Duration;
use trial::TrialResult;

/// Runs all rounds, in the order of the [`Schedule`](stats::Schedule); an interruption or a broken
/// environment ends the test early and is named in the result.
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
    let trials = Trial::all(setup);
    let ended = in_batches(setup, &trials, interrupts, on_progress, &mut record);
    record.result.error = ended.err().map(|failure| failure.to_string());
    Ok(record.conclude())
}

/// Runs all trials, or those up to the interim analysis at which the stopping rule holds.
fn in_batches(
    setup: &AbSetup,
    trials: &[Trial],
    interrupts: &Interrupts,
    on_progress: &mut dyn FnMut(AbProgress<'_>),
    record: &mut Record,
) -> Result<(), Failure> {
    let analyses = (1..=setup.max_rounds()).filter(|blocks| {
        *blocks >= setup.rounds
            && setup.stopping_rule.is_some()
            && stats::is_interim_analysis(*blocks)
    });
    let mut begin = 0;
    for blocks in analyses.chain([setup.max_rounds()]) {
        let is_in_batch = |trial: &&Trial| (begin..blocks).contains(&trial.slots[0].block);
        let batch: Vec<Trial> = trials.iter().filter(is_in_batch).cloned().collect();
        match setup.backend {
            Backend::Simulated => simulated::all(setup, &batch, interrupts, &mut |result| {
                record.take(result, on_progress);
            }),
            _ => one_by_one(setup, &batch, interrupts, on_progress, record),
        }?;
        begin = blocks;
        if record.is_narrow(setup.stopping_rule) {
            break;
        }
    }
    Ok(())
}

/// Runs trials in real time.
fn one_by_one(
    setup: &AbSetup,
    trials: &[Trial],
    interrupts: &Interrupts,
    on_progress: &mut dyn FnMut(AbProgress<'_>),
    record: &mut Record,
) -> Result<(), Failure> {
    for trial in trials {
        if interrupts.is_interrupted() {
            return Err(Failure::run(client::INTERRUPTED));
        }
        on_progress(AbProgress::Begun { trial });
        let mut result = real::run_trial(setup, trial, interrupts, on_progress)?;
        let mut repeats = 0;
        while setup.rejects_late && is_late(&result) && repeats < MAX_REPEATS {
            repeats += 1;
            on_progress(AbProgress::Warning(format!(
                "the link was late; repeating the round ({repeats} of at most {MAX_REPEATS} times)"
            )));
            if interrupts.is_interrupted() {
                return Err(Failure::run(client::INTERRUPTED));
            }
            result = real::run_trial(setup, trial, interrupts, on_progress)?;
        }
        record.take(result, on_progress);
    }
    Ok(())
}

fn is_late(result: &TrialResult) -> bool {
    let mut rounds = result.rounds.iter();
    rounds.any(|(_, round)| round.was_on_busy_machine())
}

/// A machine that is busy for longer is no place for this test.
const MAX_REPEATS: u32 = 5;

/// What the test has come to so far.
struct Record {
    result: AbResult,
    competitions: Vec<CompetitionRound>,
}

impl Record {
    fn take(&mut self, result: TrialResult, on_progress: &mut dyn FnMut(AbProgress<'_>)) {
        for (slot, round) in result.rounds {
            on_progress(AbProgress::Ended {
                slot,
                round: &round,
            });
            self.result.variants[slot.variant].rounds.push(round);
        }
        self.competitions.extend(result.competition);
    }

    /// Whether every interval is as narrow as the stopping rule wants; notes it in the result.
    fn is_narrow(&mut self, rule: Option<StoppingRule>) -> bool {
        let (Some(rule), Some((a, others))) = (rule, self.result.variants.split_first()) else {
            return false;
        };
        let seed = self.result.seed;
        let is_narrow = others.iter().all(|other| {
            let half_width = stats::goodput_half_width(&a.rounds, &other.rounds, seed);
            half_width.is_some_and(|half_width| half_width <= rule.half_width.get())
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

/// Where the links are the whole path of each variant: in real time the machine is part of it.
fn longest_rtt(setup: &AbSetup) -> Option<Duration> {
    let is_whole = matches!(setup.backend, Backend::Simulated);
    let has_more = |variant: &AbVariant| !variant.extra_delay.is_zero();
    let links = &setup.links;
    (is_whole && !setup.variants.iter().any(has_more))
        .then(|| links.link.longest_rtt(&links.return_link))
        .flatten()
}

/// The result before its first round.
///
/// # Errors
/// When the setup makes no sense.
pub(crate) fn blank(setup: &AbSetup) -> Result<AbResult, Failure> {
    let links = &setup.links;
    let base_rtt = links.base_rtt()?;
    let plan = &setup.variants[0].plan;
    let is_virtual = matches!(setup.backend, Backend::Simulated);
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
        server: match &setup.backend {
            Backend::Network(remote) => Some(remote.to_string()),
            _ => None,
        },
        until: setup.stopping_rule.map(|rule| result::StoppingRule {
            half_width: rule.half_width,
            reached: false,
        }),
        started_unix_seconds: (!is_virtual).then(|| clock::since_1970().as_secs()),
        link: links.link.to_string(),
        return_link: links.return_link.to_string(),
        link_rate_bits_per_second: links.link.rate().map(units::Bandwidth::bits_per_sec),
        base_rtt_ms: base_rtt.map(Finite::millis),
        longest_rtt_ms: longest_rtt(setup).map(Finite::millis),
        round_seconds: plan.longest().map(Finite::seconds),
        round_bytes: plan.bytes(),
        omit_seconds: Some(Finite::seconds(plan.omit)),
        variants: variants
            .map(|(index, variant)| Variant {
                name: name(index),
                cc: variant.cc.clone(),
                server: variant.server.clone(),
                run: None,
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
