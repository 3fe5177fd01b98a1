//! One connection's congestion control: the sampler, the controller and what lies between them.

use crate::control::Control;
use crate::controller::{Controller, PathState, Setup};
use crate::delivery_rate::Sampler;
use crate::event::{Feedback, LostPacket, PacketStamp};
use crate::observe::{Event, Observer, Snapshot};
use crate::rtt::Rtt;
use alloc::boxed::Box;
use units::{Bytes, Timestamp};

/// Congestion control of one connection: facts in, one [`Control`] out.
///
/// ```text
///  on_sent ──▶ PacketStamp (the transport keeps it beside the packet)
///  on_feedback { acked, lost, rtt, ce } ──▶ sampler ──▶ controller ──▶ control()
///  on_app_limited, on_mtu, on_spurious_loss, on_discarded: whenever they happen
/// ```
///
/// Times never decrease from call to call; an earlier one is read as the newest so far.
#[derive(Debug)]
pub struct Flow {
    controller: Box<dyn Controller>,
    sampler: Sampler,
    rtt: Rtt,
    utilisation: Utilisation,
    now: Timestamp,
    mss: Bytes,
    inflight: Bytes,
    sends_ect1: bool,
    seed: u64,
}

impl Flow {
    /// A new connection under `controller`, made with the same `setup`.
    pub fn new(controller: Box<dyn Controller>, setup: &Setup) -> Self {
        Self {
            controller,
            sampler: Sampler::new(setup.now),
            rtt: Rtt::default(),
            utilisation: Utilisation::default(),
            now: setup.now,
            mss: setup.mss,
            inflight: Bytes::ZERO,
            sends_ect1: setup.sends_ect1,
            seed: setup.seed,
        }
    }

    /// `bytes` leave now, counted in flight until acknowledged, lost or discarded.
    pub fn on_sent(&mut self, now: Timestamp, bytes: Bytes) -> PacketStamp {
        self.advance(now);
        let path = self.path(self.inflight);
        self.controller.on_sent(&path, bytes);
        let stamp = self.sampler.on_sent(self.now, bytes, self.inflight);
        self.inflight += bytes;
        let control = self.control();
        self.utilisation.on_sent(self.inflight, control, self.mss);
        stamp
    }

    /// An ACK arrived or the loss timer fired.
    pub fn on_feedback(&mut self, feedback: &Feedback<'_>, observer: &mut dyn Observer) {
        self.advance(feedback.now);
        let before = self.control();
        let prior_inflight = self.inflight;
        let newest = self.sampler.on_acked(self.now, feedback.acked);
        if let Some((newest, newly_acked)) = newest {
            self.inflight = self.inflight.saturating_sub(newly_acked);
            self.utilisation.on_acked(&newest, self.sampler.delivered());
        }
        if let Some(rtt) = feedback.rtt {
            self.rtt.on_sample(rtt);
        }
        self.tell_losses(feedback, prior_inflight, observer);
        self.inflight = feedback.inflight.unwrap_or(self.inflight);
        if let Some((newest, newly_acked)) = newest {
            let min_rtt = self.rtt.get().map(|rtt| rtt.min);
            let mut sample = self.sampler.sample(&newest, newly_acked, min_rtt);
            sample.rtt = feedback.rtt;
            sample.ce_marked = feedback.ce_marked;
            observer.on_event(&Event::Sampled {
                at: self.now,
                sample,
            });
            let path = self.path(prior_inflight);
            let was_self_limited = self.controller.is_self_limited();
            self.controller.on_ack(&path, &sample, observer);
            if was_self_limited || self.controller.is_self_limited() {
                self.sampler.on_app_limited(self.inflight);
            }
        }
        let control = self.control();
        if control != before {
            observer.on_event(&Event::ControlChanged {
                at: self.now,
                control,
            });
        }
    }

    /// A packet that was declared lost has arrived after all: it counts as delivered, not as lost.
    pub fn on_spurious_loss(
        &mut self,
        now: Timestamp,
        packet: &LostPacket,
        observer: &mut dyn Observer,
    ) {
        self.advance(now);
        self.sampler.on_spurious_loss(self.now, packet);
        let path = self.path(self.inflight);
        self.controller.on_spurious_loss(&path, packet, observer);
    }

