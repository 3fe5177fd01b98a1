//! One client, from its first packet to its last.

mod output;
mod perf;
mod state;
mod turn;

pub(crate) use state::Session;

use crate::log_limiter::Topic;
use crate::quota::{self, Transferred};
use bench_kit::close_reason;
use bench_kit::plan::{Controllers, Limits, MAX_PATIENCE, Plan};
use bench_kit::role::Role;
use bench_kit::sample::{Sample, SideReport};
use bench_kit::transfer::Transfer;
use bench_kit::transport_settings;
use bench_kit::wire::{self, MAX_FIRST_MESSAGE, PROTOCOL_ERROR, Reply, Request, UNAUTHORIZED};
use bench_report::text::{Unit, amount, line_of_peer};
use paceline::{
    Connection, ConnectionError, Incoming, RecvStream, SendStream, ServerConfig, VarInt,
};
use state::{BUG, Fault, TOO_LONG};
use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

impl Session {
    /// Whether a run was made. `config` is the connection's own, where it is not its endpoint's.
    pub(crate) async fn serve(
        mut self,
        incoming: Incoming,
        config: Option<Arc<ServerConfig>>,
    ) -> bool {
        let client = canonical(incoming.remote_address());
        let accepted = async {
            match config {
                Some(config) => incoming.accept_with(config)?.await,
                None => incoming.await,
            }
        };
        let connection = match accepted.await {
            Ok(connection) => connection,
            Err(error) => {
                self.log(format_args!("Handshake with {client} failed: {error}"));
                return false;
            }
        };
        self.permit.connected();
        self.log(format_args!("Accepted connection from {client}"));
        // Longer than any plan that is accepted, for those that only bytes limit, and for clients
        // that keep a connection without using it.
        let max_wait = self.limits(&connection).duration;
        let max_wait = max_wait.saturating_add(self.shared.idle_timeout);
        let turn = if self.shared.turns.are_limited() {
            MAX_PATIENCE
        } else {
            Duration::ZERO
        };
        let max_wait = max_wait.saturating_add(turn);
        let finished = timeout(max_wait, async {
            if perf::is_negotiated(&connection) {
                caught(self.perf(&connection)).await
            } else {
                caught(self.run_protocol(&connection)).await
            }
        });
        let finished = finished.await;
        let too_long = |_| Err(Fault::Client(TOO_LONG.to_owned()));
        match finished.unwrap_or_else(too_long) {
            Ok(()) => true,
            Err(Fault::Client(why)) => {
                self.log(format_args!("Refused {client}: {why}"));
                connection.close(VarInt::from_u32(PROTOCOL_ERROR), why.as_bytes());
                false
            }
            Err(Fault::Unauthorized) => {
                self.log(format_args!("Refused {client}: missing or wrong token"));
                connection.close(VarInt::from_u32(UNAUTHORIZED), b"");
                false
            }
            Err(Fault::Bug) => {
                connection.close(VarInt::from_u32(PROTOCOL_ERROR), BUG.as_bytes());
                self.log(format_args!("Ended {client}: {BUG}"));
                false
            }
            // The client is still there, and only its control stream is over.
            Err(Fault::Lost) if connection.close_reason().is_none() => {
                self.log(format_args!("Refused {client}: {NO_REPORT}"));
                connection.close(VarInt::from_u32(PROTOCOL_ERROR), NO_REPORT.as_bytes());
                false
            }
            Err(Fault::Lost) => {
                let why = self.lost(&connection.closed().await);
                self.log(format_args!("Ended early: {why}"));
                true
            }
        }
    }

    fn limits(&self, connection: &Connection) -> &Limits {
        self.shared.limits(connection.remote_address().ip())
    }

