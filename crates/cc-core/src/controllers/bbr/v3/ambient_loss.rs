//! Telling a path's own loss from congestion's: the optional rule `ambient_loss=on`.
//!
//! Ours, not the draft's; `docs/bbr-ambient-loss.md` has the argument. What min_rtt is to delay,
//! the ambient loss is to loss: what the path shows while the flow cannot have filled it. A cycle
//! after loss begins with a round or two at the pace of ProbeBW_DOWN, and what these lose without a
//! queue is the path's. If it is more than was known, the short-term bounds fall as ever, and what
//! counts is what is lost then, at a pace below what the path has just delivered.

use super::congestion::Flight;
use super::state::State;
use super::{Bbr, Revision};
use crate::controller::PathState;
use crate::events::LostPacket;
use crate::sampler::RateSample;
use core::time::Duration;
use units::{Bandwidth, Bytes, Gain, Timestamp};

/// What is known of the path's own loss.
#[derive(Debug, Default)]
pub(super) struct AmbientLoss {
    /// What finished stretches of listening have shown; the older, the less it counts.
    evidence: Tally,
    /// What was heard since, too little yet to be evidence.
    heard: Tally,
    listening: Option<Listening>,
    /// Whether the long-term bound is what Startup was left with because of loss.
    is_bound_from_startup: bool,
    /// Cycles since something was heard.
    unheard: u32,
    /// Where the present loss round began.
    round_began: Mark,
    /// Whether the loss round that the ACK at hand ended lost no more than the path does by
    /// itself.
    is_round_excused: bool,
    /// Whether the newest round-trip time shows a queue.
    is_queue: bool,
    /// Bytes lost over the connection's life when it last began to listen.
    lost_before: Bytes,
}

/// Rounds at the pace of ProbeBW_DOWN whose loss is listened to.
#[derive(Debug, Clone, Copy)]
struct Listening {
    /// When its pace began: it is about packets that left since.
    from: Timestamp,
    /// Round until which packets leave at the pace of ProbeBW_DOWN; the last of them are
    /// acknowledged a round later.
    until: u64,
    /// Rounds at that pace in all.
    rounds: u64,
    /// Whether the pace is known to be below what the path delivers, after a cut.
    is_settled: bool,
    /// The stretch without a queue that is listened to at present.
    stretch: Option<Stretch>,
    /// What it has shown, once its last packets are acknowledged.
    heard: Option<Tally>,
}

/// Acknowledgements in a row that show no queue.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    /// Bytes delivered over the connection's life when it began.
    delivered: Bytes,
    /// When the newest packet had left that was acknowledged by then; it is about those after.
    sent_after: Timestamp,
    /// Packets of it lost so far.
    lost: u64,
}

impl Stretch {
    fn begin(path: &PathState, sample: &RateSample) -> Self {
        Self {
            delivered: path.delivered,
            sent_after: sample.newest_sent_at,
            lost: 0,
        }
    }

    fn tally(self, path: &PathState) -> Tally {
        let delivered = path.delivered.saturating_sub(self.delivered);
        Tally {
            packets: delivered.packets_ceil(path.mss) + self.lost,
            lost: self.lost,
        }
    }
}

/// The connection's counters at one moment.
#[derive(Debug, Clone, Copy, Default)]
struct Mark {
    delivered: Bytes,
    lost: Bytes,
}

impl Mark {
    fn of(path: &PathState) -> Self {
        Self {
            delivered: path.delivered,
            lost: path.lost,
        }
    }

    /// What was settled since.
    fn until(self, path: &PathState) -> Tally {
        let lost = path.lost.saturating_sub(self.lost).packets_ceil(path.mss);
        let delivered = path.delivered.saturating_sub(self.delivered);
        Tally {
            packets: lost + delivered.packets_ceil(path.mss),
            lost,
        }
    }
}

/// How many of so many packets were lost.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    packets: u64,
    lost: u64,
}

impl Tally {
    fn plus(self, other: Self) -> Self {
        Self {
            packets: self.packets + other.packets,
            lost: self.lost + other.lost,
        }
    }

    fn halved(self) -> Self {
        Self {
            packets: self.packets / 2,
            lost: self.lost / 2,
        }
    }

