//! One connection's congestion control: the sampler, the controller and what lies between them.

use crate::control::Control;
use crate::controller::{Controller, PathState, Setup, initial_window};
use crate::departures::Departures;
use crate::events::{Feedback, LostPacket, PacketStamp};
use crate::observer::{Event, Observer, Snapshot};
use crate::resume::{CarefulResume, Present, ResumePlan, ResumeSigns};
use crate::rtt::RttEstimator;
use crate::sampler::{RateSample, Sampler};
use crate::saved_path::{CapacityEstimate, SavedPath};
use crate::utilization::CwndUtilization;
use alloc::boxed::Box;
use units::{Bytes, Timestamp};

/// Congestion control of one connection: facts in, one [`Control`] out.
///
/// ```text
///  on_sent ──▶ PacketStamp (the transport keeps it beside the packet)
///  on_feedback { acked, lost, rtt, ce } ──▶ sampler ──▶ controller ──▶ control()
///  on_app_limited, on_blocked, on_mtu, on_spurious_loss, on_discarded, set_sends_ect1: whenever
///  they happen
/// ```
///
/// Times never decrease from call to call; an earlier one is read as the newest so far.
#[derive(Debug)]
pub struct Flow {
    controller: Box<dyn Controller>,
    /// The controller's decision, asked for after each call that may change it.
    control: Control,
    sampler: Sampler,
    rtt: RttEstimator,
    utilization: CwndUtilization,
    capacity: CapacityEstimate,
    /// Set while Careful Resume is used.
    resume: Option<Box<CarefulResume>>,
    /// Whether the path did not carry what the flow resumed from.
    has_retreated: bool,
    /// What is shown to the controller. The present, the packet size, what is in flight and the
    /// round-trip times are kept here; [`refresh`](Self::refresh) brings the rest up to date.
    path: PathState,
    /// Whether packets carry ECT(1) if the controller wants it.
    sends_ect1: bool,
    seed: u64,
    departures: Departures,
}

impl Flow {
    /// A new connection under `controller`, made with the same `setup`.
    #[inline]
    pub fn new(controller: Box<dyn Controller>, setup: &Setup) -> Self {
        Self {
            control: controller.control(),
            controller,
            sampler: Sampler::new(setup.now),
            rtt: RttEstimator::default(),
            utilization: CwndUtilization::default(),
            capacity: CapacityEstimate::new(setup.now),
            resume: None,
            has_retreated: false,
            path: PathState::new(setup.now, setup.mss),
            sends_ect1: setup.sends_ect1,
            seed: setup.seed,
            departures: Departures::new(setup.shares_stamps),
        }
    }

    // Worth a copy at each of the few places that call them: no stamp and no feedback is moved.

    /// `bytes` leave now, counted in flight until acknowledged, lost or discarded.
    #[inline]
    pub fn on_sent(&mut self, now: Timestamp, bytes: Bytes) -> PacketStamp {
        self.on_scheduled(now, now, bytes)
    }

    /// `bytes` are handed over now to what sends them at `departure`, such as a kernel that keeps
    /// departure times. They count in flight from now on; round-trip times and delivery rates are
    /// measured from the departure. One before `now` is `now`.
    #[inline]
    pub fn on_scheduled(
        &mut self,
        now: Timestamp,
        departure: Timestamp,
        bytes: Bytes,
    ) -> PacketStamp {
        self.advance(now);
        let inflight = self.path.inflight;
        let Self { control, path, .. } = self;
        let departure = self.departures.on_sent(departure, bytes, control, path);
        self.refresh(inflight);
        self.controller.on_sent(&self.path, bytes);
        self.path.is_blocked = false;
        self.decide();
        let mut stamp = self.sampler.on_sent(departure, bytes, inflight);
        stamp.is_back_to_back = self.path.is_back_to_back;
        self.path.inflight += bytes;
        self.utilization
            .on_sent(self.path.inflight, &self.control, self.path.mss);
        if self.resume.is_some() {
            self.resume_on_sent();
        }
        stamp
    }

