//! What a flow under Paceline knows.

use super::ambient::{self, AmbientLoss};
use super::bandwidth::{Estimate, from_f64};
use super::counts::LossRuns;
use super::cycle::Cycle;
use super::loss_test::LossTest;
use super::numbers::{LEAST_TIME, seconds, to_f64};
use super::pairs::PairTest;
use super::params::Tuning;
use super::probe::Probe;
use super::rank::RankTest;
use super::reduction::Reductions;
use super::reference::Reference;
use super::round::Rounds;
use super::route::RouteChange;
use super::standing::Standing;
use super::startup::Startup;
use super::trim::Trim;
use crate::control::{Control, MIN_RATE, send_quantum};
use crate::controller::Setup;
use crate::params::Params;
use crate::parts::ack_aggregation::AckAggregation;
use crate::parts::windowed_max::WindowedMax;
use core::time::Duration;
use units::{Bandwidth, Bytes, Timestamp};

/// A flow under Paceline.
#[derive(Debug)]
pub(super) struct Paceline {
    pub(super) tuning: Tuning,
    pub(super) mss: Bytes,
    pub(super) cycle: Cycle,
    pub(super) rounds: Rounds,
    pub(super) reference: Reference,
    pub(super) route: RouteChange,
    pub(super) standing: Standing,
    pub(super) estimate: Estimate,
    pub(super) aggregation: AckAggregation<AGGREGATION_PERIODS>,
    /// What was in flight before each ACK, by the aggregation's period.
    pub(super) in_flight: WindowedMax<Bytes, AGGREGATION_PERIODS>,
    pub(super) startup: Startup,
    pub(super) probe: Probe,
    pub(super) ambient: AmbientLoss,
    pub(super) runs: LossRuns,
    pub(super) rank: RankTest,
    pub(super) pairs: PairTest,
    pub(super) loss_test: LossTest,
    pub(super) reductions: Reductions,
    pub(super) trim: Trim,
    /// The factor on the estimate in Cruise: in the round trip under way, and in the one before.
    pub(super) trim_factor: f64,
    pub(super) last_trim_factor: f64,
    /// Whether the round trip before showed congestion.
    pub(super) was_congested: bool,
    /// Since when packets leave at the estimate or below it, and behind no queue of Startup's. What
    /// left in an Up is judged by the Up.
    pub(super) calm_since: Timestamp,
    pub(super) cwnd: Bytes,
    /// Whether the window, reduced by persistent congestion, still limits the flow.
    pub(super) is_recovering: bool,
    pub(super) control: Control,
}

impl Paceline {
    pub(super) fn new(params: &Params, setup: &Setup) -> Self {
        let first_rtt = setup.srtt.unwrap_or(UNKNOWN_RTT);
        Self {
            tuning: Tuning::new(params),
            mss: setup.mss,
            cycle: Cycle::new(setup.seed),
            rounds: Rounds::new(setup.now),
            reference: Reference::new(seconds(first_rtt)),
            route: RouteChange::default(),
            standing: Standing::new(),
            estimate: Estimate::new(),
            aggregation: AckAggregation::new(setup.now),
            in_flight: WindowedMax::new(),
            startup: Startup::default(),
            probe: Probe::new(),
            ambient: AmbientLoss::new(),
            runs: LossRuns::new(),
            rank: RankTest::new(),
            pairs: PairTest::new(),
            loss_test: LossTest::default(),
            reductions: Reductions::default(),
            trim: Trim::default(),
            trim_factor: 1.0,
            last_trim_factor: 1.0,
            was_congested: false,
            calm_since: Timestamp::ZERO,
            cwnd: setup.initial_cwnd,
            is_recovering: false,
            control: Control {
                pacing_rate: MIN_RATE,
                ..Control::unpaced(setup.initial_cwnd)
            },
        }
    }

    /// The path's own loss as far as it is excused and made good: nothing where a queue loses the
    /// second of two packets, and nothing beside a queue that stands, unless half of the rate loses
    /// as much. A flow of few packets is one of many, and what many lose is rarely the path's.
    pub(super) fn ambient_loss(&self) -> f64 {
        let is_excused = !self.has_standing_queue() || self.ambient.is_verified();
        if !self.tuning.make_good || !is_excused || self.loses_seconds() {
            return 0.0;
        }
        let part = (self.crowd_packets() / MANY_PACKETS).min(1.0);
        self.ambient.loss().min(ambient::CAP * part)
    }

