//! The state of a flow; the rules that change it are in files of their own.

use super::congestion::Congestion;
use super::data_rate::DataRate;
use super::data_volume::DataVolume;
use super::late_packets::LatePackets;
use super::min_rtt::MinRtt;
use super::params::{INITIAL_RTT, MAX_EXTRA_ACKED_ROUNDS, Tuning};
use super::probe::Probe;
use super::recovery::RecoveryPolicy;
use super::revision::Revision;
use super::state::State;
use crate::control::MIN_RATE;
use crate::controller::Setup;
use crate::params::Params;
use crate::parts::ack_aggregation::AckAggregation;
use crate::parts::full_bandwidth::FullBandwidthEstimator;
use crate::parts::round::RoundCounter;
use crate::parts::transition::DeferredEvents;
use core::time::Duration;
use units::{Bandwidth, Bytes, Rng};

/// A flow under revision `R` of the draft.
#[derive(Debug)]
pub(crate) struct Bbr<R: Revision> {
    pub(super) tuning: Tuning,
    pub(super) initial_cwnd: Bytes,
    pub(super) mss: Bytes,
    pub(super) rng: Rng,
    pub(super) state: State,
    pub(super) round: RoundCounter,
    pub(super) full_bw: FullBandwidthEstimator,
    pub(super) rate: DataRate,
    pub(super) volume: DataVolume,
    pub(super) min_rtt: MinRtt,
    pub(super) aggregation: AckAggregation<MAX_EXTRA_ACKED_ROUNDS>,
    pub(super) congestion: Congestion,
    pub(super) late: LatePackets,
    /// The rule `adapts_down=on`, which no revision of the draft has.
    pub(super) adapts_down: bool,
    pub(super) probe: Probe,
    pub(super) recovery: R::Recovery,
    pub(super) cwnd: Bytes,
    /// The newest window that neither recovery nor ProbeRTT had reduced: `prior_cwnd`.
    pub(super) prior_cwnd: Bytes,
    pub(super) pacing_rate: Bandwidth,
    /// Whether the pacing rate rests on a measured round-trip time.
    pub(super) has_seen_rtt: bool,
    /// Whether nothing was acknowledged since the flow restarted from idle: `idle_restart`.
    pub(super) is_idle_restart: bool,
    pub(super) deferred: DeferredEvents,
}

impl<R: Revision> Bbr<R> {
    /// OnInit.
    pub(super) fn new(params: &Params, adapts_down: bool, setup: &Setup) -> Self {
        let tuning = Tuning::new(params);
        let rate = initial_pacing_rate(setup.initial_cwnd, setup.srtt, &tuning);
        Self {
            tuning,
            initial_cwnd: setup.initial_cwnd,
            mss: setup.mss,
            rng: Rng::derive(setup.seed, RNG_LABEL),
            state: State::Startup,
            round: RoundCounter::default(),
            full_bw: FullBandwidthEstimator::default(),
            rate: DataRate::new(),
            volume: DataVolume::new(),
            min_rtt: MinRtt::new(setup.now, setup.srtt),
            aggregation: AckAggregation::new(setup.now),
            congestion: Congestion::default(),
            late: LatePackets::new(),
            adapts_down,
            probe: Probe::default(),
            recovery: R::Recovery::new(setup.now),
            cwnd: setup.initial_cwnd,
            prior_cwnd: Bytes::ZERO,
            pacing_rate: rate,
            has_seen_rtt: setup.srtt.is_some_and(|srtt| !srtt.is_zero()),
            is_idle_restart: false,
            deferred: DeferredEvents::default(),
        }
    }
}

/// InitPacingRate: the initial window in a round-trip time, or in a millisecond while none is
/// known, at the pace of Startup.
pub(super) fn initial_pacing_rate(
    initial_cwnd: Bytes,
    srtt: Option<Duration>,
    tuning: &Tuning,
) -> Bandwidth {
    let rtt = srtt.filter(|srtt| !srtt.is_zero()).unwrap_or(INITIAL_RTT);
    let rate = Bandwidth::from_transfer(initial_cwnd, rtt) * tuning.startup_pacing_gain;
    rate.max(MIN_RATE)
}

/// BBR's stream of the connection's random numbers.
const RNG_LABEL: u64 = 0x0BB2_0003;