    async fn run_protocol(&self, connection: &Connection) -> Result<(), Fault> {
        let (mut send, receive, mut plan) = self.first_message(connection).await?;
        let limits = self.limits(connection);
        if plan.extras.window_follows {
            plan.window = plan.window.min(limits.window.get());
        }
        let controllers = match plan.check(limits, &self.shared.registry) {
            Ok(controllers) => controllers,
            Err(error) => return self.refuse(connection, &mut send, error.to_string()).await,
        };
        let _turn = match self.turn(connection, &plan, &mut send).await? {
            Ok(turn) => turn,
            Err(why) => return self.refuse(connection, &mut send, why).await,
        };
        transport_settings::set_windows(connection, &plan);
        connection.set_dscp(plan.extras.dscp());
        // Another one would not resume.
        let resumes = self.shared.resuming.as_deref();
        if resumes != Some(controllers.server.to_string().as_str()) {
            connection.set_congestion(&controllers.server);
        }
        if plan.extras.requests.is_some() {
            connection.set_max_concurrent_bi_streams(VarInt::from_u32(2));
        }
        self.reply(&mut send, &Reply::Accepted).await?;
        self.log(format_args!("{}", Headline(&plan)));
        self.output.begin(&plan);
        let (report, client) = self
            .transfer(connection, &plan, controllers, send, receive)
            .await;
        self.summarise(&plan, &report, client.as_ref());
        match client {
            Some(_) => {
                // The client closes when it has everything.
                let _ = timeout(self.shared.idle_timeout, connection.closed()).await;
                Ok(())
            }
            // A connection that `--rpm` measures ends without a report.
            None if plan.extras.is_idle() && close_reason::is_done(connection) => Ok(()),
            None => Err(Fault::Lost),
        }
    }

    /// The control stream and the plan on it.
    async fn first_message(
        &self,
        connection: &Connection,
    ) -> Result<(SendStream, RecvStream, Plan), Fault> {
        let max_wait = self.shared.idle_timeout;
        let read = async {
            let (send, mut receive) = connection.accept_bi().await.map_err(|_| Fault::Lost)?;
            let request = self.after_token(connection, &mut receive).await?;
            Ok::<_, Fault>((send, receive, request))
        };
        let Ok(read) = timeout(max_wait, read).await else {
            return Err(match self.shared.token {
                Some(_) => Fault::Unauthorized,
                None => Fault::Client("no run request received".to_owned()),
            });
        };
        let (send, receive, request) = read?;
        match request {
            Ok(Some(Request::Run(plan))) => Ok((send, receive, *plan)),
            Ok(_) => Err(Fault::Client(
                "first message is not a run request".to_owned(),
            )),
            Err(error) => Err(fault(connection, error)),
        }
    }

    /// The first message that is not a token. Whoever has to know a token and does not learns
    /// nothing about what it has sent instead.
    async fn after_token(
        &self,
        connection: &Connection,
        receive: &mut RecvStream,
    ) -> Result<Result<Option<Request>, wire::WireError>, Fault> {
        let first = wire::read_message_up_to(MAX_FIRST_MESSAGE, receive).await;
        let proof = match &first {
            Ok(Some(Request::Token(proof))) => Some(proof),
            _ => None,
        };
        let token = self.shared.token.as_ref();
        if token.is_some_and(|token| !proof.is_some_and(|proof| token.is_proved(connection, proof)))
        {
            return Err(Fault::Unauthorized);
        }
        Ok(match proof {
            Some(_) => wire::read_message_up_to(MAX_FIRST_MESSAGE, receive).await,
            None => first,
        })
    }

    /// Sends a reply from before the run. A client that leaves no room for it would keep its place,
    /// and the turns of others.
    async fn reply(&self, send: &mut SendStream, reply: &Reply) -> Result<(), Fault> {
        let written = timeout(self.shared.idle_timeout, wire::write_message(send, reply)).await;
        let no_room =
            |_| Fault::Client("the reply found no room in the client's window".to_owned());
        Ok(written.map_err(no_room)??)
    }

    /// Sends the client the reason, and waits until it has closed.
    async fn refuse(
        &self,
        connection: &Connection,
        send: &mut SendStream,
        why: String,
    ) -> Result<(), Fault> {
        self.reply(send, &Reply::Refused(why.clone())).await?;
        let _ = send.finish();
        let _ = timeout(self.shared.idle_timeout, connection.closed()).await;
        Err(Fault::Client(why))
    }

