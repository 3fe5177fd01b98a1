//! Paceline: a rate that deliveries prove, a queue that its own mean shows, and loss that the flow
//! did not cause made good. docs/paceline.md is its specification.
//!
//! The algorithm in eight lines.
//! 1. The *estimate* is a control variable: Ups that deliver more raise it, a queue that grows
//!    lowers it by the factor by which all senders together were too fast, loss that the flow
//!    causes lowers it to 90 % of what is delivered.
//! 2. A queue is what the *mean* RTT of a round trip has above the least such mean of ten seconds,
//!    and more than the mean varies by itself. A flow that cruises beside one for two round trips
//!    sends less until it has drained as much; what is there then is not its own.
//! 3. Every few round trips one *Up* sends more, one *Down* less. What the Up delivers tells the
//!    flow's share of the bottleneck: with a share of x, 1 + s times the rate arrives as
//!    (1 + s) ÷ (1 + s·x).
//! 4. The step s is 6 % of the *bottleneck*, 6 % ÷ x of the flow, and no less than eight packets:
//!    flows of a kind push each other by the same amount, which makes them equal.
//! 5. What is lost of packets that left in Down is the path's own loss, unless a queue was there.
//!    As much more is sent as is lost so, so that the estimate *arrives*; beside a queue that
//!    stands only if half of the rate loses as much.
//! 6. Packets lost beside long RTTs are lost in a full queue, whatever the jitter: a rank test. So
//!    they are where the second of two packets that leave together is lost more often than the
//!    first, whoever fills that queue: a test of pairs.
//! 7. Cruise that loses more than the path for long reduces the estimate; a reduction that leaves
//!    the loss as it was is taken back. Cruise that loses less disproves the path's loss.
//! 8. While the RTT rises within a round trip no more is sent than what arrives. An RTT that steps
//!    up and stays is a longer path.
//!
//! The diagram of its phases is at [`Phase`]. All quantities are `f64` in seconds, bytes and
//! packets, and only added, subtracted, multiplied, divided, compared and converted: IEEE 754
//! defines the result of each to the bit, so a run repeats on every machine.

mod ambient;
mod bandwidth;
mod control;
mod counts;
mod cruise;
mod cycle;
mod lateness;
mod loss_test;
mod numbers;
mod pairs;
mod params;
mod probe;
mod rank;
mod reduction;
mod reference;
mod rise;
mod round;
mod route;
mod signs;
mod standing;
mod startup;
mod state;
#[cfg(test)]
mod tests;
mod trim;
mod window;

use crate::control::Control;
use crate::controller::{Controller, PathState, ResumedWindow};
use crate::events::LostPacket;
use crate::observer::{Observer, Snapshot};
use crate::parts::cwnd::resized_window;
use crate::parts::transition::{EventContext, Machine as _};
use crate::registry::ControllerSpec;
use crate::sampler::RateSample;
use alloc::boxed::Box;
use bandwidth::from_f64;
use control::LEAST_PACKETS;
use cycle::Phase;
use numbers::{duration, seconds, to_f64, to_gain};
use params::PARAMS;
use probe::{Conditions, FIRST_STEP};
use round::Round;
use route::Sample;
use signs::Signs;
use standing::Standing;
use state::Paceline;
use units::{Bandwidth, Bytes, Gain, Timestamp};

pub(crate) const SPEC: ControllerSpec = ControllerSpec {
    name: "paceline",
    aliases: &[],
    summary: "for unknown paths: random loss made good, short queues",
    params: PARAMS,
    build: |params, setup| Box::new(Paceline::decided(params, setup)),
};

impl Paceline {
    /// Once per round trip: what it has shown, and what follows.
    fn on_round(&mut self, context: &mut EventContext<'_>) {
        let phase = self.cycle.phase;
        let last = self.rounds.last();
        let packet_time = self.packet_time();
        let Some(mut round) = self
            .rounds
            .end(context.path.now, self.reference.get(), packet_time)
        else {
            return;
        };
        round.is_limited |= self.is_recovering;
        self.measure(context.path.now, &round, &last);
        let signs = self.signs(&round);
        self.discard_suspect(&round, &signs);
        let sent_factor = core::mem::replace(&mut self.trim_factor, 1.0);
        let acked_factor = core::mem::replace(&mut self.last_trim_factor, sent_factor);
        self.cycle.on_round(phase);
        match phase {
            Phase::Startup => self.start_up(context, &round, &signs),
            Phase::Drain => {
                if !signs.is_queued() || self.cycle.rounds >= MOST_DRAIN_ROUNDS {
                    self.enter(context, Phase::Cruise);
                    self.cycle.probe_soon();
                }
            }
            Phase::Up | Phase::Down if round.is_early && self.tuning.lower => {
                self.ambient.discard();
                self.enter(context, Phase::Cruise);
                self.lower_by_growth(context.path.now, &round, 1.0);
            }
            Phase::Cruise => self.cruise(context, &round, &signs, acked_factor),
            Phase::Up => self.enter(context, Phase::Down),
            Phase::Down => self.conclude_up(context, &round, &signs),
        }
        self.was_congested = signs.is_congested();
    }

