//! A connection's congestion control as the driver sees it.

use super::counts::{Batch, Counts};
use super::events::DeferredEvents;
#[cfg(feature = "testing")]
use super::facts::Watch;
use super::facts::{Fact, Facts, PacketId};
use super::loss_detection::{Announcement, LossDetection};
use super::path::{Path, Reception, probe_timeout};
use super::reordering::LossThresholds;
use super::sent_packets::SentPacket;
use super::spaces::Spaces;
use crate::histogram::RttHistogram;
use crate::tap::{Ack, Content, EcnCounts, Received, Sent, Space};
use crate::user_code::{self, Role};
use cc_core::{Control, ControllerChoice, Flow, PathState, Registry, Setup, Snapshot};
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use units::{Bandwidth, Bytes, Timestamp};

/// Makes one [`Feedback`](cc_core::Feedback) of what each datagram or timer brings, and keeps one
/// [`Flow`] per network path.
pub(crate) struct Congestion {
    choice: Arc<ControllerChoice>,
    seed: u64,
    paths_opened: u64,
    /// Set as soon as quinn-proto has made its connection.
    active: Option<Box<Path>>,
    /// The last path before the active one that has had a round-trip time, or the first one:
    /// quinn-proto returns to it when validation fails.
    parked: Option<Box<Path>>,
    spaces: Spaces,
    loss_detection: LossDetection,
    /// By space, as of the ACK with the largest number so far.
    ecn_counts: [EcnCounts; 3],
    /// Whether quinn-proto has found the newest ECN counts to be valid, and congestion in them.
    is_ce_valid: bool,
    /// The peer's, once it has sent an ACK.
    pub(crate) max_ack_delay: Duration,
    pub(crate) events: DeferredEvents,
    counts: Counts,
    pub(super) facts: Facts,
    /// Which controller has panicked, and what it said.
    panic: Option<String>,
}

impl Congestion {
    pub(super) fn new(
        choice: Arc<ControllerChoice>,
        seed: u64,
        thresholds: LossThresholds,
    ) -> Self {
        Self {
            choice,
            seed,
            paths_opened: 0,
            active: None,
            parked: None,
            spaces: Spaces::default(),
            loss_detection: LossDetection::new(thresholds),
            ecn_counts: Default::default(),
            is_ce_valid: false,
            max_ack_delay: Duration::ZERO,
            events: DeferredEvents::default(),
            counts: Counts::default(),
            facts: Facts::default(),
            panic: None,
        }
    }

    /// quinn-proto has a new path. Its number, for [`Self::select_path`].
    pub(super) fn open_path(&mut self, now: Timestamp, mss: Bytes) -> u64 {
        let id = self.paths_opened;
        self.paths_opened += 1;
        let setup = Setup::new(now, mss, self.seed.wrapping_add(id));
        let flow = self.guard(|this| Flow::new(this.choice.build(&setup), &setup));
        let left = self.active.replace(Box::new(Path::new(id, flow)));
        // quinn-proto returns to the last path that was validated, not to one that never answered.
        if self.parked.is_none()
            || left
                .as_ref()
                .is_some_and(|path| path.first_rtt_at.is_some())
        {
            self.parked = left;
        }
        id
    }

    /// quinn-proto calls for path `id`: it has become the active one if it was not.
    ///
    /// A path that is neither active nor parked has been left twice over, or has never answered; it
    /// goes on with what the active one knows.
    pub(super) fn select_path(&mut self, id: u64) {
        let is_active = self.active.as_ref().is_some_and(|path| path.id == id);
        if !is_active && self.parked.as_ref().is_some_and(|path| path.id == id) {
            std::mem::swap(&mut self.active, &mut self.parked);
        }
    }

    /// Packets can carry ECT(1) from now on, or cannot. Whether they are to.
    pub(crate) fn offer_ect1(&mut self, now: Timestamp, can_send_ect1: bool) -> bool {
        self.guard(|this| {
            let flow = &mut this.path_mut().flow;
            flow.set_sends_ect1(now, can_send_ect1);
            flow.wants_ect1()
        })
    }

    /// A batch has left on the active path. The decision in force after it.
    pub(crate) fn on_sent(&mut self, now: Timestamp, batch: Batch<'_>) -> Control {
        // After a panic it goes on with the packet at which that happened.
        let next = Cell::new(0);
        self.guard(|this| {
            while let Some(sent) = batch.packets.get(next.get()) {
                this.on_packet_sent(now, sent, batch);
                next.set(next.get() + 1);
            }
            this.path_mut().flow.control()
        })
    }

