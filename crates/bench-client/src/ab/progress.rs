//! What a test tells while it goes on.

use super::heat::Heat;
use bench_report::result::Round;
use bench_report::stats::Slot;
use std::time::Duration;

/// What a test tells while it goes on.
#[derive(Debug)]
pub(crate) enum AbProgress<'a> {
    /// These rounds have begun to connect. Not told in virtual time.
    Begun { heat: &'a Heat },
    /// They go on: time since their begin, and the payload that arrived or left here since the
    /// sample before, with that sample's length. Not told in virtual time.
    Moved {
        at: Duration,
        bytes: u64,
        length: Duration,
    },
    /// One is over. Rounds are told in their order, although they may have run at once.
    Ended { slot: Slot, round: &'a Round },
    /// The emulated link was not what it should have been.
    Complaint(String),
}
