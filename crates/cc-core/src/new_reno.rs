//! NewReno as QUIC has it (RFC 9002 §7): half on congestion, one packet more per round trip.

use crate::carry::Carry;
use crate::loss_based::{self, Avoidance, AvoidanceAck, LossBased};
use crate::registry::{ControllerSpec, ParamSpec, Range, Value};
use alloc::boxed::Box;
use units::{Bytes, Gain, Timestamp};

/// NewReno in the registry.
pub(crate) const SPEC: ControllerSpec = ControllerSpec {
    name: NewReno::NAME,
    aliases: &["reno"],
    summary: "NewReno (RFC 9002 section 7)",
    params: &PARAMS,
    build: |params, setup| {
        let avoidance = NewReno {
            loss_reduction: params.gain("loss_reduction"),
            rest: Carry::default(),
        };
        Box::new(LossBased::new(avoidance, params, setup))
    },
};

/// Additive increase, multiplicative decrease.
#[derive(Debug, Clone, Copy)]
struct NewReno {
    loss_reduction: Gain,
    rest: Carry,
}

impl Avoidance for NewReno {
    const NAME: &'static str = "new_reno";

    fn on_congestion(&mut self, cwnd: Bytes) -> Bytes {
        self.rest = Carry::default();
        cwnd * self.loss_reduction
    }

    fn on_full_path(&mut self, _: Bytes) {}

    fn on_persistent_congestion(&mut self) {}

    fn skip_time(&mut self, _: Timestamp) {}

    fn on_mtu(&mut self, _: Bytes) {}

    /// One packet for every window acknowledged (RFC 9002 §7.3.3).
    fn growth(&mut self, ack: &AvoidanceAck) -> Bytes {
        let product = u128::from(ack.mss.get()) * u128::from(ack.acked.get());
        Bytes::new(self.rest.divide(product, ack.cwnd.get()))
    }
}

const PARAMS: [ParamSpec; 6] = loss_based::params(
    loss_based::STANDARD,
    [ParamSpec {
        name: "loss_reduction",
        default: Value::Gain(Gain::new(1, 2)),
        range: Range::Between(
            Value::Gain(Gain::new(1, 10)),
            Value::Gain(Gain::new(95, 100)),
        ),
        summary: "share of the window that is left after congestion",
        source: "RFC 9002 section 7.3.2 (kLossReductionFactor)",
    }],
);

#[cfg(test)]
mod tests;
