//! The parent side: plays every round with two children, and measures the machine around it.

use crate::args::Args;
use crate::machine::Usage;
use crate::profile::{self, Recording, Samples};
use crate::protocol::{Assignment, GO, Job, Latency, Message, Role, SAMPLE, Work};
use crate::report::{Outcome, Played, Report};
use crate::rows::{Row, Side, rows};
use crate::settings::{Congestion, NAME, Settings};
use crate::stack::Name;
use crate::{Result, child, machine, table};
use paceline::tls::SelfSigned;
use serde::Serialize;
use std::io::{self, Write};
use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// Plays what `args` ask for and shows it.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(play_all(args))
}

async fn play_all(args: &Args) -> Result<ExitCode> {
    if args.profile {
        profile::is_possible()?;
    }
    let certificate = SelfSigned::generate([NAME])?;
    let mut report = Report::new(args);
    write!(io::stdout(), "{}", table::head(&report))?;
    for row in rows(args) {
        let stage = Stage {
            settings: args.settings(row.mtu, row.congestion),
            before: args.before.as_deref(),
            certificate: &certificate,
            row: &row,
            is_profiled: args.profile,
        };
        let played = stage
            .play(&args.stacks(row.congestion, row.mtu), args.rounds)
            .await;
        let shown = table::row(&row, &played);
        report.add(&row, played);
        // After every row, so that a run that is broken off leaves what it has.
        if let Some(file) = &args.json {
            std::fs::write(file, serde_json::to_string_pretty(&report)?)
                .map_err(|error| format!("{}: {error}", file.display()))?;
        }
        write!(io::stdout(), "{shown}")?;
    }
    write!(io::stdout(), "{}", table::behind(&report))?;
    Ok(match report.has_failures() {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}

/// What a stack has done in one round.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Round {
    pub(crate) seconds: f64,
    /// Bytes, requests, handshakes or connections.
    pub(crate) amount: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) shares: Vec<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) latency: Option<Latency>,
    pub(crate) server: Used,
    pub(crate) client: Used,
    /// CPUs that other programs kept busy.
    pub(crate) foreign_cpus: f64,
}

/// By a process, in one round.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Used {
    /// Seconds, user and system.
    #[serde(rename = "cpu_seconds")]
    pub(crate) cpu: f64,
    /// Bytes that are resident now and were not before.
    #[serde(rename = "resident_bytes_grown")]
    pub(crate) grown: f64,
    /// From its start to its end, if it was profiled.
    #[serde(skip_serializing_if = "Samples::is_empty")]
    pub(crate) samples: Samples,
}

impl Used {
    fn between([before, after]: [Usage; 2]) -> Self {
        Self {
            cpu: (after.cpu - before.cpu).as_secs_f64(),
            grown: after.resident as f64 - before.resident as f64,
            samples: Samples::new(),
        }
    }
}

impl Round {
    fn new(work: Work, server: [Usage; 2], busy: Duration) -> Self {
        let (server, client) = (Used::between(server), Used::between(work.usage));
        let seconds = work.time.as_secs_f64();
        let foreign = busy.as_secs_f64() - server.cpu - client.cpu;
        Self {
            seconds,
            amount: work.amount as f64,
            shares: work.shares,
            latency: work.latency,
            server,
            client,
            foreign_cpus: foreign.max(0.0) / seconds,
        }
    }

    pub(crate) fn per_second(&self) -> f64 {
        self.amount / self.seconds
    }

    pub(crate) fn used(&self, side: Side) -> &Used {
        match side {
            Side::Server => &self.server,
            Side::Client => &self.client,
        }
    }

    /// Whether the machine was all but ours.
    pub(crate) fn is_quiet(&self) -> bool {
        self.foreign_cpus <= 0.15
    }
}

/// Where the rounds of a row are played.
struct Stage<'a> {
    settings: Settings,
    /// Another build of this program.
    before: Option<&'a Path>,
    certificate: &'a SelfSigned,
    row: &'a Row,
    is_profiled: bool,
}

