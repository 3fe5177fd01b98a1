//! Virtual time: nodes that exchange packets over links, run as fast as the machine can.
//!
//! ```text
//!   Node ── poll_transmit ──▶ route: Link ▶ Link ▶ … ── handle_packet ──▶ Node
//!    ▲  poll_timeout                  │ poll_timeout
//!    └── handle_timeout ◀── earliest of all: the clock jumps there
//! ```
//!
//! The simulator knows nothing of what nodes say to each other. It promises that the same nodes,
//! links and seed give the same run on every machine, and it checks the invariants of
//! every link while it runs: each packet that entered is delivered, dropped or inside; it is
//! delivered or dropped once, or twice where the link duplicates; it leaves the link that it
//! entered, in order where the link keeps order, and never faster than the rate. Over all routes no
//! packet appears or vanishes between links. A violation is a bug of this crate and panics with
//! seed and time. `sim/conservation.rs` and `sim/checks.rs` have these checks.
//!
//! ```
//! use link_sim::sim::{Node, NodeId, Simulator, Transmit};
//! use link_sim::Packet;
//! use units::{Bytes, Timestamp};
//!
//! /// Sends one packet when the run begins; answers every packet it receives once.
//! struct Echo { to: Option<NodeId>, answers: u32, last: Timestamp }
//!
//! impl Node for Echo {
//!     type Payload = ();
//!     fn handle_packet(&mut self, now: Timestamp, from: NodeId, _: Packet<()>) {
//!         self.last = now;
//!         self.to = (self.answers > 0).then_some(from);
//!         self.answers = self.answers.saturating_sub(1);
//!     }
//!     fn handle_timeout(&mut self, _: Timestamp) {}
//!     fn poll_timeout(&self) -> Option<Timestamp> {
//!         (self.last == Timestamp::ZERO && self.to.is_some()).then_some(Timestamp::ZERO)
//!     }
//!     fn poll_transmit(&mut self, _: Timestamp) -> Option<Transmit<()>> {
//!         let packet = Packet::new(Bytes::new(1_250), ());
//!         self.to.take().map(|to| Transmit { to, packet })
//!     }
//! }
//!
//! let mut sim = Simulator::new(1);
//! let server = sim.add_node(Echo { to: None, answers: 1, last: Timestamp::ZERO });
//! let client = sim.add_node(Echo { to: Some(server), answers: 0, last: Timestamp::ZERO });
//! sim.connect(client, server, &"delay 20ms rate 10mbit queue 1bdp".parse()?, &"".parse()?)?;
//!
//! sim.run_until(Timestamp::from_millis(1_000));
//! assert_eq!(sim.node(client).last, Timestamp::from_millis(21));
//! # Ok::<(), link_sim::SpecError>(())
//! ```

mod checked_link;
mod checks;
mod conservation;
mod event_queue;
mod node;
mod route;

#[cfg(test)]
mod tests;

use crate::link::link_seed;
use crate::packet::Packet;
use crate::spec::{LinkSpec, SpecError};
use crate::stats::{Count, LinkStats};
use checked_link::CheckedLink;
use core::time::Duration;
use event_queue::EventQueue;
pub use node::{LinkId, Node, NodeId, Transmit};
pub use route::RouteStats;
use route::{Envelope, Route};
use std::collections::BTreeMap;
use units::Timestamp;

/// Nodes, links, the routes between them, and the time.
///
/// What happens at one instant happens in this order: deliveries before timeouts, and among each
/// the link or node that was added first.
#[derive(Debug)]
pub struct Simulator<N: Node> {
    seed: u64,
    now: Timestamp,
    /// Events handled since the clock last moved.
    events_now: u64,
    nodes: Vec<N>,
    node_events: EventQueue,
    links: Vec<CheckedLink<N::Payload>>,
    link_events: EventQueue,
    routes: Vec<Route>,
    route_of: BTreeMap<(NodeId, NodeId), usize>,
}

