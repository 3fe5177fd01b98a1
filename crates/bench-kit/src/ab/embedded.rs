//! A round in real time: server, emulated link and client, each in a thread of its own.

use super::{AbProgress, AbSetup};
use crate::client::{self, ClientSetup, Outcome, Progress, Trust};
use crate::emulated::{self, EmulatedPath};
use crate::failure::Failure;
use crate::interrupt::Interrupts;
use crate::plan::{Limits, Plan};
use crate::result::Round;
use crate::server::{Rules, Server, ServerSetup};
use crate::stats::Slot;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;

/// One round over a path of its own.
pub(super) fn round(
    setup: &AbSetup,
    plan: &Plan,
    slot: Slot,
    interrupts: &Interrupts,
    on_progress: &mut dyn FnMut(AbProgress<'_>),
) -> Result<Round, Failure> {
    let server = RunningServer::start(setup, slot.seed)?;
    let mut path = EmulatedPath::start(&setup.links, plan.direction, server.address, slot.seed)?;
    let client = client_setup(setup, plan, path.address(), slot.seed)?;
    let (sender, events) = mpsc::channel();
    let thread = std::thread::Builder::new()
        .name("client".into())
        .spawn({
            let interrupts = interrupts.clone();
            move || run_client(&client, &interrupts, &sender)
        })
        .map_err(no_thread)?;
    for event in events {
        match event {
            Event::Measuring => path.begin(),
            Event::Moved { at, bytes, length } => {
                on_progress(AbProgress::Moved { at, bytes, length });
            }
        }
    }
    let outcome = thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    let mut round = Round {
        block: slot.block,
        order: slot.order,
        ..outcome.round(plan)
    };
    emulated::set_queue_delay(&mut round, &path.measured());
    if let Some(complaint) = path.complaint() {
        on_progress(AbProgress::Complaint(complaint));
    }
    server.stop();
    Ok(round)
}

/// From the client's thread to the one that shows.
enum Event {
    Measuring,
    Moved {
        at: Duration,
        bytes: u64,
        length: Duration,
    },
}

fn run_client(
    setup: &ClientSetup,
    interrupts: &Interrupts,
    events: &mpsc::Sender<Event>,
) -> Result<Outcome, Failure> {
    let runtime = crate::programs::runtime()?;
    let mut on_progress = |progress: Progress<'_>| {
        // A receiver that has gone wants to know no more.
        if progress.begins_measuring(&setup.plan) {
            let _ = events.send(Event::Measuring);
        }
        if let Progress::Sample(_, sample) = progress {
            let bytes = sample.sent.iter().chain(&sample.received).sum();
            let (at, length) = (sample.at, sample.length);
            let _ = events.send(Event::Moved { at, bytes, length });
        }
    };
    let run = client::run(setup, Duration::ZERO, interrupts, &mut on_progress);
    Ok(runtime.block_on(run))
}

fn client_setup(
    setup: &AbSetup,
    plan: &Plan,
    target: SocketAddr,
    seed: u64,
) -> Result<ClientSetup, Failure> {
    Ok(ClientSetup {
        target,
        host: Ipv4Addr::LOCALHOST.to_string(),
        port: target.port(),
        plan: plan.clone(),
        connections: 1,
        controllers: setup.controllers(plan)?,
        trust: Trust::Anyone,
        token: None,
        cipher: setup.cipher,
        mtu: setup.mtu,
        bind: None,
        connect_timeout: setup.connect_timeout,
        idle_timeout: setup.idle_timeout,
        seed,
    })
}

/// A server in a thread of its own.
struct RunningServer {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<Result<(), Failure>>,
}

impl RunningServer {
    fn start(setup: &AbSetup, seed: u64) -> Result<Self, Failure> {
        let server = ServerSetup {
            bind: (Ipv4Addr::LOCALHOST, 0).into(),
            identity: None,
            idle_timeout: setup.idle_timeout,
            limits: Limits::NONE,
            rules: Rules::ONE_CLIENT,
            token: None,
            perf_congestion: None,
            is_one_off: false,
            registry: setup.registry.clone(),
            seed: Some(seed),
        };
        let (stop, stopped) = oneshot::channel();
        let (ready, address) = mpsc::sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("server".into())
            .spawn(move || serve(server, &ready, stopped))
            .map_err(no_thread)?;
        match address.recv() {
            Ok(address) => Ok(Self {
                address,
                stop,
                thread,
            }),
            // It ended before it listened, and says why.
            Err(mpsc::RecvError) => Err(join(thread)
                .err()
                .unwrap_or_else(|| Failure::run("the server ended at once"))),
        }
    }

    fn stop(self) {
        // A server that has ended needs no telling.
        let _ = self.stop.send(());
        let _ = join(self.thread);
    }
}

fn serve(
    setup: ServerSetup,
    ready: &mpsc::SyncSender<SocketAddr>,
    stopped: oneshot::Receiver<()>,
) -> Result<(), Failure> {
    crate::programs::runtime()?.block_on(async {
        let server = Server::bind(setup, Arc::new(|_| ()))?;
        let address = server.local_addr();
        let address = address.map_err(|error| Failure::run(error.to_string()))?;
        let _ = ready.send(address);
        server
            .serve(async {
                let _ = stopped.await;
            })
            .await;
        Ok(())
    })
}

fn join<T>(thread: JoinHandle<T>) -> T {
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn no_thread(error: std::io::Error) -> Failure {
    Failure::run(format!("cannot start a thread: {error}"))
}
