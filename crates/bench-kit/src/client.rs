//! The client's side of a run.

mod connect;
mod outcome;
mod rows;

pub(crate) use connect::{ClientSetup, Trust, fix_mtu, transport};
pub(crate) use outcome::{About, Outcome, Side, congestion};

use crate::clock;
use crate::ending;
use crate::interrupt::Interrupts;
use crate::plan::Plan;
use crate::result::iperf;
use crate::sample::{Sample, SideReport};
use crate::table::printable;
use crate::transfer::{Role, Transfer};
use crate::wire::{self, DONE, Reply, Request};
use connect::Connected;
use rows::Rows;
use std::cell::RefCell;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use transport::{Connection, SendStream, VarInt};

/// What a run tells while it goes on.
#[derive(Debug)]
pub(crate) enum Progress<'a> {
    /// The server has accepted the plan.
    Started {
        local: std::net::SocketAddr,
        remote: std::net::SocketAddr,
    },
    /// The client's next sample.
    Sample(&'a Sample),
    /// The rows of an interval are full.
    Rows(&'a iperf::Interval),
}

impl Progress<'_> {
    /// Whether the measured part begins with this.
    pub(crate) fn begins_measuring(&self, plan: &Plan) -> bool {
        match self {
            Self::Started { .. } => plan.omit.is_zero(),
            Self::Sample(sample) => sample.omitted && sample.at >= plan.omit,
            Self::Rows(_) => false,
        }
    }
}

/// Carries out `setup.plan` against its server.
///
/// It never fails as such: an [`Outcome`] holds what was measured until the error it names.
pub(crate) async fn run(
    setup: &ClientSetup,
    interval: Duration,
    interrupts: &Interrupts,
    on_progress: &mut dyn FnMut(Progress<'_>),
) -> Outcome {
    let mut outcome = Outcome {
        started: clock::since_1970(),
        ..Outcome::default()
    };
    let connected = tokio::select! {
        biased;
        () = interrupts.wait(1) => Err(INTERRUPTED.to_owned()),
        connected = connect::connect(setup) => connected,
    };
    let connected = match connected {
        Ok(connected) => connected,
        Err(error) => {
            outcome.error = Some(error);
            return outcome;
        }
    };
    let session = Session {
        setup,
        interrupts,
        connection: &connected.connection,
    };
    let result = session
        .run(&connected, interval, &mut outcome, on_progress)
        .await;
    if let Err(error) = result {
        outcome.error.get_or_insert(error);
    }
    connected.connection.close(VarInt::from_u32(DONE), b"");
    // Until the close has left; a peer that does not get it notices by the silence.
    let _ = timeout(GOODBYE, connected.endpoint.wait_idle()).await;
    outcome
}

/// One run on one connection.
struct Session<'a> {
    setup: &'a ClientSetup,
    interrupts: &'a Interrupts,
    connection: &'a Connection,
}

