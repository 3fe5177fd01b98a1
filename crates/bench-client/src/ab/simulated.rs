//! Trials in virtual time: the endpoints that ship, over simulated links, with nobody waiting.

mod flow;
mod media;

use super::setup::AbSetup;
use super::trial::{FlowGroup, LinkUsage, Trial, TrialResult};
use crate::client::{self, Outcome};
use crate::emulated;
use bench_kit::failure::Failure;
use bench_kit::interrupt::Interrupts;
use bench_kit::plan::{Direction, Plan};
use bench_kit::transport_settings;
use cc_core::ControllerChoice;
use flow::{Flow, Memories};
use link_sim::{LinkSpec, LinkStats};
use paceline::VarInt;
use paceline::testing::{ConnectionPlan, LinkId, World};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use units::Timestamp;

/// Runs all trials, as many at once as the setup says, and hands them on in their order.
///
/// # Errors
/// When the setup makes no sense, or the user has ended the test; trials before that one have been
/// handed on.
pub(super) fn all(
    setup: &AbSetup,
    trials: &[Trial],
    interrupts: &Interrupts,
    on_trial: &mut dyn FnMut(TrialResult),
) -> Result<(), Failure> {
    let next = AtomicUsize::new(0);
    let work = |results: mpsc::Sender<_>| {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(trial) = trials.get(index) else {
                return;
            };
            // A receiver that has met a failure wants no more.
            if results
                .send((index, run_trial(setup, trial, interrupts)))
                .is_err()
            {
                return;
            }
        }
    };
    thread::scope(|scope| {
        let (sender, results) = mpsc::channel();
        for _ in 0..setup.workers.get().min(trials.len()) {
            let sender = sender.clone();
            scope.spawn(|| work(sender));
        }
        drop(sender);
        let mut early = BTreeMap::new();
        let mut due = 0;
        for (index, result) in results {
            early.insert(index, result);
            while let Some(result) = early.remove(&due) {
                on_trial(result?);
                due += 1;
            }
        }
        Ok(())
    })
}

fn run_trial(
    setup: &AbSetup,
    trial: &Trial,
    interrupts: &Interrupts,
) -> Result<TrialResult, Failure> {
    let groups = trial.groups(setup);
    let learned = groups
        .iter()
        .map(|group| learn(setup, trial.seed(), group, interrupts));
    let learned: Vec<_> = learned.collect::<Result<_, Failure>>()?;
    let mut run = Run::new(setup, trial.seed(), &groups, &learned)?;
    run.run_to_end(interrupts)?;
    let outcomes = (0..groups.len()).map(|index| run.outcome(index));
    let outcomes: Vec<Outcome> = outcomes.collect();
    let mut result = trial.conclude(setup, &groups, &outcomes, Some(&run.usage()));
    for (_, round) in &mut result.rounds {
        // All ends and links had one thread.
        (round.cpu_seconds_sender, round.cpu_seconds_receiver) = (None, None);
    }
    Ok(result)
}

/// What each connection of `group` knows of the path, where it is to know something: that of an
/// earlier one, in a group that had the links for itself.
fn learn(
    setup: &AbSetup,
    seed: u64,
    group: &FlowGroup,
    interrupts: &Interrupts,
) -> Result<Vec<Memories>, Failure> {
    if !group.resumes {
        return Ok(Vec::new());
    }
    let alone = FlowGroup {
        start: Duration::ZERO,
        qlog: None,
        ..group.clone()
    };
    let mut run = Run::new(setup, seed, &[alone], &[])?;
    run.run_to_end(interrupts)?;
    let world = &run.world;
    Ok(run.flows().map(|flow| flow.memories(world)).collect())
}

struct Run {
    world: World,
    /// That of the data.
    link: LinkId,
    /// Each with the index of its flow group.
    flows: Vec<(usize, Flow)>,
    /// Since all warm-ups are over: when that was, and the link's figures then.
    base: Option<(Timestamp, LinkStats)>,
}

impl Run {
    /// `learned` has what the connections of each group know, if they know something.
    fn new(
        setup: &AbSetup,
        seed: u64,
        groups: &[FlowGroup],
        learned: &[Vec<Memories>],
    ) -> Result<Self, Failure> {
        let mut world = World::new(seed).unencrypted();
        let links = world.add_links(&setup.links.link, &setup.links.return_link);
        let (link, return_link) =
            links.map_err(|error| Failure::usage(format!("--link: {error}")))?;
        let mut run = Self {
            world,
            link,
            flows: Vec::new(),
            base: None,
        };
        for (index, group) in groups.iter().enumerate() {
            let learned = learned.get(index).map_or(&[][..], Vec::as_slice);
            for (number, plan) in group.plan.shares(group.flows).into_iter().enumerate() {
                let memories = learned.get(number).copied().unwrap_or_default();
                let number = number as u64 + 1;
                run.add(setup, index, group, (number, &plan), return_link, &memories)?;
            }
        }
        Ok(run)
    }

