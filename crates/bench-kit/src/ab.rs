//! The A/B test in one process: server, emulated link and client, each in a thread of its own,
//! anew for every round.

use crate::client::{self, ClientSetup, Outcome, Progress, Trust};
use crate::clock;
use crate::emulated::{EmulatedPath, Links};
use crate::failure::Failure;
use crate::interrupt::Interrupts;
use crate::plan::{Limits, Plan};
use crate::result::{AbKind, AbResult, Finite, Round, SCHEMA_VERSION, Variant};
use crate::server::{Server, ServerSetup};
use crate::stats::{self, Schedule, Slot};
use cc_core::Registry;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;
use transport::tls::Cipher;

/// An A/B test that can be run.
#[derive(Debug)]
pub(crate) struct AbSetup {
    /// A controller each, and the plan of its rounds.
    pub(crate) variants: Vec<(String, Plan)>,
    pub(crate) rounds: u32,
    pub(crate) links: Links,
    pub(crate) seed: u64,
    pub(crate) title: Option<String>,
    pub(crate) cipher: Option<Cipher>,
    pub(crate) mtu: Option<u16>,
    pub(crate) connect_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) registry: Registry,
}

/// What a test tells while it goes on.
#[derive(Debug)]
pub(crate) enum AbProgress<'a> {
    /// A round has begun to connect.
    Begun { slot: Slot, cc: &'a str },
    /// It goes on: time since its begin, and the payload that arrived or left here since the
    /// sample before, with that sample's length.
    Moved {
        at: Duration,
        bytes: u64,
        length: Duration,
    },
    /// It is over.
    Ended { slot: Slot, round: &'a Round },
    /// The emulated link was not what it should have been.
    Complaint(String),
}

/// Runs all rounds, in the order of the [`Schedule`]; an interruption or a broken environment ends
/// the test early and is named in the result.
pub(crate) fn run(
    setup: &AbSetup,
    interrupts: &Interrupts,
    on_progress: &mut dyn FnMut(AbProgress<'_>),
) -> Result<AbResult, Failure> {
    let mut result = blank(setup)?;
    for slot in Schedule::new(setup.seed, setup.variants.len(), setup.rounds) {
        if interrupts.is_interrupted() {
            result.error = Some(client::INTERRUPTED.to_owned());
            break;
        }
        let (cc, plan) = &setup.variants[slot.variant];
        on_progress(AbProgress::Begun { slot, cc });
        let round = round(setup, plan, slot, interrupts, on_progress);
        let round = match round {
            Ok(round) => round,
            Err(failure) => {
                result.error = Some(failure.to_string());
                break;
            }
        };
        on_progress(AbProgress::Ended {
            slot,
            round: &round,
        });
        result.variants[slot.variant].rounds.push(round);
    }
    let failed = |variant: &Variant| variant.rounds.iter().any(|round| !round.succeeded());
    result.complete = result.error.is_none() && !result.variants.iter().any(failed);
    stats::conclude(&mut result);
    Ok(result)
}

/// The result before its first round.
fn blank(setup: &AbSetup) -> Result<AbResult, Failure> {
    let base_rtt = setup.links.base_rtt()?;
    let plan = &setup.variants[0].1;
    let variants = setup.variants.iter().zip(b'a'..);
    Ok(AbResult {
        schema_version: SCHEMA_VERSION,
        kind: AbKind::Ab,
        complete: false,
        error: None,
        title: setup.title.clone(),
        version: crate::VERSION.to_owned(),
        seed: setup.seed,
        is_virtual: false,
        started_unix_seconds: Some(clock::since_1970().as_secs()),
        link: setup.links.link.to_string(),
        return_link: setup.links.return_link.to_string(),
        link_rate_bits_per_second: setup.links.link.rate().map(units::Bandwidth::bits_per_sec),
        base_rtt_ms: base_rtt.map(Finite::millis),
        round_seconds: plan.measured_seconds(),
        omit_seconds: Some(Finite::seconds(plan.omit)),
        variants: variants
            .map(|((cc, _), name)| Variant {
                name: char::from(name).to_string(),
                cc: cc.clone(),
                rounds: Vec::new(),
                summary: BTreeMap::new(),
            })
            .collect(),
        comparison: BTreeMap::new(),
    })
}

/// One round over a path of its own.
fn round(
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
    path.set_queue_delay(&mut round);
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
        if let Progress::Sample(sample) = progress {
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
    let limits = Limits {
        duration: Duration::MAX,
    };
    let controllers = plan
        .check(&limits, &setup.registry)
        .map_err(|error| Failure::usage(error.to_string()))?;
    Ok(ClientSetup {
        target,
        host: Ipv4Addr::LOCALHOST.to_string(),
        port: target.port(),
        plan: plan.clone(),
        controllers,
        trust: Trust::Anyone,
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
            limits: Limits {
                duration: Duration::MAX,
            },
            max_connections: 1,
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
