//! How late the host sends.

use super::numbers::{seconds, to_f64};
use crate::control::Control;
use crate::controller::PathState;
use units::{Bytes, Timestamp};

/// For how long packets could have left and did not, because the host was busy with something
/// else: as long as the bucket of a [`Pacer`](crate::Pacer) is full while the window has room and
/// there is something that may be sent.
///
/// What is late by less the pacer makes good. The rest is never sent, so that the flow sends less
/// than its rate, and less is delivered.
///
/// The bucket is that of the pacer, in `f64`: the transport has it, and a controller does not see
/// it.
#[derive(Debug)]
pub(super) struct Lateness {
    /// Of the pacer, B/s.
    rate: f64,
    /// Of its bucket, bytes.
    depth: f64,
    /// What is in it, bytes: below zero after packets that do not wait.
    tokens: f64,
    filled_at: Timestamp,
    /// Whether a packet could leave but for the pacer.
    may_send: bool,
    /// s, since the last [`take`](Self::take).
    late: f64,
}

impl Lateness {
    pub(super) fn new(now: Timestamp) -> Self {
        Self {
            rate: 0.0,
            depth: 0.0,
            tokens: 0.0,
            filled_at: now,
            may_send: false,
            late: 0.0,
        }
    }

    /// `bytes` are about to leave; `path` is as it was before.
    pub(super) fn on_sent(&mut self, path: &PathState, bytes: Bytes, cwnd: Bytes) {
        self.fill(path);
        self.tokens = (self.tokens - to_f64(bytes)).max(-self.depth);
        self.may_send = path.inflight + bytes + path.mss <= cwnd;
    }

    /// From now on the pacer obeys `control`.
    pub(super) fn on_control(&mut self, path: &PathState, control: &Control) {
        self.fill(path);
        self.rate = control.pacing_rate.bytes_per_sec() as f64;
        self.depth = to_f64(control.send_quantum.max(path.mss));
        self.tokens = self.tokens.min(self.depth);
        self.may_send = !path.is_blocked && path.inflight + path.mss <= control.cwnd;
    }

    /// s, since the last call.
    pub(super) fn take(&mut self) -> f64 {
        core::mem::take(&mut self.late)
    }

    /// Whether there was nothing to send since the last call shows in `path`.
    fn fill(&mut self, path: &PathState) {
        let time = seconds(path.now.since(self.filled_at));
        self.filled_at = self.filled_at.max(path.now);
        self.tokens += self.rate * time;
        let excess = self.tokens - self.depth;
        if excess > 0.0 {
            self.tokens = self.depth;
            if self.may_send && !path.is_blocked {
                self.late += excess / self.rate;
            }
        }
    }
}
