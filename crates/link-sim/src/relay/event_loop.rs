//! The relay's thread.

use super::engine::Engine;
use super::poller::{Poller, Source};
use super::requests::Desk;
use super::stats::RelayStats;
use crate::realtime::sleep_precisely;
use std::io::{self, PipeReader};
use std::sync::OnceLock;

/// Works until the other end of `stop` is closed, and leaves the last figures in `ended`.
///
/// # Errors
/// When the kernel refuses to wait.
pub(super) fn run(
    mut engine: Engine,
    mut poller: Poller,
    desk: &Desk,
    stop: &PipeReader,
    ended: &OnceLock<RelayStats>,
) -> io::Result<()> {
    sleep_precisely();
    let result = work(&mut engine, &mut poller, desk, stop);
    // The desk is still open: who asks from now on gets no answer, but finds these.
    let _ = ended.set(engine.finish());
    result
}

fn work(
    engine: &mut Engine,
    poller: &mut Poller,
    desk: &Desk,
    stop: &PipeReader,
) -> io::Result<()> {
    poller.add(Source::Stop, stop)?;
    poller.add(Source::Requests, &desk.rung)?;
    let mut ready = Vec::new();
    loop {
        let wait = engine.turn(&ready, poller);
        poller.wait(wait, &mut ready)?;
        if ready.contains(&Source::Stop) {
            return Ok(());
        }
        if ready.contains(&Source::Requests) {
            desk.silence()?;
            while let Some(request) = desk.next() {
                engine.answer(request);
            }
        }
    }
}