    /// The run itself: this side's report, and the client's if it came.
    async fn transfer(
        &self,
        connection: &Connection,
        plan: &Plan,
        controllers: Controllers,
        mut send: SendStream,
        receive: RecvStream,
    ) -> (SideReport, Option<SideReport>) {
        let role = Role::of_server(plan);
        let (samples, batches) = mpsc::channel(QUEUED_SAMPLES);
        let (finish, finished) = oneshot::channel();
        let writer = tokio::spawn(async move { write_replies(&mut send, batches, finished).await });
        // A task of its own, because reading cannot be cancelled between the bytes of a message.
        let mut reader = Reader(Some(tokio::spawn(read_report(receive))));
        let mut client = None;
        let mut transfer = Transfer::start(connection, plan, role, self.shared.address, None);
        let counters = transfer.counters();
        let stop = async {
            client = tokio::select! {
                biased;
                why = quota::exceeded(self.limits(connection), || Transferred::by(&counters)) => {
                    return Some(why);
                }
                report = reader.report() => report,
            };
            match &client {
                Some(report) if report.error.is_some() => error_of_client(report),
                Some(_) => {
                    // What is on its way may still arrive, and the streams end by themselves.
                    sleep(GRACE).await;
                    None
                }
                None => Some(self.lost(&connection.closed().await)),
            }
        };
        let mut report = transfer
            // A client that does not read its control stream loses samples, and nothing else.
            .run(&controllers.server, stop, |sample| {
                self.output.sample(&sample);
                drop(samples.try_send(sample));
            })
            .await;
        report.output = self.output.end(&report);
        let totals = &self.shared.totals;
        // The new connections that --rpm measures are part of another run.
        if !plan.extras.is_idle() || report.error.is_none() {
            totals.add(report.total_received(), report.total_sent());
        }
        drop(samples);
        let _ = finish.send(report.clone());
        if client.is_none() && connection.close_reason().is_none() {
            let read = timeout(self.shared.idle_timeout, reader.report()).await;
            client = read.ok().flatten();
        }
        // Its streams may end before its report says why.
        report.error = report
            .error
            .or_else(|| client.as_ref().and_then(error_of_client));
        drop(reader);
        // It ends with the message, or with the connection.
        let _ = writer.await;
        (report, client)
    }

    fn lost(&self, error: &ConnectionError) -> String {
        close_reason::lost(error, "the client", self.shared.idle_timeout)
    }

    fn summarise(&self, plan: &Plan, server: &SideReport, client: Option<&SideReport>) {
        let total = |bytes, measured, what| Total {
            bytes,
            measured,
            what,
        };
        let mut totals = Vec::new();
        let is_loaded = !plan.extras.is_idle();
        if is_loaded && plan.direction.client_sends() {
            let sent = |client: &SideReport| {
                total(client.total_sent(), client.measured, "sender (client)")
            };
            totals.extend(client.map(sent));
            totals.push(total(server.total_received(), server.measured, "receiver"));
        }
        if is_loaded && plan.direction.server_sends() {
            let received = |client: &SideReport| {
                total(
                    client.total_received(),
                    client.measured,
                    "receiver (client)",
                )
            };
            totals.push(total(server.total_sent(), server.measured, "sender"));
            totals.extend(client.map(received));
        }
        for total in totals {
            self.log(format_args!("{total}"));
        }
        // The end of the session logs a client that is lost.
        if let Some(error) = &server.error
            && client.is_some()
        {
            self.log(format_args!("Ended early: {error}"));
        }
    }

    /// Parts of the line may be the client's words.
    fn log(&self, line: fmt::Arguments<'_>) {
        let line = line_of_peer(&line.to_string());
        let prefix = self.permit.prefix();
        self.output.line(format_args!("{line}"));
        self.shared.log(
            prefix,
            Topic::Session,
            format_args!("[{:>3}] {line}", self.number),
        );
    }
}

/// Why the client's side failed, by its report.
fn error_of_client(report: &SideReport) -> Option<String> {
    let error = report.error.as_deref()?;
    Some(format!("the client: {}", line_of_peer(error)))
}

