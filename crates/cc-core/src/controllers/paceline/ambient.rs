//! The path's own loss: what is lost although the flow fills no queue.

use super::counts::{Counts, variance_of_runs};
use super::window::Window;
use units::Timestamp;

/// Loss of packets that left in Down, below the estimate: the flow's own queue did not lose them.
///
/// Others' queues may have. So a listening beside a queue is no measurement but a bound, and one
/// that the ranks of RTTs or pairs make suspect counts only if nothing was lost. Where listenings
/// differ by more than chance the lower quartile of them counts, not their mean: bursts of others
/// come and go, a bad path stays.
#[derive(Debug)]
pub(super) struct AmbientLoss {
    listening: Listening,
    /// Listenings too short to count by themselves.
    pool: Counts,
    heard: [Counts; KEPT],
    heard_count: usize,
    /// What was lost where a flow's own loss could only add to the path's: at half of the rate or
    /// less, and beside a queue, since there is loss to refute. Older ones less.
    most: Counts,
    /// What was lost at half of the rate or less alone. Older ones less.
    at_half: Counts,
    downs: u32,
    /// How many packets the path loses in a row, in the mean.
    run: f64,
}

/// The packets of one Down.
#[derive(Debug, Default)]
struct Listening {
    window: Window,
    at_half: bool,
    is_suspect: bool,
    counts: Counts,
}

impl AmbientLoss {
    pub(super) fn new() -> Self {
        Self {
            listening: Listening::default(),
            pool: Counts::default(),
            heard: [Counts::default(); KEPT],
            heard_count: 0,
            most: Counts::default(),
            at_half: Counts::default(),
            downs: 0,
            run: 1.0,
        }
    }

    /// Packets that leave from now on are listened to. Returns whether they are to leave at half of
    /// the estimate: every fourth time where there is loss to verify.
    pub(super) fn open(&mut self, now: Timestamp, may_verify: bool) -> bool {
        self.listening = Listening::default();
        self.listening.window.open(now);
        if may_verify && self.is_worth_verifying() {
            self.downs += 1;
            self.listening.at_half = self.downs.is_multiple_of(VERIFIED_EVERY);
        }
        self.listening.at_half
    }

    pub(super) fn is_at_half(&self) -> bool {
        self.listening.at_half
    }

    /// Packets that leave from now on are not.
    pub(super) fn close(&mut self, now: Timestamp) {
        self.listening.window.close(now);
    }

    /// A queue is there: the path loses no more than what is heard now.
    pub(super) fn suspect(&mut self) {
        self.listening.is_suspect = true;
    }

    /// The flow was limited: what is heard tells nothing.
    pub(super) fn discard(&mut self) {
        self.listening = Listening::default();
    }

    pub(super) fn on_acked(&mut self, sent_at: Timestamp, packets: f64) {
        if self.listening.window.covers(sent_at) {
            self.listening.counts.acked += packets;
        }
    }

    pub(super) fn on_lost(&mut self, sent_at: Timestamp, packets: f64) {
        if self.listening.window.covers(sent_at) {
            self.listening.counts.lost += packets;
        }
    }

    /// The outcomes of what was listened to are known. `is_queue` where losses were beside long
    /// RTTs, or mostly of seconds; the path loses packets in runs of `run`.
    pub(super) fn conclude(&mut self, is_queue: bool, run: f64) {
        self.run = run;
        let listening = core::mem::take(&mut self.listening);
        if !self.is_worth_verifying() {
            self.most = Counts::default();
        }
        if listening.at_half {
            self.verify(listening.counts);
        } else if listening.is_suspect {
            self.bound(listening.counts);
        }
        let is_void = is_queue && listening.counts.lost >= 1.0;
        if !listening.is_suspect && !is_void {
            self.pool += listening.counts;
        }
        if self.pool.sent() >= LEAST_PACKETS {
            let pool = core::mem::take(&mut self.pool);
            self.hear(pool);
        }
    }

    /// `counts` left at half of a rate that was sent before, or less.
    pub(super) fn verify(&mut self, counts: Counts) {
        self.at_half.add_decayed(counts, VERIFIED_DECAY);
        self.bound(counts);
    }

