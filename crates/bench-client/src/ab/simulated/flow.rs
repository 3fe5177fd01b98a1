use super::super::setup::AbSetup;
use super::media::Video;
use crate::client;
use bench_kit::close_reason;
use bench_kit::meter::{CounterSnapshot, Meter};
use bench_kit::plan::{Controllers, Direction, Plan};
use bench_kit::role::Role;
use bench_kit::sample::{Arrivals, Series};
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
    /// What it sends in datagrams, once it has begun.
    video: Option<Video>,
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
            video: None,
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
        // A video's frames are moments enough to notice the first one's arrival.
        let waits_for_data = self.receiver.meter.is_none() && self.video.is_none();
        !self.is_over() && (waits_for_data || self.plan.bytes().is_some())
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
        } else if self.receiver.meter.is_none() && self.has_arrived(world) {
            self.receiver.begin(world, &self.plan, self.video.as_ref());
        }
        self.begin_bulk(world);
        self.send_frames(world);
        self.sender.tick(world, self.video.as_ref());
        self.receiver.tick(world, self.video.as_ref());
        let received = world.received(self.receiver.end).get();
        if self.plan.bytes().is_some_and(|bytes| received >= bytes) {
            // The sender knows it half a round trip later, in which nothing happens.
            self.sender.finish(world, self.video.as_ref());
            self.receiver.finish(world, self.video.as_ref());
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
            let (sender, receiver) = (self.sender.end, self.receiver.end);
            self.video = Video::begin(world, &self.plan, sender, receiver);
            // A video is the first stream, and not of bytes.
            let streams = self.plan.streams - u32::from(self.video.is_some());
            for part in self.plan.shares(streams) {
                world.send(sender, load(&part));
            }
            if let Some(Bulk::After(time)) = self.bulk {
                self.bulk = Some(Bulk::At(world.now() + time));
            }
            self.sender.begin(world, &self.plan, self.video.as_ref());
        } else if world.now() >= self.deadline {
            self.error = Some(ConnectError::TimedOut(self.connect_timeout).to_string());
        }
    }

    /// Whether something has come of what it sends.
    fn has_arrived(&self, world: &World) -> bool {
        let video = self.video.as_ref().map_or(0, Video::received);
        video > 0 || world.received(self.receiver.end) > Bytes::ZERO
    }

    fn send_frames(&mut self, world: &mut World) {
        if !self.sender.is_over()
            && let Some(video) = &mut self.video
            && let Err(error) = video.send_due(world)
        {
            self.error = Some(error);
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
        let sending = self.video.iter().filter(|_| !self.sender.is_over());
        ticks.chain(bulk).chain(sending.map(Video::due)).min()
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
        let (mut sender, mut receiver) = (self.sender.side(), self.receiver.side());
        if let Some(video) = &self.video {
            if let Some(report) = &mut sender.report {
                report.frames_sent = Some(video.frames_sent());
            }
            if let Some(report) = &mut receiver.report {
                report.frames = Some(video.report());
            }
        }
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

    fn begin(&mut self, world: &mut World, plan: &Plan, video: Option<&Video>) {
        let mut snapshot = self.read(world, video, Duration::ZERO);
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

    fn tick(&mut self, world: &World, video: Option<&Video>) {
        if self.next_tick() == Some(world.now()) {
            self.count(world, video);
        }
    }

    /// Counts what no tick has covered, for the last time.
    fn finish(&mut self, world: &World, video: Option<&Video>) {
        let begun = self.meter.as_ref();
        let counted = begun.map(|(begin, meter)| *begin + meter.at());
        if !self.is_over() && counted.is_some_and(|counted| counted < world.now()) {
            self.count(world, video);
        }
        self.is_finished = true;
    }

    fn count(&mut self, world: &World, video: Option<&Video>) {
        let now = world.now();
        let begin = self.meter.as_ref().map_or(now, |(begin, _)| *begin);
        let snapshot = self.read(world, video, now.since(begin));
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

    fn read(&self, world: &World, video: Option<&Video>, at: Duration) -> CounterSnapshot {
        let counter = |counts: bool, bytes: Bytes, of_video: fn(&Video) -> u64| {
            let bytes = bytes.get() + video.map_or(0, of_video);
            counts.then_some(bytes).into_iter().collect()
        };
        let congestion = world.congestion(self.end);
        CounterSnapshot {
            at,
            sent: counter(self.role.sends, world.sent(self.end), Video::sent),
            received: counter(
                self.role.receives,
                world.received(self.end),
                Video::received,
            ),
            // Datagrams wait for none, so that all that has come counts.
            arrivals: match video {
                Some(_) if self.role.receives => vec![Arrivals::default()],
                _ => Vec::new(),
            },
            frames_sent: video.filter(|_| self.role.sends).map(Video::frames_made),
            frames: video
                .filter(|_| self.role.receives)
                .map(|video| video.tally(world.now())),
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
