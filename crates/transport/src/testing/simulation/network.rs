//! Sockets without a kernel, the links between them, and alarms.

use crate::datagram_socket::{ArrivedDatagrams, DatagramBatch};
use crate::testing::codepoint::{codepoint_of, ecn_of};
use bytes::Bytes;
use link_sim::sim::{LinkId, Node, NodeId, RouteStats, Simulator, Transmit};
use link_sim::{Ecn, IPV4_UDP_OVERHEAD, IPV6_UDP_OVERHEAD, LinkSpec, Packet, SpecError};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::mem;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Waker;
use units::Timestamp;

/// All of it.
#[derive(Debug)]
pub(super) struct Network {
    run: RunId,
    sim: Simulator<Mailbox>,
    nodes: BTreeMap<SocketAddr, NodeId>,
    links: Links,
    alarms: BTreeMap<(Timestamp, AlarmId), Waker>,
    made_alarms: u64,
    made_hosts: u32,
    made_ports: u16,
    woken: Woken,
    /// What is dropped once the network is not in use: it may use the network.
    retired: Vec<Waker>,
}

/// Tells the network of one run from those of others, whose sockets may still be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RunId(u64);

/// Who is to be woken once the network is not in use any more.
type Woken = Rc<RefCell<Vec<Waker>>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AlarmId(u64);

/// What lies between two sockets, in the direction of the one that was bound first, and back.
#[derive(Debug)]
struct Links {
    there: LinkSpec,
    back: LinkSpec,
    /// By all sockets.
    are_shared: bool,
    made: Vec<(LinkId, LinkId)>,
}

impl Network {
    /// `there` lies in the direction of the socket that was bound first.
    pub(super) fn new(seed: u64, there: LinkSpec, back: LinkSpec, are_shared: bool) -> Self {
        static RUNS: AtomicU64 = AtomicU64::new(0);
        Self {
            run: RunId(RUNS.fetch_add(1, Ordering::Relaxed)),
            sim: Simulator::new(seed),
            nodes: BTreeMap::new(),
            links: Links {
                there,
                back,
                are_shared,
                made: Vec::new(),
            },
            alarms: BTreeMap::new(),
            made_alarms: 0,
            made_hosts: 0,
            made_ports: 0,
            woken: Woken::default(),
            retired: Vec::new(),
        }
    }

    pub(super) fn run_id(&self) -> RunId {
        self.run
    }

    /// Who is to be woken, and what is to be dropped, once the network is not in use any more.
    pub(super) fn take_wakers(&mut self) -> (Vec<Waker>, Vec<Waker>) {
        (self.woken.take(), mem::take(&mut self.retired))
    }

    /// Makes all links others from now on.
    ///
    /// # Errors
    /// A queue in `bdp` without a delay in either direction.
    pub(super) fn set_links(
        &mut self,
        now: Timestamp,
        there: &LinkSpec,
        back: &LinkSpec,
    ) -> Result<(), SpecError> {
        let base_rtt = there.base_rtt(back)?;
        self.run(now);
        for &(first, second) in &self.links.made {
            self.sim.reconfigure(first, there, base_rtt);
            self.sim.reconfigure(second, back, base_rtt);
        }
        (self.links.there, self.links.back) = (there.clone(), back.clone());
        Ok(())
    }

    /// Binds `address`, of which the network chooses what is left open.
    pub(super) fn bind(&mut self, address: SocketAddr) -> io::Result<SocketAddr> {
        let chosen = self.choose(address);
        let key = canonical(chosen);
        if self.nodes.contains_key(&key) {
            return Err(io::Error::new(
                io::ErrorKind::AddrInUse,
                format!("{chosen} has a socket already; bind another address of this simulation"),
            ));
        }
        let mailbox = Mailbox {
            address: key,
            inbox: VecDeque::new(),
            bytes: 0,
            outbox: VecDeque::new(),
            waker: None,
            woken: Rc::clone(&self.woken),
        };
        self.nodes.insert(key, self.sim.add_node(mailbox));
        Ok(chosen)
    }

