mod receiving;
mod sending;
mod state;

use super::batch_socket::{BatchSocket, Buffers};
use super::capture::Capture;
use super::clients::Clients;
use super::config::{Direction, RelayConfig};
use super::kernel_drops::kernel_drops;
use super::poller::{Poller, Source};
use super::pool::Pool;
use super::requests::{Request, Snapshot};
use super::stats::RelayStats;
use crate::link::link_seed;
use crate::realtime::{Clock, thread_cpu};
use crate::spec::{LinkSpec, SpecError};
use core::time::Duration;
use state::ActiveLink;
pub(super) use state::Engine;
use std::io;
use std::net::SocketAddr;
use units::{Rng, Timestamp};

impl Engine {
    pub(super) fn new(
        config: &RelayConfig,
        base_rtt: Duration,
        poller: &mut Poller,
    ) -> io::Result<Self> {
        let active_link = |spec: &LinkSpec, number| ActiveLink {
            link: spec.build(base_rtt, link_seed(config.seed, number)),
            spec: spec.clone(),
        };
        let clock = Clock::new();
        let listener = BatchSocket::listen(config.listen)?;
        poller.add(Source::Listener, &listener)?;
        let capture = config.capture.as_ref();
        let capture = capture.map(|config| Capture::start(config, clock.epoch()));
        Ok(Self {
            listen_addr: listener.local_addr()?,
            listener,
            clients: Clients::new(config.to, config.max_clients),
            server: config.to,
            link: active_link(&config.link, 0),
            return_link: active_link(&config.return_link, 1),
            damage: Rng::derive(config.seed, DAMAGE),
            next_sweep: Timestamp::ZERO,
            buffers: Buffers::new(),
            pool: Pool::default(),
            answers: Vec::new(),
            due: Vec::new(),
            segments: Vec::new(),
            capture: capture.transpose()?,
            stats: RelayStats::default(),
            clock,
        })
    }

    pub(super) fn listen_addr(&self) -> SocketAddr {
        self.listen_addr
    }

    /// Reads what is readable, sends what is due, and answers how long there is nothing to do.
    pub(super) fn turn(&mut self, ready: &[Source], poller: &mut Poller) -> Option<Duration> {
        let mut budget = DATAGRAMS_PER_TURN;
        for source in ready {
            let read = match source {
                Source::Stop | Source::Requests => 0,
                Source::Listener => self.receive_requests(poller),
                Source::Client(number) => self.receive_answers(*number),
            };
            budget = budget.saturating_sub(read);
            if budget == 0 {
                break;
            }
        }
        self.enter_return_link();
        self.deliver(Direction::ToServer);
        self.deliver(Direction::ToClient);
        self.sweep(poller);
        let now = self.clock.now();
        let events = [
            self.link.link.poll_timeout(),
            self.return_link.link.poll_timeout(),
            (self.clients.len() > 0).then_some(self.next_sweep),
            self.capture.as_mut().and_then(|capture| capture.flush(now)),
        ];
        let next = events.into_iter().flatten().min()?;
        Some(next.since(now))
    }

    pub(super) fn answer(&mut self, request: Request) {
        // Whoever asked and did not wait needs no answer.
        match request {
            Request::Stats(to) => {
                let _ = to.send(self.snapshot());
            }
            Request::Reconfigure(direction, spec, to) => {
                let _ = to.send(self.reconfigure(direction, *spec));
            }
        }
    }

    /// Ends what goes on beside, and answers the last figures.
    pub(super) fn finish(&mut self) -> RelayStats {
        if let Some(capture) = &mut self.capture {
            capture.finish();
        }
        let Snapshot { stats, addresses } = self.snapshot();
        RelayStats {
            kernel_dropped: kernel_drops(&addresses),
            ..stats
        }
    }

    fn snapshot(&self) -> Snapshot {
        let stats = RelayStats {
            link: self.link.link.stats().clone(),
            return_link: self.return_link.link.stats().clone(),
            clients: self.clients.len(),
            cpu: thread_cpu(),
            capture: self.capture.as_ref().map(Capture::stats),
            ..self.stats.clone()
        };
        let locals = self.clients.iter().map(|client| client.local);
        let addresses = locals.chain([self.listen_addr]).collect();
        Snapshot { stats, addresses }
    }

    /// Answers when the link changed.
    fn reconfigure(&mut self, direction: Direction, spec: LinkSpec) -> Result<Duration, SpecError> {
        let base_rtt = match direction {
            Direction::ToServer => spec.base_rtt(&self.return_link.spec),
            Direction::ToClient => self.link.spec.base_rtt(&spec),
        }?;
        let now = self.clock.now();
        let active = self.active_link(direction);
        active.link.reconfigure(now, &spec, base_rtt);
        active.spec = spec;
        Ok(now.since(Timestamp::ZERO))
    }

    /// Forgets idle clients, now and then.
    fn sweep(&mut self, poller: &mut Poller) {
        let now = self.clock.now();
        if now >= self.next_sweep {
            self.next_sweep = now + SWEEP;
            self.clients
                .expire(now, |number| poller.remove(Source::Client(number)));
        }
    }
}

/// What draws numbers of its own from the seed of the relay, beside its two links.
const DAMAGE: u64 = 2;

/// Half a millisecond of reading at the most, so that nothing due waits for long.
const DATAGRAMS_PER_TURN: usize = 1_024;
const SWEEP: Duration = Duration::from_secs(1);
