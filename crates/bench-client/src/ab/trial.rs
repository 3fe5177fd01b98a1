//! A trial: what runs at once, a round of one variant or in a competition a round of each.

use super::setup::{self, AbSetup, AbVariant};
use crate::client::Outcome;
use crate::emulated;
use bench_kit::plan::{Direction, Plan};
use bench_kit::qlog::Qlog;
use bench_report::result::{CompetitionRound, Finite, Round};
use bench_report::stats::{self, Schedule, Slot};
use link_sim::{LinkSpec, LinkStats};
use std::collections::BTreeMap;
use std::time::Duration;

#[derive(Debug, Clone)]
pub(crate) struct Trial {
    /// One, or in a competition one of each variant, in the order in which they connect.
    pub(crate) slots: Vec<Slot>,
}

#[derive(Debug, Clone)]
pub(super) struct FlowGroup {
    /// What each of them does. Its warm-up lasts until that of the connections that start last is
    /// over.
    pub(super) plan: Plan,
    pub(super) flows: u32,
    /// When they start, after the trial has begun.
    pub(super) start: Duration,
    /// How much longer their own path is.
    pub(super) extra_delay: Duration,
    /// How often each of their sender's datagrams is on the wire.
    pub(super) duplicate: u32,
    /// When they begin to send without limit, after their handshake.
    pub(super) bulk_after: Option<Duration>,
    /// Whether they begin with what earlier ones have learned.
    pub(super) resumes: bool,
    /// Where qlogs of their ends are written, if they are.
    pub(super) qlog: Option<Qlog>,
}

#[derive(Debug)]
pub(super) struct TrialResult {
    pub(super) rounds: Vec<(Slot, Round)>,
    /// Of a competition in which no connection failed.
    pub(super) competition: Option<CompetitionRound>,
}

/// What the data's link did in the measured part, and how long that took.
#[derive(Debug, Default)]
pub(super) struct LinkUsage {
    pub(super) stats: LinkStats,
    /// The share of packets that an emulated link in real time sent late.
    pub(super) late: Option<Finite>,
    pub(super) time: Duration,
}

impl Trial {
    pub(super) fn all(setup: &AbSetup) -> Vec<Self> {
        let schedule = Schedule::new(setup.seed, setup.variants.len(), setup.max_rounds());
        let slots: Vec<Slot> = if setup.is_independent {
            schedule.independent().collect()
        } else {
            schedule.collect()
        };
        let at_once = if setup.competes {
            setup.variants.len()
        } else {
            1
        };
        let trials = slots.chunks(at_once).map(|slots| Self {
            slots: slots.to_vec(),
        });
        trials.collect()
    }

    /// What all random numbers but those of the order come from.
    pub(super) fn seed(&self) -> u64 {
        self.slots[0].seed
    }

    /// The flow groups, in the order of the slots.
    pub(super) fn groups(&self, setup: &AbSetup) -> Vec<FlowGroup> {
        let start = |variant: &AbVariant| {
            if setup.competes {
                variant.start
            } else {
                Duration::ZERO
            }
        };
        let variant = |slot: &Slot| &setup.variants[slot.variant];
        let starts = self.slots.iter().map(|slot| start(variant(slot)));
        let last_start = starts.max().unwrap_or_default();
        let groups = self.slots.iter().map(|slot| {
            let variant = variant(slot);
            let start = start(variant);
            let omit = variant.plan.omit.saturating_add(last_start - start);
            FlowGroup {
                plan: Plan {
                    omit,
                    ..variant.plan.clone()
                },
                flows: variant.flows,
                start,
                extra_delay: variant.extra_delay,
                duplicate: variant.duplicate,
                bulk_after: variant.bulk_after,
                resumes: variant.resumes,
                qlog: self
                    .qlog(setup)
                    .map(|qlog| qlog.named(&setup::name(slot.variant))),
            }
        });
        groups.collect()
    }

    /// Where qlogs of the whole trial go, which are those of a server that several variants share.
    pub(super) fn qlog(&self, setup: &AbSetup) -> Option<Qlog> {
        let qlog = setup.qlog.as_ref()?;
        Some(qlog.named(&format!("round-{}", self.slots[0].block)))
    }

