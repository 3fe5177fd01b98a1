//! A scenario as nodes and links of the simulator.

use super::check::assert_books_balance;
use super::flow::Flow;
use super::host::Host;
use super::outcome::{FlowOutcome, Outcome, Packets, Point};
use super::path::Content;
use super::plan::Plan;
use super::receiver::Receiver;
use super::sender::Sender;
use core::time::Duration;
use link_sim::sim::{LinkId, Node, NodeId, Simulator, Transmit};
use link_sim::{LinkSpec, Packet};
use std::collections::VecDeque;
use units::{Bytes, Timestamp};

/// Everything that takes part, at one moment of virtual time.
#[derive(Debug)]
pub(crate) struct World {
    sim: Simulator<End>,
    links: Vec<NamedLink>,
    link_changes: VecDeque<(Timestamp, usize, LinkSpec)>,
    flows: Vec<FlowEnds>,
    sample_every: Duration,
    next_sample: Timestamp,
}

/// A link that flows share.
#[derive(Debug)]
struct NamedLink {
    name: String,
    id: LinkId,
    base_rtt: Duration,
}

/// The nodes of a flow, the links of its data, and its series.
#[derive(Debug)]
struct FlowEnds {
    sender: NodeId,
    receiver: NodeId,
    access: Option<LinkId>,
    via: Vec<LinkId>,
    points: Vec<Point>,
}

/// One end of a flow.
#[derive(Debug)]
enum End {
    Sender(Box<Host>),
    Receiver(Box<Receiver>),
}

impl World {
    pub(crate) fn new(scenario: &Plan, seed: u64) -> Self {
        let mut sim = Simulator::new(seed);
        let links = scenario.links.iter().map(|(name, spec)| {
            let base_rtt = base_rtt(scenario, name, spec);
            let id = sim.add_link(spec, base_rtt);
            let name = name.clone();
            NamedLink { name, id, base_rtt }
        });
        let mut world = Self {
            links: links.collect(),
            sim,
            link_changes: VecDeque::new(),
            flows: Vec::new(),
            sample_every: scenario.sample_every,
            next_sample: Timestamp::ZERO,
        };
        let changes = scenario.link_changes.iter();
        let changes = changes.map(|(at, name, spec)| {
            let link = world.links.iter().position(|link| link.name == *name);
            let link = link.unwrap_or_else(|| panic!("there is no link `{name}` to change"));
            (Timestamp::ZERO + *at, link, spec.clone())
        });
        let mut changes: Vec<_> = changes.collect();
        changes.sort_by_key(|(at, ..)| *at);
        world.link_changes = changes.into();
        for (index, plan) in scenario.flows.iter().enumerate() {
            world.add_flow(index, plan, scenario, seed);
        }
        world
    }

    fn add_flow(&mut self, index: usize, plan: &Flow, scenario: &Plan, seed: u64) {
        let receiver = End::Receiver(Box::new(Receiver::new(plan.acks)));
        let receiver = self.sim.add_node(receiver);
        let sender = Sender::new(index, plan, receiver, &scenario.registry, seed);
        let host = Host::new(sender, plan.pauses);
        let sender = self.sim.add_node(End::Sender(Box::new(host)));
        let own_rtt = path_rtt(scenario, plan);
        let access = plan.access.as_ref();
        let access = access.map(|spec| self.sim.add_link(spec, own_rtt));
        let via: Vec<LinkId> = plan.via.iter().map(|name| self.named(name)).collect();
        let back: Vec<LinkId> = plan.back.iter().map(|name| self.named(name)).collect();
        let way: Vec<LinkId> = access.into_iter().chain(via.iter().copied()).collect();
        self.sim.add_route(sender, receiver, &way);
        self.sim.add_route(receiver, sender, &back);
        self.flows.push(FlowEnds {
            sender,
            receiver,
            access,
            via,
            points: Vec::new(),
        });
    }

    fn named(&self, name: &str) -> LinkId {
        let found = self.links.iter().find(|link| link.name == name);
        found
            .unwrap_or_else(|| panic!("there is no link `{name}`"))
            .id
    }

    /// Lets everything happen that happens within `limit`.
    pub(crate) fn run(&mut self, limit: Duration) {
        let end = Timestamp::ZERO + limit;
        while self.next_sample < end && !self.is_over() {
            self.run_to_sample();
        }
        if !self.is_over() {
            self.run_until(end);
            self.sample(end);
        }
    }