    /// An ACK arrived or the loss timer fired.
    #[inline]
    pub fn on_feedback(&mut self, feedback: &Feedback<'_>, observer: &mut dyn Observer) {
        self.advance(feedback.now);
        let prior_inflight = self.path.inflight;
        let newest = self.sampler.on_acked(self.path.now, feedback.acked);
        if let Some((newest, newly_acked)) = newest {
            self.path.inflight = prior_inflight.saturating_sub(newly_acked);
            if self.utilization.on_acked(newest, self.sampler.delivered()) {
                self.end_round();
            }
        }
        if let Some(rtt) = feedback.rtt {
            self.rtt.on_sample(rtt, &mut self.path);
        }
        self.sampler.on_marked(feedback.ce_marked);
        if self.resume.is_some() {
            self.resume_on_signs(feedback, newest, observer);
        }
        self.report_losses(feedback, prior_inflight, observer);
        self.path.inflight = feedback.inflight.unwrap_or(self.path.inflight);
        if let Some((newest, newly_acked)) = newest {
            // The sample stays where it is made: a copy of so many words that were just written
            // takes longer than making it.
            let sampled = Event::Sampled {
                at: self.path.now,
                sample: self
                    .sampler
                    .sample(newest, newly_acked, self.rtt.min(), feedback.rtt),
            };
            observer.on_event(&sampled);
            if let Event::Sampled { sample, .. } = &sampled {
                self.report_sample(newest, sample, prior_inflight, observer);
            }
        }
        if let Some(control) = self.decide() {
            observer.on_event(&Event::ControlChanged {
                at: self.path.now,
                control,
            });
        }
    }

    /// A packet that was declared lost has arrived after all: it counts as delivered, not as lost.
    #[inline]
    pub fn on_spurious_loss(
        &mut self,
        now: Timestamp,
        packet: &LostPacket,
        observer: &mut dyn Observer,
    ) {
        self.advance(now);
        self.sampler.on_spurious_loss(self.path.now, packet);
        self.refresh(self.path.inflight);
        let resume = self.resume.as_ref();
        if resume.is_some_and(|resume| resume.has_answered(packet.stamp.sequence)) {
            return;
        }
        self.controller
            .on_spurious_loss(&self.path, packet, observer);
        self.decide();
    }

    /// `bytes` left flight without being acknowledged or lost, as when keys are discarded.
    #[inline]
    pub fn on_discarded(&mut self, bytes: Bytes) {
        self.path.inflight = self.path.inflight.saturating_sub(bytes);
    }

    /// The window and the pacer would let more leave, but there is nothing to send.
    #[inline]
    pub fn on_app_limited(&mut self) {
        self.path.is_blocked = true;
        self.sampler.on_app_limited(self.path.inflight);
    }

    /// The window and the pacer would let more leave, and there is more to send, but something else
    /// does not: the peer's flow control, a full socket, a limit of the rate that the controller
    /// does not know. No limit of the application's (draft-ietf-ccwg-bbr-06 §4.1.1.3).
    #[inline]
    pub fn on_blocked(&mut self) {
        self.path.is_blocked = true;
    }

    /// Packets may now be as large as `mss`.
    #[inline]
    pub fn on_mtu(&mut self, now: Timestamp, mss: Bytes) {
        self.advance(now);
        if mss != self.path.mss {
            self.path.mss = mss;
            self.refresh(self.path.inflight);
            self.controller.on_mtu(&self.path);
            self.decide();
        }
    }

    /// Whether packets that leave from now on carry ECT(1) if the controller wants it; at first
    /// [`Setup::sends_ect1`] says so.
    ///
    /// To be called with `false` when the path turns out not to carry ECN, bleached or failing the
    /// validation of RFC 9000 §13.4.2, and with `true` where ECT(1) can be sent after all. What
    /// [`wants_ect1`](Self::wants_ect1) returns follows. The same value again changes nothing.
    #[inline]
    pub fn set_sends_ect1(&mut self, now: Timestamp, sends_ect1: bool) {
        self.advance(now);
        if core::mem::replace(&mut self.sends_ect1, sends_ect1) != sends_ect1 {
            self.refresh(self.path.inflight);
            self.controller.on_sends_ect1(&self.path, sends_ect1);
            self.decide();
        }
    }

    /// Begins with half of what `plan` says of the path, once the initial window has shown that the
    /// path is there (Careful Resume, RFC 9959). To be called before anything is sent. Has no
    /// effect under a controller that [cannot resume](Controller::can_resume).
    #[inline]
    pub fn resume(&mut self, plan: ResumePlan) {
        if self.controller.can_resume() {
            self.resume = Some(Box::new(CarefulResume::new(plan, self.path.mss)));
        }
    }

