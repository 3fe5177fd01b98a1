//! A trial in real time: server, emulated link and clients, each in a thread of its own.

use super::progress::AbProgress;
use super::setup::{AbSetup, Backend};
use super::trial::{FlowGroup, LinkUsage, Trial, TrialResult};
use crate::client::{self, ClientSetup, Outcome, Progress, Remote, Trust};
use crate::emulated::{self, EmulatedPath, Links};
use bench_kit::failure::Failure;
use bench_kit::interrupt::Interrupts;
use bench_kit::plan::{Direction, Limits};
use bench_kit::qlog::Qlog;
use bench_kit::{clock, runtime};
use bench_server::{AdmissionLimits, Resume, Server, ServerSetup};
use link_sim::LinkSpec;
use paceline::{KernelPacing, PathMemory};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use units::Rng;

/// One trial over a path of its own.
pub(super) fn run_trial(
    setup: &AbSetup,
    trial: &Trial,
    interrupts: &Interrupts,
    on_progress: &mut dyn FnMut(AbProgress<'_>),
) -> Result<TrialResult, Failure> {
    let groups = trial.groups(setup);
    let mut learned = Learned::default();
    for group in &groups {
        let learns = learned.learn(setup, trial, group, interrupts)?;
        if group.resumes && !learns {
            on_progress(AbProgress::Warning(NOTHING_LEARNED.to_owned()));
        }
    }
    let (outcomes, mut testbed) = run(setup, trial, &groups, &learned, interrupts, on_progress)?;
    let result = trial.conclude(setup, &groups, &outcomes, testbed.usage().as_ref());
    if let Some(warning) = testbed.path.as_ref().and_then(EmulatedPath::warning) {
        on_progress(AbProgress::Warning(warning));
    }
    testbed.stop();
    Ok(result)
}

/// What earlier connections have learned of the paths of a trial.
#[derive(Default)]
struct Learned {
    /// Of the connections of each group, where clients send.
    clients: Vec<Vec<Option<PathMemory>>>,
    /// Where the server sends.
    server: Option<Resume>,
}

impl Learned {
    /// Lets `group` learn, alone and over a path of its own, if it is to resume; says whether it
    /// did.
    fn learn(
        &mut self,
        setup: &AbSetup,
        trial: &Trial,
        group: &FlowGroup,
        interrupts: &Interrupts,
    ) -> Result<bool, Failure> {
        let mut memories = Vec::new();
        if group.resumes {
            if group.plan.direction == Direction::Reverse {
                self.server = Some(Resume {
                    store: Arc::default(),
                    congestion: setup.controllers(&group.plan)?.server,
                });
            }
            let alone = FlowGroup {
                start: Duration::ZERO,
                qlog: None,
                ..group.clone()
            };
            let before = Self {
                clients: Vec::new(),
                server: self.server.clone(),
            };
            let (outcomes, testbed) =
                run(setup, trial, &[alone], &before, interrupts, &mut |_| {})?;
            testbed.stop();
            for outcome in outcomes {
                if let Some(error) = outcome.error {
                    let error = format!("--resume: the connection to learn from failed: {error}");
                    return Err(Failure::run(error));
                }
                memories.extend(outcome.memories);
            }
        }
        let has_store = self.server.as_ref();
        let has_store = has_store.is_some_and(|resume| !resume.store.is_empty());
        let learns = has_store || memories.iter().any(Option::is_some);
        self.clients.push(memories);
        Ok(learns)
    }
}

/// Runs `groups` at once over a path of their own, which is still there afterwards.
fn run(
    setup: &AbSetup,
    trial: &Trial,
    groups: &[FlowGroup],
    learned: &Learned,
    interrupts: &Interrupts,
    on_progress: &mut dyn FnMut(AbProgress<'_>),
) -> Result<(Vec<Outcome>, Testbed), Failure> {
    let mut testbed = Testbed::set_up(setup, trial, groups, learned.server.as_ref())?;
    let (sender, events) = mpsc::channel();
    let mut clients = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        let mut client = testbed.client(setup, trial, index, group)?;
        client.memories = learned.clients.get(index).cloned().unwrap_or_default();
        let (interrupts, start) = (interrupts.clone(), group.start);
        let reporter = Reporter {
            index,
            end: group.plan.omit + group.plan.longest().unwrap_or(Duration::MAX / 2),
            events: sender.clone(),
        };
        let thread = std::thread::Builder::new().name("client".into());
        let run = move || run_client(&client, start, &interrupts, &reporter);
        clients.push(thread.spawn(run).map_err(no_thread)?);
    }
    drop(sender);
    testbed.follow(groups.len(), events, on_progress);
    let outcomes: Result<Vec<Outcome>, Failure> = clients.into_iter().map(join).collect();
    Ok((outcomes?, testbed))
}

/// The server and the paths that the clients of a trial use.
struct Testbed {
    remote: Remote,
    /// Where it is in this process.
    server: Option<RunningServer>,
    /// Where there is an emulated link.
    path: Option<EmulatedPath>,
    /// Each flow group's own part of the path, where it has one.
    own_paths: Vec<Option<EmulatedPath>>,
    begin: Option<Instant>,
    usage: Option<LinkUsage>,
}

impl Testbed {
    fn set_up(
        setup: &AbSetup,
        trial: &Trial,
        groups: &[FlowGroup],
        resume: Option<&Resume>,
    ) -> Result<Self, Failure> {
        let direction = groups[0].plan.direction;
        let qlog = match groups {
            [alone] => alone.qlog.clone(),
            _ => trial.qlog(setup),
        };
        let (remote, server, path) = match &setup.backend {
            Backend::Network(remote) => (remote.as_ref().clone(), None, None),
            Backend::Servers(servers) => {
                let mut remote = servers[trial.slots[0].variant].clone();
                let path =
                    EmulatedPath::start(&setup.links, direction, remote.target, trial.seed())?;
                remote.target = path.address();
                (remote, None, Some(path))
            }
            _ => {
                let server = RunningServer::start(setup, trial.seed(), resume.cloned(), qlog)?;
                let path =
                    EmulatedPath::start(&setup.links, direction, server.address, trial.seed())?;
                (embedded(path.address()), Some(server), Some(path))
            }
        };
        let own_path = |group: &FlowGroup| {
            let link = emulated::own(group.extra_delay, group.duplicate);
            let is_any = link != LinkSpec::default();
            let links = Links {
                link,
                return_link: LinkSpec::default(),
            };
            let start = || EmulatedPath::start(&links, direction, remote.target, trial.seed());
            is_any.then(start).transpose()
        };
        let own_paths: Result<Vec<_>, Failure> = groups.iter().map(own_path).collect();
        Ok(Self {
            own_paths: own_paths?,
            remote,
            server,
            path,
            begin: None,
            usage: None,
        })
    }

    fn client(
        &self,
        setup: &AbSetup,
        trial: &Trial,
        index: usize,
        group: &FlowGroup,
    ) -> Result<ClientSetup, Failure> {
        let mut remote = self.remote.clone();
        if let Some(own) = &self.own_paths[index] {
            remote.target = own.address();
        }
        let seed = match index {
            0 => trial.seed(),
            other => Rng::derive(trial.seed(), CLIENTS + other as u64).next_u64(),
        };
        Ok(ClientSetup {
            remote,
            plan: group.plan.clone(),
            connections: group.flows,
            file: None,
            controllers: setup.controllers(&group.plan)?,
            is_perf: matches!(setup.backend, Backend::Servers(_)),
            cipher: setup.cipher,
            mtu: setup.mtu,
            kernel_pacing: KernelPacing::Off,
            connect_timeout: setup.connect_timeout,
            idle_timeout: setup.idle_timeout,
            seed,
            qlog: group.qlog.clone(),
            makes_probes: false,
            memories: Vec::new(),
        })
    }

    /// Ends the server, if it is in this process.
    fn stop(self) {
        if let Some(server) = self.server {
            server.stop();
        }
    }

    /// Shows the clients' progress and marks the measured part, until all have ended.
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
                Event::Measured if self.usage.is_none() => self.usage = self.usage_so_far(),
                Event::Measured => {}
                Event::Waiting(ahead) => on_progress(AbProgress::Waiting(ahead)),
                Event::Transferred { at, bytes, length } => {
                    on_progress(AbProgress::Transferred { at, bytes, length });
                }
            }
        }
    }

    fn usage_so_far(&self) -> Option<LinkUsage> {
        let path = self.path.as_ref()?;
        Some(LinkUsage {
            stats: path.measured(),
            late: path.late(),
            time: self
                .begin
                .map_or(Duration::ZERO, |begin| clock::now() - begin),
        })
    }

    fn usage(&mut self) -> Option<LinkUsage> {
        self.usage.take().or_else(|| self.usage_so_far())
    }
}

