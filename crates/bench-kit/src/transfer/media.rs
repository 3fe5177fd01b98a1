//! The frames of a video in datagrams, see [`crate::media`].

use super::arrivals::Ledger;
use crate::clock;
use crate::counters::Counters;
use crate::media::Encoder;
use crate::plan::Plan;
use paceline::{Connection, SendDatagramError};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// Makes and sends frames until the run is over.
///
/// # Errors
/// When their datagrams do not fit, or the other side takes none.
pub(super) async fn send(
    connection: Connection,
    plan: Plan,
    counters: Arc<Counters>,
    mut over: watch::Receiver<bool>,
) -> Result<(), String> {
    tokio::select! {
        biased;
        _ = over.wait_for(|is_over| *is_over) => Ok(()),
        sent = send_all(&connection, &plan, &counters) => sent,
    }
}

async fn send_all(connection: &Connection, plan: &Plan, counters: &Counters) -> Result<(), String> {
    let noise = super::content::filling(plan.extras.zeros);
    let clock = clock::process_id();
    let Some(mut encoder) = Encoder::new(plan, clock::process_time(), clock, noise) else {
        return Ok(());
    };
    loop {
        sleep_until(Instant::from_std(clock::at(encoder.due()))).await;
        let hint = connection.send_rate_hint();
        for datagram in encoder.frame(clock::process_time(), hint) {
            let size = datagram.len();
            match connection.send_datagram_with(datagram, encoder.options()) {
                Ok(_) => {}
                Err(SendDatagramError::ConnectionLost(_)) => return Ok(()),
                Err(error) => return Err(refused(&error, size, connection)),
            }
            counters.sent[0].fetch_add(size as u64, Ordering::Relaxed);
        }
        counters.datagrams.sent[0].store(encoder.datagrams(), Ordering::Relaxed);
        counters.frames.set_sent(encoder.made(), encoder.sent());
    }
}

fn refused(error: &SendDatagramError, size: usize, connection: &Connection) -> String {
    match (error, connection.max_datagram_size()) {
        (SendDatagramError::TooLarge, Some(largest)) => {
            format!("datagrams of {size} bytes too large for this path; use -l {largest} or less")
        }
        _ => format!("frames cannot be sent as datagrams: {error}; leave out --source"),
    }
}

/// Counts what arrives. A sender that does not keep to the form spoils nothing but its own figures.
pub(super) async fn receive(connection: Connection, counters: Arc<Counters>) -> Result<(), String> {
    let mut ledger = Ledger::default();
    while let Ok(datagram) = connection.read_datagram().await {
        let at = clock::process_time();
        let Some(arrived) = counters.frames.arrive(&datagram, at) else {
            continue;
        };
        counters
            .datagrams
            .set_arrivals(0, ledger.arrive(arrived.number, arrived.departure, at));
        counters.receive(0, datagram.len());
    }
    Ok(())
}
