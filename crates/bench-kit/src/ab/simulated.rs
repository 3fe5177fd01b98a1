//! Rounds in virtual time: the endpoints that ship, over simulated links, with nobody waiting.

use super::AbSetup;
use crate::account::{Account, Reading};
use crate::client::{self, Flow, Outcome};
use crate::emulated;
use crate::ending;
use crate::failure::Failure;
use crate::interrupt::Interrupts;
use crate::plan::{Direction, Plan};
use crate::result::Round;
use crate::sample::Series;
use crate::stats::Slot;
use crate::transfer::Role;
use cc_core::ControllerChoice;
use link_sim::LinkStats;
use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use transport::testing::{ConnectError, ConnectionPlan, EndId, Ends, LinkId, Load, World};
use units::{Bandwidth, Bytes, Timestamp};

/// Runs all rounds, on all cores, and hands them on in their order.
///
/// # Errors
/// When the setup makes no sense, or the user has ended the test; rounds before that one have been
/// handed on.
pub(super) fn all(
    setup: &AbSetup,
    interrupts: &Interrupts,
    on_round: &mut dyn FnMut(Slot, Round),
) -> Result<(), Failure> {
    let slots: Vec<Slot> = setup.slots().collect();
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let next = AtomicUsize::new(0);
    let work = |results: mpsc::Sender<_>| {
        while let Some(slot) = slots.get(next.fetch_add(1, Ordering::Relaxed)) {
            // A receiver that has met a failure wants no more.
            if results
                .send((*slot, round(setup, *slot, interrupts)))
                .is_err()
            {
                return;
            }
        }
    };
    thread::scope(|scope| {
        let (sender, results) = mpsc::channel();
        for _ in 0..cores.min(slots.len()) {
            let sender = sender.clone();
            scope.spawn(|| work(sender));
        }
        drop(sender);
        let mut early = BTreeMap::new();
        let mut due = 0;
        for (slot, round) in results {
            early.insert(slot.order, (slot, round));
            while let Some((slot, round)) = early.remove(&due) {
                on_round(slot, round?);
                due += 1;
            }
        }
        Ok(())
    })
}

/// One round in a world of its own.
fn round(setup: &AbSetup, slot: Slot, interrupts: &Interrupts) -> Result<Round, Failure> {
    let (_, plan) = &setup.variants[slot.variant];
    let mut run = Run::new(setup, plan, slot)?;
    let error = run.carry_out(interrupts)?;
    let measured = run.world.link_stats(run.link).since(&run.base);
    let (sender, receiver) = (run.sender.side(), run.receiver.side());
    let (client, server) = if plan.direction.client_sends() {
        (sender, receiver)
    } else {
        (receiver, sender)
    };
    let flow = Flow {
        client,
        server,
        ..Flow::default()
    };
    let outcome = Outcome {
        flows: vec![flow],
        error,
        ..Outcome::default()
    };
    let mut round = Round {
        block: slot.block,
        order: slot.order,
        // Both ends and the links had one thread.
        cpu_seconds_sender: None,
        cpu_seconds_receiver: None,
        ..outcome.round(plan)
    };
    emulated::set_queue_delay(&mut round, &measured);
    Ok(round)
}

struct Run<'a> {
    world: World,
    ends: Ends,
    /// That of the data.
    link: LinkId,
    /// Its figures when the measured part began.
    base: LinkStats,
    plan: &'a Plan,
    connect_timeout: Duration,
    idle_timeout: Duration,
    sender: Side,
    receiver: Side,
}

/// One end of the connection, and what it counts.
struct Side {
    end: EndId,
    role: Role,
    congestion: ControllerChoice,
    /// Since when; `None` before its first byte.
    account: Option<(Timestamp, Account)>,
    series: Series,
}

impl<'a> Run<'a> {
    fn new(setup: &AbSetup, plan: &'a Plan, slot: Slot) -> Result<Self, Failure> {
        let controllers = setup.controllers(plan)?;
        let mut world = World::new(slot.seed).unencrypted();
        let links = world.add_links(&setup.links.link, &setup.links.return_link);
        let (link, return_link) =
            links.map_err(|error| Failure::usage(format!("--link: {error}")))?;
        let is_reverse = plan.direction == Direction::Reverse;
        let (there, back) = if is_reverse {
            (return_link, link)
        } else {
            (link, return_link)
        };
        let transport = |congestion| {
            let mut config = client::transport(plan, congestion, setup.idle_timeout);
            if let Some(mtu) = setup.mtu {
                client::fix_mtu(&mut config, mtu);
            }
            config
        };
        let ends = world.add_connection(&ConnectionPlan {
            there: vec![there],
            back: vec![back],
            client: transport(&controllers.client),
            server: transport(&controllers.server),
            ..ConnectionPlan::default()
        });
        let client = (ends.client, controllers.client);
        let server = (ends.server, controllers.server);
        let (sender, receiver) = if is_reverse {
            (server, client)
        } else {
            (client, server)
        };
        Ok(Self {
            world,
            ends,
            link,
            base: LinkStats::default(),
            plan,
            connect_timeout: setup.connect_timeout,
            idle_timeout: setup.idle_timeout,
            sender: Side::new(sender, true),
            receiver: Side::new(receiver, false),
        })
    }

