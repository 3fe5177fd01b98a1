//! The ProbeBW cycle: down, cruise, refill, up (draft-ietf-ccwg-bbr-06 §5.3.3).

use super::params::{MAX_UP_ROUNDS, Tuning};
use super::revision::UpEnd;
use super::state::State;
use super::{Bbr, Revision};
use crate::controller::PathState;
use crate::parts::transition::Moment;
use crate::sampler::RateSample;
use core::time::Duration;
use units::{Bytes, Gain, Rng, Timestamp};

/// What acknowledgements tell about the probes for bandwidth, across states.
#[derive(Debug, Default)]
pub(super) struct Probe {
    /// `ack_phase`.
    ack_phase: AckPhase,
    /// Whether packets of a probe are being acknowledged: `is_bw_probe_sample`.
    pub(super) is_sample: bool,
    /// Whether the newest probe lost too much: `prev_probe_too_high`.
    pub(super) went_too_high: bool,
    /// Whether the newest probe ended early at the bound of one that lost too much:
    /// `prev_probe_precautionary`.
    was_precautionary: bool,
}

impl Probe {
    /// The sending of a probe, or of what took its place, has ended; its feedback still comes.
    pub(super) fn stop(&mut self) {
        self.ack_phase = AckPhase::ProbeStopping;
    }
}

/// What the acknowledgements at hand are about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum AckPhase {
    /// ACKS_INIT: no probe.
    #[default]
    Init,
    /// ACKS_REFILLING: the pipe is being filled at the estimated rate.
    Refilling,
    /// ACKS_PROBE_STARTING: a probe is being sent, its feedback not here yet.
    ProbeStarting,
    /// ACKS_PROBE_FEEDBACK: a probe is being sent and told about.
    ProbeFeedback,
    /// ACKS_PROBE_STOPPING: a probe was sent and is still told about.
    ProbeStopping,
}

/// How long to wait until the next probe; begins with ProbeBW_DOWN, goes on through
/// ProbeBW_CRUISE.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProbeWait {
    /// `cycle_stamp`.
    started_at: Timestamp,
    /// `bw_probe_wait`.
    limit: Duration,
    /// `rounds_since_probe_up`.
    rounds: u64,
}

impl ProbeWait {
    /// PickProbeWait: random, so that flows mix.
    fn pick(now: Timestamp, tuning: &Tuning, rng: &mut Rng) -> Self {
        Self {
            started_at: now,
            rounds: rng.below(2),
            limit: rng.duration_between(tuning.probe_wait_min, tuning.probe_wait_max),
        }
    }

    pub(super) fn on_round(&mut self) {
        self.rounds += 1;
    }
}

/// One ProbeBW_UP, and how `inflight_longterm` grows in it: by 1, 2, 4 … packets per round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Climb {
    /// When it began; -02's `cycle_stamp`.
    started_at: Timestamp,
    /// `bw_probe_up_rounds`.
    rounds: u32,
    /// Acknowledged since the last growth: `bw_probe_up_acked`.
    acked: Bytes,
    /// To be acknowledged for growth by a packet: `probe_up_acked_per_inc`.
    acked_per_packet: Bytes,
}

impl Climb {
    fn new(now: Timestamp, cwnd: Bytes, mss: Bytes) -> Self {
        let mut climb = Self {
            started_at: now,
            rounds: 0,
            acked: Bytes::ZERO,
            acked_per_packet: Bytes::MAX,
        };
        climb.steepen(cwnd, mss);
        climb
    }

    /// RaiseInflightLongtermSlope: twice as many packets in the coming round as in the last.
    fn steepen(&mut self, cwnd: Bytes, mss: Bytes) {
        let packets = 1_u64 << self.rounds;
        self.rounds = (self.rounds + 1).min(MAX_UP_ROUNDS);
        self.acked_per_packet = (cwnd / packets).max(mss);
    }

    /// How many packets the bound grows by for `newly_acked`; the remainder is kept.
    fn grow(&mut self, newly_acked: Bytes) -> u64 {
        self.acked += newly_acked;
        let packets = self.acked.packets_floor(self.acked_per_packet);
        self.acked = self.acked % self.acked_per_packet;
        packets
    }
}