    fn choose(&mut self, mut address: SocketAddr) -> SocketAddr {
        if address.ip().is_unspecified() {
            self.made_hosts += 1;
            let host = Ipv4Addr::from_bits(FIRST_HOST + self.made_hosts);
            address.set_ip(if address.is_ipv6() {
                IpAddr::V6(host.to_ipv6_mapped())
            } else {
                IpAddr::V4(host)
            });
        }
        let is_open = address.port() == 0;
        while is_open && (address.port() == 0 || self.nodes.contains_key(&canonical(address))) {
            address.set_port(FIRST_PORT + self.made_ports % (u16::MAX - FIRST_PORT));
            self.made_ports = self.made_ports.wrapping_add(1);
        }
        address
    }

    /// What is on its way to it reaches nobody.
    pub(super) fn close(&mut self, address: SocketAddr) {
        if let Some(node) = self.nodes.remove(&canonical(address)) {
            let waker = self.sim.update_node(node, |mailbox, _| {
                mailbox.inbox.clear();
                mailbox.waker.take()
            });
            self.retired.extend(waker);
        }
    }

    /// Sends what `from` has to send, now.
    pub(super) fn send(&mut self, now: Timestamp, from: SocketAddr, batch: &DatagramBatch<'_>) {
        self.run(now);
        let to = canonical(batch.destination);
        let (Some(&sender), Some(&receiver)) =
            (self.nodes.get(&canonical(from)), self.nodes.get(&to))
        else {
            return;
        };
        self.join(sender, receiver);
        let ecn = batch.ecn.map_or(Ecn::NotEct, ecn_of);
        let overhead = if to.is_ipv4() {
            IPV4_UDP_OVERHEAD
        } else {
            IPV6_UDP_OVERHEAD
        };
        self.sim.update_node(sender, |mailbox, _| {
            for datagram in batch.datagrams() {
                let size = overhead + units::Bytes::new(datagram.len() as u64);
                let packet = Packet::new(size, Bytes::copy_from_slice(datagram)).ecn(ecn);
                let to = receiver;
                mailbox.outbox.push_back(Transmit { to, packet });
            }
        });
    }

    /// Puts links between two sockets that have not sent to each other yet.
    fn join(&mut self, a: NodeId, b: NodeId) {
        let (first, later) = (a.min(b), a.max(b));
        if self.sim.has_route(later, first) {
            return;
        }
        let known = self.links.made.first().filter(|_| self.links.are_shared);
        let (there, back) = known.copied().unwrap_or_else(|| {
            let made = self.sim.add_links(&self.links.there, &self.links.back);
            let made = made.expect("links that cannot be were refused");
            self.links.made.push(made);
            made
        });
        self.sim.add_route(later, first, &[there]);
        if first != later {
            self.sim.add_route(first, later, &[back]);
        }
    }

    /// The next datagram for `address`, written to `buffer`; if there is none, `waker` will be
    /// woken by the next.
    pub(super) fn receive(
        &mut self,
        address: SocketAddr,
        buffer: &mut [u8],
        waker: &Waker,
    ) -> Option<ArrivedDatagrams> {
        let node = *self.nodes.get(&canonical(address))?;
        let is_ipv6 = address.is_ipv6();
        let (arrived, former) = self.sim.update_node(node, |mailbox, _| {
            let arrived = mailbox.pop();
            let next = arrived.is_none().then(|| waker.clone());
            (arrived, next.and_then(|waker| mailbox.waker.replace(waker)))
        });
        self.retired.extend(former);
        let (from, packet) = arrived?;
        let source = seen_by(is_ipv6, self.sim.node(from).address);
        let data = &packet.payload;
        let len = data.len().min(buffer.len());
        buffer[..len].copy_from_slice(&data[..len]);
        Some(ArrivedDatagrams {
            ecn: codepoint_of(packet.ecn),
            destination: Some(address.ip()),
            ..ArrivedDatagrams::one(len, source)
        })
    }

