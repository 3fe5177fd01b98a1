//! The progress of a run, and how it ends.

use super::outcome::Beginning;
use bench_kit::plan::Plan;
use bench_kit::sample::Sample;
use bench_report::result::iperf;
use std::time::Duration;

/// The progress of a run.
#[derive(Debug)]
pub(crate) enum Progress<'a> {
    /// The server is busy, and so many runs are ahead.
    Waiting(u32),
    /// The server has accepted the plan.
    Started(Beginning<'a>),
    /// The client's next sample of the connection with this number, from 0.
    Sample(usize, &'a Sample),
    /// The rows of an interval are full.
    Rows(&'a iperf::Interval),
}

impl Progress<'_> {
    /// Whether the measured part begins with this; the first connection's clock says so for all.
    pub(crate) fn begins_measuring(&self, plan: &Plan) -> bool {
        match self {
            Self::Started(_) => plan.omit.is_zero(),
            Self::Sample(0, sample) => sample.omitted && sample.at >= plan.omit,
            Self::Waiting(_) | Self::Sample(..) | Self::Rows(_) => false,
        }
    }
}

/// What a user is told while the server is busy, and so many runs are ahead.
pub(crate) fn waiting(ahead: u32) -> String {
    let runs = if ahead == 1 { "run" } else { "runs" };
    format!("The server is busy; waiting for {ahead} {runs} to end.")
}

/// The error of a run that the user ended.
pub(crate) const INTERRUPTED: &str = "interrupted";

/// How long a goodbye may take.
pub(super) const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