    fn start_up(&mut self, context: &mut EventContext<'_>, round: &Round, signs: &Signs) {
        let is_long = signs.queue > self.reference.get() * startup::QUEUE;
        let is_queued = signs.is_queued() && is_long && self.was_congested;
        let (rate, mss) = (self.estimate.get(), to_f64(self.mss));
        if self.startup.is_over(round, rate, is_queued, mss) {
            self.estimate.set(self.best_of_two_rounds());
            self.enter(context, Phase::Drain);
        }
    }

    fn begin_up(&mut self, context: &mut EventContext<'_>, base: f64) {
        let now = context.path.now;
        let rtt = self.reference.get();
        let step = if self.tuning.share_step {
            self.probe.next_step(Conditions {
                packets: self.round_packets().max(f64::MIN_POSITIVE),
                rtt,
                rate_jitter: self.reference.rate_jitter(),
                reduced: self.reductions.taken(now, base),
            })
        } else {
            FIRST_STEP
        };
        self.probe.begin(now, base, step);
        self.enter(context, Phase::Up);
    }

    /// What the Up sent has been acknowledged in this round trip.
    fn conclude_up(&mut self, context: &mut EventContext<'_>, round: &Round, signs: &Signs) {
        // A host that was late would have sent the Up whole, and no more.
        let on_time = round.rate_on_time().min(self.probe.sent_rate());
        let rate = round.rate().max(on_time);
        let path = (self.ambient_loss(), self.runs.mean());
        let cause = self.cause_of_loss(signs);
        let outcome = self.probe.conclude(rate, path, cause);
        if round.is_limited {
            self.enter(context, Phase::Cruise);
            return;
        }
        let has_more = outcome.has_grown && !outcome.has_overflowed && !signs.is_queued();
        if has_more || (self.probe.ends_rise() && !outcome.has_overflowed) {
            let most = self.probe.most_proven(context.path.now);
            self.estimate.raise(rate.min(most));
        }
        if !has_more {
            self.probe.learn_share(rate);
        }
        let room = self.probe.ceiling(context.path.now) / rate.max(1.0) - 1.0;
        if has_more && !signs.is_lossy && room >= 0.0 {
            self.probe.widen(room);
            self.begin_up(context, rate);
        } else {
            self.enter(context, Phase::Cruise);
        }
    }

    fn enter(&mut self, context: &mut EventContext<'_>, next: Phase) {
        let now = context.path.now;
        if matches!(self.cycle.phase, Phase::Up | Phase::Startup | Phase::Drain) {
            self.calm_since = now;
        }
        context.transition(&mut self.cycle.phase, next);
        self.cycle.rounds = 0;
        self.pairs.close(now);
        match next {
            Phase::Startup => {}
            Phase::Drain => {
                self.ambient.open(now, false);
            }
            Phase::Down => {
                self.ambient.open(now, self.tuning.deep_listen);
            }
            Phase::Cruise => {
                self.ambient.close(now);
                self.pairs.open(now);
                self.cycle.begin_cruise(
                    &self.probe,
                    self.reference.get(),
                    self.ambient.is_worth_verifying(),
                );
            }
            Phase::Up => {
                self.ambient.close(now);
                let run = self.path_run();
                let is_queue = self.rank.is_high() || self.loses_seconds();
                self.ambient.conclude(is_queue, run);
                if self.ambient.is_no_policer() {
                    self.probe.refute_policer();
                }
                self.estimate.begin_cycle();
            }
        }
    }

    /// A path that has become longer has that RTT without a queue.
    fn follow_route(&mut self, now: Timestamp, sample: Sample) {
        if !self.tuning.route {
            return;
        }
        let (reference, jitter) = (self.reference.get(), self.reference.jitter());
        if let Some(rtt) = self.route.on_sample(now, sample, reference, jitter) {
            self.reference.restart(now, rtt);
            self.standing = Standing::new();
            self.trim.stop();
            self.trim_factor = 1.0;
        }
    }