    /// `bytes` left flight without being acknowledged or lost, as when keys are discarded.
    pub fn on_discarded(&mut self, bytes: Bytes) {
        self.inflight = self.inflight.saturating_sub(bytes);
    }

    /// The window and the pacer would let more leave, but there is nothing to send.
    pub fn on_app_limited(&mut self) {
        self.sampler.on_app_limited(self.inflight);
    }

    /// Packets may now be as large as `mss`.
    pub fn on_mtu(&mut self, now: Timestamp, mss: Bytes) {
        self.advance(now);
        if mss != self.mss {
            self.mss = mss;
            let path = self.path(self.inflight);
            self.controller.on_mtu(&path);
        }
    }

    /// Goes on under another controller, made from the [`Setup`] that this one hands to `build`.
    ///
    /// Counters, round-trip times and what is in flight stay; the window in force is the new
    /// controller's initial one.
    pub fn change_controller(
        &mut self,
        now: Timestamp,
        build: impl FnOnce(&Setup) -> Box<dyn Controller>,
    ) {
        self.advance(now);
        let setup = Setup {
            now: self.now,
            mss: self.mss,
            initial_cwnd: self.control().cwnd,
            srtt: self.rtt.get().map(|rtt| rtt.smoothed),
            sends_ect1: self.sends_ect1,
            seed: self.seed,
        };
        self.controller = build(&setup);
    }

    /// The decision in force.
    pub fn control(&self) -> Control {
        self.controller.control()
    }

    /// Whether ECN-capable packets are to carry ECT(1) from now on, not ECT(0).
    pub fn wants_ect1(&self) -> bool {
        self.sends_ect1 && self.controller.wants_ect1()
    }

    /// The controller's state, for people.
    pub fn snapshot(&self) -> Snapshot {
        self.controller.snapshot()
    }

    /// The connection's state as of the newest event.
    pub fn path_state(&self) -> PathState {
        self.path(self.inflight)
    }

    fn advance(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
    }

    fn tell_losses(
        &mut self,
        feedback: &Feedback<'_>,
        prior_inflight: Bytes,
        observer: &mut dyn Observer,
    ) {
        for packet in feedback.lost {
            self.sampler.on_lost(packet);
            self.inflight = self.inflight.saturating_sub(packet.bytes);
            let path = self.path(prior_inflight);
            self.controller.on_lost(&path, packet, observer);
        }
        if feedback.is_persistent_congestion {
            let path = self.path(prior_inflight);
            self.controller.on_persistent_congestion(&path, observer);
        }
    }

    fn path(&self, prior_inflight: Bytes) -> PathState {
        let rtt = self.rtt.get();
        PathState {
            now: self.now,
            mss: self.mss,
            inflight: self.inflight,
            prior_inflight,
            delivered: self.sampler.delivered(),
            lost: self.sampler.lost(),
            is_app_limited: self.sampler.is_app_limited(),
            is_cwnd_limited: self.utilisation.is_full(),
            latest_rtt: rtt.map(|rtt| rtt.latest),
            srtt: rtt.map(|rtt| rtt.smoothed),
            rttvar: rtt.map(|rtt| rtt.deviation),
            min_rtt: rtt.map(|rtt| rtt.min),
        }
    }
}

/// Whether packets in flight filled the window in this round trip and in the one before.
///
/// Judged over a round, not at the moment of an ACK: a paced sender that uses its whole window is
/// below it most of the time. And judged against the window at the moment of sending: ACKs that
/// come in a bunch may double it before the next packet leaves.
#[derive(Debug, Default)]
struct Utilisation {
    fills: bool,
    filled_before: bool,
    /// The round ends when a packet is acknowledged that left after this much was delivered.
    round_end: Bytes,
}

impl Utilisation {
    /// Within one burst, at least two packets, of the window counts as full.
    fn on_sent(&mut self, inflight: Bytes, control: Control, mss: Bytes) {
        let slack = control.send_quantum.min(control.cwnd / 4).max(mss * 2);
        self.fills |= inflight.saturating_add(slack) >= control.cwnd;
    }

    fn on_acked(&mut self, newest: &PacketStamp, delivered: Bytes) {
        if newest.delivered >= self.round_end {
            self.round_end = delivered;
            self.filled_before = self.fills;
            self.fills = false;
        }
    }

    fn is_full(&self) -> bool {
        self.fills || self.filled_before
    }
}

#[cfg(test)]
mod tests;
