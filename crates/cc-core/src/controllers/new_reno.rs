//! NewReno as QUIC has it (RFC 9002 §7): half on congestion, one packet more per round trip.

use crate::parts::loss_based::{self, Avoidance, AvoidanceAck, CongestionSignal, LossBased};
use crate::parts::remainder::Remainder;
use crate::registry::{ControllerSpec, ParamSpec, Value};
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
            beta: params.gain("beta"),
            beta_ecn: params.gain("beta_ecn"),
            rest: Remainder::default(),
        };
        Box::new(LossBased::new(avoidance, params, setup))
    },
};

/// Additive increase, multiplicative decrease.
#[derive(Debug, Clone, Copy)]
struct NewReno {
    beta: Gain,
    beta_ecn: Gain,
    rest: Remainder,
}

impl Avoidance for NewReno {
    const NAME: &'static str = "new_reno";

    fn on_congestion(&mut self, cwnd: Bytes, signal: CongestionSignal) -> Bytes {
        self.rest = Remainder::default();
        match signal {
            CongestionSignal::Loss => cwnd * self.beta,
            CongestionSignal::Mark => cwnd * self.beta_ecn,
        }
    }

    fn on_full_path(&mut self, _: Bytes) {}

    fn on_persistent_congestion(&mut self) {}

    fn skip_time(&mut self, _: Timestamp) {}

    fn on_mtu(&mut self) {}

    /// One packet for every window acknowledged (RFC 9002 §7.3.3).
    fn growth(&mut self, ack: &AvoidanceAck) -> Bytes {
        let product = u128::from(ack.mss.get()) * u128::from(ack.acked.get());
        Bytes::new(self.rest.divide(product, ack.cwnd.get()))
    }
}

const PARAMS: [ParamSpec; 8] = loss_based::params(
    loss_based::STANDARD,
    [
        ParamSpec {
            name: "beta",
            default: Value::Gain(Gain::new(1, 2)),
            range: loss_based::BETAS,
            summary: "share of the window that is left after loss, or a mark in slow start",
            source: "RFC 9002 section 7.3.2 (kLossReductionFactor)",
        },
        ParamSpec {
            name: "beta_ecn",
            default: Value::Gain(Gain::new(8, 10)),
            range: loss_based::BETAS,
            summary: "share of the window that is left after a CE mark in congestion avoidance",
            source: "RFC 8511 section 3.1",
        },
    ],
);

#[cfg(test)]
mod tests;