    fn on_packet_sent(&mut self, now: Timestamp, sent: &Sent, batch: Batch<'_>) {
        let Self {
            spaces,
            active,
            parked,
            facts,
            ..
        } = self;
        let path = active.as_mut().expect(OPENED);
        let packet = |number| id(sent.space as usize, number);
        let space = spaces.get(sent.space as usize);
        let bytes = Bytes::new(sent.bytes.into());
        let is_in_flight = sent.content != Content::NotInFlight;
        let is_ack_eliciting = sent.content == Content::AckEliciting;
        if is_in_flight {
            space.push(SentPacket {
                number: sent.number,
                stamp: path.flow.on_scheduled(now, batch.leaves, bytes),
                bytes: sent.bytes,
                path: path.id,
                is_ack_eliciting,
                is_mtu_probe: batch.is_mtu_probe,
            });
        } else {
            space.push_other(sent.number, batch.leaves, path.id);
        }
        facts.note(now, || Fact::Sent {
            packet: packet(sent.number),
            bytes,
            is_in_flight,
            path: path.id,
        });
        if is_in_flight
            && !is_ack_eliciting
            && let Some(forgotten) = space.forget_of_tail()
        {
            facts.note(now, || Fact::Discarded(packet(forgotten.number)));
            discard(active, parked, &forgotten);
        }
    }

    /// quinn-proto has handled an ACK, and counts so many bytes in flight.
    pub(super) fn on_proto_in_flight(&mut self, now: Timestamp, bytes: Bytes) {
        self.facts.note(now, || Fact::ProtoInFlight(bytes));
    }

    /// quinn-proto has found an increase of CE counts in the ACK that it handles.
    pub(super) fn on_ce_valid(&mut self) {
        self.is_ce_valid = true;
    }

    /// Packets may now be as large as `mss`.
    pub(super) fn on_mtu(&mut self, mss: Bytes) {
        self.guard(|this| {
            let flow = &mut this.path_mut().flow;
            flow.on_mtu(flow.path_state().now, mss);
        });
    }

    /// A datagram has brought this.
    pub(crate) fn on_received(&mut self, reception: Reception, received: &Received) {
        let [initial, handshake, data] = received.discarded;
        if data {
            self.discard(reception.came_at, Space::Data);
        }
        let mut ranges = &received.ranges[..];
        for ack in &received.acks {
            let own = ranges.split_off(..ack.ranges).unwrap_or_default();
            self.on_ack(reception, ack, own);
        }
        for (space, is_discarded) in [(Space::Initial, initial), (Space::Handshake, handshake)] {
            if is_discarded {
                self.discard(reception.came_at, space);
            }
        }
        self.is_ce_valid = false;
        if !received.acks.is_empty() {
            self.max_ack_delay = received.max_ack_delay;
        }
    }

    fn discard(&mut self, now: Timestamp, space: Space) {
        let Self {
            spaces,
            active,
            parked,
            facts,
            ..
        } = self;
        spaces.discard(space, |packet| {
            facts.note(now, || Fact::Discarded(id(space as usize, packet.number)));
            discard(active, parked, packet);
        });
    }

    fn on_ack(&mut self, reception: Reception, ack: &Ack, ranges: &[(u64, u64)]) {
        let now = reception.came_at;
        let Self {
            spaces,
            active,
            parked,
            loss_detection,
            counts,
            facts,
            ..
        } = self;
        let path = active.as_mut().expect(OPENED);
        let space = spaces.get(ack.space as usize);
        let rtt = path.conservative_rtt(reception.smoothed_rtt);
        let former_largest = space.largest_acked();
        let mut newest = None;
        let mut is_any_ack_eliciting = false;
        for range in ranges {
            space.take_acked(*range, |packet| {
                facts.note(now, || Fact::Acked(id(ack.space as usize, packet.number)));
                is_any_ack_eliciting |= packet.is_ack_eliciting;
                if packet.number == ack.largest {
                    newest = Some(packet.departure());
                }
                if packet.path != path.id {
                    // The network has it, whatever the present path is.
                    if let Some(parked) = parked.as_mut().filter(|parked| parked.id == packet.path)
                    {
                        parked.flow.on_discarded(packet.bytes());
                    }
                    return;
                }
                if Some(packet.number) < former_largest {
                    loss_detection.on_late(now, now.since(packet.stamp.sent_at), rtt);
                }
                path.on_acked(&packet);
            });
            space.take_late(*range, |lost| {
                let number = lost.packet.number;
                facts.note(now, || Fact::Late(id(ack.space as usize, number)));
                counts.spurious_losses += u64::from(!lost.packet.is_mtu_probe);
                if lost.packet.path == path.id && !lost.packet.is_mtu_probe {
                    loss_detection.on_late(now, now.since(lost.packet.stamp.sent_at), rtt);
                    path.pending.late.push(lost.report());
                }
            });
        }
        if !space.on_largest_acked(ack.largest) {
            return;
        }
        let other = space.take_other(ack.largest);
        if let Some(newest) = newest.or(other)
            && newest.path == path.id
            && is_any_ack_eliciting
        {
            counts.acked_early += u64::from(newest.sent_at > reception.read_at);
            path.on_rtt_sample(reception, newest.sent_at, ack);
        }
        self.on_ecn_counts(now, ack);
    }

