//! One side's part in a run: what it sends and receives, and what it counts.

mod arrivals;
mod content;
mod datagrams;
mod media;
mod receiving;
mod requests;
mod sending;
mod stream_index;

pub use content::{LocalFile, payload};

use crate::clock;
use crate::counters::Counters;
use crate::plan::Plan;
use crate::role::Role;
use crate::sample::{Sample, SideReport};
use crate::sampler::Sampler;
use cc_core::ControllerChoice;
use link_sim::relay::kernel_drops;
use paceline::Connection;
use sending::Sending;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

/// One side's part in a run. Dropping it ends its streams.
pub struct Transfer<'a> {
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

impl fmt::Debug for Transfer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transfer")
            .field("plan", &self.plan)
            .field("role", &self.role)
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}

impl<'a> Transfer<'a> {
    /// Opens or awaits the streams; payload moves from now on. `file` is what is sent, or where
    /// what is received goes.
    pub fn start(
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
        if let Some(video) = plan.extras.media {
            transfer.start_media(&over);
            if video.bulk {
                transfer.start_streams(None, &over);
            }
        } else if plan.extras.datagrams.is_some() {
            transfer.start_datagrams(&over);
        } else {
            transfer.start_streams(file, &over);
        }
        transfer
    }

    /// A part of another protocol, whose tasks `spawn` starts; they end by themselves.
    pub fn with(
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
            for _ in stream_index::first(self.plan)..self.counters.sent.len() {
                self.tasks.spawn(sending.clone().stream());
            }
        }
        if self.role.receives {
            self.tasks.spawn(receiving::receive_all(
                self.connection.clone(),
                Arc::clone(&self.counters),
                file,
                self.plan.extras.digest,
                stream_index::first(self.plan),
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

    fn start_media(&mut self, over: &watch::Receiver<bool>) {
        let (connection, counters) = (self.connection, &self.counters);
        if self.role.sends {
            let (connection, counters) = (connection.clone(), Arc::clone(counters));
            let send = media::send(connection, self.plan.clone(), counters, over.clone());
            self.tasks.spawn(send);
        }
        if self.role.receives {
            let (connection, counters) = (connection.clone(), Arc::clone(counters));
            self.tasks.spawn(media::receive(connection, counters));
        }
    }

    pub fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }

    /// Samples until the plan is carried out or `stop` says why it will not be; a stop without a
    /// reason is the other side's end of the run.
    pub async fn run(
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
                    Some(Err(task)) if task.is_panic() => {
                        (error, is_stopped) = (Some(BUG.to_owned()), true);
                    }
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
        report.thread = Some(clock::thread_number());
        let rtt = self.connection.stats().min_rtt;
        let one_way = rtt.unwrap_or_else(|| self.connection.rtt()) / 2;
        self.counters.frames.add_to(&mut report, one_way);
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

/// Why a run ends where one of its tasks has panicked, which was reported by then.
pub const BUG: &str = "internal error; see the messages of this side";

/// Linux's `net.core.rmem_max`.
fn socket_buffer_limit() -> Option<u64> {
    let limit = std::fs::read_to_string("/proc/sys/net/core/rmem_max").ok()?;
    limit.trim().parse().ok()
}
