//! A scenario as nodes and links of the simulator.

use super::check::assert_books_balance;
use super::outcome::{FlowOutcome, Label, Outcome, Point};
use super::path::Content;
use super::receiver::Receiver;
use super::scenario::Scenario;
use super::sender::Sender;
use core::time::Duration;
use link_sim::sim::{LinkId, Node, NodeId, Simulator, Transmit};
use link_sim::{LinkSpec, LinkStats, Packet};
use std::collections::VecDeque;
use units::{Bytes, Timestamp};

/// Everything that takes part, at one moment of virtual time.
#[derive(Debug)]
pub(crate) struct World {
    sim: Simulator<End>,
    base_rtt: Duration,
    link: LinkId,
    return_link: LinkId,
    link_changes: VecDeque<(Timestamp, LinkSpec)>,
    flows: Vec<FlowEnds>,
    sample_every: Duration,
}

/// The nodes of a flow, the link that is its own, and its series.
#[derive(Debug)]
struct FlowEnds {
    sender: NodeId,
    receiver: NodeId,
    access: Option<LinkId>,
    points: Vec<Point>,
}

/// One end of a flow.
#[derive(Debug)]
enum End {
    Sender(Box<Sender>),
    Receiver(Box<Receiver>),
}

impl World {
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> Self {
        let base_rtt = base_rtt(scenario);
        let mut sim = Simulator::new(seed);
        let link = sim.add_link(&scenario.link, base_rtt);
        let return_link = sim.add_link(&scenario.return_link, base_rtt);
        let mut flows = Vec::new();
        for (index, plan) in scenario.flows.iter().enumerate() {
            let receiver = sim.add_node(End::Receiver(Box::new(Receiver::new(plan.acks))));
            let sender = Sender::new(index, plan, receiver, &scenario.registry, seed);
            let sender = sim.add_node(End::Sender(Box::new(sender)));
            let access = plan.access.as_ref();
            let access = access.map(|spec| sim.add_link(spec, base_rtt));
            let way: Vec<LinkId> = access.into_iter().chain([link]).collect();
            sim.add_route(sender, receiver, &way);
            sim.add_route(receiver, sender, &[return_link]);
            flows.push(FlowEnds {
                sender,
                receiver,
                access,
                points: Vec::new(),
            });
        }
        let mut link_changes = scenario.link_changes.clone();
        link_changes.sort_by_key(|(at, _)| *at);
        let link_changes = link_changes.into_iter();
        Self {
            sim,
            base_rtt,
            link,
            return_link,
            link_changes: link_changes
                .map(|(at, spec)| (Timestamp::ZERO + at, spec))
                .collect(),
            flows,
            sample_every: scenario.sample_every,
        }
    }

    /// Lets everything happen that happens within `limit`.
    pub(crate) fn run(&mut self, limit: Duration) {
        let end = Timestamp::ZERO + limit;
        let mut next_sample = Timestamp::ZERO;
        while next_sample < end && !self.is_over() {
            self.run_until(next_sample);
            self.sample(next_sample);
            next_sample += self.sample_every;
        }
        if !self.is_over() {
            self.run_until(end);
            self.sample(end);
        }
    }

    /// Closes the books.
    pub(crate) fn finish(self, label: Label) -> Outcome {
        let outcomes: Vec<FlowOutcome> = self.flows.iter().map(|f| self.outcome(f)).collect();
        let entered = self.flows.iter().map(|flow| self.packets_given(flow)).sum();
        let link = self.sim.link_stats(self.link).clone();
        assert_books_balance(&outcomes, entered, &link);
        Outcome {
            flows: outcomes,
            link,
            return_link: self.sim.link_stats(self.return_link).clone(),
            ended_at: self.sim.now(),
            label,
        }
    }

    /// Runs up to `time`, changing the link where that is due. The clock then stands at the last
    /// event, or at `time` where something is still to come.
    fn run_until(&mut self, time: Timestamp) {
        while let Some((at, spec)) = self.link_changes.front().filter(|(at, _)| *at <= time) {
            self.sim.run_until(*at);
            self.sim.reconfigure(self.link, spec, self.base_rtt);
            self.link_changes.pop_front();
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
        let mut links = access.chain([self.link, self.return_link]);
        is_quiet && links.all(|link| self.sim.link_stats(link).held.packets == 0)
    }

    fn sample(&mut self, at: Timestamp) {
        let queue = self.sim.queue(self.link).bytes;
        for flow in &mut self.flows {
            let (sender, receiver) = ends(&self.sim, flow);
            flow.points.push(point(at, sender, receiver, queue));
        }
    }

    /// Packets that a flow gave to the shared link.
    fn packets_given(&self, flow: &FlowEnds) -> u64 {
        let access = flow.access.map(|link| self.sim.link_stats(link));
        access.map_or_else(
            || ends(&self.sim, flow).0.counts().sent,
            |stats: &LinkStats| stats.delivered.packets,
        )
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
            packets_lost: counts.lost,
            packets_spuriously_lost: counts.spurious,
            sent: counts.sent_bytes,
            lost: counts.lost_bytes - counts.spurious_bytes,
            retransmitted: counts.retransmitted_bytes,
            probe_timeouts: counts.probe_timeouts,
            persistent_congestions: counts.persistent_congestions,
            rtt: log.rtt.clone(),
            states: log.states.clone(),
            points: flow.points.clone(),
        }
    }
}

impl Node for End {
    type Payload = Content;

    fn handle_packet(&mut self, now: Timestamp, from: NodeId, packet: Packet<Content>) {
        match (self, &packet.payload) {
            (Self::Sender(sender), Content::Ack(ack)) => sender.on_ack(now, ack),
            (Self::Receiver(receiver), Content::Data(data)) => {
                receiver.on_packet(now, from, data, packet.ecn);
            }
            _ => unreachable!("data goes one way and ACKs the other"),
        }
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        match self {
            Self::Sender(sender) => sender.on_time(now),
            Self::Receiver(receiver) => receiver.on_time(now),
        }
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        match self {
            Self::Sender(sender) => sender.next(),
            Self::Receiver(receiver) => receiver.next(),
        }
    }

    fn poll_transmit(&mut self, now: Timestamp) -> Option<Transmit<Content>> {
        match self {
            Self::Sender(sender) => sender.poll_transmit(),
            Self::Receiver(receiver) => receiver.poll_transmit(now),
        }
    }
}

fn ends<'a>(sim: &'a Simulator<End>, flow: &FlowEnds) -> (&'a Sender, &'a Receiver) {
    match (sim.node(flow.sender), sim.node(flow.receiver)) {
        (End::Sender(sender), End::Receiver(receiver)) => (sender, receiver),
        _ => unreachable!("a flow has a sender and a receiver"),
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

/// Of the longest path: the shared links and the slowest access link.
fn base_rtt(scenario: &Scenario) -> Duration {
    let shared = scenario.link.base_rtt(&scenario.return_link);
    let shared = shared.unwrap_or_else(|error| panic!("{error}"));
    let own = scenario
        .flows
        .iter()
        .filter_map(|flow| flow.access.as_ref());
    shared + own.map(LinkSpec::delay).max().unwrap_or_default()
}
