//! Careful Resume (RFC 9959): a connection begins with half of what an earlier one has learned of
//! the path.
//!
//! ```text
//!  Reconnaissance ──▶ Unvalidated ──▶ Validating ──▶ Normal
//!   │ the controller:  │ half the      │ the           ▲
//!   │ initial window   │ saved         │ controller:   │
//!   │                  │ capacity,     │ the flight    │
//!   │                  │ paced         │               │
//!   │                  └───────┬───────┘               │
//!   │                          ▼ congestion            │
//!   │                     SafeRetreat ─────────────────┤
//!   │                      half of PipeSize            │
//!   └── other round-trip time, loss, mark, too old ────┘
//! ```
//!
//! It lies between [`Flow`](crate::Flow) and controller and serves all of them. Through
//! Reconnaissance and Validating the controller decides. In the Unvalidated and the Safe Retreat
//! Phase the window is the one of the RFC, paced over the current round-trip time. At the ends of
//! these two the controller [goes on](crate::Controller::resume) from what the path has shown.
//!
//! A mark is congestion, and a loss unless the controller
//! [tolerates it](crate::Controller::tolerated_loss): BBR validates a jump by its rules for leaving
//! Startup (appendix C.2), to which a lost packet alone is none.

mod answered;
mod signs;

pub(crate) use signs::ResumeSigns;

use crate::control::Control;
use crate::controller::{PathState, ResumedWindow, initial_window};
use crate::events::LostPacket;
use crate::observer::{Event, Observer};
use crate::parts::cwnd::min_window;
use crate::parts::cwnd_pacing::CwndPacing;
use crate::parts::transition::DeferredEvents;
use crate::resume_phase::{ResumePhase, ResumePhaseChange, ResumeTrigger};
use crate::sampler::RateSample;
use crate::saved_path::SavedPath;
use answered::Answered;
use core::time::Duration;
use units::{Bytes, Gain, Timestamp};

/// What a connection may resume from; [`new`](Self::new) makes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResumePlan {
    /// What an earlier connection has learned of the path.
    pub saved: SavedPath,
    /// When that is too old to be used (Lifetime, RFC 9959 §4.3.1).
    pub expires_at: Timestamp,
    /// max_jump: the largest window that the jump may make (RFC 9959 §3.3).
    pub max_jump: Bytes,
}

impl ResumePlan {
    /// Resumes from `saved` until `expires_at`, with no bound of the jump but half the capacity.
    pub const fn new(saved: SavedPath, expires_at: Timestamp) -> Self {
        Self {
            saved,
            expires_at,
            max_jump: Bytes::MAX,
        }
    }

    /// jump_cwnd = min(max_jump, saved_cwnd ÷ 2) (RFC 9959 §3.3).
    fn jump(&self) -> Bytes {
        (self.saved.capacity / 2).min(self.max_jump)
    }

    /// The minimum round-trip time is more than half the saved one and at most ten times as long
    /// (RFC 9959 §3.2, §4.2.1).
    fn is_confirmed_by(&self, min_rtt: Duration) -> bool {
        !self.is_too_short(min_rtt) && min_rtt <= self.saved.min_rtt.saturating_mul(MOST_RTT)
    }

    fn is_too_short(&self, min_rtt: Duration) -> bool {
        min_rtt <= self.saved.min_rtt / 2
    }
}

/// The state of Careful Resume on one connection.
#[derive(Debug)]
pub(crate) struct CarefulResume {
    plan: ResumePlan,
    /// What leaves before the path is known: the initial window at the packet size of then.
    initial_data: Bytes,
    phase: Phase,
    /// PipeSize.
    pipe_size: Bytes,
    /// Lost since the jump.
    lost: Bytes,
    /// What a Safe Retreat has answered.
    answered: Option<Answered>,
    /// The newest packet that left before a Safe Retreat, or later beyond its window while what was
    /// in flight drained: rates up to it are not used.
    tainted: Option<u64>,
    /// Whether the path did not carry what was saved.
    has_retreated: bool,
    /// Changes that nobody has been told of: two are made on sending.
    changes: DeferredEvents<4>,
}

