//! One side's part in a run: what it sends and receives, and what it counts.

mod arrivals;
mod backlog;
mod content;
mod datagrams;
mod receiving;
mod requests;
mod sending;

pub(crate) use backlog::Backlog;
pub(crate) use content::{LocalFile, payload};
pub(crate) use datagrams::SMALLEST as SMALLEST_DATAGRAM;
pub(crate) use requests::{Answer, Answers};

use crate::clock;
use crate::plan::Plan;
use crate::sample::{Sample, SideReport};
use crate::sampler::Sampler;
use cc_core::ControllerChoice;
use datagrams::DatagramCounters;
use link_sim::relay::kernel_drops;
use sending::Sending;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use transport::{Connection, StreamId};

/// What this side does in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Role {
    pub(crate) sends: bool,
    pub(crate) receives: bool,
    /// Sends the requests of a plan that has any; else it answers them.
    pub(crate) asks: bool,
}

impl Role {
    /// The client's in this plan.
    pub(crate) fn of_client(plan: &Plan) -> Self {
        let has_payload = !plan.extras.is_idle();
        Self {
            sends: has_payload && plan.direction.client_sends(),
            receives: has_payload && plan.direction.server_sends(),
            asks: true,
        }
    }

    /// The server's in this plan.
    pub(crate) fn of_server(plan: &Plan) -> Self {
        let client = Self::of_client(plan);
        Self {
            sends: client.receives,
            receives: client.sends,
            asks: false,
        }
    }

    /// Whether this side's clock starts by itself, not with what the other sends.
    fn begins(self, plan: &Plan) -> bool {
        self.sends || (self.asks && plan.extras.is_idle())
    }
}

/// One side's part in a run. Dropping it ends its streams.
pub(crate) struct Transfer<'a> {
    connection: &'a Connection,
    plan: &'a Plan,
    role: Role,
    counters: Arc<Counters>,
    /// Set when the senders' time is over.
    is_over: watch::Sender<bool>,
    tasks: JoinSet<Result<(), String>>,
    /// What goes on beside the payload, and does not keep the run from ending.
    beside: JoinSet<()>,
    /// The socket that the connection uses, where the kernel is to be asked about it.
    socket: Option<SocketAddr>,
}

/// Payload so far, per stream. Written by the streams' tasks, read by the sampler; all run on one
/// thread, so no order between the counters is needed.
#[derive(Debug)]
pub(crate) struct Counters {
    pub(crate) sent: Box<[AtomicU64]>,
    pub(crate) received: Box<[AtomicU64]>,
    pub(crate) datagrams: DatagramCounters,
    /// Those to the requests of this side.
    pub(crate) answers: Answers,
    first_byte: Notify,
    digest: OnceLock<String>,
}

impl<'a> Transfer<'a> {
    /// Opens or awaits the streams; payload moves from now on. `file` is what is sent, or where
    /// what is received goes.
    pub(crate) fn start(
        connection: &'a Connection,
        plan: &'a Plan,
        role: Role,
        socket: SocketAddr,
        file: Option<LocalFile>,
    ) -> Self {
        let mut transfer = Self::with(connection, plan, role, |_, _| {});
        let over = transfer.is_over.subscribe();
        transfer.socket = Some(socket);
        if let Some(requests) = plan.extras.requests {
            let (connection, counters) = (connection.clone(), Arc::clone(&transfer.counters));
            if role.asks {
                let ask = requests::ask(connection, counters, requests.interval);
                transfer.beside.spawn(ask);
            } else {
                transfer
                    .beside
                    .spawn(requests::answer(connection, counters));
            }
        }
        if plan.extras.is_idle() {
            return transfer;
        }
        if plan.extras.datagrams.is_some() {
            transfer.start_datagrams(&over);
        } else {
            transfer.start_streams(file, &over);
        }
        transfer
    }

    /// A part of another protocol, whose tasks `spawn` starts; they end by themselves.
    pub(crate) fn with(
        connection: &'a Connection,
        plan: &'a Plan,
        role: Role,
        spawn: impl FnOnce(&mut JoinSet<Result<(), String>>, &Arc<Counters>),
    ) -> Self {
        let counters = Arc::new(Counters::new(plan, role));
        let mut tasks = JoinSet::new();
        spawn(&mut tasks, &counters);
        Self {
            connection,
            plan,
            role,
            counters,
            is_over: watch::Sender::new(false),
            tasks,
            beside: JoinSet::new(),
            socket: None,
        }
    }

