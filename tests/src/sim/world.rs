//! The event loop: who is next, and where its packets go.

use super::check::{Capacity, assert_books_balance};
use super::outcome::{FlowOutcome, Label, Outcome, Point};
use super::path::{Content, Wire};
use super::receiver::Receiver;
use super::scenario::Scenario;
use super::sender::Sender;
use core::time::Duration;
use link_sim::{Link, LinkSpec, Packet};
use std::collections::VecDeque;
use units::{Bytes, Rng, Timestamp};

/// Everything that takes part, at one moment of virtual time.
#[derive(Debug)]
pub(crate) struct World {
    now: Timestamp,
    base_rtt: Duration,
    link: Link<Wire>,
    return_link: Link<Wire>,
    capacity: Capacity,
    link_changes: VecDeque<(Timestamp, LinkSpec)>,
    ends: Vec<Ends>,
    sample_every: Duration,
    next_sample: Timestamp,
    outbox: Vec<Packet<Wire>>,
}

/// Both ends of a flow, and the link that is its own.
#[derive(Debug)]
pub(crate) struct Ends {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    pub(crate) access: Option<Link<Wire>>,
    completed_at: Option<Timestamp>,
    points: Vec<Point>,
}

impl World {
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> Self {
        let access: Vec<Option<LinkSpec>> = scenario
            .flows
            .iter()
            .map(|flow| flow.access.as_deref().map(parse))
            .collect();
        let base_rtt = base_rtt(scenario, &access);
        let link_seed = |label: u64| Rng::derive(seed, label::LINKS + label).next_u64();
        let ends = scenario.flows.iter().zip(access).enumerate();
        let ends = ends.map(|(index, (plan, access))| Ends {
            sender: Sender::new(index, plan, &scenario.registry, seed),
            receiver: Receiver::new(plan.acks),
            access: access.map(|spec| spec.build(base_rtt, link_seed(2 + index as u64))),
            completed_at: None,
            points: Vec::new(),
        });
        let mut link_changes = scenario.link_changes.clone();
        link_changes.sort_by_key(|(at, _)| *at);
        Self {
            now: Timestamp::ZERO,
            base_rtt,
            link: scenario.link.build(base_rtt, link_seed(0)),
            return_link: scenario.return_link.build(base_rtt, link_seed(1)),
            capacity: Capacity::new(scenario.link.rate()),
            link_changes: link_changes
                .into_iter()
                .map(|(at, spec)| (Timestamp::ZERO + at, spec))
                .collect(),
            ends: ends.collect(),
            sample_every: scenario.sample_every,
            next_sample: Timestamp::ZERO,
            outbox: Vec::new(),
        }
    }

    /// Lets everything happen that happens within `limit`.
    pub(crate) fn run(&mut self, limit: Duration) {
        let end = Timestamp::ZERO + limit;
        let mut steps_at_once = 0;
        while let Some(next) = self.next().filter(|next| *next <= end) {
            assert!(
                next >= self.now,
                "an event at {next} was forgotten until {}",
                self.now
            );
            steps_at_once = if next == self.now {
                steps_at_once + 1
            } else {
                0
            };
            assert!(
                steps_at_once < MAX_STEPS_AT_ONCE,
                "time stands still at {next}"
            );
            self.sample_until(next);
            self.now = next;
            self.step();
        }
        let is_over = self.next().is_none();
        let ended_at = if is_over { self.now } else { end };
        self.sample_until(ended_at);
        self.sample(ended_at);
        self.now = ended_at;
    }

    /// Closes the books.
    pub(crate) fn finish(self, label: Label) -> Outcome {
        assert_books_balance(&self.ends, &self.link, &self.return_link);
        Outcome {
            flows: self.ends.into_iter().map(Ends::outcome).collect(),
            link: self.link.stats().clone(),
            return_link: self.return_link.stats().clone(),
            ended_at: self.now,
            label,
        }
    }

    fn next(&self) -> Option<Timestamp> {
        let links = [
            self.link.poll_timeout(),
            self.return_link.poll_timeout(),
            self.link_changes.front().map(|(at, _)| *at),
        ];
        let ends = self.ends.iter().flat_map(|ends| {
            let access = ends.access.as_ref().and_then(Link::poll_timeout);
            [ends.sender.next(), ends.receiver.next(), access]
        });
        links.into_iter().chain(ends).flatten().min()
    }

    fn step(&mut self) {
        self.change_link();
        self.cross_access_links();
        self.deliver_data();
        self.send_acks();
        self.deliver_acks();
        self.send_data();
    }

    fn change_link(&mut self) {
        let is_due = self
            .link_changes
            .front()
            .is_some_and(|(at, _)| *at <= self.now);
        let change = is_due.then(|| self.link_changes.pop_front()).flatten();
        if let Some((_, spec)) = change {
            self.link.reconfigure(self.now, &spec, self.base_rtt);
            let held = self.link.stats().held.bytes;
            self.capacity.change(self.now, spec.rate(), held);
        }
    }