/// A phase with what is known only in it. Packets are told by their order of sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Reconnaissance,
    Unvalidated {
        jump: Bytes,
        since: Timestamp,
        /// The current round-trip time at the jump.
        rtt: Duration,
        /// The first packet that leaves after the jump.
        first: u64,
    },
    Validating {
        last: u64,
        /// What left in the Unvalidated Phase and had not arrived at its end.
        flight: Bytes,
        /// The flight, what was acknowledged since, and less what was lost since: new packets leave
        /// for those that were acknowledged (§4.4).
        most: Bytes,
    },
    SafeRetreat {
        cwnd: Bytes,
        last: u64,
    },
    Normal,
}

/// What decides whether it goes on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Present {
    pub(crate) path: PathState,
    /// The newest packet that was sent.
    pub(crate) sent: u64,
    /// Whether the controller can [resume](crate::Controller::can_resume).
    pub(crate) can_resume: bool,
    /// The controller's window.
    pub(crate) cwnd: Bytes,
}

impl CarefulResume {
    pub(crate) fn new(plan: ResumePlan, mss: Bytes) -> Self {
        Self {
            plan,
            initial_data: initial_window(mss),
            phase: Phase::Reconnaissance,
            pipe_size: Bytes::ZERO,
            lost: Bytes::ZERO,
            answered: None,
            tainted: None,
            has_retreated: false,
            changes: DeferredEvents::default(),
        }
    }

    pub(crate) fn phase(&self) -> ResumePhase {
        match self.phase {
            Phase::Reconnaissance => ResumePhase::Reconnaissance,
            Phase::Unvalidated { .. } => ResumePhase::Unvalidated,
            Phase::Validating { .. } => ResumePhase::Validating,
            Phase::SafeRetreat { .. } => ResumePhase::SafeRetreat,
            Phase::Normal => ResumePhase::Normal,
        }
    }

    /// Whether there was a Safe Retreat: what was saved is to be forgotten (§3.5).
    pub(crate) fn has_retreated(&self) -> bool {
        self.has_retreated
    }

    /// Whether nothing is left to do.
    pub(crate) fn is_over(&self) -> bool {
        self.phase == Phase::Normal && self.answered.is_none() && self.tainted.is_none()
    }

    /// Whether the loss of packet `sequence` has been answered by a Safe Retreat, so that the
    /// controller is not to answer it as well.
    pub(crate) fn has_answered(&self, sequence: u64) -> bool {
        let answered = self.answered.as_ref();
        answered.is_some_and(|answered| answered.has(sequence))
    }

    /// `packet` was declared lost, when `sent` was the newest that had left. Whether that
    /// [has been answered](Self::has_answered).
    pub(crate) fn on_lost(&mut self, packet: &LostPacket, sent: u64) -> bool {
        if let Some(answered) = &mut self.answered {
            answered.on_lost(packet, sent);
        }
        self.has_answered(packet.stamp.sequence)
    }

    /// `sample` of packet `newest` and others before it, as the controller is to see it: without
    /// the losses and marks that Careful Resume has answered, and without the rate of packets that
    /// left before the path had drained, at which others may have been pushed aside (RFC 9959
    /// appendix C.3).
    pub(crate) fn untainted(&self, newest: u64, sample: &RateSample) -> RateSample {
        let mut sample = *sample;
        let is_tainted = self.tainted.is_some_and(|tainted| newest <= tainted);
        if is_tainted || matches!(self.phase, Phase::SafeRetreat { .. }) {
            sample.delivery_rate = None;
        }
        if let Some(answered) = &self.answered {
            answered.remove_from(newest, &mut sample);
        }
        sample
    }