/// A server in this process, behind a path that begins at `target`.
fn embedded(target: SocketAddr) -> Remote {
    Remote {
        target,
        server: None,
        host: Ipv4Addr::LOCALHOST.to_string(),
        port: target.port(),
        trust: Trust::Anyone,
        token: None,
        bind: None,
        first_port: None,
        turn: None,
    }
}

/// From the clients' threads to the one that shows the progress.
enum Event {
    /// The server is busy, and so many runs are ahead.
    Waiting(u32),
    /// The warm-up of a flow group is over.
    Measuring,
    /// The measured part of one is.
    Measured,
    /// A connection goes on; `length` is zero for all but the first, whose times are shown.
    Transferred {
        at: Duration,
        bytes: u64,
        length: Duration,
    },
}

/// Sends one client's progress to the thread that shows it.
struct Reporter {
    index: usize,
    /// When its measured part is over.
    end: Duration,
    events: mpsc::Sender<Event>,
}

impl Reporter {
    fn progress(&self, progress: &Progress<'_>, setup: &ClientSetup, start: Duration) {
        if progress.begins_measuring(&setup.plan) {
            self.event(Event::Measuring);
        }
        let (flow, sample) = match progress {
            Progress::Sample(flow, sample) => (flow, sample),
            Progress::Waiting(ahead) => return self.event(Event::Waiting(*ahead)),
            Progress::Started(_) | Progress::Rows(_) => return,
        };
        if *flow == 0 && sample.at >= self.end {
            self.event(Event::Measured);
        }
        self.event(Event::Transferred {
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
        // The receiver ends first when the test fails; then nobody needs the event.
        let _ = self.events.send(event);
    }
}

fn run_client(
    setup: &ClientSetup,
    start: Duration,
    interrupts: &Interrupts,
    reporter: &Reporter,
) -> Result<Outcome, Failure> {
    let mut on_progress = |progress: Progress<'_>| reporter.progress(&progress, setup, start);
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
    fn start(
        setup: &AbSetup,
        seed: u64,
        resume: Option<Resume>,
        qlog: Option<Qlog>,
    ) -> Result<Self, Failure> {
        let server = ServerSetup {
            bind: (Ipv4Addr::LOCALHOST, 0).into(),
            identity: None,
            idle_timeout: setup.idle_timeout,
            limits: Limits::NONE,
            stranger_limits: None,
            admission: AdmissionLimits::OWN_CLIENTS,
            max_runs: None,
            token: None,
            perf_congestion: None,
            is_one_off: false,
            kernel_pacing: KernelPacing::Off,
            qlog,
            resume,
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
        // Nobody receives this when the server has already ended.
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

/// Of a connection that was to learn of the path.
const NOTHING_LEARNED: &str =
    "--resume: no path memory from the earlier connection; use a longer -t or -n";

/// Where the labels of the clients' seeds begin.
const CLIENTS: u64 = 5 << 32;