impl Stage<'_> {
    /// Every second round has the stacks in the opposite order, so that each has the same mean
    /// place in time. Who fails the check plays no round.
    async fn play(&self, stacks: &[Name], rounds: u16) -> Vec<Played> {
        let mut played: Vec<Played> = stacks.iter().map(|&stack| Played::new(stack)).collect();
        if let Some(check) = self.row.check {
            for played in &mut played {
                if let Err(error) = self.round(played.stack, check).await {
                    played.outcomes.push(Outcome::failed("the check", &error));
                }
            }
        }
        let mut order: Vec<usize> = (0..played.len()).collect();
        order.retain(|&place| played[place].outcomes.is_empty());
        for round in 1..=rounds {
            for &place in &order {
                let outcome = self.round(played[place].stack, self.row.job).await;
                played[place].outcomes.push(match outcome {
                    Ok(measured) => Outcome::Measured(measured),
                    Err(error) => Outcome::failed(&format!("round {round}"), &error),
                });
            }
            order.reverse();
        }
        played
    }

    /// One round in two new processes, which are gone afterwards.
    async fn round(&self, stack: Name, job: Job) -> Result<Round> {
        let key = self.certificate.key.secret_der().to_vec();
        let welcome = self.row.welcome;
        let mut server = self.start(stack, Role::Server { key, welcome }).await?;
        let outcome = timeout(LIMIT, self.meet(&mut server, stack, job)).await;
        let outcome = outcome.unwrap_or_else(|_| Err(format!("not done after {LIMIT:?}").into()));
        let (last_words, samples) = server.end().await;
        let mut round = outcome.map_err(|error| match last_words.as_str() {
            "" => error,
            words => format!("{error}; the server said: {words}").into(),
        })?;
        round.server.samples = samples.unwrap_or_else(without_profile);
        Ok(round)
    }

    async fn meet(&self, server: &mut Child, stack: Name, job: Job) -> Result<Round> {
        let Message::Listening(port) = server.hear().await? else {
            return Err("expected the server's port".into());
        };
        let mut client = self.start(stack, Role::Client { port, job }).await?;
        let outcome = measure(server, &mut client).await;
        let (last_words, samples) = client.end().await;
        let mut round = outcome.map_err(|error| match last_words.as_str() {
            "" => error,
            words => format!("{error}; the client said: {words}").into(),
        })?;
        round.client.samples = samples.unwrap_or_else(without_profile);
        Ok(round)
    }

    async fn start(&self, stack: Name, role: Role) -> Result<Child> {
        let own = std::env::current_exe()?;
        // To the other build it is its own.
        let (program, stack) = match (stack, self.before) {
            (Name::Before, Some(before)) => (before, Name::Paceline),
            _ => (own.as_path(), stack),
        };
        let mut settings = self.settings;
        if stack == Name::Cubic {
            settings.congestion = Congestion::Cubic;
        }
        let assignment = Assignment {
            stack,
            settings,
            certificate: self.certificate.cert.to_vec(),
            role,
        };
        let recording = self.is_profiled.then(Recording::new);
        let child = Child::start(program, &assignment, recording).await;
        child.map_err(|error| format!("{}: {error}", program.display()).into())
    }
}

/// What was measured stays.
fn without_profile(error: crate::Error) -> Samples {
    eprintln!("peers: no profile of this round: {error}");
    Samples::new()
}

/// What happens between the client's being ready and its being done.
async fn measure(server: &mut Child, client: &mut Child) -> Result<Round> {
    let Message::Ready = hear_either(client, server).await? else {
        return Err("expected the client to be ready".into());
    };
    let before = server.sample().await?;
    let busy = machine::busy()?;
    client.tell(GO).await?;
    let Message::Done(work) = hear_either(client, server).await? else {
        return Err("expected the client's results".into());
    };
    let busy = machine::busy()? - busy;
    let after = server.sample().await?;
    Ok(Round::new(work, [before, after], busy))
}

/// What the client says, unless the server ends.
async fn hear_either(client: &mut Child, server: &mut Child) -> Result<Message> {
    tokio::select! {
        message = client.hear() => message.map_err(|error| format!("client: {error}").into()),
        message = server.hear() => Err(match message {
            Ok(message) => format!("the server said {message:?} of its own accord"),
            Err(error) => format!("server: {error}"),
        }.into()),
    }
}

/// A process that is killed when this is dropped.
struct Child {
    /// `perf`, whose child it is, if it is profiled.
    process: tokio::process::Child,
    orders: ChildStdin,
    messages: Lines<BufReader<ChildStdout>>,
    recording: Option<Recording>,
}

impl Child {
    async fn start(
        program: &Path,
        assignment: &Assignment,
        recording: Option<Recording>,
    ) -> Result<Self> {
        let mut command: Command = match &recording {
            Some(recording) => recording.command(program).into(),
            None => Command::new(program),
        };
        let mut process = command
            .arg(child::ARGUMENT)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let orders = process.stdin.take().expect("it is piped");
        let messages = process.stdout.take().expect("it is piped");
        let mut child = Self {
            process,
            orders,
            messages: BufReader::new(messages).lines(),
            recording,
        };
        child.tell(&serde_json::to_string(assignment)?).await?;
        Ok(child)
    }

    async fn tell(&mut self, order: &str) -> Result<()> {
        let line = format!("{order}\n");
        Ok(self.orders.write_all(line.as_bytes()).await?)
    }

    async fn hear(&mut self) -> Result<Message> {
        let Some(line) = self.messages.next_line().await? else {
            let status = self.process.wait().await?;
            return Err(format!("ended: {status}").into());
        };
        match serde_json::from_str(&line)? {
            Message::Failed(reason) => Err(reason.into()),
            message => Ok(message),
        }
    }

    async fn sample(&mut self) -> Result<Usage> {
        self.tell(SAMPLE).await?;
        match self.hear().await? {
            Message::Sample(usage) => Ok(usage),
            message => Err(format!("expected a sample, not {message:?}").into()),
        }
    }

    /// Ends it, and returns the last line that it wrote to standard error, and its samples.
    async fn end(self) -> (String, Result<Samples>) {
        let Self {
            mut process,
            orders,
            recording,
            ..
        } = self;
        // Without orders it ends by itself, and `perf` after it.
        drop(orders);
        if recording.is_some() {
            let _ = timeout(LIMIT, process.wait()).await;
        }
        // It may have ended by itself.
        let _ = process.kill().await;
        let errors = process.stderr.take().expect("it is piped");
        let mut text = Vec::new();
        // A pipe holds 64 KiB, and nobody writes any more.
        let _ = errors.take(1 << 16).read_to_end(&mut text).await;
        let text = String::from_utf8_lossy(&text);
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty());
        let last_words = line.unwrap_or_default().chars().take(200).collect();
        let samples = recording.map_or_else(|| Ok(Samples::new()), |file| file.samples());
        (last_words, samples)
    }
}

/// For one round, in which ten seconds are a lot.
const LIMIT: Duration = Duration::from_secs(90);
