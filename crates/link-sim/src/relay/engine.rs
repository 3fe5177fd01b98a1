use super::batch::Batch;
use super::clients::Clients;
use super::port::{Buffers, Port, packet};
use super::{RelayConfig, RelayStats};
use crate::realtime::Clock;
use crate::{Ecn, Link};
use core::time::Duration;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use units::{Rng, Timestamp};

/// Both links and the sockets at their ends.
#[derive(Debug)]
pub(super) struct Engine {
    clock: Clock,
    listener: Arc<Port>,
    clients: Clients,
    server: SocketAddr,
    link: Link<Datagram>,
    return_link: Link<Datagram>,
    next_sweep: Timestamp,
    batch: Batch,
    stats: RelayStats,
}

/// A datagram from a client, or for one.
#[derive(Debug, Clone)]
pub(super) struct Datagram {
    pub(super) client: SocketAddr,
    pub(super) data: Box<[u8]>,
}

/// A socket that the event loop waits for.
#[derive(Debug)]
pub(super) struct Watch {
    pub(super) port: Arc<Port>,
    /// Whose socket towards the server it is; `None` is the listening one.
    client: Option<SocketAddr>,
    pub(super) is_readable: bool,
}

impl Engine {
    pub(super) fn new(config: &RelayConfig, base_rtt: Duration) -> io::Result<Self> {
        let seed_of = |link| Rng::derive(config.seed, link).next_u64();
        Ok(Self {
            clock: Clock::new(),
            listener: Arc::new(Port::listen(config.listen)?),
            clients: Clients::new(config.to),
            server: config.to,
            link: config.link.build(base_rtt, seed_of(0)),
            return_link: config.return_link.build(base_rtt, seed_of(1)),
            next_sweep: Timestamp::ZERO,
            batch: Batch::default(),
            stats: RelayStats::default(),
        })
    }

    pub(super) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Everything but what the kernel knows.
    pub(super) fn stats(&self) -> RelayStats {
        RelayStats {
            link: self.link.stats().clone(),
            return_link: self.return_link.stats().clone(),
            clients: self.clients.len(),
            ..self.stats.clone()
        }
    }

    /// The addresses of all sockets.
    pub(super) fn local_addrs(&self) -> Vec<SocketAddr> {
        let clients = self.clients.ports().map(|(_, port)| port.local_addr());
        let all = clients.chain([self.listener.local_addr()]);
        all.filter_map(Result::ok).collect()
    }

    /// Reads what is readable, sends what is due, and answers how long there is nothing to do.
    pub(super) fn turn(
        &mut self,
        watches: &mut Vec<Watch>,
        buffers: &mut Buffers,
    ) -> Option<Duration> {
        let clients = self.clients.generation();
        for watch in watches.iter().filter(|watch| watch.is_readable) {
            self.receive(watch, buffers);
        }
        self.deliver(Direction::ToServer);
        self.deliver(Direction::ToClient);
        self.sweep();
        if clients != self.clients.generation() || watches.is_empty() {
            self.watch(watches);
        }
        let due = [self.link.poll_timeout(), self.return_link.poll_timeout()];
        let next = due.into_iter().flatten().min()?;
        Some(next.since(self.clock.now()))
    }

    /// Reads from one socket, a bounded number of batches so that nothing due waits for long. A
    /// datagram came when the kernel says it did.
    fn receive(&mut self, watch: &Watch, buffers: &mut Buffers) {
        for _ in 0..BATCHES_PER_TURN {
            let wall = self.clock.wall();
            let more = watch.port.receive(buffers, |peer, received, ecn, data| {
                let now = received.map_or(wall.now, |received| wall.moment(received));
                match watch.client {
                    None => self.handle_request(now, peer, ecn, data),
                    Some(client) => self.handle_answer(now, client, ecn, data),
                }
            });
            if !more {
                return;
            }
        }
    }

    fn handle_request(&mut self, now: Timestamp, client: SocketAddr, ecn: Ecn, data: &[u8]) {
        if self.clients.welcome(now, client).is_err() {
            self.stats.refused += 1;
            return;
        }
        let data = data.into();
        let packet = packet(client, ecn, Datagram { client, data });
        self.link.handle_packet(now, packet);
    }

    fn handle_answer(&mut self, now: Timestamp, client: SocketAddr, ecn: Ecn, data: &[u8]) {
        self.clients.touch(now, &client);
        let data = data.into();
        let packet = packet(client, ecn, Datagram { client, data });
        self.return_link.handle_packet(now, packet);
    }

    /// Sends what has reached the far end of a link.
    fn deliver(&mut self, direction: Direction) {
        let now = self.clock.now();
        loop {
            let link = match direction {
                Direction::ToServer => &mut self.link,
                Direction::ToClient => &mut self.return_link,
            };
            let delivery = link.poll_output(now);
            if let Some(delivery) = &delivery
                && self.batch.append(delivery, self.listener.max_segments())
            {
                continue;
            }
            self.send(direction);
            match delivery {
                Some(delivery) => self.batch.begin(&delivery),
                None => return,
            }
        }
    }

    /// Sends the batch and notes how late it is.
    fn send(&mut self, direction: Direction) {
        let Some((head, datagrams)) = self.batch.take() else {
            return;
        };
        let sent = match direction {
            Direction::ToServer => match self.clients.port(&head.client) {
                Some(port) => self.batch.send(port, self.server, head.ecn),
                None => Err(io::ErrorKind::NotConnected.into()),
            },
            Direction::ToClient => self.batch.send(&self.listener, head.client, head.ecn),
        };
        if sent.is_err() {
            self.stats.unsent += datagrams;
            return;
        }
        let lateness = self.clock.now().since(head.due);
        self.stats.lateness.record(lateness, datagrams);
    }

    /// Forgets idle clients, now and then.
    fn sweep(&mut self) {
        let now = self.clock.now();
        if now >= self.next_sweep {
            self.next_sweep = now + SWEEP;
            self.clients.expire(now);
        }
    }

    /// What the event loop should wait for from now on.
    fn watch(&self, watches: &mut Vec<Watch>) {
        let watch = |port: &Arc<Port>, client| Watch {
            port: Arc::clone(port),
            client,
            is_readable: false,
        };
        watches.clear();
        watches.push(watch(&self.listener, None));
        let clients = self.clients.ports();
        watches.extend(clients.map(|(client, port)| watch(port, Some(client))));
    }
}

/// Which link a datagram leaves.
#[derive(Debug, Clone, Copy)]
enum Direction {
    ToServer,
    ToClient,
}

const BATCHES_PER_TURN: usize = 4;
const SWEEP: Duration = Duration::from_secs(1);