    /// The decision in force, where `own` is the controller's.
    pub(crate) fn control(&self, own: Control, path: &PathState) -> Control {
        match self.phase {
            Phase::Unvalidated { jump, .. } => paced(jump, path.latest_rtt, path.mss),
            Phase::SafeRetreat { cwnd, .. } => {
                paced(cwnd.max(min_window(path.mss)), path.srtt, path.mss)
            }
            Phase::Validating { most, .. } => Control {
                cwnd: own.cwnd.min(most.max(min_window(path.mss))),
                ..own
            },
            Phase::Reconnaissance | Phase::Normal => own,
        }
    }

    /// Takes note of what has arrived, before the controller is told.
    pub(crate) fn on_signs(&mut self, path: &PathState, signs: &ResumeSigns) {
        if self.phase != Phase::Reconnaissance {
            self.pipe_size = self.pipe_size.saturating_add(signs.newly_acked);
            self.lost = self.lost.saturating_add(signs.newly_lost);
        }
        if let Phase::Validating { most, .. } = &mut self.phase {
            *most = most.saturating_add(signs.newly_acked);
            *most = most.saturating_sub(signs.newly_lost);
        }
        match (self.phase, self.congestion(path, signs)) {
            (Phase::Reconnaissance, Some(trigger)) => self.stop(path, trigger),
            (Phase::Unvalidated { .. }, Some(trigger)) => {
                self.retreat(path, trigger, signs.sent, signs.sent);
            }
            (Phase::Unvalidated { .. }, None)
                if path.min_rtt.is_some_and(|rtt| self.plan.is_too_short(rtt)) =>
            {
                self.retreat(path, ResumeTrigger::PathChanged, signs.sent, signs.sent);
            }
            (Phase::Validating { last, .. }, Some(trigger)) => {
                self.retreat(path, trigger, last, signs.sent);
            }
            _ => {}
        }
    }

    /// What of it is congestion. Of the initial window nothing may be lost (§3.2).
    fn congestion(&self, path: &PathState, signs: &ResumeSigns) -> Option<ResumeTrigger> {
        let jump = match self.phase {
            Phase::Unvalidated { jump, .. } => jump,
            Phase::Validating { flight, .. } => flight,
            Phase::Reconnaissance | Phase::SafeRetreat { .. } | Phase::Normal => Bytes::ZERO,
        };
        let tolerated = if jump.is_zero() || signs.tolerated_loss == Gain::ZERO {
            Bytes::ZERO
        } else {
            (jump * signs.tolerated_loss).max(path.mss * FEW_PACKETS)
        };
        if !signs.newly_lost.is_zero() && self.lost.max(signs.newly_lost) > tolerated {
            Some(ResumeTrigger::PacketLoss)
        } else if signs.is_marked {
            Some(ResumeTrigger::EcnCe)
        } else {
            None
        }
    }

    /// Congestion has become persistent: the controller begins anew (§3.6). What it is to go on
    /// from before.
    pub(crate) fn on_persistent_congestion(&mut self, path: &PathState) -> Option<ResumedWindow> {
        let retreat = self.retreated_window();
        if self.phase != Phase::Normal {
            self.stop(path, ResumeTrigger::PersistentCongestion);
        }
        (self.answered, self.tainted) = (None, None);
        retreat
    }

    /// What the controller goes on from when another takes over in the middle of a Safe Retreat.
    pub(crate) fn retreated_window(&self) -> Option<ResumedWindow> {
        match self.phase {
            Phase::SafeRetreat { cwnd, .. } => Some(ResumedWindow::Retreated {
                cwnd,
                ssthresh: self.pipe_size * BETA,
            }),
            _ => None,
        }
    }

    /// What the path has proved to carry, where a jump is under way.
    pub(crate) fn proven_window(&self, mss: Bytes) -> Option<Bytes> {
        match self.phase {
            Phase::Unvalidated { .. } | Phase::Validating { .. } => {
                Some(self.pipe_size.max(initial_window(mss)))
            }
            Phase::SafeRetreat { cwnd, .. } => Some(cwnd.max(min_window(mss))),
            Phase::Reconnaissance | Phase::Normal => None,
        }
    }

