use super::super::setup::AbSetup;
use crate::client;
use bench_kit::close_reason;
use bench_kit::meter::{CounterSnapshot, Meter};
use bench_kit::plan::{Controllers, Direction, Plan};
use bench_kit::role::Role;
use bench_kit::sample::Series;
use cc_core::ControllerChoice;
use paceline::testing::{ConnectError, EndId, Ends, Load, World};
use paceline::{ConnectionError, PathMemory};
use std::time::Duration;
use units::{Bandwidth, Bytes, Timestamp};

/// What the ends of a connection know of its path.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Memories {
    pub(super) client: Option<PathMemory>,
    pub(super) server: Option<PathMemory>,
}

/// One connection of a trial, and what both of its ends count.
pub(super) struct Flow {
    plan: Plan,
    ends: Ends,
    /// When its handshake has to be finished.
    deadline: Timestamp,
    connect_timeout: Duration,
    idle_timeout: Duration,
    sender: Side,
    receiver: Side,
    /// How long it keeps to the plan's rate, and then when that is over.
    bulk: Option<Bulk>,
    /// Why its plan was not carried out.
    error: Option<String>,
}

/// The end of a sender's limit to a rate.
#[derive(Debug, Clone, Copy)]
enum Bulk {
    /// After it has begun to send.
    After(Duration),
    At(Timestamp),
}

impl Flow {
    /// A connection between `ends` that has not begun.
    pub(super) fn new(
        setup: &AbSetup,
        plan: &Plan,
        controllers: Controllers,
        ends: Ends,
        deadline: Timestamp,
    ) -> Self {
        let client = (ends.client, controllers.client);
        let server = (ends.server, controllers.server);
        let (sender, receiver) = if plan.direction == Direction::Reverse {
            (server, client)
        } else {
            (client, server)
        };
        Self {
            plan: plan.clone(),
            ends,
            deadline,
            connect_timeout: setup.connect_timeout,
            idle_timeout: setup.idle_timeout,
            sender: Side::new(sender, true),
            receiver: Side::new(receiver, false),
            bulk: None,
            error: None,
        }
    }

    /// What its ends have learned of the path.
    pub(super) fn memories(&self, world: &World) -> Memories {
        Memories {
            client: world.path_memory(self.ends.client),
            server: world.path_memory(self.ends.server),
        }
    }

    /// The same, which sends without limit from so long after its begin on.
    pub(super) fn with_bulk_after(self, time: Option<Duration>) -> Self {
        Self {
            bulk: time.map(Bulk::After),
            ..self
        }
    }

    /// Whether its next step is for something to come, and not for a moment.
    pub(super) fn is_waiting(&self) -> bool {
        !self.is_over() && (self.receiver.meter.is_none() || self.plan.bytes().is_some())
    }

    /// Lets time pass until what it waits for is there, at most for `limit` and no longer than it
    /// waits.
    pub(super) fn wait(&self, world: &mut World, limit: Option<Duration>) {
        let now = world.now();
        let is_connecting = self.sender.meter.is_none();
        let max_wait = if is_connecting {
            self.deadline.since(now)
        } else {
            // The sender has begun, so that there is a next moment and hence a limit.
            Duration::MAX
        };
        let limit = limit.map_or(max_wait, |limit| limit.min(max_wait));
        let is_there = if is_connecting {
            let connected = world.run_until_connected(self.ends, limit);
            !matches!(connected, Err(ConnectError::TimedOut(_)))
        } else {
            let begun = self.receiver.meter.as_ref();
            let wanted = begun.map_or(1, |_| self.plan.bytes().unwrap_or(u64::MAX));
            world.run_until_received(self.receiver.end, Bytes::new(wanted), limit)
        };
        if !is_there {
            world.run_for((now + limit).since(world.now()));
        }
    }

    /// Takes up what has happened: begins, counts, or gives up.
    pub(super) fn refresh(&mut self, world: &mut World) {
        if self.is_over() {
            return;
        }
        if self.sender.meter.is_none() {
            self.begin_to_send(world);
        } else if self.receiver.meter.is_none() && world.received(self.receiver.end) > Bytes::ZERO {
            self.receiver.begin(world, &self.plan);
        }
        self.begin_bulk(world);
        self.sender.tick(world);
        self.receiver.tick(world);
        let received = world.received(self.receiver.end).get();
        if self.plan.bytes().is_some_and(|bytes| received >= bytes) {
            // The sender knows it half a round trip later, in which nothing happens.
            self.sender.finish(world);
            self.receiver.finish(world);
        }
        let lost = [self.sender.end, self.receiver.end]
            .into_iter()
            .find_map(|end| world.error(end));
        if let Some(error) = lost
            && !self.is_over()
        {
            let error = match error {
                _ if self.sender.meter.is_some() => {
                    close_reason::lost(error, "the peer", self.idle_timeout)
                }
                // There is no server to check: the link lost or held up the handshake.
                ConnectionError::TimedOut => {
                    ConnectError::TimedOut(self.connect_timeout).to_string()
                }
                error => close_reason::not_connected(error, SERVER),
            };
            self.error = Some(error);
        } else if self.sender.is_over() && self.receiver.meter.is_none() {
            self.error = Some("no data received".to_owned());
        }
    }

    fn begin_to_send(&mut self, world: &mut World) {
        if [self.ends.client, self.ends.server]
            .into_iter()
            .all(|end| world.is_connected(end))
        {
            for part in self.plan.shares(self.plan.streams) {
                world.send(self.sender.end, load(&part));
            }
            if let Some(Bulk::After(time)) = self.bulk {
                self.bulk = Some(Bulk::At(world.now() + time));
            }
            self.sender.begin(world, &self.plan);
        } else if world.now() >= self.deadline {
            self.error = Some(ConnectError::TimedOut(self.connect_timeout).to_string());
        }
    }