impl<R: Revision> Bbr<R> {
    /// StartProbeBW_DOWN.
    pub(super) fn start_down(&mut self, at: &mut Moment<'_>) {
        self.congestion.reset();
        self.probe.stop();
        self.round.restart(at.path.delivered);
        self.start_listening(at.path);
        let wait = ProbeWait::pick(at.path.now, &self.tuning, &mut self.rng);
        at.transition(&mut self.state, State::Down(wait));
    }

    /// StartProbeBW_CRUISE.
    pub(super) fn start_cruise(&mut self, at: &mut Moment<'_>) {
        if let State::Down(wait) = self.state {
            at.transition(&mut self.state, State::Cruise(wait));
        }
    }

    /// StartProbeBW_REFILL.
    pub(super) fn start_refill(&mut self, at: &mut Moment<'_>) {
        self.reset_short_term_model();
        self.probe.was_precautionary = false;
        self.probe.ack_phase = AckPhase::Refilling;
        self.round.restart(at.path.delivered);
        at.transition(&mut self.state, State::Refill);
    }

    /// StartProbeBW_UP.
    fn start_up(&mut self, at: &mut Moment<'_>, sample: &RateSample) {
        self.probe.is_sample = true;
        self.probe.ack_phase = AckPhase::ProbeStarting;
        self.round.restart(at.path.delivered);
        if R::RULES.up_ends == UpEnd::Plateau {
            self.restart_plateau(sample);
        }
        let climb = Climb::new(at.path.now, self.cwnd, self.mss);
        at.transition(&mut self.state, State::Up(climb));
    }

    /// UpdateProbeBWCyclePhase.
    pub(super) fn update_probe_bw_cycle(&mut self, at: &mut Moment<'_>, sample: &RateSample) {
        if !self.full_pipe.is_reached || self.adapt_long_term_model(at, sample) {
            return;
        }
        match self.state {
            State::Down(wait) => {
                if self.is_time_to_probe_bw(at.path.now, &wait) {
                    self.start_refill(at);
                } else if self.is_time_to_cruise(at.path.inflight) {
                    self.start_cruise(at);
                }
            }
            State::Cruise(wait) => {
                if self.is_time_to_probe_bw(at.path.now, &wait) {
                    self.start_refill(at);
                }
            }
            State::Refill => {
                if self.round.is_start {
                    self.start_up(at, sample);
                }
            }
            State::Up(climb) => {
                if self.is_time_to_go_down(at.path, sample, &climb) {
                    // What it lost, the feedback still to come will tell.
                    self.probe.went_too_high = false;
                    self.start_down(at);
                }
            }
            State::Startup | State::Drain { .. } | State::ProbeRtt(_) => {}
        }
    }

    /// AdaptLongTermModel; true where it has moved the state machine.
    fn adapt_long_term_model(&mut self, at: &mut Moment<'_>, sample: &RateSample) -> bool {
        if self.round.is_start && self.on_probe_round(at, sample) {
            return true;
        }
        let is_bounded = self.volume.longterm != Bytes::MAX;
        let is_judged = R::RULES.acks_end_probes && self.probe.is_sample;
        let flight = self.flight(at.path, sample);
        if (is_bounded || is_judged) && self.is_inflight_too_high(&flight) {
            if is_judged {
                self.handle_inflight_too_high(at, &flight);
            }
        } else if is_bounded {
            self.volume.longterm = self.volume.longterm.max(sample.tx_in_flight);
            self.probe_inflight_longterm_upward(at.path, sample);
        }
        false
    }

    /// A round has ended: what do the acknowledgements speak of from now on? True where the answer
    /// has moved the state machine.
    fn on_probe_round(&mut self, at: &mut Moment<'_>, sample: &RateSample) -> bool {
        match self.probe.ack_phase {
            AckPhase::ProbeStarting => {
                self.probe.ack_phase = AckPhase::ProbeFeedback;
                false
            }
            AckPhase::ProbeStopping => {
                self.probe.is_sample = false;
                // Without this the filter would age every round instead of every cycle.
                self.probe.ack_phase = AckPhase::Init;
                if !self.state.is_probe_bw() {
                    return false;
                }
                if !sample.is_app_limited {
                    self.rate.advance();
                }
                // A precautionary probe that did no harm: now a whole one.
                let is_safe = self.probe.was_precautionary && !self.probe.went_too_high;
                if is_safe {
                    self.start_refill(at);
                }
                is_safe
            }
            AckPhase::Init | AckPhase::Refilling | AckPhase::ProbeFeedback => false,
        }
    }

