//! NewReno as QUIC has it (RFC 9002 §7).

use crate::control::Control;
use crate::controller::{Controller, PathState, Setup};
use crate::delivery_rate::RateSample;
use crate::event::LostPacket;
use crate::observe::{Observer, Snapshot};
use crate::registry::ControllerSpec;
use alloc::boxed::Box;
use units::{Bytes, Gain, Timestamp};

/// NewReno in the registry.
pub(crate) const SPEC: ControllerSpec = ControllerSpec {
    name: "new_reno",
    aliases: &["reno"],
    summary: "NewReno (RFC 9002 section 7)",
    params: &[],
    build: |_params, setup| Box::new(NewReno::new(setup)),
};

/// Window, threshold and when the recovery period began.
#[derive(Debug)]
struct NewReno {
    cwnd: Bytes,
    ssthresh: Bytes,
    recovery_start: Option<Timestamp>,
    mss: Bytes,
}

impl NewReno {
    fn new(setup: &Setup) -> Self {
        Self {
            cwnd: setup.initial_cwnd,
            ssthresh: Bytes::MAX,
            recovery_start: None,
            mss: setup.mss,
        }
    }

    /// Halves the window, once for all that was sent before (RFC 9002 §7.3.2).
    fn on_congestion(&mut self, now: Timestamp, sent_at: Timestamp) {
        if self.recovery_start.is_some_and(|start| sent_at <= start) {
            return;
        }
        self.recovery_start = Some(now);
        self.ssthresh = (self.cwnd * LOSS_REDUCTION).max(self.mss * 2);
        self.cwnd = self.ssthresh;
    }
}

impl Controller for NewReno {
    fn on_lost(&mut self, path: &PathState, packet: &LostPacket, _: &mut dyn Observer) {
        self.on_congestion(path.now, packet.stamp.sent_at);
    }

    fn on_ack(&mut self, path: &PathState, sample: &RateSample, _: &mut dyn Observer) {
        if sample.ce_marked > 0 {
            self.on_congestion(path.now, sample.newest_sent_at);
        }
        let in_recovery = self
            .recovery_start
            .is_some_and(|start| sample.newest_sent_at <= start);
        if in_recovery || !path.is_cwnd_limited {
            return;
        }
        if self.cwnd < self.ssthresh {
            self.cwnd += sample.newly_acked;
        } else {
            self.cwnd += Bytes::new(self.mss.get() * sample.newly_acked.get() / self.cwnd.get());
        }
    }

    fn on_persistent_congestion(&mut self, _: &PathState, _: &mut dyn Observer) {
        self.cwnd = self.mss * 2;
        self.recovery_start = None;
    }

    fn on_mtu(&mut self, path: &PathState) {
        self.mss = path.mss;
        self.cwnd = self.cwnd.max(self.mss * 2);
    }

    fn control(&self) -> Control {
        Control::unpaced(self.cwnd)
    }

    fn snapshot(&self) -> Snapshot {
        let state = if self.cwnd < self.ssthresh {
            "SlowStart"
        } else {
            "CongestionAvoidance"
        };
        let mut snapshot = Snapshot::new(SPEC.name, state, self.control());
        snapshot.ssthresh = (self.ssthresh != Bytes::MAX).then_some(self.ssthresh);
        snapshot
    }
}

/// kLossReductionFactor (RFC 9002 appendix B.1).
const LOSS_REDUCTION: Gain = Gain::new(1, 2);