    /// Sends as much as it can beside what it sends at a rate, if that is due.
    fn begin_bulk(&mut self, world: &mut World) {
        if let Some(Bulk::At(time)) = self.bulk
            && time <= world.now()
        {
            world.send(self.sender.end, Load::Endless);
            self.bulk = None;
        }
    }

    pub(super) fn next_tick(&self) -> Option<Timestamp> {
        if self.is_over() {
            return None;
        }
        let sides = [&self.sender, &self.receiver];
        let ticks = sides.into_iter().filter_map(Side::next_tick);
        let bulk = match self.bulk {
            Some(Bulk::At(time)) => Some(time),
            _ => None,
        };
        ticks.chain(bulk).min()
    }

    /// Whether the sender's warm-up is over.
    pub(super) fn is_warm(&self) -> bool {
        let meter = self.sender.meter.as_ref();
        meter.is_some_and(|(_, meter)| meter.at() >= self.plan.omit)
    }

    /// Whether both sides have done their part, or one has failed.
    pub(super) fn is_over(&self) -> bool {
        self.error.is_some() || self.sender.is_over() && self.receiver.is_over()
    }

    /// Why its plan was not carried out, if it was not.
    pub(super) fn error(&self) -> Option<String> {
        self.error.clone()
    }

    pub(super) fn result(&self) -> client::Flow {
        let (sender, receiver) = (self.sender.side(), self.receiver.side());
        let (client, server) = if self.plan.direction.client_sends() {
            (sender, receiver)
        } else {
            (receiver, sender)
        };
        client::Flow {
            client,
            server,
            ..client::Flow::default()
        }
    }
}

/// One end of the connection, and what it counts.
struct Side {
    end: EndId,
    role: Role,
    congestion: ControllerChoice,
    /// Since when; `None` before its first byte.
    meter: Option<(Timestamp, Meter)>,
    series: Series,
    /// Whether all that was to be sent has come, so that nothing is left to count.
    is_finished: bool,
}

impl Side {
    fn new((end, congestion): (EndId, ControllerChoice), sends: bool) -> Self {
        let role = Role {
            sends,
            receives: !sends,
            asks: false,
        };
        Self {
            end,
            role,
            congestion,
            meter: None,
            series: Series::default(),
            is_finished: false,
        }
    }

    fn begin(&mut self, world: &mut World, plan: &Plan) {
        let mut snapshot = self.read(world, Duration::ZERO);
        if plan.bytes().is_some() {
            // Those with which the round begins are some of them.
            let counters = snapshot.sent.iter_mut().chain(&mut snapshot.received);
            counters.for_each(|counter| *counter = 0);
        }
        let mut meter = Meter::new(self.role, snapshot);
        meter.begin(plan);
        world.set_observer(self.end, meter.observer());
        self.meter = Some((world.now(), meter));
    }

    fn tick(&mut self, world: &World) {
        if self.next_tick() == Some(world.now()) {
            self.count(world);
        }
    }

    /// Counts what no tick has covered, for the last time.
    fn finish(&mut self, world: &World) {
        let begun = self.meter.as_ref();
        let counted = begun.map(|(begin, meter)| *begin + meter.at());
        if !self.is_over() && counted.is_some_and(|counted| counted < world.now()) {
            self.count(world);
        }
        self.is_finished = true;
    }

    fn count(&mut self, world: &World) {
        let now = world.now();
        let begin = self.meter.as_ref().map_or(now, |(begin, _)| *begin);
        let snapshot = self.read(world, now.since(begin));
        if let Some((_, meter)) = &mut self.meter {
            self.series.push(meter.tick(snapshot));
        }
    }

    fn next_tick(&self) -> Option<Timestamp> {
        let (begin, meter) = self.meter.as_ref()?;
        (!self.is_over()).then(|| *begin + meter.next_tick())
    }

    fn is_over(&self) -> bool {
        let meter = self.meter.as_ref();
        self.is_finished || meter.is_some_and(|(_, meter)| meter.is_over())
    }

    fn read(&self, world: &World, at: Duration) -> CounterSnapshot {
        let counter = |counts: bool, bytes: Bytes| {
            let bytes = counts.then_some(bytes.get());
            bytes.into_iter().collect()
        };
        let congestion = world.congestion(self.end);
        CounterSnapshot {
            at,
            sent: counter(self.role.sends, world.sent(self.end)),
            received: counter(self.role.receives, world.received(self.end)),
            stats: world.stats(self.end),
            state: congestion.state,
            pacing_gain: congestion.pacing_gain,
            cwnd_gain: congestion.cwnd_gain,
            ..CounterSnapshot::default()
        }
    }

    fn side(&self) -> client::Side {
        let meter = self.meter.as_ref();
        client::Side {
            series: self.series.clone(),
            report: meter.map(|(_, meter)| meter.report(&self.congestion)),
        }
    }
}

fn load(plan: &Plan) -> Load {
    match (plan.rate, plan.bytes()) {
        (None, None) => Load::Endless,
        (None, Some(bytes)) => Load::Bytes(bytes),
        (Some(rate), _) => Load::Every {
            bytes: plan.block().get(),
            interval: plan.block() / Bandwidth::from_bits_per_sec(rate),
        },
    }
}

const SERVER: &str = "the simulated server";