    /// Something was sent. What the controller goes on from, if a phase has ended with it.
    pub(crate) fn on_sent(&mut self, present: &Present) -> Option<ResumedWindow> {
        match self.phase {
            Phase::Reconnaissance => {
                self.check_reconnaissance(present);
                None
            }
            Phase::Unvalidated {
                jump, since, rtt, ..
            } => {
                let path = &present.path;
                if path.inflight.saturating_add(path.mss) > jump {
                    self.end_unvalidated(present, ResumeTrigger::LastUnvalidatedPacketSent)
                } else if path.now.since(since) > rtt {
                    self.end_unvalidated(present, ResumeTrigger::RttExceeded)
                } else {
                    None
                }
            }
            Phase::SafeRetreat { cwnd, .. } => {
                self.taint_probe(present, cwnd);
                None
            }
            Phase::Normal => {
                self.taint_probe(present, present.cwnd);
                None
            }
            Phase::Validating { .. } => None,
        }
    }

    /// A packet that leaves beyond the window while the path drains is a probe of the MTU, or after
    /// a silence. Its round trip measures how what is in flight before it arrives.
    fn taint_probe(&mut self, present: &Present, cwnd: Bytes) {
        let path = &present.path;
        if self.tainted.is_some() && path.inflight > cwnd.max(min_window(path.mss)) {
            self.tainted = Some(present.sent);
        }
    }

    /// Packets up to `newest` and others before it were acknowledged, and the controller was told.
    /// What it goes on from, if a phase has ended with it.
    pub(crate) fn on_acked(&mut self, present: &Present, newest: u64) -> Option<ResumedWindow> {
        let path = &present.path;
        let answered = self.answered.as_mut();
        if !answered.is_some_and(|answered| answered.goes_on_after(newest)) {
            self.answered = None;
        }
        self.tainted = self.tainted.filter(|tainted| newest <= *tainted);
        match self.phase {
            Phase::Reconnaissance => {
                self.check_reconnaissance(present);
                None
            }
            Phase::Unvalidated { first, .. } if newest >= first => {
                let trigger = ResumeTrigger::FirstUnvalidatedPacketAcknowledged;
                self.end_unvalidated(present, trigger)
            }
            Phase::Unvalidated { since, rtt, .. } if path.now.since(since) > rtt => {
                self.end_unvalidated(present, ResumeTrigger::RttExceeded)
            }
            Phase::Validating { last, .. } if newest >= last => {
                self.stop(path, ResumeTrigger::LastUnvalidatedPacketAcknowledged);
                None
            }
            Phase::SafeRetreat { last, .. } if newest >= last => self.end_retreat(path),
            _ => None,
        }
    }

    /// Reports what has changed.
    pub(crate) fn report(&mut self, observer: &mut dyn Observer) {
        self.changes.report(observer);
    }

    /// §3.2: all of the initial data is acknowledged without congestion once an initial window is,
    /// and the jump waits until there is more to send than the window allows.
    fn check_reconnaissance(&mut self, present: &Present) {
        let path = &present.path;
        let has_more = path.is_cwnd_limited && !path.is_app_limited;
        let is_acknowledged = path.delivered >= self.initial_data;
        let Some((min_rtt, rtt)) = path.min_rtt.zip(path.latest_rtt) else {
            return;
        };
        let jump = self.plan.jump();
        if path.now >= self.plan.expires_at {
            self.stop(path, ResumeTrigger::Expired);
        } else if !present.can_resume {
            self.stop(path, ResumeTrigger::NotNeeded);
        } else if is_acknowledged && !self.plan.is_confirmed_by(min_rtt) {
            self.stop(path, ResumeTrigger::RttNotValidated);
        } else if is_acknowledged && jump <= present.cwnd {
            self.stop(path, ResumeTrigger::NotNeeded);
        } else if is_acknowledged && has_more {
            self.pipe_size = path.inflight;
            let next = Phase::Unvalidated {
                jump,
                since: path.now,
                rtt,
                first: present.sent + 1,
            };
            let trigger = ResumeTrigger::CongestionWindowLimited;
            self.enter(path, next, trigger, Some(jump), None);
        }
    }