impl Session<'_> {
    async fn run(
        &self,
        connected: &Connected,
        interval: Duration,
        outcome: &mut Outcome,
        on_progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(), String> {
        let plan = &self.setup.plan;
        let (mut control, mut replies) = self.agree().await?;
        let addresses = (connected.local, connected.connection.remote_address());
        outcome.connected = Some(addresses);
        on_progress(Progress::Started {
            local: addresses.0,
            remote: addresses.1,
        });
        let role = Role {
            sends: plan.direction.client_sends(),
            receives: plan.direction.server_sends(),
        };
        let record = RefCell::new(Record {
            rows: Rows::new(plan, interval),
            outcome,
            on_progress,
        });
        let mut transfer = Transfer::start(self.connection, plan, role);
        let report = transfer
            .run(
                &self.setup.controllers.client,
                self.stop(&mut replies, &record),
                |sample| record.borrow_mut().client(&sample),
            )
            .await;
        let mut record = record.into_inner();
        record.finish(&report);
        self.part(&mut control, &mut replies, report, &mut record)
            .await
    }

    /// Sends the plan and waits for its acceptance.
    async fn agree(&self) -> Result<(SendStream, Replies), String> {
        let agree = async {
            let (mut send, receive) = self.connection.open_bi().await?;
            if let Some(token) = &self.setup.token {
                let proof = Request::Token(token.proof(self.connection));
                let _ = wire::write_message(&mut send, &proof).await;
            }
            let plan = Request::Run(self.setup.plan.clone());
            // When this fails, the reply or the connection's end says why.
            let _ = wire::write_message(&mut send, &plan).await;
            let mut replies = Replies::read_from(receive);
            let reply = replies.next().await;
            Ok((send, replies, reply))
        };
        let answered = tokio::select! {
            biased;
            () = self.interrupts.wait(1) => return Err(INTERRUPTED.to_owned()),
            answered = timeout(self.setup.connect_timeout, agree) => answered,
        };
        let Ok(answered) = answered else {
            return Err(format!(
                "{} does not answer to the plan",
                self.setup.server()
            ));
        };
        let (send, replies, reply) = answered.map_err(|error| self.lost(&error))?;
        match reply {
            Ok(Some(Reply::Accepted)) => Ok((send, replies)),
            Ok(Some(Reply::Refused(why))) => {
                let why = printable(&why);
                Err(format!("{} refuses the run: {why}", self.setup.server()))
            }
            Ok(Some(_)) => Err(self.broken("a message out of turn")),
            Ok(None) => Err(self.lost_or("the control stream ended before the answer")),
            Err(error) => Err(self.lost_or(error)),
        }
    }

    /// Takes the server's replies until there is a reason to stop; `None` when the server is done.
    async fn stop(&self, replies: &mut Replies, record: &RefCell<Record<'_>>) -> Option<String> {
        loop {
            let reply = tokio::select! {
                biased;
                () = self.interrupts.wait(1) => return Some(INTERRUPTED.to_owned()),
                error = self.connection.closed() => return Some(self.lost(&error)),
                reply = replies.next() => reply,
            };
            match reply {
                Ok(Some(Reply::Samples(samples))) => record.borrow_mut().server(samples),
                Ok(Some(Reply::Finished(report))) => {
                    let error = report.error.clone();
                    record.borrow_mut().outcome.server.report = Some(*report);
                    if let Some(error) = error {
                        return Some(format!("{}: {}", self.setup.server(), printable(&error)));
                    }
                    // What is on its way may still arrive, and the streams end by themselves.
                    sleep(GRACE).await;
                    return None;
                }
                Ok(Some(_)) => return Some(self.broken("a message out of turn")),
                Ok(None) => return Some(self.lost_or("the control stream ended")),
                Err(error) => return Some(self.lost_or(error)),
            }
        }
    }

    /// Exchanges the final reports.
    async fn part(
        &self,
        control: &mut SendStream,
        replies: &mut Replies,
        report: SideReport,
        record: &mut Record<'_>,
    ) -> Result<(), String> {
        if let Some(error) = self.connection.close_reason() {
            return Err(self.lost(&error));
        }
        let is_cut_short = report.error.is_some();
        // When this fails the connection is lost, which reading notices as well.
        let _ = wire::write_message(control, &Request::Finished(Box::new(report))).await;
        let _ = control.finish();
        let patience = if is_cut_short {
            GOODBYE
        } else {
            self.setup.idle_timeout
        };
        let wait = async {
            while record.outcome.server.report.is_none() {
                match replies.next().await {
                    Ok(Some(Reply::Samples(samples))) => record.server(samples),
                    Ok(Some(Reply::Finished(report))) => {
                        record.outcome.server.report = Some(*report);
                    }
                    Ok(Some(_)) => return Err(self.broken("a message out of turn")),
                    Ok(None) => return Err(self.lost_or("the control stream ended")),
                    Err(error) => return Err(self.lost_or(error)),
                }
            }
            // The server needs the report as much as the client needs the server's.
            let _ = timeout(GOODBYE, control.stopped()).await;
            Ok(())
        };
        tokio::select! {
            biased;
            () = self.interrupts.wait(2) => Err(INTERRUPTED.to_owned()),
            waited = timeout(patience, wait) => waited.unwrap_or_else(|_| {
                Err(format!("{} has not reported its side of the run", self.setup.server()))
            }),
        }
    }

    fn lost(&self, error: &transport::ConnectionError) -> String {
        ending::lost(error, &self.setup.server(), self.setup.idle_timeout)
    }

    /// Why the connection is over if it is; else `what` has happened to it.
    fn lost_or(&self, what: impl ToString) -> String {
        match self.connection.close_reason() {
            Some(error) => self.lost(&error),
            None => self.broken(&what.to_string()),
        }
    }

    fn broken(&self, what: &str) -> String {
        format!(
            "{} does not keep to the protocol: {what}",
            self.setup.server()
        )
    }
}

/// The server's messages, read by a task of their own: reading cannot be cancelled between the
/// bytes of a message.
struct Replies(mpsc::Receiver<Result<Option<Reply>, wire::WireError>>);

impl Replies {
    fn read_from(mut stream: transport::RecvStream) -> Self {
        let (replies, receiver) = mpsc::channel(QUEUED_REPLIES);
        tokio::spawn(async move {
            loop {
                let reply = wire::read_message::<Reply>(&mut stream).await;
                let is_last = !matches!(reply, Ok(Some(_)));
                if replies.send(reply).await.is_err() || is_last {
                    return;
                }
            }
        });
        Self(receiver)
    }

    async fn next(&mut self) -> Result<Option<Reply>, wire::WireError> {
        self.0.recv().await.unwrap_or(Ok(None))
    }
}

/// Where samples of both sides come together.
struct Record<'a> {
    rows: Rows,
    outcome: &'a mut Outcome,
    on_progress: &'a mut dyn FnMut(Progress<'_>),
}

impl Record<'_> {
    fn client(&mut self, sample: &Sample) {
        (self.on_progress)(Progress::Sample(sample));
        self.outcome.client.series.push(sample.clone());
        if let Some(rows) = self.rows.client(sample) {
            self.show(rows);
        }
    }

    fn server(&mut self, samples: Vec<Sample>) {
        for sample in samples {
            self.rows.server(&sample);
            self.outcome.server.series.push(sample);
        }
    }

    fn finish(&mut self, report: &SideReport) {
        if let Some(rows) = self.rows.finish() {
            self.show(rows);
        }
        self.outcome.error.clone_from(&report.error);
        self.outcome.client.report = Some(report.clone());
    }

    fn show(&mut self, rows: iperf::Interval) {
        (self.on_progress)(Progress::Rows(&rows));
        // A run of an hour with ten rows a second has 36,000.
        if self.outcome.rows.len() < MOST_ROWS {
            self.outcome.rows.push(rows);
        }
    }
}

/// The error of a run that the user ended.
pub(crate) const INTERRUPTED: &str = "interrupted";

/// How long a side that is done waits for the rest of the other's payload: a few round trips of
/// the longest paths.
const GRACE: Duration = Duration::from_secs(3);

/// How long a goodbye may take.
const GOODBYE: Duration = Duration::from_secs(1);

const QUEUED_REPLIES: usize = 64;

const MOST_ROWS: usize = 50_000;
