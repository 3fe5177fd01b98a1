//! Whether Cruise loses more than the path does by itself, or less.

use super::counts::Counts;

/// Two cumulative sums (Page 1954) over round trips, against the path's own loss p.
///
/// One adds up what is lost beyond 3/2 p, the other what is missing of p/2; each starts anew where
/// it becomes negative. Random loss of p lets neither grow for long. A flow that loses a little too
/// much for a second is found as surely as one that loses much in a round trip, and so is a loss
/// that has gone.
#[derive(Debug, Default)]
pub(super) struct LossTest {
    /// Packets.
    excess: f64,
    /// Packets.
    deficit: f64,
    /// Since the deficit was zero.
    since: Counts,
    /// The last [`RECENT`] packets of Cruise.
    recent: Counts,
}

impl LossTest {
    /// A round trip of `counts` has ended, on a path that loses `ambient` of all packets. Returns
    /// whether more is lost than the path explains, by `runs` times what proves it where packets
    /// are lost one by one.
    pub(super) fn has_excess(&mut self, counts: Counts, ambient: f64, runs: f64) -> bool {
        let expected = ambient + (ambient * MARGIN).max(LEAST_MARGIN);
        self.excess = (self.excess + counts.lost - counts.sent() * expected).max(0.0);
        let threshold = FEW_LOSSES + MORE_LOSSES * ambient / (ambient + HALF_OF_THEM);
        let has_excess = self.excess >= threshold * runs;
        if has_excess {
            self.excess = 0.0;
        }
        has_excess
    }

    /// All of `counts` left in Cruise, and the outcome of all is known. Returns what was counted
    /// if so few were lost of it that the path does not lose `ambient` any more.
    pub(super) fn refute(&mut self, counts: Counts, ambient: f64, run: f64) -> Option<Counts> {
        self.recent.add_bounded(counts, RECENT);
        self.since += counts;
        self.deficit += counts.sent() * ambient * MARGIN - counts.lost;
        if self.deficit <= 0.0 {
            self.start_anew();
        }
        if self.deficit < DEFICIT * run {
            return None;
        }
        let since = self.since;
        self.start_anew();
        Some(since)
    }

    /// By what the threshold for single losses is to be multiplied, so that losses in runs of `run`
    /// exceed it by chance as rarely.
    ///
    /// A sum that starts anew at zero reaches h in a share e^−Rh of all cases, with the R at which
    /// the mean of e^R(losses − allowance) is 1 (Lundberg's inequality). For runs of geometric
    /// length, and half of the loss more allowed, 1/R is as many times that of single losses,
    /// within 5 %.
    pub(super) fn runs_by_chance(run: f64) -> f64 {
        run + MORE_BY_CHANCE * (run - 1.0)
    }

    /// The loss of late in Cruise.
    pub(super) fn recent_loss(&self) -> f64 {
        self.recent.loss()
    }

    fn start_anew(&mut self) {
        self.deficit = 0.0;
        self.since = Counts::default();
    }
}

/// Of the path's own loss. By chance a sum that has left zero reaches h packets about once in e^h
/// times.
const MARGIN: f64 = 0.5;
/// What no eight Downs can tell from nothing.
const LEAST_MARGIN: f64 = 0.003;
/// Losses that prove an excess where none is expected, and how many more where some are: half of
/// them at a loss of 0.5 %.
const FEW_LOSSES: f64 = 3.5;
const MORE_LOSSES: f64 = 5.0;
const HALF_OF_THEM: f64 = 0.005;
const MORE_BY_CHANCE: f64 = 1.3;
/// Losses that have not happened.
const DEFICIT: f64 = 8.0;
/// Packets.
const RECENT: f64 = 100.0;