    pub(super) fn add_alarm(&mut self) -> AlarmId {
        self.made_alarms += 1;
        AlarmId(self.made_alarms)
    }

    pub(super) fn set_alarm(&mut self, id: AlarmId, at: Timestamp, waker: &Waker) {
        let former = self.alarms.insert((at, id), waker.clone());
        self.retired.extend(former);
    }

    pub(super) fn clear_alarm(&mut self, id: AlarmId, at: Timestamp) {
        self.retired.extend(self.alarms.remove(&(at, id)));
    }

    /// When something happens next.
    pub(super) fn next_event(&self) -> Option<Timestamp> {
        let alarm = self.alarms.keys().next().map(|&(at, _)| at);
        [alarm, self.sim.poll_timeout()].into_iter().flatten().min()
    }

    /// Does what is due at `now` or before.
    pub(super) fn run(&mut self, now: Timestamp) {
        self.sim.run_until(now);
        while let Some(alarm) = self.alarms.first_entry().filter(|next| next.key().0 <= now) {
            self.woken.borrow_mut().push(alarm.remove());
        }
    }

    /// Whether somebody is to be woken.
    pub(super) fn has_woken(&self) -> bool {
        !self.woken.borrow().is_empty()
    }

    pub(super) fn stats(&self, from: SocketAddr, to: SocketAddr) -> RouteStats {
        let node = |address| self.nodes.get(&canonical(address));
        let route = node(from).zip(node(to));
        let route = route.filter(|&(&from, &to)| self.sim.has_route(from, to));
        route.map_or_else(RouteStats::default, |(&from, &to)| {
            self.sim.route_stats(from, to)
        })
    }
}

/// One socket.
#[derive(Debug)]
struct Mailbox {
    address: SocketAddr,
    inbox: VecDeque<(NodeId, Packet<Bytes>)>,
    /// In the inbox.
    bytes: usize,
    outbox: VecDeque<Transmit<Bytes>>,
    waker: Option<Waker>,
    woken: Woken,
}

impl Mailbox {
    fn pop(&mut self) -> Option<(NodeId, Packet<Bytes>)> {
        let arrived = self.inbox.pop_front()?;
        self.bytes -= arrived.1.payload.len();
        Some(arrived)
    }
}

impl Node for Mailbox {
    type Payload = Bytes;

    fn handle_packet(&mut self, _: Timestamp, from: NodeId, packet: Packet<Bytes>) {
        let len = packet.payload.len();
        if self.bytes + len > RECEIVE_BUFFER {
            return;
        }
        self.bytes += len;
        self.inbox.push_back((from, packet));
        if let Some(waker) = self.waker.take() {
            self.woken.borrow_mut().push(waker);
        }
    }

    fn handle_timeout(&mut self, _: Timestamp) {}

    fn poll_timeout(&self) -> Option<Timestamp> {
        None
    }

    fn poll_transmit(&mut self, _: Timestamp) -> Option<Transmit<Bytes>> {
        self.outbox.pop_front()
    }
}

/// How the network knows an address.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// How a socket sees an address.
fn seen_by(is_ipv6: bool, address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if is_ipv6 => SocketAddr::new(ip.to_ipv6_mapped().into(), address.port()),
        _ => address,
    }
}

/// The hosts that the network chooses are in 10.128.0.0/9.
const FIRST_HOST: u32 = u32::from_be_bytes([10, 128, 0, 0]);

/// The first of the dynamic ports (RFC 6335 section 6).
const FIRST_PORT: u16 = 49_152;

/// As much as a kernel is asked for, in bytes.
const RECEIVE_BUFFER: usize = 4 << 20;