    /// Lets everything happen that happens up to `time`.
    pub(crate) fn advance(&mut self, time: Timestamp) {
        while self.next_sample <= time {
            self.run_to_sample();
        }
        self.run_until(time);
    }

    /// Lets happen what happens up to `limit`, but stops once a sender or a receiver has done
    /// something. Returns whether one has.
    pub(crate) fn step(&mut self, limit: Timestamp) -> bool {
        loop {
            let change = self.link_changes.front().map(|(at, ..)| *at);
            let stop = limit.min(self.next_sample).min(change.unwrap_or(limit));
            let before: Vec<_> = self.flows.iter().map(|f| done(&self.sim, f)).collect();
            let flows = &self.flows;
            let is_quiet = |sim: &Simulator<End>| {
                let mut pairs = flows.iter().zip(&before);
                pairs.all(|(flow, before)| done(sim, flow) == *before)
            };
            if !self.sim.run_while(stop, is_quiet) {
                return true;
            }
            if stop == limit {
                self.advance(limit);
                return false;
            }
            self.advance(stop);
        }
    }

    /// The link called `name` becomes another one; what is inside stays. Returns whether there is
    /// one of this name.
    pub(crate) fn change(&mut self, name: &str, spec: &LinkSpec, base_rtt: Duration) -> bool {
        let link = self.links.iter().find(|link| link.name == name);
        if let Some(link) = link {
            self.sim.reconfigure(link.id, spec, base_rtt);
        }
        link.is_some()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.sim.now()
    }

    pub(crate) fn flow_count(&self) -> usize {
        self.flows.len()
    }

    pub(crate) fn take_points(&mut self, flow: usize) -> Vec<Point> {
        core::mem::take(&mut self.flows[flow].points)
    }

    /// The flow as it is at this moment.
    pub(crate) fn point(&self, flow: usize) -> Point {
        let flow = &self.flows[flow];
        let (sender, receiver) = ends(&self.sim, flow);
        point(self.sim.now(), sender, receiver, self.queue(flow))
    }

    pub(crate) fn packets(&self, flow: usize) -> Packets {
        done(&self.sim, &self.flows[flow])
    }

    fn queue(&self, flow: &FlowEnds) -> Bytes {
        let queues = flow.via.iter().map(|link| self.sim.queue(*link).bytes);
        queues.sum()
    }

    fn run_to_sample(&mut self) {
        let at = self.next_sample;
        self.run_until(at);
        self.sample(at);
        self.next_sample += self.sample_every;
    }

    /// Closes the books.
    pub(crate) fn finish(self, seed: u64) -> Outcome {
        let flows: Vec<FlowOutcome> = self.flows.iter().map(|f| self.outcome(f)).collect();
        for (index, (ends, outcome)) in self.flows.iter().zip(&flows).enumerate() {
            let route = self.sim.route_stats(ends.sender, ends.receiver);
            assert_books_balance(index, outcome, route);
        }
        let links = self.links.iter();
        let links = links.map(|link| (link.name.clone(), self.sim.link_stats(link.id).clone()));
        Outcome {
            flows,
            links: links.collect(),
            ended_at: self.sim.now(),
            seed,
        }
    }

    /// Runs up to `time`, changing links where that is due. The clock then stands at the last
    /// event, or at `time` where something is still to come.
    fn run_until(&mut self, time: Timestamp) {
        while self
            .link_changes
            .front()
            .is_some_and(|(at, ..)| *at <= time)
        {
            let Some((at, link, spec)) = self.link_changes.pop_front() else {
                break;
            };
            self.sim.run_until(at);
            let NamedLink { id, base_rtt, .. } = self.links[link];
            self.sim.reconfigure(id, &spec, base_rtt);
        }
        self.sim.run_while(time, |_| true);
        if !self.is_over() {
            self.sim.run_until(time);
        }
    }

    /// Whether nothing is left to happen.
    fn is_over(&self) -> bool {
        let waits = |id| self.sim.node(id).poll_timeout().is_some();
        let mut flows = self.flows.iter();
        let is_quiet = flows.all(|flow| !waits(flow.sender) && !waits(flow.receiver));
        let access = self.flows.iter().filter_map(|flow| flow.access);
        let mut links = access.chain(self.links.iter().map(|link| link.id));
        is_quiet && links.all(|link| self.sim.link_stats(link).held.packets == 0)
    }

    fn sample(&mut self, at: Timestamp) {
        for flow in &mut self.flows {
            let queues = flow.via.iter().map(|link| self.sim.queue(*link).bytes);
            let (sender, receiver) = ends(&self.sim, flow);
            flow.points.push(point(at, sender, receiver, queues.sum()));
        }
    }

