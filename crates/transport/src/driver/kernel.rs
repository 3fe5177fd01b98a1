//! What the kernel is asked for a connection's packets: departure times and a DSCP.

use super::close_reason::{Cause, PendingClose};
use super::state::ConnectionDriver;
use crate::dscp::Dscp;
use crate::kernel_pacing::{KernelPacing, NoKernelPacing};

impl ConnectionDriver {
    /// That of all packets.
    pub(crate) fn dscp(&self) -> Dscp {
        self.schedule.dscp
    }

    pub(crate) fn set_dscp(&mut self, dscp: Dscp) {
        self.schedule.dscp = dscp;
    }

    /// Whether the kernel is asked to time departures.
    pub(crate) fn kernel_pacing_mode(&self) -> KernelPacing {
        self.schedule.mode()
    }

    /// Whether it does on the present path, or why not.
    pub(crate) fn kernel_pacing(&self) -> Result<(), NoKernelPacing> {
        self.schedule.verdict().clone()
    }

    /// From now on packets leave by the kernel's clock, or by the caller's.
    ///
    /// A connection that begins, where the kernel has to and cannot, is closed by the next
    /// [`Self::handle_timeout`], which is due at once. One that has come to another path goes on.
    pub(crate) fn set_kernel_pacing(&mut self, verdict: Result<(), NoKernelPacing>) {
        let former = self.schedule.verdict();
        let is_first = *former == Err(NoKernelPacing::NotBegun);
        match &verdict {
            Err(reason) if self.schedule.mode() == KernelPacing::On => {
                if is_first {
                    let reason = format!("no kernel pacing: {reason}");
                    self.pending_close = Some(PendingClose {
                        at: self.now,
                        cause: Cause::KernelPacing(reason),
                    });
                } else {
                    tracing::warn!(%reason, "no kernel pacing on this path");
                }
            }
            Err(reason) => tracing::debug!(%reason, "no kernel pacing"),
            Ok(()) => {}
        }
        self.schedule.set_verdict(verdict);
    }

    /// A packet has arrived before it was to leave. Without departure times that are kept, packets
    /// would leave in bursts, and round-trip times be measured too short.
    pub(super) fn give_up_kernel_pacing(&mut self) {
        if self.schedule.verdict().is_ok() {
            let reason = NoKernelPacing::Ignored;
            tracing::warn!(%reason, "no kernel pacing any more");
            self.schedule.set_verdict(Err(reason));
        }
    }
}