    /// What a later connection over the same path may resume from: the capacity in use, once it is
    /// at least four initial windows, and the minimum round-trip time (RFC 9959 §3.1). `None` while
    /// the flow itself resumes (§4.7).
    #[inline]
    pub fn saved_path(&self) -> Option<SavedPath> {
        match self.resume {
            None => self.capacity.get(self.path.mss, self.path.min_rtt),
            Some(_) => None,
        }
    }

    /// Whether the path did not carry what the flow resumed from, which is then to be forgotten
    /// (RFC 9959 §3.5).
    #[inline]
    pub fn has_retreated(&self) -> bool {
        self.has_retreated
    }

    /// Goes on under another controller, made from the [`Setup`] that this one hands to `build`.
    ///
    /// Counters, round-trip times and what is in flight stay. The window in force is the new
    /// controller's initial one, where it was filled; else it is no more than twice what is in
    /// flight, because a window that is not filled was not tested by the path. Whether ECT(1) is
    /// sent is what [`set_sends_ect1`](Self::set_sends_ect1) said last.
    ///
    /// Returns the controller before.
    #[inline]
    pub fn change_controller(
        &mut self,
        now: Timestamp,
        build: impl FnOnce(&Setup) -> Box<dyn Controller>,
    ) -> Box<dyn Controller> {
        self.advance(now);
        let setup = Setup {
            initial_cwnd: self.initial_window_of_another(),
            srtt: self.path.srtt,
            sends_ect1: self.sends_ect1,
            shares_stamps: self.departures.share_stamps,
            ..Setup::new(self.path.now, self.path.mss, self.seed)
        };
        let former = core::mem::replace(&mut self.controller, build(&setup));
        self.refresh(self.path.inflight);
        if let Some(resume) = self.resume.take()
            && let Some(window) = resume.retreated_window()
        {
            self.controller.resume(&self.path, &window, &mut ());
        }
        self.decide();
        former
    }

    #[inline]
    fn initial_window_of_another(&self) -> Bytes {
        let resume = self.resume.as_ref();
        let jumped = resume.and_then(|resume| resume.proven_window(self.path.mss));
        jumped.unwrap_or_else(|| self.proven_window())
    }

    #[inline]
    fn proven_window(&self) -> Bytes {
        if self.utilization.is_full() {
            return self.control.cwnd;
        }
        let used = self.path.inflight.saturating_add(self.path.inflight);
        self.control
            .cwnd
            .min(used.max(initial_window(self.path.mss)))
    }

    /// The decision in force.
    #[inline]
    pub fn control(&self) -> Control {
        self.control
    }

    /// Whether ECN-capable packets are to carry ECT(1) from now on, not ECT(0).
    #[inline]
    pub fn wants_ect1(&self) -> bool {
        self.sends_ect1 && self.controller.wants_ect1()
    }

    /// Whether the receiver should send fewer ACKs where some of them get lost.
    pub fn wants_fewer_acks(&self) -> bool {
        self.controller.wants_fewer_acks()
    }

    /// The controller's state, for people.
    #[inline]
    pub fn snapshot(&self) -> Snapshot {
        let snapshot = self.controller.snapshot();
        match &self.resume {
            None => snapshot,
            Some(resume) => Snapshot {
                control: self.control,
                resume_phase: Some(resume.phase()),
                ..snapshot
            },
        }
    }

    /// The connection's state as of the newest event.
    #[inline]
    pub fn path_state(&self) -> PathState {
        PathState {
            prior_inflight: self.path.inflight,
            delivered: self.sampler.delivered(),
            lost: self.sampler.lost(),
            is_app_limited: self.sampler.is_app_limited(),
            is_cwnd_limited: self.utilization.is_full(),
            ..self.path
        }
    }

    /// Asks for the decision. Returns it if it has changed.
    #[inline]
    fn decide(&mut self) -> Option<Control> {
        let mut control = self.controller.control();
        if let Some(resume) = &self.resume {
            control = resume.control(control, &self.path);
        }
        self.control.replace(control).then_some(control)
    }

    #[inline]
    fn advance(&mut self, now: Timestamp) {
        self.path.now = self.path.now.max(now);
    }