    /// ProbeInflightLongtermUpward.
    fn probe_inflight_longterm_upward(&mut self, path: &PathState, sample: &RateSample) {
        let State::Up(climb) = &mut self.state else {
            return;
        };
        if !path.is_cwnd_limited || self.cwnd < self.volume.longterm {
            return;
        }
        let packets = climb.grow(sample.newly_acked);
        self.volume.longterm = self.volume.longterm.saturating_add(self.mss * packets);
        if self.round.is_start {
            climb.steepen(self.cwnd, self.mss);
        }
    }

    /// IsTimeToProbeBW: by the clock, or after as many rounds as Reno would need to grow by what
    /// the probe may cost it.
    fn is_time_to_probe_bw(&self, now: Timestamp, wait: &ProbeWait) -> bool {
        // Reno needs a round for each packet of the BDP: rounds ≥ ⌈target ÷ packet⌉.
        now > wait.started_at + wait.limit
            || wait.rounds >= self.tuning.probe_wait_rounds
            || self.mss * wait.rounds >= self.target_inflight()
    }

    /// IsTimeToCruise: the queue is gone and there is headroom.
    fn is_time_to_cruise(&self, inflight: Bytes) -> bool {
        inflight <= self.volume.with_headroom(&self.tuning, self.mss)
            && inflight <= self.inflight(self.rate.max_bw(), Gain::ONE)
    }

    /// IsTimeToGoDown.
    fn is_time_to_go_down(&mut self, path: &PathState, sample: &RateSample, up: &Climb) -> bool {
        match R::RULES.up_ends {
            UpEnd::Queue => self.is_queue_built(path, up),
            UpEnd::Plateau => self.is_plateau_reached(path, sample),
        }
    }

    /// Whether the probe has lasted and filled the path at its pace.
    fn is_queue_built(&self, path: &PathState, up: &Climb) -> bool {
        let min_rtt = self.min_rtt.get().unwrap_or_default();
        let target = self.inflight(self.rate.max_bw(), self.tuning.up_pacing_gain);
        path.now > up.started_at + min_rtt && path.inflight > target
    }

    /// Whether the rate is flat, or what was too much the last time is in flight again.
    fn is_plateau_reached(&mut self, path: &PathState, sample: &RateSample) -> bool {
        if self.probe.went_too_high && path.inflight >= self.volume.longterm {
            self.probe.was_precautionary = true;
            return true;
        }
        if path.is_cwnd_limited && self.cwnd >= self.volume.longterm {
            // The bound and not the path holds the rate down: no plateau can be judged.
            self.restart_plateau(sample);
            return false;
        }
        self.full_pipe.is_now
    }

    /// ResetFullBW.
    fn restart_plateau(&mut self, sample: &RateSample) {
        let rate = sample.delivery_rate.unwrap_or_default();
        self.full_pipe.restart(rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1_200);

    #[test]
    fn the_bound_climbs_by_1_2_4_packets_per_round() {
        let cwnd = MSS * 64;
        let mut climb = Climb::new(Timestamp::ZERO, cwnd, MSS);
        let mut growth = [0; 4];
        for packets in &mut growth {
            // One round: a window's worth of acknowledgements, a packet each.
            *packets = (0..64).map(|_| climb.grow(MSS)).sum::<u64>();
            climb.steepen(cwnd, MSS);
        }
        assert_eq!(growth, [1, 2, 4, 8]);
    }

    #[test]
    fn the_climb_is_never_steeper_than_doubling_nor_does_its_step_overflow() {
        let mut climb = Climb::new(Timestamp::ZERO, MSS * 64, MSS);
        for _ in 0..100 {
            climb.steepen(MSS * 64, MSS);
        }
        assert_eq!(climb.grow(MSS * 64), 64);
    }

    #[test]
    fn waits_are_two_to_three_seconds_and_differ_by_seed() {
        use crate::controllers::bbr::v3::draft_06::PARAMS;
        let tuning = Tuning::new(&crate::registry::Params::defaults(PARAMS));
        let pick = |seed| ProbeWait::pick(Timestamp::ZERO, &tuning, &mut Rng::new(seed)).limit;
        assert!((0..100).all(|seed| (2..3).contains(&pick(seed).as_secs())));
        assert_ne!(pick(1), pick(2));
        assert_eq!(pick(1), pick(1));
    }
}
