//! A constant rate: a measuring stick.
//!
//! `fixed:rate=50mbit` sends 50 Mbit/s whatever happens; `fixed:pacing=off,cwnd=64k` keeps 64 KiB
//! in flight. Nothing that is measured changes the decision, so what is seen of such a sender is
//! the doing of the transport and of the link alone. It is no congestion control: on a link that
//! carries less than the rate, or that others share, most of what it sends is lost, or theirs is.

use crate::control::{Control, send_quantum};
use crate::controller::{Controller, PathState};
use crate::events::LostPacket;
use crate::observer::{Observer, Snapshot};
use crate::parts::fixed_rate::RATE;
use crate::registry::{ControllerSpec, ParamSpec, Params, Range, Value};
use crate::sampler::RateSample;
use alloc::boxed::Box;
use units::{Bandwidth, Bytes};

/// The constant rate in the registry.
pub(crate) const SPEC: ControllerSpec = ControllerSpec {
    name: "fixed",
    aliases: &[],
    summary: "a constant rate, a measuring stick; unfit for shared networks",
    params: &PARAMS,
    build: |params, setup| Box::new(Fixed::new(params, setup.mss)),
};

#[derive(Debug)]
struct Fixed {
    cwnd: Bytes,
    /// `None` without pacing.
    rate: Option<Bandwidth>,
    /// `None` where it follows from the rate and the packet size.
    quantum: Option<Bytes>,
    mss: Bytes,
}

impl Fixed {
    fn new(params: &Params, mss: Bytes) -> Self {
        let is_paced = params.switch("pacing");
        Self {
            cwnd: params.bytes("cwnd"),
            rate: is_paced.then(|| params.bandwidth("rate")),
            quantum: Some(params.bytes("quantum")).filter(|quantum| !quantum.is_zero()),
            mss,
        }
    }
}

impl Controller for Fixed {
    fn on_lost(&mut self, _: &PathState, _: &LostPacket, _: &mut dyn Observer) {}

    fn on_ack(&mut self, _: &PathState, _: &RateSample, _: &mut dyn Observer) {}

    fn on_mtu(&mut self, path: &PathState) {
        self.mss = path.mss;
    }

    fn control(&self) -> Control {
        let Some(rate) = self.rate else {
            return Control::unpaced(self.cwnd);
        };
        Control {
            cwnd: self.cwnd,
            pacing_rate: rate,
            send_quantum: self.quantum.unwrap_or_else(|| send_quantum(rate, self.mss)),
        }
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot::new(SPEC.name, "Fixed", self.control())
    }
}

const PARAMS: [ParamSpec; 4] = [
    RATE,
    ParamSpec {
        name: "cwnd",
        // 86 s at 100 Mbit/s: more than any path holds.
        default: Value::Bytes(Bytes::new(1 << 30)),
        range: Range::Between(
            Value::Bytes(Bytes::new(1)),
            Value::Bytes(Bytes::new(1 << 40)),
        ),
        summary: "window, as it is, even below two packets",
        source: "none: so large that the rate alone decides",
    },
    ParamSpec {
        name: "quantum",
        default: Value::Bytes(Bytes::ZERO),
        range: Range::Between(
            Value::Bytes(Bytes::ZERO),
            Value::Bytes(Bytes::new(16 << 20)),
        ),
        summary: "most that leaves at once; 0 is a millisecond's worth, 2 packets to 64 KiB",
        source: "draft-ietf-ccwg-bbr-06 section 5.6.3",
    },
    ParamSpec {
        name: "pacing",
        default: Value::Switch(true),
        range: Range::Any,
        summary: "whether there is a rate; without, the window leaves as it comes",
        source: "none: a window is measured without a rate",
    },
];

#[cfg(test)]
mod tests;