    /// Single samples prove the estimate in Startup alone.
    fn on_rate(&mut self, rate: Bandwidth, is_app_limited: bool) {
        self.estimate.on_sample(rate);
        let is_proof = !is_app_limited || rate > from_f64(self.estimate.get());
        if self.cycle.phase == Phase::Startup && is_proof {
            self.estimate.prove(rate, rate);
        }
    }
}

impl Controller for Paceline {
    fn on_sent(&mut self, path: &PathState, bytes: Bytes) {
        self.rounds.lateness().on_sent(path, bytes, self.cwnd);
        self.pairs.on_sent(path.is_back_to_back);
    }

    fn on_lost(&mut self, path: &PathState, packet: &LostPacket, _: &mut dyn Observer) {
        let sent_at = packet.stamp.sent_at;
        let packets = self.packets(packet.bytes);
        if sent_at >= self.calm_since {
            let round = self.rounds.current();
            round.lost += to_f64(packet.bytes);
            round.lost_runs += u32::from(packet.starts_range);
        }
        self.pairs.on_lost(sent_at, packet.stamp.is_back_to_back);
        self.probe.on_lost(sent_at, self.calm_since, packets);
        self.ambient.on_lost(sent_at, packets);
        self.runs.on_lost(packet.starts_range);
        if packet.starts_range
            && let Some(rtt) = path.latest_rtt
        {
            self.rank.on_lost_range(rtt);
        }
    }

    fn on_ack(&mut self, path: &PathState, sample: &RateSample, observer: &mut dyn Observer) {
        if let Some(rtt) = sample.rtt {
            let sent_at = sample.newest_sent_at;
            self.follow_route(
                path.now,
                Sample {
                    sent_at,
                    rtt: seconds(rtt),
                },
            );
        }
        let reference = duration(self.reference.get());
        let is_round = self
            .rounds
            .on_ack(path, sample, reference, self.route.is_likely());
        if let Some(rtt) = sample.rtt {
            self.rank
                .on_rtt(path.now, rtt, duration(self.reference.get()));
            self.reference.on_rtt(rtt);
        }
        let packets = self.packets(sample.newly_acked);
        self.probe
            .on_acked(sample.newest_sent_at, self.calm_since, packets);
        self.ambient.on_acked(sample.newest_sent_at, packets);
        if let Some(rate) = sample.delivery_rate {
            self.on_rate(rate, sample.is_app_limited);
        }
        let period = self.rounds.count() / AGGREGATION_ROUNDS;
        self.in_flight.advance_to(period);
        self.in_flight.insert(path.prior_inflight);
        self.aggregation.on_ack(
            path.now,
            period,
            sample.newly_acked,
            from_f64(self.estimate.get()),
            self.most_in_flight(),
        );
        if is_round {
            self.on_round(&mut EventContext { path, observer });
        }
        self.update_cwnd(sample.newly_acked);
        self.decide();
        self.rounds.lateness().on_control(path, &self.control);
    }

    /// The estimate stays, since what is lost after a silence says nothing of it; the window lets
    /// one packet out (draft-ietf-ccwg-bbr-06 §5.6.4.4).
    fn on_persistent_congestion(&mut self, path: &PathState, _: &mut dyn Observer) {
        self.cwnd = (path.inflight + self.mss).max(self.mss * LEAST_PACKETS);
        self.is_recovering = true;
        self.decide();
    }

    fn on_mtu(&mut self, path: &PathState) {
        self.cwnd = resized_window(self.cwnd, self.mss, path.mss);
        self.mss = path.mss;
        self.decide();
    }

    fn wants_fewer_acks(&self) -> bool {
        true
    }

    fn can_resume(&self) -> bool {
        self.cycle.phase == Phase::Startup
    }

    fn tolerated_loss(&self) -> Gain {
        TOLERATED_LOSS
    }

    fn resume(&mut self, path: &PathState, window: &ResumedWindow, _: &mut dyn Observer) {
        self.resume_from(path, window);
    }

    fn control(&self) -> Control {
        self.control
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            pacing_gain: Some(to_gain(self.pacing_gain())),
            bandwidth: Some(from_f64(self.estimate.get())),
            min_rtt: Some(duration(self.reference.get())),
            ..Snapshot::new(SPEC.name, self.cycle.phase.name(), self.control)
        }
    }
}

const MOST_DRAIN_ROUNDS: u32 = 4;

/// Of a jump: LossThresh of BBR (draft-ietf-ccwg-bbr-06 §2.8).
const TOLERATED_LOSS: Gain = Gain::percent(2);

const AGGREGATION_ROUNDS: u64 = 5;