/// What this session comes to, or that it has panicked: the others go on.
async fn caught(session: impl Future<Output = Result<(), Fault>>) -> Result<(), Fault> {
    let mut session = pin!(session);
    poll_fn(|context| {
        let poll = || session.as_mut().poll(context);
        // A panic is never polled again.
        catch_unwind(AssertUnwindSafe(poll)).unwrap_or(Poll::Ready(Err(Fault::Bug)))
    })
    .await
}

fn fault(connection: &Connection, error: wire::WireError) -> Fault {
    if connection.close_reason().is_some() {
        return Fault::Lost;
    }
    Fault::Client(error.to_string())
}

/// The task that reads the client's report, which ends with this.
struct Reader(Option<JoinHandle<Option<SideReport>>>);

impl Reader {
    /// The report, once; `None` when none comes. Nothing is lost when this is cancelled.
    async fn report(&mut self) -> Option<SideReport> {
        let report = self.0.as_mut()?.await;
        self.0 = None;
        report.ok().flatten()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

/// The client's last message; `None` when none comes.
async fn read_report(mut receive: RecvStream) -> Option<SideReport> {
    match wire::read_message::<Request>(&mut receive).await {
        Ok(Some(Request::Finished(report))) => Some(*report),
        _ => None,
    }
}

/// Sends samples in small batches as they come, and the report when it is there.
async fn write_replies(
    send: &mut SendStream,
    mut samples: mpsc::Receiver<Sample>,
    mut report: oneshot::Receiver<SideReport>,
) -> Result<(), wire::WireError> {
    let mut batch = Vec::new();
    let report = loop {
        let report = tokio::select! {
            biased;
            report = &mut report => Some(report),
            () = sleep(BETWEEN_BATCHES) => None,
        };
        while let Ok(sample) = samples.try_recv() {
            batch.push(sample);
        }
        if !batch.is_empty() {
            wire::write_message(send, &Reply::Samples(std::mem::take(&mut batch))).await?;
        }
        if let Some(report) = report {
            break report;
        }
    };
    if let Ok(report) = report {
        wire::write_message(send, &Reply::Finished(Box::new(report))).await?;
    }
    let _ = send.finish();
    Ok(())
}

/// An IPv4 client of an IPv6 socket by its own address.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

struct Headline<'a>(&'a Plan);

impl fmt::Display for Headline<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = self.0;
        if plan.extras.is_idle() {
            return f.write_str("client measures request latency");
        }
        let who = match (plan.direction.client_sends(), plan.direction.server_sends()) {
            (true, true) => "client and server send",
            (true, false) => "client sends",
            _ => "server sends",
        };
        write!(f, "{who} on {} stream", plan.streams)?;
        if plan.streams > 1 {
            f.write_str("s")?;
        }
        match plan.limit {
            bench_kit::plan::Limit::Time(time) => {
                write!(f, " for {}", units::duration::display(time + plan.omit))
            }
            bench_kit::plan::Limit::Bytes(bytes) => write!(f, ", {}", amount(bytes)),
        }?;
        write!(f, ", {}", plan.sender_congestion())
    }
}

struct Total {
    bytes: u64,
    measured: Duration,
    what: &'static str,
}

impl fmt::Display for Total {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.measured.as_secs_f64();
        let rate = if seconds > 0.0 {
            self.bytes as f64 * 8.0 / seconds
        } else {
            0.0
        };
        write!(
            f,
            " 0.00-{seconds:<5.2} sec {:>11} {:>14}  {}",
            amount(self.bytes),
            Unit::Adaptive.rate(rate),
            self.what
        )
    }
}

/// How long a side that is done waits for the rest of the other's payload: a few round trips of
/// the longest paths.
const GRACE: Duration = Duration::from_secs(3);

const NO_REPORT: &str = "no final report from the client";

/// Often enough for rows of a second.
const BETWEEN_BATCHES: Duration = Duration::from_millis(200);

/// Six seconds of samples at the usual step.
const QUEUED_SAMPLES: usize = 64;