    /// `ack` has a larger number than all before it, so that its counts are no older than theirs
    /// (RFC 9000 §13.4.2.1).
    fn on_ecn_counts(&mut self, now: Timestamp, ack: &Ack) {
        let Some(counts) = ack.ecn else {
            return;
        };
        let former = std::mem::replace(&mut self.ecn_counts[ack.space as usize], counts);
        // No more than there are numbers can have been marked.
        let ce = counts.ce.min(ack.largest + 1);
        let marked = ce.saturating_sub(former.ce);
        if self.is_ce_valid && marked > 0 {
            self.counts.ce_marked += marked;
            self.counts.ce_reports += 1;
            self.facts.note(now, || Fact::Marked(marked));
            self.path_mut().pending.ce_marked += marked;
        }
    }

    /// Declares lost what is overdue, passes on all that has happened as one ACK or one expiry of
    /// the loss timer, and forgets what has left flight. The decision in force after it.
    pub(crate) fn settle(&mut self, now: Timestamp, smoothed_rtt: Duration) -> Control {
        let Self {
            spaces,
            active,
            parked,
            loss_detection,
            facts,
            ..
        } = self;
        let path = active.as_mut().expect(OPENED);
        let rtt = path.conservative_rtt(smoothed_rtt);
        loss_detection.detect(now, spaces, rtt, |space, lost| {
            facts.note(now, || Fact::Lost(id(space, lost.packet.number)));
            if lost.packet.path == path.id {
                path.on_lost(&lost);
            } else if let Some(parked) =
                parked.as_mut().filter(|other| other.id == lost.packet.path)
            {
                parked.flow.on_discarded(lost.packet.bytes());
            }
        });
        let state = path.flow.path_state();
        let probe_timeout = probe_timeout(&state, smoothed_rtt, self.max_ack_delay);
        path.pending.is_persistent_congestion =
            loss_detection.drop_settled(now, spaces, path, probe_timeout);
        let control = self.guard(|this| {
            let path = this.active.as_mut().expect(OPENED);
            path.flush(now, &mut this.events);
            path.flow.control()
        });
        let Self { spaces, facts, .. } = self;
        let path = self.active.as_ref().expect(OPENED);
        facts.note(now, || Fact::Settled {
            path: path.id,
            in_flight: path.flow.path_state().inflight,
            kept: spaces.iter().map(|space| space.in_flight(path.id)).sum(),
        });
        control
    }

    /// Whom to tell what is learned of packets from now on.
    #[cfg(feature = "testing")]
    pub(crate) fn watch_facts(&mut self, watch: Watch) {
        self.facts.set_watch(watch);
    }

    /// When [`Self::settle`] finds the next packet lost.
    pub(crate) fn loss_time(&self) -> Option<Timestamp> {
        self.loss_detection.loss_time
    }

    /// What quinn-proto is to declare lost.
    pub(crate) fn announce_losses(
        &mut self,
        now: Timestamp,
        smoothed_rtt: Duration,
    ) -> Option<Announcement> {
        let rtt = self.path().conservative_rtt(smoothed_rtt);
        let data = self.spaces.get(Space::Data as usize);
        self.loss_detection.announce(now, data, rtt)
    }

    /// What is to be sent may not leave although window and pacer permit it.
    pub(crate) fn on_blocked(&mut self) {
        self.path_mut().flow.on_blocked();
    }