    /// The trial's rounds from what the flow groups have done.
    pub(super) fn conclude(
        &self,
        setup: &AbSetup,
        groups: &[FlowGroup],
        outcomes: &[Outcome],
        usage: Option<&LinkUsage>,
    ) -> TrialResult {
        let rounds = groups.iter().zip(outcomes).map(|(group, outcome)| {
            let round = group.round(outcome);
            if self.slots.len() == 1 {
                round
            } else {
                without_servers_cpu(round, group.plan.direction)
            }
        });
        let rounds = self.slots.iter().zip(rounds).map(|(slot, mut round)| {
            (round.block, round.order) = (slot.block, slot.order);
            let variant = &setup.variants[slot.variant];
            if variant.server.is_some() {
                // The plan's controller is one that only a bench-server could be asked for.
                variant.cc.clone_into(&mut round.congestion);
            }
            if let Some(usage) = usage {
                emulated::set_queue_delay(&mut round, &usage.stats);
                round.link_late = usage.late;
            }
            (*slot, round)
        });
        let competition = || self.competition(setup, groups, outcomes, usage);
        TrialResult {
            rounds: rounds.collect(),
            competition: setup.competes.then(competition).flatten(),
        }
    }

    /// How the connections shared the link; `None` when one failed, or none got anything.
    fn competition(
        &self,
        setup: &AbSetup,
        groups: &[FlowGroup],
        outcomes: &[Outcome],
        usage: Option<&LinkUsage>,
    ) -> Option<CompetitionRound> {
        if outcomes.iter().any(|outcome| outcome.error.is_some()) {
            return None;
        }
        let flows: Vec<Vec<Round>> = groups
            .iter()
            .zip(outcomes)
            .map(|(group, outcome)| group.flows(outcome))
            .collect();
        let goodput = |flow: &Round| flow.goodput_bits_per_second as f64;
        let goodputs: Vec<f64> = flows.iter().flatten().map(goodput).collect();
        let total: f64 = goodputs.iter().sum();
        let share = |(slot, flows): (&Slot, &Vec<Round>)| {
            let own: f64 = flows.iter().map(goodput).sum();
            Some((setup::name(slot.variant), Finite::new(own / total)?))
        };
        let shares = self.slots.iter().zip(&flows).map(share);
        let series = flows.iter().flatten().map(|flow| flow.intervals.as_slice());
        let last_start = groups.iter().map(|group| group.start).max()?;
        let convergence = stats::convergence(&series.collect::<Vec<_>>(), last_start);
        Some(CompetitionRound {
            block: self.slots[0].block,
            jain_index: Finite::new(stats::jain_index(&goodputs)?)?,
            shares: shares.collect::<Option<BTreeMap<_, _>>>()?,
            convergence_seconds: convergence.map(Finite::seconds),
            link_utilisation: usage.and_then(|usage| usage.share_of(&setup.links.link)),
        })
    }
}

impl FlowGroup {
    /// The sum over its connections; the times of its intervals count from the trial's begin.
    fn round(&self, outcome: &Outcome) -> Round {
        let mut round = outcome.round(&self.plan);
        round.count_copies(self.duplicate);
        if !self.start.is_zero() {
            for interval in &mut round.intervals {
                let t = interval.t.get() + self.start.as_secs_f64();
                interval.t = Finite::new(t).unwrap_or(interval.t);
            }
        }
        round
    }

    fn flows(&self, outcome: &Outcome) -> Vec<Round> {
        let flows = outcome.flows.iter().map(|flow| Outcome {
            flows: vec![flow.clone()],
            ..Outcome::default()
        });
        flows.map(|flow| self.round(&flow)).collect()
    }
}

/// The server has one thread for all variants, whose time is none's alone.
fn without_servers_cpu(mut round: Round, direction: Direction) -> Round {
    match direction {
        Direction::Reverse => round.cpu_seconds_sender = None,
        _ => round.cpu_seconds_receiver = None,
    }
    round
}

impl LinkUsage {
    /// What was delivered, as a share of what the rate of `link` allows.
    fn share_of(&self, link: &LinkSpec) -> Option<Finite> {
        let capacity = link.rate()? * self.time;
        Finite::ratio(self.stats.delivered.bytes.get(), capacity.get())
    }
}
