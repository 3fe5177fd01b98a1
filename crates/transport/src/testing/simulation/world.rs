//! What endpoints are given in place of the system's clock, timers, sockets and randomness.

use super::current;
use super::network::{AlarmId, RunId};
use crate::datagram_socket::{ArrivedDatagrams, DatagramBatch, DatagramSocket};
use crate::virtual_time::{self, Alarm, World};
use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::Instant;
use units::{Rng, Timestamp};

/// The world of one run.
pub(super) struct SimulatedWorld {
    /// tokio's time zero.
    origin: Instant,
    rng: RefCell<Rng>,
}

impl SimulatedWorld {
    pub(super) fn new(origin: Instant, seed: u64) -> Self {
        Self {
            origin,
            rng: RefCell::new(Rng::new(seed)),
        }
    }
}

impl World for SimulatedWorld {
    fn now(&self) -> Timestamp {
        Timestamp::ZERO + self.origin.elapsed()
    }

    fn since_1970(&self) -> Duration {
        BEGINNING + self.origin.elapsed()
    }

    fn alarm(&self) -> Box<dyn Alarm> {
        let made = current::with(|network| (network.run_id(), network.add_alarm()));
        let (run, id) = made.expect(NO_NETWORK);
        Box::new(NetworkAlarm { run, id, set: None })
    }

    fn bind(&self, address: SocketAddr) -> io::Result<Arc<dyn DatagramSocket>> {
        let bound = current::with(|network| (network.run_id(), network.bind(address)));
        let (run, address) = bound.expect(NO_NETWORK);
        let address = address?;
        Ok(Arc::new(SimulatedSocket { run, address }))
    }

    fn random(&self) -> u64 {
        self.rng.borrow_mut().next_u64()
    }
}

#[derive(Debug)]
struct NetworkAlarm {
    run: RunId,
    id: AlarmId,
    set: Option<Timestamp>,
}

impl Alarm for NetworkAlarm {
    fn set(&mut self, at: Timestamp) {
        self.clear();
        self.set = Some(at);
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(at) = self.set else {
            return Poll::Pending;
        };
        if virtual_time::with(|world| world.now() >= at).unwrap_or(true) {
            self.clear();
            return Poll::Ready(());
        }
        current::with_run(self.run, |network| {
            network.set_alarm(self.id, at, cx.waker())
        });
        Poll::Pending
    }
}

impl NetworkAlarm {
    fn clear(&mut self) {
        if let Some(at) = self.set.take() {
            current::with_run(self.run, |network| network.clear_alarm(self.id, at));
        }
    }
}

impl Drop for NetworkAlarm {
    fn drop(&mut self) {
        self.clear();
    }
}

/// A socket of the network's. Sending takes no time; links have queues, sockets need none.
#[derive(Debug)]
struct SimulatedSocket {
    run: RunId,
    address: SocketAddr,
}

impl DatagramSocket for SimulatedSocket {
    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }

    fn try_send(&self, batch: &DatagramBatch<'_>) -> io::Result<()> {
        let now = virtual_time::with(|world| world.now()).ok_or_else(left_its_thread)?;
        current::with_run(self.run, |network| network.send(now, self.address, batch))
            .ok_or_else(left_its_thread)
    }

    fn poll_writable(&self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<ArrivedDatagrams>> {
        let waker = cx.waker();
        match current::with_run(self.run, |network| {
            network.receive(self.address, buffer, waker)
        }) {
            Some(Some(arrived)) => Poll::Ready(Ok(arrived)),
            Some(None) => Poll::Pending,
            None => Poll::Ready(Err(left_its_thread())),
        }
    }

    fn max_batch(&self) -> usize {
        64
    }
}

impl Drop for SimulatedSocket {
    fn drop(&mut self) {
        current::with_run(self.run, |network| network.close(self.address));
    }
}

fn left_its_thread() -> io::Error {
    io::Error::other(
        "a simulated socket is used outside of its `Simulation::run`; keep endpoints in the run, \
         on its thread",
    )
}

/// 2026-01-01, when every simulation begins, since 1970.
const BEGINNING: Duration = Duration::from_secs(1_767_225_600);

const NO_NETWORK: &str = "a simulated world has a network";