    /// The share that was lost: nothing while it could be chance, and never more than
    /// [`MAX_AMBIENT`].
    fn rate(self) -> Gain {
        if self.lost < LEAST_LOSSES {
            return Gain::ZERO;
        }
        Gain::new(self.lost, self.packets).min(MAX_AMBIENT)
    }

    /// How many of `packets` the path is expected to lose, in thousandths of a packet.
    fn expected(self, packets: u64) -> u64 {
        self.rate().of(packets.saturating_mul(1_000))
    }

    /// How many more than expected chance may lose of `packets`, in thousandths of a packet; none
    /// where no loss is expected. The chance in what the rate was estimated from is in it, too.
    fn margin(self, packets: u64) -> u64 {
        match self.rate() {
            Gain::ZERO => 0,
            rate => margin(rate, self.packets, packets),
        }
    }
}

impl AmbientLoss {
    /// The share of packets that the path loses by itself, as far as is known.
    fn rate(&self) -> Gain {
        self.evidence.rate()
    }

    /// ProbeBW_DOWN begins, in round `round`, with `bdp` packets to fill the path. Where nothing is
    /// lost there is nothing to hear.
    fn on_down(&mut self, path: &PathState, round: u64, bdp: u64) {
        self.round_began = Mark::of(path);
        self.unheard += 1;
        if self.unheard > MEMORY_CYCLES {
            self.evidence = Tally::default();
        }
        let is_loss = path.lost > self.lost_before || self.evidence.lost > 0;
        self.lost_before = path.lost;
        let rounds = (PACKETS_TO_HEAR / bdp.max(1) + 1).min(MAX_ROUNDS);
        self.listening = is_loss.then_some(Listening {
            from: path.now,
            until: round + rounds,
            rounds,
            is_settled: false,
            stretch: None,
            heard: None,
        });
    }

    /// A loss round has ended.
    fn judge_round(&mut self, path: &PathState) {
        let round = self.round_began.until(path);
        let allowed = self.evidence.expected(round.packets) + self.evidence.margin(round.packets);
        self.is_round_excused = round.lost * 1_000 <= allowed;
        self.round_began = Mark::of(path);
    }

    fn on_rtt(&mut self, rtt: Duration, min_rtt: Duration) {
        self.is_queue = rtt > min_rtt + (min_rtt / QUEUE_SHARE).max(QUEUE_LEAST);
    }

    /// A packet that left at `sent_at` was lost.
    fn on_lost(&mut self, sent_at: Timestamp) {
        if let Some(Listening {
            stretch: Some(stretch),
            ..
        }) = &mut self.listening
        {
            stretch.lost += u64::from(sent_at > stretch.sent_after);
        }
    }

    /// A round with more loss than the path's has lowered the bounds. What was sent until now may
    /// have been too fast for a path that has become slower, so the listening begins again; and so
    /// after each cut until the pace `is_below` what the path has delivered.
    fn on_cut(&mut self, now: Timestamp, round: u64, is_below: bool) {
        if let Some(listening) = &mut self.listening
            && !listening.is_settled
        {
            listening.is_settled = is_below;
            listening.from = now;
            listening.until = round + listening.rounds;
            listening.stretch = None;
            listening.heard = None;
        }
    }

    /// Listens to an ACK in round `round`, which ends a loss round or not; true when the listening
    /// is over and has shown that the path loses.
    fn listen(&mut self, path: &PathState, sample: &RateSample, round: u64, is_end: bool) -> bool {
        let Some(listening) = &mut self.listening else {
            return false;
        };
        if sample.newest_sent_at < listening.from {
            return false;
        }
        let begin = Stretch::begin(path, sample);
        let stretch = *listening.stretch.get_or_insert(begin);
        if round <= listening.until {
            if self.is_queue {
                listening.stretch = Some(begin);
            }
            return false;
        }
        if self.is_queue && listening.heard.is_none() {
            self.listening = None;
            return false;
        }
        let heard = *listening.heard.get_or_insert_with(|| stretch.tally(path));
        // It counts only when the loss round has been judged that its losses fell into.
        if is_end {
            self.listening = None;
            self.hear(heard);
        }
        is_end && self.rate() > Gain::ZERO
    }