    #[inline]
    fn report_losses(
        &mut self,
        feedback: &Feedback<'_>,
        prior_inflight: Bytes,
        observer: &mut dyn Observer,
    ) {
        let sent = self.sampler.sequence();
        for packet in feedback.lost {
            self.sampler.on_lost(packet);
            self.path.inflight = self.path.inflight.saturating_sub(packet.bytes);
            self.refresh(prior_inflight);
            let resume = self.resume.as_mut();
            if !resume.is_some_and(|resume| resume.on_lost(packet, sent)) {
                self.controller.on_lost(&self.path, packet, observer);
            }
        }
        if feedback.is_persistent_congestion {
            self.refresh(prior_inflight);
            let window = self
                .resume
                .as_mut()
                .and_then(|resume| resume.on_persistent_congestion(&self.path));
            if let Some(window) = window {
                self.controller.resume(&self.path, &window, observer);
            }
            self.controller
                .on_persistent_congestion(&self.path, observer);
        }
    }

    #[inline]
    fn report_sample(
        &mut self,
        newest: &PacketStamp,
        sample: &RateSample,
        prior_inflight: Bytes,
        observer: &mut dyn Observer,
    ) {
        self.refresh(prior_inflight);
        let was_self_limited = self.controller.is_self_limited();
        match &self.resume {
            None => self.controller.on_ack(&self.path, sample, observer),
            Some(resume) => {
                let sample = resume.untainted(newest.sequence, sample);
                self.controller.on_ack(&self.path, &sample, observer);
                self.resume_on_acked(newest.sequence, observer);
            }
        }
        if was_self_limited || self.controller.is_self_limited() {
            self.sampler.on_app_limited(self.path.inflight);
        }
    }

    /// A round trip is over.
    #[inline]
    fn end_round(&mut self) {
        if self.resume.is_none() {
            self.capacity.on_round(
                self.path.now,
                self.sampler.delivered(),
                self.path.min_rtt,
                self.sampler.is_app_limited(),
            );
        }
    }

    #[cold]
    fn resume_on_sent(&mut self) {
        self.refresh(self.path.inflight);
        let present = self.present();
        let Some(resume) = &mut self.resume else {
            return;
        };
        if let Some(window) = resume.on_sent(&present) {
            // Nothing that a controller reports happens here: it goes on as before.
            self.controller.resume(&self.path, &window, &mut ());
        }
        self.decide();
    }

    #[cold]
    fn resume_on_signs(
        &mut self,
        feedback: &Feedback<'_>,
        newest: Option<(&PacketStamp, Bytes)>,
        observer: &mut dyn Observer,
    ) {
        let signs = ResumeSigns {
            newly_acked: newest.map_or(Bytes::ZERO, |(_, bytes)| bytes),
            newly_lost: feedback.lost.iter().map(|packet| packet.bytes).sum(),
            is_marked: feedback.ce_marked > 0,
            tolerated_loss: self.controller.tolerated_loss(),
            sent: self.sampler.sequence(),
        };
        if let Some(resume) = &mut self.resume {
            resume.on_signs(&self.path, &signs);
            resume.report(observer);
            self.has_retreated |= resume.has_retreated();
        }
    }

    /// The controller was told of packets up to `newest`.
    #[cold]
    fn resume_on_acked(&mut self, newest: u64, observer: &mut dyn Observer) {
        let present = self.present();
        let Some(resume) = &mut self.resume else {
            return;
        };
        let window = resume.on_acked(&present, newest);
        resume.report(observer);
        let is_over = resume.is_over();
        if let Some(window) = window {
            self.controller.resume(&self.path, &window, observer);
        }
        if is_over {
            self.resume = None;
            self.capacity
                .restart(self.path.now, self.sampler.delivered());
        }
    }

    #[inline]
    fn present(&self) -> Present {
        Present {
            path: self.path,
            sent: self.sampler.sequence(),
            can_resume: self.controller.can_resume(),
            cwnd: self.controller.control().cwnd,
        }
    }

    /// Brings the path up to date, in an event before which `prior_inflight` was in flight.
    #[inline]
    fn refresh(&mut self, prior_inflight: Bytes) {
        self.path.prior_inflight = prior_inflight;
        self.path.delivered = self.sampler.delivered();
        self.path.lost = self.sampler.lost();
        self.path.is_app_limited = self.sampler.is_app_limited();
        self.path.is_cwnd_limited = self.utilization.is_full();
    }
}

#[cfg(test)]
mod tests;
