//! CUBIC (RFC 9438): a window that returns quickly to its size before the congestion, stays near
//! it, then probes.
//!
//! ```text
//!  window           after a congestion event at W_max the window is β·W_max and follows
//!    │          ╱     W_cubic(t) = C·(t − K)³ + W_max,   K = ∛((W_max − β·W_max) ÷ C):
//!    │  W_max ─── ╴  concave up to K, convex after it. It depends on time, not on the RTT;
//!    │    ╱ :  :     where Reno would be faster, it is as fast as Reno (W_est).
//!    │ ╱    :
//!    └──────K────────▶ t
//! ```
//!
//! Slow start, recovery, undo and pacing are in `loss_based.rs`; the deviations from the RFC are
//! in `docs/cubic.md`.

mod curve;
mod stage;

use crate::params::{ParamSpec, Params, tuning};
use crate::parts::loss_based::{
    self, Avoidance, AvoidanceAck, BETAS, CongestionSignal, HYSTARTPP, LossBased, SHARED,
};
use crate::registry::ControllerSpec;
use alloc::boxed::Box;
use curve::Curve;
use stage::Stage;
use units::{Bytes, Gain, Timestamp};

pub(crate) const SPEC: ControllerSpec = ControllerSpec {
    name: Cubic::NAME,
    aliases: &[],
    summary: "CUBIC (RFC 9438) with HyStart++ (RFC 9406)",
    params: &PARAMS,
    build: |params, setup| Box::new(LossBased::new(Cubic::new(params), params, setup)),
};

/// Congestion avoidance of RFC 9438.
#[derive(Debug, Clone, Copy)]
struct Cubic {
    tuning: Tuning,
    /// α: what makes AIMD(α, β) as fast on average as Reno (§4.3). β is that of losses, also after
    /// a mark: Reno cuts less then, too.
    alpha: Gain,
    /// W_max: the window at the newest congestion, or less after fast convergence; `None` while
    /// undefined, as before the first congestion (§4.10) and after a collapse (§4.8).
    w_max: Option<Bytes>,
    /// cwnd_prior: the window at the newest congestion, or at the end of the first slow start.
    cwnd_prior: Bytes,
    /// `None` until the first ACK in congestion avoidance.
    stage: Option<Stage>,
}

tuning! {
    /// What a connection may choose for itself, beside what all loss-based controllers have.
    struct Tuning, OWN;
    beta: gain(Gain::new(7, 10), BETAS),
        "factor on cwnd after loss, or a CE mark in slow start",
        "RFC 9438 section 4.6";
    beta_ecn: gain(Gain::new(85, 100), BETAS),
        "factor on cwnd after a CE mark in congestion avoidance",
        "RFC 8511 section 3.1";
    c: gain(Gain::new(4, 10), Gain::new(1, 100)..=Gain::new(4, 1)),
        "constant C of the cubic function, in packets per second cubed", "RFC 9438 section 5.1";
    fast_convergence: switch(true), "fast convergence: release bandwidth sooner when W_max shrinks",
        "RFC 9438 section 4.7";
}

impl Cubic {
    fn new(params: &Params) -> Self {
        let tuning = Tuning::new(params);
        let beta = tuning.beta.millionths();
        Self {
            tuning,
            alpha: Gain::new(3 * (MILLION - beta), MILLION + beta),
            w_max: None,
            cwnd_prior: Bytes::ZERO,
            stage: None,
        }
    }

    /// W_max after congestion at `cwnd` that leaves `beta` of it (§4.7): where the window is below
    /// the former W_max, the flow reduces it further to release bandwidth to others. The reduction
    /// of the window itself is not affected.
    fn next_w_max(&self, cwnd: Bytes, beta: Gain) -> Bytes {
        let has_shrunk = self.w_max.is_some_and(|w_max| cwnd < w_max);
        if self.tuning.fast_convergence && has_shrunk {
            cwnd * Gain::from_millionths((MILLION + beta.millionths()) / 2)
        } else {
            cwnd
        }
    }
}

impl Avoidance for Cubic {
    const NAME: &'static str = "cubic";

    fn on_congestion(&mut self, cwnd: Bytes, signal: CongestionSignal) -> Bytes {
        let beta = match signal {
            CongestionSignal::Loss => self.tuning.beta,
            CongestionSignal::Mark => self.tuning.beta_ecn,
        };
        self.w_max = Some(self.next_w_max(cwnd, beta));
        self.cwnd_prior = cwnd;
        self.stage = None;
        cwnd * beta
    }

    fn on_slow_start_exit(&mut self, cwnd: Bytes) {
        self.cwnd_prior = cwnd;
    }

    fn on_persistent_congestion(&mut self) {
        self.w_max = None;
        self.stage = None;
    }

    fn skip_time(&mut self, now: Timestamp) {
        if let Some(stage) = &mut self.stage {
            stage.skip_time(now);
        }
    }

    /// C is in packets per s³: another packet size is another curve, from the present window.
    fn on_mtu(&mut self) {
        self.stage = None;
    }

    fn growth(&mut self, ack: &AvoidanceAck) -> Bytes {
        let stage = match &mut self.stage {
            Some(stage) => stage,
            none => none.insert(begin(&mut self.w_max, self.tuning.c, ack)),
        };
        // Reno's own α once the window of before the congestion is reached again (§4.3).
        let has_recovered = stage.estimate() >= self.cwnd_prior;
        let alpha = if has_recovered { Gain::ONE } else { self.alpha };
        stage.growth(ack, alpha)
    }
}

/// A stage from the window of `ack` on. Without a W_max that is its plateau, and K is zero.
#[cold]
fn begin(w_max: &mut Option<Bytes>, c: Gain, ack: &AvoidanceAck) -> Stage {
    let plateau = *w_max.get_or_insert(ack.cwnd);
    Stage::new(Curve::new(ack.cwnd, plateau, c, ack.mss), ack.cwnd, ack.now)
}

const PARAMS: [ParamSpec; OWN.len() + SHARED] = loss_based::params(OWN, HYSTARTPP);

const MILLION: u64 = 1_000_000;

#[cfg(test)]
mod tests;
