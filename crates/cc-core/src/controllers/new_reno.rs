//! NewReno as QUIC has it (RFC 9002 §7): half on congestion, one packet more per round trip.

use crate::params::{ParamSpec, tuning};
use crate::parts::loss_based::{
    self, Avoidance, AvoidanceAck, BETAS, CongestionSignal, LossBased, SHARED, STANDARD,
};
use crate::parts::remainder::Remainder;
use crate::registry::ControllerSpec;
use alloc::boxed::Box;
use units::{Bytes, Gain, Timestamp};

pub(crate) const SPEC: ControllerSpec = ControllerSpec {
    name: NewReno::NAME,
    aliases: &["reno"],
    summary: "NewReno (RFC 9002 section 7)",
    params: &PARAMS,
    build: |params, setup| {
        let avoidance = NewReno {
            tuning: Tuning::new(params),
            rest: Remainder::default(),
        };
        Box::new(LossBased::new(avoidance, params, setup))
    },
};

/// Additive increase, multiplicative decrease.
#[derive(Debug, Clone, Copy)]
struct NewReno {
    tuning: Tuning,
    rest: Remainder,
}

tuning! {
    /// What a connection may choose for itself, beside what all loss-based controllers have.
    struct Tuning, OWN;
    beta: gain(Gain::new(1, 2), BETAS),
        "factor on cwnd after loss, or a CE mark in slow start",
        "RFC 9002 section 7.3.2 (kLossReductionFactor)";
    beta_ecn: gain(Gain::new(8, 10), BETAS),
        "factor on cwnd after a CE mark in congestion avoidance",
        "RFC 8511 section 3.1";
}

impl Avoidance for NewReno {
    const NAME: &'static str = "new_reno";

    fn on_congestion(&mut self, cwnd: Bytes, signal: CongestionSignal) -> Bytes {
        self.rest = Remainder::default();
        match signal {
            CongestionSignal::Loss => cwnd * self.tuning.beta,
            CongestionSignal::Mark => cwnd * self.tuning.beta_ecn,
        }
    }

    fn on_slow_start_exit(&mut self, _: Bytes) {}

    fn on_persistent_congestion(&mut self) {}

    fn skip_time(&mut self, _: Timestamp) {}

    fn on_mtu(&mut self) {}

    /// One packet for every window acknowledged (RFC 9002 §7.3.3).
    fn growth(&mut self, ack: &AvoidanceAck) -> Bytes {
        let product = u128::from(ack.mss.get()) * u128::from(ack.acked.get());
        Bytes::new(self.rest.divide(product, ack.cwnd.get()))
    }
}

const PARAMS: [ParamSpec; OWN.len() + SHARED] = loss_based::params(OWN, STANDARD);

#[cfg(test)]
mod tests;
