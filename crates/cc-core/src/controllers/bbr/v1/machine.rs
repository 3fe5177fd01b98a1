//! The state of a flow; the rules that change it are in files of their own.

use super::bandwidth::MaxBandwidth;
use super::cycle::GainCycle;
use super::min_rtt::MinRtt;
use super::params::{EXTRA_ACKED_PERIODS, INITIAL_RTT, Tuning};
use super::policer::Policer;
use super::startup::Plateau;
use super::state::State;
use crate::control::MIN_RATE;
use crate::controller::Setup;
use crate::params::Params;
use crate::parts::ack_aggregation::AckAggregation;
use crate::parts::fast_recovery::FastRecovery;
use crate::parts::round::RoundCounter;
use crate::parts::transition::DeferredEvents;
use core::time::Duration;
use units::{Bandwidth, Bytes, Rng};

/// A flow under BBR version 1 that cycles as `C`.
#[derive(Debug)]
pub(crate) struct BbrV1<C> {
    pub(super) tuning: Tuning,
    pub(super) initial_cwnd: Bytes,
    pub(super) mss: Bytes,
    pub(super) rng: Rng,
    pub(super) state: State,
    pub(super) cycle: C,
    pub(super) round: RoundCounter,
    pub(super) plateau: Plateau,
    pub(super) max_bw: MaxBandwidth,
    pub(super) policer: Policer,
    pub(super) min_rtt: MinRtt,
    pub(super) aggregation: AckAggregation<EXTRA_ACKED_PERIODS>,
    pub(super) recovery: FastRecovery,
    /// Bytes of spurious losses since the newest ACK.
    pub(super) late: Bytes,
    pub(super) cwnd: Bytes,
    /// The newest window that neither recovery nor ProbeRTT had reduced: `prior_cwnd`.
    pub(super) prior_cwnd: Bytes,
    pub(super) pacing_rate: Bandwidth,
    /// Whether the pacing rate rests on a measured round-trip time: `has_seen_rtt`.
    pub(super) has_seen_rtt: bool,
    /// Whether nothing was acknowledged since the flow restarted from idle: `idle_restart`.
    pub(super) is_idle_restart: bool,
    pub(super) deferred: DeferredEvents,
}

impl<C: GainCycle> BbrV1<C> {
    /// `bbr_init`.
    pub(crate) fn new(params: &Params, setup: &Setup) -> Self {
        let tuning = Tuning::new(params);
        Self {
            tuning,
            initial_cwnd: setup.initial_cwnd,
            mss: setup.mss,
            rng: Rng::derive(setup.seed, RNG_LABEL),
            state: State::Startup,
            cycle: C::new(setup.now),
            round: RoundCounter::default(),
            plateau: Plateau::default(),
            max_bw: MaxBandwidth::new(tuning.bw_rounds),
            policer: Policer::default(),
            min_rtt: MinRtt::new(setup.now, setup.srtt),
            aggregation: AckAggregation::new(setup.now),
            recovery: FastRecovery::new(setup.now),
            late: Bytes::ZERO,
            cwnd: setup.initial_cwnd,
            prior_cwnd: Bytes::ZERO,
            pacing_rate: initial_pacing_rate(setup.initial_cwnd, setup.srtt, &tuning),
            has_seen_rtt: setup.srtt.is_some_and(|srtt| !srtt.is_zero()),
            is_idle_restart: false,
            deferred: DeferredEvents::default(),
        }
    }

    /// `bbr_bw`: what the policer lets through where there is one, otherwise the highest rate.
    pub(super) fn bw(&self) -> Bandwidth {
        self.policer
            .bandwidth()
            .unwrap_or_else(|| self.max_bw.get())
    }
}

/// `bbr_init_pacing_rate_from_rtt`: the initial window in a round-trip time, or in a millisecond
/// while none is known, at the pace of Startup.
pub(super) fn initial_pacing_rate(
    initial_cwnd: Bytes,
    srtt: Option<Duration>,
    tuning: &Tuning,
) -> Bandwidth {
    let rtt = srtt.filter(|srtt| !srtt.is_zero()).unwrap_or(INITIAL_RTT);
    let bandwidth = Bandwidth::from_transfer(initial_cwnd, rtt);
    (bandwidth * tuning.high_gain * tuning.pacing_margin.complement()).max(MIN_RATE)
}

/// BBR version 1's stream of the connection's random numbers.
const RNG_LABEL: u64 = 0x0BB2_0001;