    /// §3.3, "Check flight_size".
    fn end_unvalidated(
        &mut self,
        present: &Present,
        trigger: ResumeTrigger,
    ) -> Option<ResumedWindow> {
        let path = &present.path;
        let (flight, least) = (path.inflight, initial_window(path.mss));
        let is_rate_limited = flight < least || flight <= self.pipe_size;
        let (next, cwnd, trigger) = if is_rate_limited {
            let cwnd = self.pipe_size.max(least);
            (Phase::Normal, cwnd, ResumeTrigger::RateLimited)
        } else {
            let next = Phase::Validating {
                last: present.sent,
                flight,
                most: flight,
            };
            (next, flight, trigger)
        };
        self.enter(path, next, trigger, Some(cwnd), None);
        Some(ResumedWindow::Raised { cwnd })
    }

    /// §3.5, on entry. `last` is the newest packet of the Unvalidated Phase, `sent` of all.
    fn retreat(&mut self, path: &PathState, trigger: ResumeTrigger, last: u64, sent: u64) {
        let cwnd = (self.pipe_size / 2).max(min_window(path.mss));
        self.has_retreated = true;
        (self.answered, self.tainted) = (Some(Answered::new(sent)), Some(sent));
        let next = Phase::SafeRetreat { cwnd, last };
        self.enter(path, next, trigger, Some(cwnd), None);
    }

    /// §3.5, on leaving.
    fn end_retreat(&mut self, path: &PathState) -> Option<ResumedWindow> {
        let window = self.retreated_window();
        if let Some(ResumedWindow::Retreated { cwnd, ssthresh }) = window {
            let trigger = ResumeTrigger::ExitRecovery;
            self.enter(path, Phase::Normal, trigger, Some(cwnd), Some(ssthresh));
        }
        window
    }

    fn stop(&mut self, path: &PathState, trigger: ResumeTrigger) {
        self.enter(path, Phase::Normal, trigger, None, None);
    }

    fn enter(
        &mut self,
        path: &PathState,
        next: Phase,
        trigger: ResumeTrigger,
        cwnd: Option<Bytes>,
        ssthresh: Option<Bytes>,
    ) {
        let from = self.phase();
        self.phase = next;
        self.changes
            .on_event(&Event::ResumePhaseChanged(ResumePhaseChange {
                at: path.now,
                from,
                to: self.phase(),
                trigger,
                pipe_size: self.pipe_size,
                cwnd,
                ssthresh,
            }));
    }
}

/// `cwnd` over one round trip: ITT = current RTT × MPS ÷ jump_cwnd, in bursts of no more than the
/// initial window (RFC 9959 §4.3.2).
fn paced(cwnd: Bytes, rtt: Option<Duration>, mss: Bytes) -> Control {
    let control = CwndPacing::constant(Gain::ONE).control(cwnd, rtt, mss, false);
    Control {
        send_quantum: control.send_quantum.min(initial_window(mss)),
        ..control
    }
}

/// Of PipeSize, for the threshold of slow start after a Safe Retreat (RFC 9959 §3.5, the default).
const BETA: Gain = Gain::new(1, 2);
/// The loss of so few packets says nothing of a share: BBR's StartupFullLossCnt
/// (draft-ietf-ccwg-bbr-06 §2.9).
const FEW_PACKETS: u64 = 6;
/// Round-trip times above so many saved ones indicate another path (RFC 9959 §4.2.1).
const MOST_RTT: u32 = 10;

#[cfg(test)]
mod tests;
