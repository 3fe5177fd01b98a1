//! The client's side of a run.

mod connect;
mod outcome;
mod port_check;
mod probes;
mod progress;
mod record;
mod requests;
mod session;

pub(crate) use connect::{ClientSetup, Remote, Trust};
pub(crate) use outcome::{About, Beginning, Flow, Outcome, Side};
pub(crate) use progress::{INTERRUPTED, Progress, waiting};

use bench_kit::clock;
use bench_kit::interrupt::Interrupts;
use bench_kit::plan::Plan;
use bench_kit::wire::DONE;
use bench_report::result::Sha256;
use bench_report::text::printable;
use connect::Connected;
use futures_util::future::join_all;
use paceline::Connection;
use paceline::VarInt;
use progress::CLOSE_TIMEOUT;
use record::Record;
use requests::Probes;
use session::Session;
use std::cell::RefCell;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

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
    let connecting = (0..setup.connections).map(|number| connect::connect(setup, number));
    let connecting = connecting.map(|connecting| async {
        tokio::select! {
            biased;
            () = interrupts.wait(1) => Err(INTERRUPTED.to_owned()),
            connected = connecting => connected,
        }
    });
    let mut connected: Vec<Connected> = Vec::new();
    for result in join_all(connecting).await {
        match result {
            Ok(established) => connected.push(established),
            Err(error) => {
                outcome.error.get_or_insert(error);
            }
        }
    }
    if outcome.error.is_none() {
        let is_cut_short = tokio::select! {
            biased;
            () = carry_out(
                setup,
                &connected,
                interrupts,
                interval,
                &mut outcome,
                on_progress,
            ) => false,
            () = interrupts.overdue(LAST_REPORTS) => true,
        };
        if is_cut_short {
            outcome.error.get_or_insert_with(|| INTERRUPTED.to_owned());
        }
    }
    if outcome.error.is_none() {
        let is_limited = setup.plan.extras.at_most.is_some();
        let hashes = outcome.sha256(&setup.plan);
        outcome.error = hashes.and_then(|hashes| warning(hashes, is_limited));
    }
    let memories = connected.iter();
    outcome.memories = memories
        .map(|connected| connected.connection.path_memory())
        .collect();
    for connected in &connected {
        connected.connection.close(VarInt::from_u32(DONE), b"");
    }
    // Until the closes have left; a peer that does not get them notices by the silence.
    let idle = connected
        .iter()
        .map(|connected| connected.endpoint.wait_idle());
    tokio::select! {
        _ = timeout(CLOSE_TIMEOUT, join_all(idle)) => {}
        () = interrupts.overdue(GOODBYE) => {}
    }
    outcome
}

/// The run, from the agreement on the plan to the final reports.
async fn carry_out(
    setup: &ClientSetup,
    connected: &[Connected],
    interrupts: &Interrupts,
    interval: Duration,
    outcome: &mut Outcome,
    on_progress: &mut dyn FnMut(Progress<'_>),
) {
    let mut plan = setup.plan.clone();
    plan.extras.turn = setup.remote.turn;
    let plans: Vec<Plan> = plan.shares(setup.connections);
    let failed = watch::Sender::new(None);
    let sessions = connected.iter().zip(&plans).zip(0..);
    let sessions: Vec<Session<'_>> = sessions
        .map(|((connected, plan), flow)| Session {
            setup,
            plan,
            flow,
            interrupts,
            connection: &connected.connection,
            socket: connected.bound,
            failed: &failed,
        })
        .collect();
    let progress = RefCell::new(&mut *on_progress);
    let agreed = sessions.iter().map(|session| {
        session.agree(|ahead| {
            // All connections of a run have the same place.
            if session.flow == 0 {
                (progress.borrow_mut())(Progress::Waiting(ahead));
            }
        })
    });
    let agreed = join_all(agreed).await;
    let agreed: Vec<_> = match agreed.into_iter().collect() {
        Ok(agreed) => agreed,
        Err(error) => {
            outcome.error = Some(error);
            return;
        }
    };
    let addresses: Vec<_> = connected.iter().map(Connected::addresses).collect();
    outcome.flows = addresses.iter().copied().map(Flow::between).collect();
    let connections = connected.iter().map(|connected| &connected.connection);
    let kernel_pacing: Vec<_> = connections.map(Connection::kernel_pacing).collect();
    on_progress(Progress::Started(Beginning {
        addresses: &addresses,
        kernel_pacing: &kernel_pacing,
        at: outcome.started,
    }));
    let mut made = Probes::default();
    let record = RefCell::new(Record::new(&setup.plan, interval, outcome, on_progress));
    let parts = sessions.iter().zip(agreed);
    let parts = parts.map(|(session, control)| session.run(control, &record));
    if setup.makes_probes {
        tokio::select! {
            _ = join_all(parts) => {}
            () = probes::run(setup, interrupts, &mut made) => {}
        }
    } else {
        join_all(parts).await;
    }
    drop(record);
    outcome.probes = setup.makes_probes.then_some(made);
    if let Some(error) = failed.send_replace(None) {
        outcome.error.get_or_insert(error);
    }
}

/// How long a run that the user ends may wait for what the server reports of it, and then for its
/// closes to leave: together less than [`ANSWER`](bench_kit::interrupt::ANSWER).
const LAST_REPORTS: Duration = Duration::from_millis(500);
const GOODBYE: Duration = Duration::from_millis(150);

/// Why what has arrived is not what was sent, if it is not. Where the run `is_limited` by time, a
/// side that has not come to the end knows no hash.
fn warning(Sha256 { sender, receiver }: Sha256, is_limited: bool) -> Option<String> {
    if is_limited && (sender.is_none() || receiver.is_none()) {
        return None;
    }
    let [sender, receiver] = [sender, receiver].map(|hash| hash.unwrap_or_else(|| "none".into()));
    (sender != receiver).then(|| {
        let receiver = printable(&receiver);
        let sender = printable(&sender);
        format!("data corrupted: SHA-256 {sender} sent, {receiver} received")
    })
}
