//! Careful Resume (RFC 9959) of the active path.

use super::congestion::Congestion;
#[cfg(feature = "qlog")]
use cc_core::ResumePhaseChange;
use cc_core::{ResumePlan, SavedPath};

impl Congestion {
    /// Begins with half of what `plan` says of the path. Before anything is sent.
    pub(crate) fn resume(&mut self, plan: ResumePlan) {
        self.guard(|this| this.path_mut().flow.resume(plan));
    }

    /// What a later connection may resume from.
    pub(crate) fn saved_path(&self) -> Option<SavedPath> {
        self.path().flow.saved_path()
    }

    /// Whether the path did not carry what the connection resumed from.
    pub(crate) fn has_retreated(&self) -> bool {
        self.path().flow.has_retreated()
    }

    /// The changes of phase since the last call.
    #[cfg(feature = "qlog")]
    pub(crate) fn take_phase_changes(&mut self) -> Vec<ResumePhaseChange> {
        std::mem::take(&mut self.path_mut().phase_changes)
    }
}