    fn add(
        &mut self,
        setup: &AbSetup,
        index: usize,
        group: &FlowGroup,
        (number, plan): (u64, &Plan),
        return_link: LinkId,
        memories: &Memories,
    ) -> Result<(), Failure> {
        let controllers = setup.controllers(plan)?;
        let mut add = |own: LinkSpec| self.world.add_link(&own, Duration::ZERO);
        let duplicator = (group.duplicate > 1).then(|| add(emulated::duplicator(group.duplicate)));
        // The client's own part of the path is before the shared one, or behind it.
        let own = (!group.extra_delay.is_zero()).then(|| add(emulated::delay(group.extra_delay)));
        let (before, behind) = match plan.direction {
            Direction::Reverse => (None, own),
            _ => (own, None),
        };
        let shared = [self.link];
        let data = duplicator
            .into_iter()
            .chain(before)
            .chain(shared)
            .chain(behind);
        let (data, acks) = (data.collect(), vec![return_link]);
        let (there, back) = match plan.direction {
            Direction::Reverse => (acks, data),
            _ => (data, acks),
        };
        let transport = |side, congestion: &ControllerChoice, memory| {
            let mut config = transport_settings::of_plan(plan, congestion, setup.idle_timeout);
            if let Some(qlog) = &group.qlog {
                config.qlog_stream(qlog.connection(side, number, &congestion.to_string()));
            }
            config.path_memory(memory);
            if let Some(mtu) = setup.mtu {
                transport_settings::fix_mtu(&mut config, mtu);
            }
            if group.bulk_after.is_some() {
                // That without limit comes beside those at a rate.
                config.max_concurrent_uni_streams(VarInt::from_u32(plan.streams + 1));
            }
            config
        };
        let ends = self.world.add_connection(&ConnectionPlan {
            there,
            back,
            client: transport("client", &controllers.client, memories.client),
            server: transport("server", &controllers.server, memories.server),
            start: group.start,
            // Recorded results have the default below it.
            max_udp_payload_size: setup.mtu.filter(|mtu| *mtu > DEFAULT_LARGEST_PAYLOAD),
            ..ConnectionPlan::default()
        });
        let deadline = Timestamp::ZERO + group.start + setup.connect_timeout;
        let flow = Flow::new(setup, plan, controllers, ends, deadline);
        let flow = flow.with_bulk_after(group.bulk_after);
        self.flows.push((index, flow));
        Ok(())
    }

    /// Goes on until every connection has done its part or failed.
    ///
    /// # Errors
    /// When the user has ended the test.
    fn run_to_end(&mut self, interrupts: &Interrupts) -> Result<(), Failure> {
        while !self.flows().all(Flow::is_over) {
            if interrupts.is_interrupted() {
                return Err(Failure::run(client::INTERRUPTED));
            }
            self.step();
        }
        Ok(())
    }

    /// Goes on to the next moment at which something begins or is counted.
    fn step(&mut self) {
        let now = self.world.now();
        let next = self.flows().filter_map(Flow::next_tick).min();
        let wait = next.map(|next| next.since(now));
        let mut waiting = self.flows.iter().filter(|(_, flow)| flow.is_waiting());
        match (waiting.next(), waiting.next()) {
            (Some((_, flow)), None) => flow.wait(&mut self.world, wait),
            // The others' begin is noticed a little late.
            (Some((_, flow)), Some(_)) => {
                let limit = wait.map_or(POLL_INTERVAL, |wait| wait.min(POLL_INTERVAL));
                flow.wait(&mut self.world, Some(limit));
            }
            (None, _) => self.world.run_for(wait.unwrap_or_default()),
        }
        for (_, flow) in &mut self.flows {
            flow.refresh(&mut self.world);
        }
        if self.base.is_none() && self.flows().all(|flow| flow.is_warm() || flow.is_over()) {
            let stats = self.world.link_stats(self.link).clone();
            self.base = Some((self.world.now(), stats));
        }
    }

    fn flows(&self) -> impl Iterator<Item = &Flow> {
        self.flows.iter().map(|(_, flow)| flow)
    }

    /// What the connections of one flow group have done.
    fn outcome(&self, index: usize) -> Outcome {
        let own = || self.flows.iter().filter(|(owner, _)| *owner == index);
        Outcome {
            flows: own().map(|(_, flow)| flow.result()).collect(),
            error: own().find_map(|(_, flow)| flow.error()),
            ..Outcome::default()
        }
    }

    fn usage(&self) -> LinkUsage {
        self.base
            .as_ref()
            .map_or_else(LinkUsage::default, |(begin, base)| LinkUsage {
                stats: self.world.link_stats(self.link).since(base),
                late: None,
                time: self.world.now().since(*begin),
            })
    }
}

/// What quinn-proto's endpoints take.
const DEFAULT_LARGEST_PAYLOAD: u16 = 1_472;

/// With several connections about to begin.
const POLL_INTERVAL: Duration = Duration::from_millis(1);