    fn start_streams(&mut self, file: Option<LocalFile>, over: &watch::Receiver<bool>) {
        if self.role.sends {
            let file = file.clone();
            let sending = Sending::new(self.connection, self.plan, file, &self.counters, over);
            for _ in 0..self.counters.sent.len() {
                self.tasks.spawn(sending.clone().stream());
            }
        }
        if self.role.receives {
            self.tasks.spawn(receiving::receive_all(
                self.connection.clone(),
                Arc::clone(&self.counters),
                file,
                self.plan.extras.digest,
            ));
        }
    }

    fn start_datagrams(&mut self, over: &watch::Receiver<bool>) {
        let (connection, counters) = (self.connection, &self.counters);
        if self.role.sends {
            let sending = datagrams::Sending::new(connection, self.plan, counters, over);
            self.tasks.spawn(sending.run());
        }
        if self.role.receives {
            let (connection, counters) = (connection.clone(), Arc::clone(counters));
            self.tasks.spawn(datagrams::receive(connection, counters));
        }
    }

    /// What has moved so far.
    pub(crate) fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }

    /// Samples until the plan is carried out or `stop` says why it will not be; a stop without a
    /// reason is the other side's end of the run.
    pub(crate) async fn run(
        &mut self,
        congestion: &ControllerChoice,
        stop: impl Future<Output = Option<String>>,
        mut on_sample: impl FnMut(Sample),
    ) -> SideReport {
        let mut sampler = Sampler::new(self.connection, Arc::clone(&self.counters), self.role);
        tokio::pin!(stop);
        let mut error = None;
        let mut is_stopped = false;
        let has_payload = !self.plan.extras.is_idle();
        if !self.role.begins(self.plan) {
            tokio::select! {
                biased;
                why = &mut stop => (error, is_stopped) = (why, true),
                () = self.counters.first_byte.notified() => {}
            }
        }
        let dropped_before = self.dropped();
        sampler.begin(clock::now(), self.plan);
        while !is_stopped {
            tokio::select! {
                biased;
                why = &mut stop => (error, is_stopped) = (why, true),
                ended = self.tasks.join_next(), if has_payload => match ended {
                    Some(Ok(Err(why))) => (error, is_stopped) = (Some(why), true),
                    Some(_) => {}
                    None => is_stopped = true,
                },
                () = sleep_until(Instant::from_std(sampler.next_tick())) => {
                    on_sample(sampler.tick(clock::now()));
                    is_stopped = sampler.is_over();
                }
            }
        }
        let (sample, mut report) = sampler.finish(clock::now(), congestion);
        if let Some(sample) = sample {
            on_sample(sample);
        }
        report.error = error;
        report.socket_drops = self
            .dropped()
            .zip(dropped_before)
            .map(|(now, before)| now.saturating_sub(before));
        report.socket_buffer_limit = socket_buffer_limit();
        report.sha256 = self.counters.digest.get().cloned();
        self.is_over.send_replace(true);
        report
    }

    /// What the kernel has dropped at the socket since it was opened.
    fn dropped(&self) -> Option<u64> {
        kernel_drops(&[self.socket?])
    }
}

impl Counters {
    fn new(plan: &Plan, role: Role) -> Self {
        let zeros = |wanted: bool| {
            let count = if wanted { plan.streams } else { 0 };
            (0..count).map(|_| AtomicU64::new(0)).collect()
        };
        Self {
            sent: zeros(role.sends),
            received: zeros(role.receives),
            datagrams: match plan.extras.datagrams {
                Some(_) => DatagramCounters::new(plan.streams, role),
                None => DatagramCounters::default(),
            },
            answers: Answers::default(),
            first_byte: Notify::new(),
            digest: OnceLock::new(),
        }
    }

    /// The application has read so much of a stream.
    pub(crate) fn receive(&self, stream: usize, bytes: usize) {
        self.received[stream].fetch_add(bytes as u64, Ordering::Relaxed);
        self.first_byte.notify_one();
    }

    /// The hash of the one stream of a run that wants it.
    fn set_digest(&self, digest: Option<String>) {
        if let Some(digest) = digest {
            self.digest.get_or_init(|| digest);
        }
    }
}

/// Linux's `net.core.rmem_max`.
fn socket_buffer_limit() -> Option<u64> {
    let limit = std::fs::read_to_string("/proc/sys/net/core/rmem_max").ok()?;
    limit.trim().parse().ok()
}

/// Which of its side's streams of payload this is, from 0: both sides count alike.
fn index_of(stream: StreamId) -> usize {
    usize::try_from(stream.index()).unwrap_or(usize::MAX)
}