    /// A stretch of listening is over.
    fn hear(&mut self, stretch: Tally) {
        if stretch.packets > 0 {
            self.unheard = 0;
        }
        self.heard = self.heard.plus(stretch);
        if self.heard.packets < ENOUGH_PACKETS && self.heard.lost < ENOUGH_LOSSES {
            return;
        }
        let heard = core::mem::take(&mut self.heard);
        let is_less = heard.lost * 1_000 + self.evidence.margin(heard.packets)
            < self.evidence.expected(heard.packets);
        if is_less {
            self.evidence = heard;
            return;
        }
        if self.evidence.packets >= MEMORY_PACKETS {
            self.evidence = self.evidence.halved();
        }
        self.evidence = self.evidence.plus(heard);
    }
}

impl<R: Revision> Bbr<R> {
    /// Takes note of an ACK, before it may lower the bounds.
    pub(super) fn judge_loss_round(&mut self, path: &PathState, sample: &RateSample) {
        let Some(ambient) = &mut self.ambient else {
            return;
        };
        if let (Some(rtt), Some(min_rtt)) = (sample.rtt, self.min_rtt.get()) {
            ambient.on_rtt(rtt, min_rtt);
        }
        if self.congestion.is_round_start {
            ambient.judge_round(path);
        }
    }

    /// The bounds were lowered.
    pub(super) fn note_cut(&mut self, now: Timestamp) {
        let pace =
            self.rate.bw() * self.tuning.down_pacing_gain * self.tuning.pacing_margin.complement();
        let is_below = pace <= self.congestion.bw_latest;
        if let Some(ambient) = &mut self.ambient {
            ambient.on_cut(now, self.round.count, is_below);
        }
    }

    /// Listens to an ACK, after it may have lowered the bounds.
    pub(super) fn listen(&mut self, path: &PathState, sample: &RateSample) {
        let Some(ambient) = &mut self.ambient else {
            return;
        };
        let is_end = self.congestion.is_round_start;
        ambient.is_bound_from_startup &= !matches!(self.state, State::Refill);
        if !self.state.is_waiting() {
            ambient.listening = None;
        } else if ambient.listen(path, sample, self.round.count, is_end) {
            // What was cut since the last probe was cut for loss that is the path's.
            if core::mem::take(&mut ambient.is_bound_from_startup) {
                self.volume.longterm = Bytes::MAX;
            }
            self.reset_short_term_model();
        }
    }

    /// ProbeBW_DOWN begins.
    pub(super) fn start_listening(&mut self, path: &PathState) {
        let bdp = self.bdp().packets_floor(self.mss);
        if let Some(ambient) = &mut self.ambient {
            ambient.on_down(path, self.round.count, bdp);
        }
    }

    /// Takes note of a lost packet.
    pub(super) fn note_ambient_loss(&mut self, packet: &LostPacket) {
        if let Some(ambient) = &mut self.ambient {
            ambient.on_lost(packet.stamp.sent_at);
        }
    }

    /// Whether the loss round that the ACK at hand ended lost no more than the path does by itself.
    pub(super) fn is_loss_ambient(&self) -> bool {
        let ambient = self.ambient.as_ref();
        self.congestion.marked.is_zero() && ambient.is_some_and(|ambient| ambient.is_round_excused)
    }

    /// How much the path may be expected to lose of `flight`, and how much more by chance.
    pub(super) fn ambient_loss_of(&self, flight: Bytes) -> (Bytes, Bytes) {
        let Some(ambient) = &self.ambient else {
            return (Bytes::ZERO, Bytes::ZERO);
        };
        let packets = flight.packets_ceil(self.mss);
        let whole = |thousandths| self.mss * thousandths / 1_000;
        let evidence = ambient.evidence;
        (
            whole(evidence.expected(packets)),
            whole(evidence.margin(packets)),
        )
    }

    /// Whether a path may lose by itself what the flight lost, and shows no queue. While Startup
    /// has nothing to compare it with, such loss does not end it; that the rate is flat does.
    pub(super) fn is_bearable(&self, flight: &Flight) -> bool {
        let packets = flight.tx_in_flight.packets_ceil(self.mss);
        let bearable = MAX_AMBIENT.of(packets * 1_000) + margin(MAX_AMBIENT, CERTAIN, packets);
        let is_queue = self.ambient.as_ref().is_none_or(|ambient| ambient.is_queue);
        !is_queue && flight.lost <= self.mss * bearable / 1_000
    }