    /// Whether a full queue or a policer loses packets, as the pairs tell.
    pub(super) fn loses_seconds(&self) -> bool {
        self.tuning.pairs && self.pairs.is_queue()
    }

    /// Whether it is one of many flows, most likely.
    pub(super) fn has_few_packets(&self) -> bool {
        self.crowd_packets() < MANY_PACKETS
    }

    /// A BDP at the estimate, packets, but no less than what leaves in [`CROWD_TIME`]: a fast flow
    /// on a short path is not one of many for its few packets.
    fn crowd_packets(&self) -> f64 {
        self.packets_in(self.reference.get().max(CROWD_TIME))
    }

    /// How many packets the path loses in a row, in the mean: 1 where what is lost may be lost in a
    /// queue.
    pub(super) fn path_run(&self) -> f64 {
        if self.rank.is_high() || self.has_standing_queue() || self.has_few_packets() {
            1.0
        } else {
            self.runs.mean()
        }
    }

    pub(super) fn has_standing_queue(&self) -> bool {
        self.tuning.standing && self.standing.is_there(self.reference.jitter())
    }

    /// Bandwidth-delay product at the estimate, packets.
    pub(super) fn bdp(&self) -> f64 {
        self.packets_in(self.reference.get())
    }

    /// How long a round trip takes without a queue, s, as round trips are counted here.
    pub(super) fn round_time(&self) -> f64 {
        self.reference.get().max(seconds(LEAST_TIME))
    }

    /// What such a round trip takes at the estimate, packets.
    pub(super) fn round_packets(&self) -> f64 {
        self.packets_in(self.round_time())
    }

    /// What leaves at the estimate in `time` s, packets.
    fn packets_in(&self, time: f64) -> f64 {
        self.estimate.get() * time / to_f64(self.mss)
    }

    pub(super) fn packets(&self, bytes: Bytes) -> f64 {
        to_f64(bytes) / to_f64(self.mss)
    }

    /// How long a packet takes at the estimate, s.
    pub(super) fn packet_time(&self) -> f64 {
        to_f64(self.mss) / self.estimate.get().max(1.0)
    }

    /// How long a packet waits for the others of its burst at the estimate, s, in the mean.
    pub(super) fn burst_wait(&self) -> f64 {
        let estimate = self.estimate.get().max(1.0);
        to_f64(self.quantum(from_f64(estimate))) / 2.0 / estimate
    }

    /// What may leave at once at `rate`. Where packets are lost it is so much that two leave
    /// together, because pacers do not wait until all of it may leave. Not where a round trip takes
    /// few packets: two at once are too much for the shortest queues.
    pub(super) fn quantum(&self, rate: Bandwidth) -> Bytes {
        let is_lossy = self.loss_test.recent_loss() > 0.0;
        let shows_pairs = self.tuning.pairs && is_lossy && self.bdp() >= LEAST_PAIRED;
        send_quantum(rate, self.mss * if shows_pairs { 4 } else { 2 })
    }

    /// The most that was in flight of late, and so the most that ACKs can have held back. The
    /// window, which is the draft's bound (draft-ietf-ccwg-bbr-06 §5.5.9), is several times that
    /// of a flow that something else limits, and grows with the excess that it bounds.
    pub(super) fn most_in_flight(&self) -> Bytes {
        let most = self.in_flight.max_of(AGGREGATION_PERIODS as u64);
        most.unwrap_or_default()
    }

    pub(super) fn best_of_two_rounds(&self) -> f64 {
        self.rounds.last().rate().max(self.rounds.before().rate())
    }
}

/// Before the first sample: BBR's for its first rate (draft-ietf-ccwg-bbr-06 §5.6.2).
const UNKNOWN_RTT: Duration = Duration::from_millis(1);
/// The greatest excess of the last two periods of five round trips counts.
pub(super) const AGGREGATION_PERIODS: usize = 2;
const MANY_PACKETS: f64 = 32.0;
/// Packets.
const LEAST_PAIRED: f64 = 8.0;
/// s. With 5 ms eight flows of 50 Mbit/s before a short buffer lose 30 %; with 2 ms one flow of
/// 100 Mbit/s gives way to 15 % of random loss.
const CROWD_TIME: f64 = 0.003;
