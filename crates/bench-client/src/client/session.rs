//! One connection of a run: agreement, payload, final reports.

mod perf;
mod state;

pub(super) use state::Session;

use super::port_check;
use super::progress::{CLOSE_TIMEOUT, INTERRUPTED};
use super::record::Record;
use bench_kit::close_reason;
use bench_kit::role::Role;
use bench_kit::sample::{Sequence, SideReport};
use bench_kit::transfer::Transfer;
use bench_kit::wire::{self, Reply, Request};
use bench_report::text::line_of_peer;
use paceline::SendStream;
use std::cell::RefCell;
use std::pin::pin;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

/// The control stream after the agreement.
pub(super) struct Control {
    send: SendStream,
    replies: Replies,
}

impl Session<'_> {
    /// Carries out this connection's part of the plan.
    pub(super) async fn run(&self, control: Option<Control>, record: &RefCell<Record<'_>>) {
        let Some(mut control) = control else {
            return self.perf(record).await;
        };
        let role = Role::of_client(self.plan);
        let mut transfer = Transfer::start(
            self.connection,
            self.plan,
            role,
            self.socket,
            self.setup.file.clone(),
        );
        record
            .borrow_mut()
            .set_counters(self.flow, transfer.counters());
        let report = transfer
            .run(
                &self.setup.controllers.client,
                self.stop(&mut control.replies, record),
                |sample| record.borrow_mut().client(self.flow, &sample),
            )
            .await;
        if let Some(error) = &report.error {
            self.fail(error);
        }
        record.borrow_mut().finish(self.flow, &report);
        if report.error == Some(self.port_closed()) {
            // Nobody is there to exchange reports with.
            return;
        }
        if let Err(error) = self.part(&mut control, report, record).await {
            self.fail(&error);
        }
    }

    /// Sends the plan and waits for its acceptance; `None` where a server knows no plan.
    /// `on_wait` is told how many runs are ahead, where the server is busy and the plan waits.
    pub(super) async fn agree(
        &self,
        mut on_wait: impl FnMut(u32),
    ) -> Result<Option<Control>, String> {
        if self.setup.is_perf {
            return Ok(None);
        }
        let patience = self.plan.extras.turn.map(|turn| turn.patience);
        let max_wait = self.setup.connect_timeout;
        let max_wait = max_wait.saturating_add(patience.unwrap_or_default());
        let agree = async {
            let (mut send, receive) = self.connection.open_bi().await?;
            if let Some(token) = &self.setup.remote.token {
                let proof = Request::Token(token.proof(self.connection));
                let _ = wire::write_message(&mut send, &proof).await;
            }
            let plan = Request::Run(Box::new(self.plan.clone()));
            // When this fails, the reply or the connection's end says why.
            let _ = wire::write_message(&mut send, &plan).await;
            let mut replies = Replies::read_from(receive);
            let mut reply = replies.next().await;
            while let (Ok(Some(Reply::Waiting(ahead))), Some(_)) = (&reply, patience) {
                on_wait(*ahead);
                reply = replies.next().await;
            }
            Ok((send, replies, reply))
        };
        let answered = tokio::select! {
            biased;
            () = self.interrupts.wait(1) => return Err(INTERRUPTED.to_owned()),
            answered = timeout(max_wait, agree) => answered,
        };
        let Ok(answered) = answered else {
            return Err(format!(
                "no reply from {} to the run request within {:?}; raise --connect-timeout",
                self.setup.remote, self.setup.connect_timeout
            ));
        };
        let (send, replies, reply) = answered.map_err(|error| self.refused(&error))?;
        if !matches!(reply, Ok(Some(_)))
            && let Some(error) = self.connection.close_reason()
        {
            return Err(self.refused(&error));
        }
        match reply {
            Ok(Some(Reply::Accepted)) => Ok(Some(Control { send, replies })),
            Ok(Some(Reply::Refused(why))) => {
                let why = line_of_peer(&why);
                Err(format!("{} refused the run: {why}", self.setup.remote))
            }
            Ok(Some(_)) => Err(self.broken("unexpected message")),
            Ok(None) => Err(self.lost_or("control stream closed before the reply")),
            Err(error) => Err(self.lost_or(error)),
        }
    }

    /// Takes the server's replies until there is a reason to stop; `None` when the server is done.
    async fn stop(&self, replies: &mut Replies, record: &RefCell<Record<'_>>) -> Option<String> {
        let mut refused = pin!(port_check::refused(
            self.setup.remote.server,
            Some(self.connection)
        ));
        loop {
            let reply = tokio::select! {
                biased;
                () = self.interrupts.wait(1) => return Some(INTERRUPTED.to_owned()),
                error = self.others() => return Some(error),
                error = self.connection.closed() => return Some(self.lost(&error)),
                () = &mut refused => return Some(self.port_closed()),
                reply = replies.next() => reply,
            };
            match reply {
                Ok(Some(Reply::Samples(samples))) => record.borrow_mut().server(self.flow, samples),
                Ok(Some(Reply::Finished(report))) => {
                    let error = report.error.clone();
                    record.borrow_mut().set_report(self.flow, *report);
                    if let Some(error) = error {
                        return Some(format!("{}: {}", self.setup.remote, line_of_peer(&error)));
                    }
                    // What is on its way may still arrive, and the streams end by themselves.
                    sleep(GRACE).await;
                    return None;
                }
                Ok(Some(_)) => return Some(self.broken("unexpected message")),
                Ok(None) => return Some(self.lost_or("control stream closed")),
                Err(error) => return Some(self.lost_or(error)),
            }
        }
    }

    /// Exchanges the final reports.
    async fn part(
        &self,
        Control { send, replies }: &mut Control,
        report: SideReport,
        record: &RefCell<Record<'_>>,
    ) -> Result<(), String> {
        if let Some(error) = self.connection.close_reason() {
            return Err(self.lost(&error));
        }
        let is_cut_short = report.error.is_some();
        // When this fails the connection is lost, which reading notices as well.
        let _ = wire::write_message(send, &Request::Finished(Box::new(report))).await;
        let _ = send.finish();
        let max_wait = if is_cut_short {
            CLOSE_TIMEOUT
        } else {
            self.setup.idle_timeout
        };
        let wait = async {
            while !record.borrow().has_report(self.flow) {
                match replies.next().await {
                    Ok(Some(Reply::Samples(samples))) => {
                        record.borrow_mut().server(self.flow, samples);
                    }
                    Ok(Some(Reply::Finished(report))) => {
                        record.borrow_mut().set_report(self.flow, *report);
                    }
                    Ok(Some(_)) => return Err(self.broken("unexpected message")),
                    Ok(None) => return Err(self.lost_or("control stream closed")),
                    Err(error) => return Err(self.lost_or(error)),
                }
            }
            // The server needs the report as much as the client needs the server's.
            let _ = timeout(CLOSE_TIMEOUT, send.stopped()).await;
            Ok(())
        };
        tokio::select! {
            biased;
            () = self.interrupts.wait(2) => Err(INTERRUPTED.to_owned()),
            waited = timeout(max_wait, wait) => waited.unwrap_or_else(|_| {
                Err(format!("no final report from {}", self.setup.remote))
            }),
        }
    }

    fn port_closed(&self) -> String {
        close_reason::port_closed(&self.setup.remote.to_string())
    }

    /// Why the connection is over if it is; else `what` has happened to it.
    fn lost_or(&self, what: impl ToString) -> String {
        match self.connection.close_reason() {
            Some(error) => self.lost(&error),
            None => self.broken(&what.to_string()),
        }
    }

    fn broken(&self, what: &str) -> String {
        format!("protocol error by {}: {what}", self.setup.remote)
    }
}

/// The server's messages, read by a task of their own: reading cannot be cancelled between the
/// bytes of a message.
struct Replies(mpsc::Receiver<Result<Option<Reply>, wire::WireError>>);

impl Replies {
    fn read_from(mut stream: paceline::RecvStream) -> Self {
        let (replies, receiver) = mpsc::channel(QUEUED_REPLIES);
        tokio::spawn(async move {
            let mut sequence = Sequence::default();
            loop {
                let reply = wire::read_message::<Reply>(&mut stream).await;
                let reply = reply.and_then(|reply| in_sequence(reply, &mut sequence));
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

/// The same reply, if its samples follow those before.
fn in_sequence(
    reply: Option<Reply>,
    sequence: &mut Sequence,
) -> Result<Option<Reply>, wire::WireError> {
    if let Some(Reply::Samples(samples)) = &reply {
        let mut samples = samples.iter();
        samples
            .try_for_each(|sample| sequence.next(sample.at, sample.omitted))
            .map_err(wire::WireError::Impossible)?;
    }
    Ok(reply)
}

/// How long a side that is done waits for the rest of the other's payload: a few round trips of
/// the longest paths.
const GRACE: Duration = Duration::from_secs(3);

const QUEUED_REPLIES: usize = 64;
