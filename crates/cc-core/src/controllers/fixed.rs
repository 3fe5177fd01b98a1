//! A constant rate, for measurements.
//!
//! `fixed:rate=50mbit` sends 50 Mbit/s whatever happens; `fixed:pacing=off,cwnd=64k` keeps 64 KiB
//! in flight. Nothing that is measured changes the decision, so its results depend on the transport
//! and the link alone. It is no congestion control: on a link that carries less than the rate, or
//! that others share, most of what it sends is lost, or theirs is.

use crate::control::{Control, send_quantum};
use crate::controller::{Controller, PathState};
use crate::events::LostPacket;
use crate::observer::{Observer, Snapshot};
use crate::params::tuning;
use crate::parts::fixed_rate::{RATE, RATES};
use crate::registry::ControllerSpec;
use crate::sampler::RateSample;
use alloc::boxed::Box;
use units::Bytes;

pub(crate) const SPEC: ControllerSpec = ControllerSpec {
    name: "fixed",
    aliases: &[],
    summary: "a constant rate, for measurements; unfit for shared networks",
    params: PARAMS,
    build: |params, setup| {
        Box::new(Fixed {
            tuning: Tuning::new(params),
            mss: setup.mss,
        })
    },
};

#[derive(Debug)]
struct Fixed {
    tuning: Tuning,
    mss: Bytes,
}

tuning! {
    struct Tuning, PARAMS;
    rate: bandwidth(RATE, RATES), "sending rate of UDP payload",
        "none: the user has to know what is measured";
    /// 86 s at 100 Mbit/s: more than any path holds.
    cwnd: bytes(Bytes::new(1 << 30), Bytes::new(1)..=Bytes::new(1 << 40)),
        "cwnd, even below two packets",
        "none: so large that the rate alone decides";
    quantum: bytes(Bytes::ZERO, Bytes::ZERO..=Bytes::new(16 << 20)),
        "send quantum; 0 is 1 ms at the rate, between 2 packets and 64 KiB",
        "draft-ietf-ccwg-bbr-06 section 5.6.3";
    pacing: switch(true), "pace at the rate; off: send whatever cwnd allows",
        "none: a window is measured without a rate";
}

impl Controller for Fixed {
    fn on_lost(&mut self, _: &PathState, _: &LostPacket, _: &mut dyn Observer) {}

    fn on_ack(&mut self, _: &PathState, _: &RateSample, _: &mut dyn Observer) {}

    fn on_mtu(&mut self, path: &PathState) {
        self.mss = path.mss;
    }

    fn control(&self) -> Control {
        let Tuning {
            rate,
            cwnd,
            quantum,
            pacing,
        } = self.tuning;
        if !pacing {
            return Control::unpaced(cwnd);
        }
        Control {
            cwnd,
            pacing_rate: rate,
            send_quantum: if quantum.is_zero() {
                send_quantum(rate, self.mss * 2)
            } else {
                quantum
            },
        }
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot::new(SPEC.name, "Fixed", self.control())
    }
}

#[cfg(test)]
mod tests;