impl<N: Node> Simulator<N> {
    /// Nothing yet, at time zero. Every link draws from its own stream of `seed`.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            now: Timestamp::ZERO,
            events_now: 0,
            nodes: Vec::new(),
            node_events: EventQueue::default(),
            links: Vec::new(),
            link_events: EventQueue::default(),
            routes: Vec::new(),
            route_of: BTreeMap::new(),
        }
    }

    /// Adds a node.
    pub fn add_node(&mut self, node: N) -> NodeId {
        let id = NodeId(self.nodes.len());
        self.node_events.add(node.poll_timeout());
        self.nodes.push(node);
        id
    }

    /// Adds a one-way link; `base_rtt` is for a queue in `bdp`, see [`LinkSpec::base_rtt`].
    pub fn add_link(&mut self, spec: &LinkSpec, base_rtt: Duration) -> LinkId {
        let id = LinkId(self.links.len());
        let seed = link_seed(self.seed, self.links.len());
        self.links
            .push(CheckedLink::new(spec.build(base_rtt, seed), spec));
        self.link_events.add(None);
        id
    }

    /// Adds a link and the one back, which it returns in this order.
    ///
    /// # Errors
    /// A queue in `bdp` without a delay in either direction.
    pub fn add_links(
        &mut self,
        link: &LinkSpec,
        return_link: &LinkSpec,
    ) -> Result<(LinkId, LinkId), SpecError> {
        let base_rtt = link.base_rtt(return_link)?;
        let there = self.add_link(link, base_rtt);
        let back = self.add_link(return_link, base_rtt);
        Ok((there, back))
    }

    /// Sends what `from` has for `to` over these links, one after another. Any number of routes
    /// may share a link.
    ///
    /// # Panics
    /// When `via` is empty or the two nodes have a route already.
    pub fn add_route(&mut self, from: NodeId, to: NodeId, via: &[LinkId]) {
        assert!(!via.is_empty(), "a route has at least one link");
        let known = self.route_of.insert((from, to), self.routes.len());
        assert!(known.is_none(), "{from:?} has a route to {to:?} already");
        self.routes.push(Route::new(from, to, via));
    }

    /// Whether what `from` has for `to` has a way.
    pub fn has_route(&self, from: NodeId, to: NodeId) -> bool {
        self.route_of.contains_key(&(from, to))
    }

    /// Joins two nodes by a link there and a link back, which it returns in this order.
    ///
    /// # Errors
    /// A queue in `bdp` without a delay in either direction.
    ///
    /// # Panics
    /// When there is a route between them already.
    pub fn connect(
        &mut self,
        a: NodeId,
        b: NodeId,
        link: &LinkSpec,
        return_link: &LinkSpec,
    ) -> Result<(LinkId, LinkId), SpecError> {
        let (there, back) = self.add_links(link, return_link)?;
        self.add_route(a, b, &[there]);
        self.add_route(b, a, &[back]);
        Ok((there, back))
    }

    /// The virtual time.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// A node, to look at.
    pub fn node(&self, id: NodeId) -> &N {
        &self.nodes[id.0]
    }

    /// Changes a node from outside, now, and sends what it has to send then.
    pub fn update_node<R>(&mut self, id: NodeId, change: impl FnOnce(&mut N, Timestamp) -> R) -> R {
        let result = change(&mut self.nodes[id.0], self.now);
        self.flush(id);
        result
    }

    /// What a link did so far.
    pub fn link_stats(&self, id: LinkId) -> &LinkStats {
        self.links[id.0].link().stats()
    }

    /// What the way from one node to another carried so far.
    ///
    /// # Panics
    /// When there is no route.
    pub fn route_stats(&self, from: NodeId, to: NodeId) -> RouteStats {
        self.routes[self.route(from, to)].stats
    }

    /// What waits at a link, see [`Link::queue`](crate::Link::queue).
    pub fn queue(&self, id: LinkId) -> Count {
        self.links[id.0].link().queue()
    }

    /// Makes a link another one from now on, see [`Link::reconfigure`](crate::Link::reconfigure).
    pub fn reconfigure(&mut self, id: LinkId, spec: &LinkSpec, base_rtt: Duration) {
        let checked = &mut self.links[id.0];
        checked.reconfigure(self.now, spec, base_rtt);
        self.link_events.set(id.0, checked.link().poll_timeout());
    }

    /// Runs until nothing is due any more at or before `end`, and moves the clock there.
    pub fn run_until(&mut self, end: Timestamp) {
        self.run_while(end, |_| true);
        self.move_clock(end);
    }

    /// Runs event by event while `condition` holds, at most up to `end`; answers whether it still
    /// holds.
    pub fn run_while(&mut self, end: Timestamp, condition: impl Fn(&Self) -> bool) -> bool {
        let mut holds = condition(self);
        while holds && self.step(end) {
            holds = condition(self);
        }
        let links = self.links.iter();
        let links = links.map(|checked| (checked.link().stats(), checked.collected()));
        if let Err(promise) = route::conserved(&self.routes, links) {
            self.fail(&promise);
        }
        holds
    }

    /// When something is due next. What nodes ask for outside of [`run_until`](Self::run_until) may
    /// be due already.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        let (link, node) = (self.link_events.next(), self.node_events.next());
        [link, node].into_iter().flatten().map(|(due, _)| due).min()
    }

    /// Handles the next event, unless it is later than `end`.
    fn step(&mut self, end: Timestamp) -> bool {
        let (link, node) = (self.link_events.next(), self.node_events.next());
        let Some(due) = self.poll_timeout().filter(|due| *due <= end) else {
            return false;
        };
        self.move_clock(due);
        self.events_now += 1;
        assert!(
            self.events_now < MAX_EVENTS_AT_ONCE,
            "virtual time stands still at {} (seed {}): a node asks for a time that has passed, or \
             nodes answer each other without any delay",
            self.now,
            self.seed
        );
        match (link, node) {
            (Some((at, link)), _) if at == due => self.run_link(LinkId(link)),
            (_, Some((_, node))) => {
                self.nodes[node].handle_timeout(self.now);
                self.flush(NodeId(node));
            }
            _ => {}
        }
        true
    }

    /// An event that is late, because it was asked for too late, happens now.
    fn move_clock(&mut self, to: Timestamp) {
        if to > self.now {
            self.now = to;
            self.events_now = 0;
        }
    }

    /// Hands on what a link delivers now.
    fn run_link(&mut self, id: LinkId) {
        while let Some(packet) = self.collect(id) {
            let hop = packet.payload.hop + 1;
            let route = &mut self.routes[packet.payload.route];
            if let Some(&next) = route.via.get(hop) {
                self.enter(next, packet.map(|payload| Envelope { hop, ..payload }));
            } else if packet.corrupted {
                route.stats.damaged += 1;
            } else {
                route.stats.received += 1;
                let (from, to) = (route.from, route.to);
                let packet = packet.map(|envelope| envelope.payload);
                self.nodes[to.0].handle_packet(self.now, from, packet);
                self.flush(to);
            }
        }
        let next = self.links[id.0].link().poll_timeout();
        self.link_events.set(id.0, next);
    }

    /// The next packet that a link delivers now.
    fn collect(&mut self, id: LinkId) -> Option<Packet<Envelope<N::Payload>>> {
        match self.links[id.0].collect(self.now) {
            Ok(packet) => packet,
            Err(promise) => self.fail(&format!("{id:?}: {promise}")),
        }
    }

    /// Sends what a node has to send.
    fn flush(&mut self, from: NodeId) {
        while let Some(Transmit { to, packet }) = self.nodes[from.0].poll_transmit(self.now) {
            self.events_now += 1;
            let route = self.route(from, to);
            self.routes[route].stats.sent += 1;
            let first = self.routes[route].via[0];
            let flow = (route as u64) << 32 ^ packet.flow;
            let packet = packet.flow(flow).map(|payload| Envelope {
                route,
                hop: 0,
                payload,
            });
            self.enter(first, packet);
        }
        self.node_events
            .set(from.0, self.nodes[from.0].poll_timeout());
    }

    fn enter(&mut self, id: LinkId, packet: Packet<Envelope<N::Payload>>) {
        let checked = &mut self.links[id.0];
        checked.enter(self.now, packet);
        self.link_events.set(id.0, checked.link().poll_timeout());
    }

    fn route(&self, from: NodeId, to: NodeId) -> usize {
        let route = self.route_of.get(&(from, to));
        *route.unwrap_or_else(|| panic!("{from:?} has no route to {to:?}"))
    }

    fn fail(&self, promise: &str) -> ! {
        panic!("at {}, seed {}: {promise}", self.now, self.seed)
    }
}

/// More than any burst at one instant; a run that does not get on shall say so.
const MAX_EVENTS_AT_ONCE: u64 = 10_000_000;