    fn cross_access_links(&mut self) {
        for access in self.ends.iter_mut().filter_map(|ends| ends.access.as_mut()) {
            while let Some(delivery) = access.poll_output(self.now) {
                self.link.handle_packet(self.now, delivery.packet);
            }
        }
    }

    fn deliver_data(&mut self) {
        while let Some(delivery) = self.link.poll_output(self.now) {
            let Packet { size, ecn, payload } = delivery.packet;
            self.capacity.on_delivered(self.now, size);
            let ends = &mut self.ends[payload.flow];
            if let Content::Data(data) = &payload.content {
                ends.receiver.on_packet(self.now, data, ecn);
                ends.note_completion(self.now);
            }
        }
    }

    fn send_acks(&mut self) {
        for (index, ends) in self.ends.iter_mut().enumerate() {
            if ends.receiver.next().is_some_and(|next| next <= self.now) {
                for ack in ends.receiver.acks(self.now) {
                    self.return_link
                        .handle_packet(self.now, Wire::ack(index, ack));
                }
            }
        }
    }

    fn deliver_acks(&mut self) {
        while let Some(delivery) = self.return_link.poll_output(self.now) {
            let Wire { flow, content } = delivery.packet.payload;
            if let Content::Ack(ack) = &content {
                let sender = &mut self.ends[flow].sender;
                sender.on_ack(self.now, ack);
                sender.on_time(self.now, &mut self.outbox);
            }
        }
    }

    fn send_data(&mut self) {
        for ends in &mut self.ends {
            if ends.sender.next().is_some_and(|next| next <= self.now) {
                ends.sender.on_time(self.now, &mut self.outbox);
            }
        }
        for packet in self.outbox.drain(..) {
            let access = self.ends[packet.payload.flow].access.as_mut();
            access
                .unwrap_or(&mut self.link)
                .handle_packet(self.now, packet);
        }
    }

    fn sample_until(&mut self, time: Timestamp) {
        while self.next_sample < time {
            self.sample(self.next_sample);
            self.next_sample += self.sample_every;
        }
    }

    fn sample(&mut self, at: Timestamp) {
        let queue = self.link.queue().bytes;
        for ends in &mut self.ends {
            ends.sample(at, queue);
        }
    }
}

impl Ends {
    /// Packets that the flow gave to the shared link.
    pub(crate) fn packets_before_shared_link(&self) -> u64 {
        match &self.access {
            Some(access) => access.stats().delivered.packets,
            None => self.sender.counts().sent,
        }
    }

    fn note_completion(&mut self, now: Timestamp) {
        let is_complete = self.sender.final_length() == Some(self.receiver.received());
        if is_complete && self.completed_at.is_none() {
            self.completed_at = Some(now);
        }
    }

    fn sample(&mut self, at: Timestamp, queue: Bytes) {
        let snapshot = self.sender.snapshot();
        self.points.push(Point {
            at,
            state: snapshot.state,
            cwnd: snapshot.control.cwnd,
            inflight: self.sender.flying().1,
            pacing_rate: snapshot.control.pacing_rate,
            bandwidth: snapshot.bandwidth,
            delivery_rate: self.sender.log().delivery_rate,
            srtt: self.sender.path().srtt,
            delivered: Bytes::new(self.receiver.received()),
            packets_lost: self.sender.counts().lost,
            queue,
        });
    }

    fn outcome(self) -> FlowOutcome {
        let (counts, log) = (self.sender.counts(), self.sender.log());
        FlowOutcome {
            delivered: Bytes::new(self.receiver.received()),
            completed_at: self.completed_at,
            packets_sent: counts.sent,
            packets_received: self.receiver.packets(),
            packets_lost: counts.lost,
            packets_spuriously_lost: counts.spurious,
            sent: counts.sent_bytes,
            lost: counts.lost_bytes - counts.spurious_bytes,
            retransmitted: counts.retransmitted_bytes,
            probe_timeouts: counts.probe_timeouts,
            persistent_congestions: counts.persistent_congestions,
            rtt: log.rtt.clone(),
            states: log.states.clone(),
            points: self.points,
        }
    }
}

fn parse(link: &str) -> LinkSpec {
    link.parse().unwrap_or_else(|error| panic!("{error}"))
}

/// Of the longest path: the shared links and the slowest access link.
fn base_rtt(scenario: &Scenario, access: &[Option<LinkSpec>]) -> Duration {
    let shared = scenario.link.base_rtt(&scenario.return_link);
    let shared = shared.unwrap_or_else(|error| panic!("{error}"));
    let own = access.iter().flatten().map(LinkSpec::delay).max();
    shared + own.unwrap_or_default()
}

/// Streams of random numbers: flows have their index, links come behind.
mod label {
    pub(super) const LINKS: u64 = 1 << 32;
}

/// A flow that sends ten windows at one moment is not right in its head.
const MAX_STEPS_AT_ONCE: u32 = 100_000;
