//! A heat in real time: server, emulated link and clients, each in a thread of its own.

use super::heat::{Carried, Ended, Entrant, Heat};
use super::progress::AbProgress;
use super::setup::{AbSetup, Remote, Venue};
use crate::client::{self, ClientSetup, Outcome, Progress, Trust};
use crate::emulated::{self, EmulatedPath, Links};
use bench_kit::clock;
use bench_kit::failure::Failure;
use bench_kit::interrupt::Interrupts;
use bench_kit::plan::Limits;
use bench_kit::runtime;
use bench_server::{Rules, Server, ServerSetup};
use link_sim::LinkSpec;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use units::Rng;

/// One heat over a path of its own.
pub(super) fn heat(
    setup: &AbSetup,
    heat: &Heat,
    interrupts: &Interrupts,
    on_progress: &mut dyn FnMut(AbProgress<'_>),
) -> Result<Ended, Failure> {
    let entrants = heat.entrants(setup);
    let mut stage = Stage::set_up(setup, heat, &entrants)?;
    let (sender, events) = mpsc::channel();
    let mut clients = Vec::new();
    for (index, entrant) in entrants.iter().enumerate() {
        let client = stage.client(setup, heat, index, entrant)?;
        let (interrupts, start) = (interrupts.clone(), entrant.start);
        let tell = Tell {
            index,
            end: entrant.plan.omit + entrant.plan.longest().unwrap_or(Duration::MAX / 2),
            events: sender.clone(),
        };
        let thread = std::thread::Builder::new().name("client".into());
        let run = move || run_client(&client, start, &interrupts, &tell);
        clients.push(thread.spawn(run).map_err(no_thread)?);
    }
    drop(sender);
    stage.follow(entrants.len(), events, on_progress);
    let outcomes: Result<Vec<Outcome>, Failure> = clients.into_iter().map(join).collect();
    let ended = heat.conclude(setup, &entrants, &outcomes?, stage.carried().as_ref());
    if let Some(complaint) = stage.path.as_ref().and_then(EmulatedPath::complaint) {
        on_progress(AbProgress::Complaint(complaint));
    }
    if let Some(server) = stage.server {
        server.stop();
    }
    Ok(ended)
}

/// What the clients of a heat run against and through.
struct Stage {
    remote: Remote,
    /// Where it is in this process.
    server: Option<RunningServer>,
    /// Where there is an emulated link.
    path: Option<EmulatedPath>,
    /// Each entrant's own part of the path, where it has one.
    own_paths: Vec<Option<EmulatedPath>>,
    /// When the measured part began.
    begin: Option<Instant>,
    carried: Option<Carried>,
}

impl Stage {
    fn set_up(setup: &AbSetup, heat: &Heat, entrants: &[Entrant]) -> Result<Self, Failure> {
        let direction = entrants[0].plan.direction;
        let (remote, server, path) = match &setup.venue {
            Venue::Network(remote) => (remote.as_ref().clone(), None, None),
            _ => {
                let server = RunningServer::start(setup, heat.seed())?;
                let path =
                    EmulatedPath::start(&setup.links, direction, server.address, heat.seed())?;
                (embedded(path.address()), Some(server), Some(path))
            }
        };
        let own_path = |entrant: &Entrant| {
            let link = emulated::own(entrant.extra_delay, entrant.duplicate);
            let is_any = link != LinkSpec::default();
            let links = Links {
                link,
                return_link: LinkSpec::default(),
            };
            let start = || EmulatedPath::start(&links, direction, remote.target, heat.seed());
            is_any.then(start).transpose()
        };
        let own_paths: Result<Vec<_>, Failure> = entrants.iter().map(own_path).collect();
        Ok(Self {
            own_paths: own_paths?,
            remote,
            server,
            path,
            begin: None,
            carried: None,
        })
    }

    fn client(
        &self,
        setup: &AbSetup,
        heat: &Heat,
        index: usize,
        entrant: &Entrant,
    ) -> Result<ClientSetup, Failure> {
        let own = self.own_paths[index].as_ref().map(EmulatedPath::address);
        let remote = self.remote.clone();
        let seed = match index {
            0 => heat.seed(),
            other => Rng::derive(heat.seed(), CLIENTS + other as u64).next_u64(),
        };
        Ok(ClientSetup {
            target: own.unwrap_or(remote.target),
            host: remote.host,
            port: remote.port,
            plan: entrant.plan.clone(),
            connections: entrant.flows,
            file: None,
            controllers: setup.controllers(&entrant.plan)?,
            trust: remote.trust,
            token: remote.token,
            is_perf: false,
            cipher: setup.cipher,
            mtu: setup.mtu,
            bind: remote.bind,
            connect_timeout: setup.connect_timeout,
            idle_timeout: setup.idle_timeout,
            seed,
        })
    }

    /// Shows and marks what the clients tell, until all have ended.
    fn follow(
        &mut self,
        clients: usize,
        events: mpsc::Receiver<Event>,
        on_progress: &mut dyn FnMut(AbProgress<'_>),
    ) {
        let mut measuring = 0;
        for event in events {
            match event {
                Event::Measuring => {
                    measuring += 1;
                    if measuring == clients {
                        if let Some(path) = &mut self.path {
                            path.begin();
                        }
                        self.begin = Some(clock::now());
                    }
                }
                Event::Measured if self.carried.is_none() => self.carried = self.so_far(),
                Event::Measured => {}
                Event::Moved { at, bytes, length } => {
                    on_progress(AbProgress::Moved { at, bytes, length });
                }
            }
        }
    }

    fn so_far(&self) -> Option<Carried> {
        let path = self.path.as_ref()?;
        Some(Carried {
            stats: path.measured(),
            time: self
                .begin
                .map_or(Duration::ZERO, |begin| clock::now() - begin),
        })
    }

    fn carried(&mut self) -> Option<Carried> {
        self.carried.take().or_else(|| self.so_far())
    }
}

/// A server in this process, behind a path that begins at `target`.
fn embedded(target: SocketAddr) -> Remote {
    Remote {
        target,
        host: Ipv4Addr::LOCALHOST.to_string(),
        port: target.port(),
        trust: Trust::Anyone,
        token: None,
        bind: None,
    }
}

/// From the clients' threads to the one that shows.
enum Event {
    /// The warm-up of an entrant is over.
    Measuring,
    /// The measured part of one is.
    Measured,
    /// A connection goes on; `length` is zero for all but the first, whose times are shown.
    Moved {
        at: Duration,
        bytes: u64,
        length: Duration,
    },
}

/// What one client has to tell.
struct Tell {
    index: usize,
    /// When its measured part is over.
    end: Duration,
    events: mpsc::Sender<Event>,
}

impl Tell {
    fn progress(&self, progress: &Progress<'_>, setup: &ClientSetup, start: Duration) {
        if progress.begins_measuring(&setup.plan) {
            self.event(Event::Measuring);
        }
        let Progress::Sample(flow, sample) = progress else {
            return;
        };
        if *flow == 0 && sample.at >= self.end {
            self.event(Event::Measured);
        }
        self.event(Event::Moved {
            at: start + sample.at,
            bytes: sample.sent.iter().chain(&sample.received).sum(),
            length: if self.index == 0 && *flow == 0 {
                sample.length
            } else {
                Duration::ZERO
            },
        });
    }

    fn event(&self, event: Event) {
        // A receiver that has gone wants to know no more.
        let _ = self.events.send(event);
    }
}

fn run_client(
    setup: &ClientSetup,
    start: Duration,
    interrupts: &Interrupts,
    tell: &Tell,
) -> Result<Outcome, Failure> {
    let mut on_progress = |progress: Progress<'_>| tell.progress(&progress, setup, start);
    let run = async {
        tokio::select! {
            () = interrupts.wait(1) => {}
            () = tokio::time::sleep(start) => {}
        }
        client::run(setup, Duration::ZERO, interrupts, &mut on_progress).await
    };
    Ok(runtime::current_thread()?.block_on(run))
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
            rules: Rules::OWN_CLIENTS,
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
            Err(mpsc::RecvError) => Err(join(thread).err().unwrap_or_else(|| {
                Failure::run(
                    "the embedded server stopped right after its \
                                                 start",
                )
            })),
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
    runtime::current_thread()?.block_on(async {
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

/// Where the labels of the clients' seeds begin.
const CLIENTS: u64 = 5 << 32;
