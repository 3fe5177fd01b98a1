//! The relay's thread.

use super::engine::Engine;
use super::poller::{Poller, Source};
use super::requests::RequestReceiver;
use super::stats::RelayStats;
use crate::realtime::minimize_timer_slack;
use std::io::{self, PipeReader};
use std::sync::OnceLock;

/// Works until the other end of `stop` is closed, and leaves the last figures in `ended`.
///
/// # Errors
/// When the kernel refuses to wait.
pub(super) fn run(
    mut engine: Engine,
    mut poller: Poller,
    requests: &RequestReceiver,
    stop: &PipeReader,
    ended: &OnceLock<RelayStats>,
) -> io::Result<()> {
    minimize_timer_slack();
    let result = work(&mut engine, &mut poller, requests, stop);
    // The desk is still open: who asks from now on gets no answer, but finds these.
    let _ = ended.set(engine.finish());
    result
}

fn work(
    engine: &mut Engine,
    poller: &mut Poller,
    requests: &RequestReceiver,
    stop: &PipeReader,
) -> io::Result<()> {
    poller.add(Source::Stop, stop)?;
    poller.add(Source::Requests, &requests.wake)?;
    let mut ready = Vec::new();
    loop {
        let wait = engine.turn(&ready, poller);
        poller.wait(wait, &mut ready)?;
        if ready.contains(&Source::Stop) {
            return Ok(());
        }
        if ready.contains(&Source::Requests) {
            requests.clear_wake()?;
            while let Some(request) = requests.next() {
                engine.answer(request);
            }
        }
    }
}
