//! The progress of a test.

use super::trial::Trial;
use bench_report::result::Round;
use bench_report::stats::Slot;
use std::time::Duration;

#[derive(Debug)]
pub(crate) enum AbProgress<'a> {
    /// These rounds have begun to connect. Not reported in virtual time.
    Begun { trial: &'a Trial },
    /// The server is busy, and so many runs are ahead of this round.
    Waiting(u32),
    /// They go on: time since their begin, and the payload that arrived or left here since the
    /// sample before, with that sample's length. Not reported in virtual time.
    Transferred {
        at: Duration,
        bytes: u64,
        length: Duration,
    },
    /// One is over. Rounds are reported in their order, although they may have run at once.
    Ended { slot: Slot, round: &'a Round },
    /// The emulated link was not what it should have been.
    Warning(String),
}