    fn bound(&mut self, counts: Counts) {
        if self.is_worth_verifying() {
            self.most.add_decayed(counts, VERIFIED_DECAY);
        }
    }

    /// Forgets what was heard: `counts` prove otherwise.
    pub(super) fn replace(&mut self, counts: Counts) {
        for _ in 0..MOST_OF_KEPT {
            self.hear(counts);
        }
    }

    fn hear(&mut self, counts: Counts) {
        self.heard[self.heard_count % KEPT] = counts;
        self.heard_count += 1;
    }

    /// The path's own loss, from 0 to [`CAP`].
    ///
    /// Loss that the flow causes falls when the flow sends half, and beside a queue the path loses
    /// no more than is lost there: if that is less than half of what was heard, it is what counts.
    pub(super) fn loss(&self) -> f64 {
        let heard = self.heard_loss();
        let expected = self.most.sent() * heard;
        let is_refuted = heard > WORTH_VERIFYING
            && expected >= EXPECTED_AT_LEAST
            && self.most.lost < expected / 2.0;
        if is_refuted { self.most.loss() } else { heard }
    }

    /// Whether so much is heard that Downs at half of the rate verify it.
    pub(super) fn is_worth_verifying(&self) -> bool {
        self.heard_loss() > WORTH_VERIFYING
    }

    /// Whether half of the rate loses three quarters of what was heard, and so the path does.
    pub(super) fn is_verified(&self) -> bool {
        let expected = self.at_half.sent() * self.heard_loss();
        expected >= EXPECTED_AT_LEAST && self.at_half.lost >= expected * VERIFIED_PART
    }

    /// Whether more is lost in Downs than a policer drops there.
    pub(super) fn is_no_policer(&self) -> bool {
        self.loss() > LOSSY
    }

    fn heard_loss(&self) -> f64 {
        let heard = &self.heard[..self.heard_count.min(KEPT)];
        let mut all = Counts::default();
        heard.iter().for_each(|one| all += *one);
        let mean = all.loss();
        if mean <= 0.0 {
            return 0.0;
        }
        let variance = variance_of_runs(self.run);
        if dispersion(heard, mean) <= MOST_DISPERSION * variance * heard.len() as f64 {
            return mean.min(CAP);
        }
        lower_quartile(heard).min(CAP)
    }
}

/// χ² of listenings against one common loss.
fn dispersion(heard: &[Counts], mean: f64) -> f64 {
    let square = |one: &Counts| {
        let expected = one.sent() * mean;
        let off = one.lost - expected;
        off * off / (expected * (1.0 - mean)).max(f64::MIN_POSITIVE)
    };
    heard.iter().map(square).sum()
}

fn lower_quartile(heard: &[Counts]) -> f64 {
    let mut losses = [0.0; KEPT];
    let losses = &mut losses[..heard.len()];
    for (loss, one) in losses.iter_mut().zip(heard) {
        *loss = one.loss();
    }
    losses.sort_unstable_by(f64::total_cmp);
    losses[losses.len() / 4]
}

/// Listenings that count.
const KEPT: usize = 8;
const MOST_OF_KEPT: usize = 6;
/// Packets of a listening that counts; with 2 % of loss one is lost.
const LEAST_PACKETS: f64 = 50.0;
/// χ² ÷ n of listenings that one loss explains. For eight of them chance exceeds 2 in one of 25.
const MOST_DISPERSION: f64 = 2.0;
/// More than a fifth is never the path's alone: a flow that sends 1.25 times what arrives is the
/// most that the rules below bound.
pub(super) const CAP: f64 = 0.2;
/// Below 2 % a loss costs what it is mistaken for: BBRLossThresh
/// (draft-ietf-ccwg-bbr-06 §2.10).
const WORTH_VERIFYING: f64 = 0.02;
/// A policer drops a packet of a Down now and then.
const LOSSY: f64 = 0.006;
const VERIFIED_EVERY: u32 = 4;
const VERIFIED_DECAY: f64 = 0.875;
/// Before a full queue that loses a seventh, a flow with more than a twelfth of the bottleneck
/// hears less than this at half of its rate.
const VERIFIED_PART: f64 = 0.75;
/// At five expected losses two or fewer are chance in one of eight.
const EXPECTED_AT_LEAST: f64 = 5.0;