    /// There was nothing to send although the window had room.
    pub(crate) fn on_app_limited(&mut self) {
        self.path_mut().flow.on_app_limited();
    }

    /// Goes on under another controller, on every path. Its first decision.
    pub(crate) fn set_choice(&mut self, now: Timestamp, choice: &ControllerChoice) -> Control {
        self.choice = Arc::new(choice.clone());
        self.guard(|this| {
            for path in [&mut this.active, &mut this.parked].into_iter().flatten() {
                path.flow
                    .change_controller(now, |setup| this.choice.build(setup));
            }
        });
        self.control()
    }

    /// The decision in force.
    pub(crate) fn control(&self) -> Control {
        self.path().flow.control()
    }

    /// The controller's state, for people.
    pub(crate) fn snapshot(&mut self) -> Snapshot {
        self.guard(|this| this.path().flow.snapshot())
    }

    /// Bytes in flight.
    pub(crate) fn in_flight(&self) -> Bytes {
        self.path().flow.path_state().inflight
    }

    /// The connection's state as of the newest event.
    pub(crate) fn path_state(&self) -> PathState {
        self.path().flow.path_state()
    }

    /// Delivery rate by the newest sample that had one.
    pub(crate) fn delivery_rate(&self) -> Option<Bandwidth> {
        self.path().delivery_rate
    }

    /// Round-trip times by how often they were measured.
    pub(crate) fn rtt_histogram(&self) -> RttHistogram {
        self.path().rtt_counts.histogram()
    }

    /// What the peer has reported on all paths.
    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// Which controller has panicked since the last call, and what it said.
    pub(crate) fn take_panic(&mut self) -> Option<String> {
        self.panic.take()
    }

    /// Does something that calls the controller, which may be the application's. If that panics,
    /// does it again under NewReno, which controls the connection until it is closed.
    pub(super) fn guard<T>(&mut self, call: impl Fn(&mut Self) -> T) -> T {
        match user_code::call_locked(Role::Controller, || call(self)) {
            Ok(value) => value,
            Err(message) => {
                self.replace_controller(&message);
                call(self)
            }
        }
    }

    #[cold]
    fn replace_controller(&mut self, message: &str) {
        let reason = format!("controller {} panicked: {message}", self.choice.name());
        tracing::error!("{reason}");
        self.panic.get_or_insert(reason);
        let choice = Registry::standard().choose("new_reno");
        self.choice = Arc::new(choice.expect("a standard controller"));
        for path in [&mut self.active, &mut self.parked].into_iter().flatten() {
            path.pending.clear();
            // What was pending has left flight, whether or not the flow was told before the panic.
            let spaces = self.spaces.iter();
            let in_flight = spaces.map(|space| space.in_flight(path.id)).sum();
            let state = path.flow.path_state();
            path.flow
                .on_discarded(state.inflight.saturating_sub(in_flight));
            let (now, choice) = (state.now, &self.choice);
            let former = path
                .flow
                .change_controller(now, |setup| choice.build(setup));
            // It may panic once more.
            let _ = user_code::call_locked(Role::Controller, || drop(former));
        }
    }

    pub(super) fn path(&self) -> &Path {
        self.active.as_ref().expect(OPENED)
    }

    pub(super) fn path_mut(&mut self) -> &mut Path {
        self.active.as_mut().expect(OPENED)
    }
}

/// Takes a packet out of flight on the path that it left on, if that is known.
fn discard(active: &mut Option<Box<Path>>, parked: &mut Option<Box<Path>>, packet: &SentPacket) {
    let mut paths = [active, parked].into_iter().flatten();
    if let Some(path) = paths.find(|path| path.id == packet.path) {
        path.flow.on_discarded(packet.bytes());
    }
}

impl Drop for Congestion {
    /// The controllers may be the application's.
    fn drop(&mut self) {
        for path in [self.active.take(), self.parked.take()] {
            let _ = user_code::call_locked(Role::Controller, || drop(path));
        }
    }
}

impl fmt::Debug for Congestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Congestion")
            .field("choice", &format_args!("{}", self.choice))
            .field("active", &self.active)
            .finish_non_exhaustive()
    }
}

fn id(space: usize, number: u64) -> PacketId {
    PacketId { space, number }
}

const OPENED: &str = "quinn-proto makes a controller before it does anything else";

#[cfg(test)]
mod tests;