    /// Why the plan was not carried out, if it was not.
    ///
    /// # Errors
    /// When the user has ended the test.
    fn carry_out(&mut self, interrupts: &Interrupts) -> Result<Option<String>, Failure> {
        let connected = self
            .world
            .run_until_connected(self.ends, self.connect_timeout);
        match connected {
            Ok(()) => {}
            Err(ConnectError::Lost(error)) => {
                return Ok(Some(ending::not_connected(&error, SERVER)));
            }
            Err(error) => return Ok(Some(error.to_string())),
        }
        for _ in 0..self.plan.streams {
            self.world.send(self.sender.end, load(self.plan));
        }
        self.sender.begin(&mut self.world, self.plan);
        self.mark_base();
        while !(self.sender.is_over() && self.receiver.is_over()) {
            if interrupts.is_interrupted() {
                return Err(Failure::run(client::INTERRUPTED));
            }
            for end in [self.sender.end, self.receiver.end] {
                if let Some(error) = self.world.error(end) {
                    return Ok(Some(ending::lost(
                        error,
                        "the other side",
                        self.idle_timeout,
                    )));
                }
            }
            if self.sender.is_over() && self.receiver.account.is_none() {
                return Ok(Some("nothing has arrived".to_owned()));
            }
            self.step();
        }
        Ok(None)
    }

    /// Goes on to the next moment at which something is counted.
    fn step(&mut self) {
        let sides = [&self.sender, &self.receiver];
        let next = sides.into_iter().filter_map(Side::next_tick).min();
        let next = next.expect("a side that is not over ticks");
        let now = self.world.now();
        let has_begun = self.receiver.account.is_some();
        if !has_begun {
            let wait = next.since(now);
            let first = Bytes::new(1);
            let receiver = self.receiver.end;
            if self.world.run_until_received(receiver, first, wait) {
                self.receiver.begin(&mut self.world, self.plan);
            }
        } else {
            self.world.run_for(next.since(now));
        }
        let was_warm = self.sender.is_warm(self.plan);
        self.sender.tick(&self.world);
        self.receiver.tick(&self.world);
        if self.sender.is_warm(self.plan) && !was_warm {
            self.mark_base();
        }
    }

    fn mark_base(&mut self) {
        self.base = self.world.link_stats(self.link).clone();
    }
}

impl Side {
    fn new((end, congestion): (EndId, ControllerChoice), sends: bool) -> Self {
        let role = Role {
            sends,
            receives: !sends,
        };
        Self {
            end,
            role,
            congestion,
            account: None,
            series: Series::default(),
        }
    }

    fn begin(&mut self, world: &mut World, plan: &Plan) {
        let mut account = Account::new(self.role, self.read(world, Duration::ZERO));
        account.begin(plan);
        world.set_observer(self.end, account.listener());
        self.account = Some((world.now(), account));
    }

    /// Counts if it is time to.
    fn tick(&mut self, world: &World) {
        let now = world.now();
        if self.next_tick() != Some(now) {
            return;
        }
        let begin = self.account.as_ref().map_or(now, |(begin, _)| *begin);
        let reading = self.read(world, now.since(begin));
        if let Some((_, account)) = &mut self.account {
            self.series.push(account.tick(reading));
        }
    }

    fn next_tick(&self) -> Option<Timestamp> {
        let (begin, account) = self.account.as_ref()?;
        (!account.is_over()).then(|| *begin + account.next_tick())
    }

    /// Whether its warm-up is over.
    fn is_warm(&self, plan: &Plan) -> bool {
        let account = self.account.as_ref();
        account.is_some_and(|(_, account)| account.at() >= plan.omit)
    }

    fn is_over(&self) -> bool {
        let account = self.account.as_ref();
        account.is_some_and(|(_, account)| account.is_over())
    }

    fn read(&self, world: &World, at: Duration) -> Reading {
        let counter = |counts: bool, bytes: Bytes| {
            let bytes = counts.then_some(bytes.get());
            bytes.into_iter().collect()
        };
        Reading {
            at,
            sent: counter(self.role.sends, world.sent(self.end)),
            received: counter(self.role.receives, world.received(self.end)),
            stats: world.stats(self.end),
            state: world.congestion(self.end).state,
            cpu: Duration::ZERO,
        }
    }

    /// As the rest of the program knows it.
    fn side(&self) -> client::Side {
        let account = self.account.as_ref();
        client::Side {
            series: self.series.clone(),
            report: account.map(|(_, account)| account.report(&self.congestion)),
        }
    }
}

/// What one stream sends.
fn load(plan: &Plan) -> Load {
    match plan.rate {
        None => Load::Endless,
        Some(rate) => Load::Every {
            bytes: plan.block().get(),
            interval: plan.block() / Bandwidth::from_bits_per_sec(rate),
        },
    }
}

const SERVER: &str = "the simulated server";