    /// Startup is left because of loss, with a long-term bound.
    pub(super) fn note_startup_bound(&mut self) {
        if let Some(ambient) = &mut self.ambient {
            ambient.is_bound_from_startup = true;
        }
    }

    /// `pacing_gain`: the state's, but not above that of ProbeBW_DOWN while listening.
    pub(super) fn pacing_gain(&self) -> Gain {
        let gain = self.state.pacing_gain(&self.tuning);
        if self.is_slow_to_listen() {
            gain.min(self.tuning.down_pacing_gain)
        } else {
            gain
        }
    }

    /// The rate at which to send so that what the path loses by itself is made good; `rate` itself
    /// while listening and while there is a queue.
    pub(super) fn made_good(&self, rate: Bandwidth) -> Bandwidth {
        let is_sending = matches!(self.state, State::Cruise(_) | State::Refill | State::Up(_));
        match &self.ambient {
            Some(ambient) if is_sending && !ambient.is_queue && !self.is_slow_to_listen() => {
                rate * inverse(ambient.rate().complement())
            }
            _ => rate,
        }
    }

    /// Whether what leaves now is listened to.
    fn is_slow_to_listen(&self) -> bool {
        let listening = self.ambient.as_ref().and_then(|ambient| ambient.listening);
        listening.is_some_and(|listening| self.round.count < listening.until)
    }

    /// What must be in flight for `delivered` to arrive.
    pub(super) fn with_ambient_loss(&self, delivered: Bytes) -> Bytes {
        match &self.ambient {
            Some(ambient) => delivered * inverse(ambient.rate().complement()),
            None => delivered,
        }
    }
}

/// [`DEVIATIONS`] standard deviations of the number of losses among `packets` at a `rate` that was
/// estimated from `sample` packets, in thousandths of a packet. Rounds down.
fn margin(rate: Gain, sample: u64, packets: u64) -> u64 {
    let one = u128::from((rate * rate.complement()).millionths());
    let both = u128::from(sample) + u128::from(packets);
    // The root of millionths is thousandths.
    let variance = u128::from(packets) * one * both / u128::from(sample.max(1));
    DEVIATIONS * u64::try_from(variance).unwrap_or(u64::MAX).isqrt() + SKEW
}

/// `1 ÷ share`, rounded down.
fn inverse(share: Gain) -> Gain {
    Gain::new(Gain::ONE.millionths(), share.millionths())
}

/// Most that is taken for the path's own loss. Links that people use lose less; a policer or a
/// blackout loses more.
const MAX_AMBIENT: Gain = Gain::percent(20);

/// Size of a sample after which a rate is certain.
const CERTAIN: u64 = 1 << 32;

/// Losses below which a tally may be chance.
const LEAST_LOSSES: u64 = 3;

/// Packets that make a stretch worth keeping: at 1 % of loss they lose two or three.
const ENOUGH_PACKETS: u64 = 256;

/// Packets after which older evidence counts half.
const MEMORY_PACKETS: u64 = 2_048;

/// Cycles after which what could not be heard again is forgotten: a flow that shares its queue
/// hears something in every second or third.
const MEMORY_CYCLES: u32 = 8;

/// Losses that do: one in three is what chance then adds or takes.
const ENOUGH_LOSSES: u64 = 8;

/// Standard deviations of chance that count as ambient: a false alarm in a thousand rounds.
const DEVIATIONS: u64 = 3;

/// Rare losses are skewed, and the quantile of [`DEVIATIONS`] lies (DEVIATIONS² − 1) ÷ 6 above the
/// normal distribution's (Cornish and Fisher): 4/3 of a packet, in thousandths.
const SKEW: u64 = 1_334;

/// Packets that one listening should hear, in as many rounds as they take,
const PACKETS_TO_HEAR: u64 = 512;

/// but not in more: they are sent at nine tenths of the rate.
const MAX_ROUNDS: u64 = 4;

/// A queue is what adds more than this part of min_rtt to it,
const QUEUE_SHARE: u32 = 8;

/// and more than timers and interrupts do.
const QUEUE_LEAST: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests;