    fn outcome(&self, flow: &FlowEnds) -> FlowOutcome {
        let (sender, receiver) = ends(&self.sim, flow);
        sender.assert_books_balance();
        let (counts, log) = (sender.counts(), sender.log());
        let completed_at = receiver.completed_at(sender.final_length());
        FlowOutcome {
            delivered: Bytes::new(receiver.received()),
            completed_at,
            packets_sent: counts.sent,
            packets_received: receiver.packets(),
            packets_marked: receiver.marked(),
            packets_lost: counts.lost,
            packets_spuriously_lost: counts.spurious,
            sent: counts.sent_bytes,
            lost: counts.lost_bytes - counts.spurious_bytes,
            retransmitted: counts.retransmitted_bytes,
            probe_timeouts: counts.probe_timeouts,
            persistent_congestions: counts.persistent_congestions,
            rtt: log.rtt.clone(),
            longest_path_rtt: log.longest_path_rtt,
            states: log.states.clone(),
            points: flow.points.clone(),
        }
    }
}

impl Node for End {
    type Payload = Content;

    fn handle_packet(&mut self, now: Timestamp, from: NodeId, packet: Packet<Content>) {
        match (self, &packet.payload) {
            (Self::Sender(host), Content::Ack(ack)) => host.on_ack(now, ack),
            (Self::Receiver(receiver), Content::Data(data)) => {
                receiver.on_packet(now, from, data, packet.ecn);
            }
            _ => unreachable!("data goes one way and ACKs the other"),
        }
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        match self {
            Self::Sender(host) => host.on_time(now),
            Self::Receiver(receiver) => receiver.on_time(now),
        }
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        match self {
            Self::Sender(host) => host.next(),
            Self::Receiver(receiver) => receiver.next(),
        }
    }

    fn poll_transmit(&mut self, now: Timestamp) -> Option<Transmit<Content>> {
        match self {
            Self::Sender(host) => host.poll_transmit(),
            Self::Receiver(receiver) => receiver.poll_transmit(now),
        }
    }
}

fn ends<'a>(sim: &'a Simulator<End>, flow: &FlowEnds) -> (&'a Sender, &'a Receiver) {
    match (sim.node(flow.sender), sim.node(flow.receiver)) {
        (End::Sender(host), End::Receiver(receiver)) => (host.sender(), receiver),
        _ => unreachable!("a flow has a sender and a receiver"),
    }
}

fn done(sim: &Simulator<End>, flow: &FlowEnds) -> Packets {
    let (sender, receiver) = ends(sim, flow);
    let counts = sender.counts();
    Packets {
        sent: counts.sent,
        received: receiver.packets(),
        acked: counts.acked,
        lost: counts.lost,
    }
}

fn point(at: Timestamp, sender: &Sender, receiver: &Receiver, queue: Bytes) -> Point {
    let snapshot = sender.snapshot();
    Point {
        at,
        state: snapshot.state,
        cwnd: snapshot.control.cwnd,
        inflight: sender.path().inflight,
        pacing_rate: snapshot.control.pacing_rate,
        bandwidth: snapshot.bandwidth,
        delivery_rate: sender.log().delivery_rate,
        srtt: sender.path().srtt,
        delivered: Bytes::new(receiver.received()),
        packets_lost: sender.counts().lost,
        queue,
    }
}

/// The RTT of an empty path, of the longest of those that cross the link.
fn base_rtt(scenario: &Plan, name: &String, spec: &LinkSpec) -> Duration {
    let crossing = scenario.flows.iter();
    let crossing = crossing.filter(|flow| flow.via.contains(name) || flow.back.contains(name));
    let longest = crossing.map(|flow| path_rtt(scenario, flow)).max();
    match longest.filter(|rtt| !rtt.is_zero()) {
        Some(rtt) => rtt,
        None => spec
            .base_rtt(&LinkSpec::default())
            .unwrap_or_else(|error| panic!("{error}")),
    }
}

/// The delays of all links that a flow's data and ACKs take.
fn path_rtt(scenario: &Plan, flow: &Flow) -> Duration {
    let named = flow.via.iter().chain(&flow.back);
    let specs = named.filter_map(|name| {
        let mut links = scenario.links.iter();
        links.find(|(known, _)| known == name)
    });
    let shared: Duration = specs.map(|(_, spec)| spec.delay()).sum();
    shared + flow.access.as_ref().map_or(Duration::ZERO, LinkSpec::delay)
}
