//! What a lost or marked packet does to the model (draft-ietf-ccwg-bbr-06 §5.5.10).

use super::congestion::Flight;
use super::machine::Bbr;
use super::recovery::{RecoveryPolicy, UndoState};
use super::revision::Revision;
use crate::controller::PathState;
use crate::events::LostPacket;
use crate::parts::transition::EventContext;
use crate::sampler::RateSample;
use units::{Bandwidth, Bytes};

impl<R: Revision> Bbr<R> {
    /// The flight of the newest packet that an ACK covers.
    pub(super) fn flight(&self, path: &PathState, sample: &RateSample) -> Flight {
        Flight {
            tx_in_flight: sample.tx_in_flight,
            lost: self.lost_of_flight(path, sample.lost),
            is_app_limited: sample.is_app_limited,
        }
    }

    /// HandleLostPacket, of a packet in so many separate ranges. `context.path` counts it as lost
    /// already.
    pub(super) fn handle_lost_packet(
        &mut self,
        context: &mut EventContext<'_>,
        packet: &LostPacket,
        ranges: u64,
    ) {
        self.late.lost_in_round += packet.bytes;
        self.note_loss_for_recovery(context.path.now, packet);
        self.note_loss(context.path.delivered);
        self.congestion.lost_ranges += ranges;
        if !self.probe.is_sample {
            return;
        }
        let since_sent = context.path.lost.saturating_sub(packet.stamp.lost);
        let mut flight = Flight {
            tx_in_flight: packet.stamp.tx_in_flight,
            lost: self.lost_of_flight(context.path, since_sent),
            is_app_limited: packet.stamp.is_app_limited,
        };
        if self.is_inflight_too_high(&flight) {
            flight.tx_in_flight = flight.at_loss(packet.bytes, self.tuning.loss_thresh);
            self.handle_inflight_too_high(context, &flight);
        }
    }

    /// A mark is a congestion signal like a lost packet, only that nothing was lost (§3.7 asks for
    /// a response and does not specify it). Each counts as a full packet, but together they count
    /// for no more than the ACK acknowledges, whatever the peer reports.
    pub(super) fn handle_marks(&mut self, context: &mut EventContext<'_>, sample: &RateSample) {
        if sample.ce_marked == 0 {
            return;
        }
        self.note_loss(context.path.delivered);
        let mss = context.path.mss;
        let marked = (mss * sample.ce_marked).min(sample.newly_acked);
        self.congestion.lost_ranges += marked.packets_ceil(mss);
        self.congestion.marked += marked;
        let flight = self.flight(context.path, sample);
        if self.probe.is_sample && self.is_inflight_too_high(&flight) {
            self.handle_inflight_too_high(context, &flight);
        }
    }

    /// NoteLoss, but for saving state, which the recovery policy does.
    fn note_loss(&mut self, delivered: Bytes) {
        if R::RULES.loss_begins_round && !self.congestion.is_loss_in_round {
            self.congestion.round_end = delivered;
        }
        self.congestion.is_loss_in_round = true;
    }

    /// IsInflightTooHigh: more than `loss_thresh` of the flight was lost or marked.
    pub(super) fn is_inflight_too_high(&self, flight: &Flight) -> bool {
        let tolerated = flight.tx_in_flight * self.tuning.loss_thresh;
        flight.lost.saturating_add(self.congestion.marked) > tolerated
    }

    /// HandleInflightTooHigh: a probe has found the limit.
    pub(super) fn handle_inflight_too_high(
        &mut self,
        context: &mut EventContext<'_>,
        flight: &Flight,
    ) {
        self.probe.went_too_high = true;
        // One response per probe.
        self.probe.is_sample = false;
        if !flight.is_app_limited {
            let least = self.target_inflight() * self.tuning.beta;
            self.volume.longterm = flight.tx_in_flight.max(least);
        }
        if self.state.is_up() {
            self.recovery.on_exit(UndoState::ProbeBwUp);
            self.start_down(context);
        }
    }

    /// UpdateCongestionSignals, but for the round and max_bw: once per round, respond to loss.
    pub(super) fn adapt_lower_bounds(&mut self) {
        if !self.congestion.is_round_start || !self.congestion.is_loss_in_round {
            return;
        }
        self.congestion.is_loss_in_round = false;
        if self.state.is_probing_bw() {
            return;
        }
        let beta = self.tuning.beta;
        self.rate.cut_shortterm(self.congestion.bw_latest, beta);
        let latest = self.congestion.inflight_latest;
        self.volume.cut_shortterm(latest, self.cwnd, beta);
    }

    /// ResetShortTermModel.
    pub(super) fn reset_short_term_model(&mut self) {
        self.rate.shortterm = Bandwidth::MAX;
        self.volume.shortterm = Bytes::MAX;
    }

    /// A packet was declared lost: counts it, or holds it for the reordering window.
    pub(super) fn on_packet_lost(&mut self, context: &mut EventContext<'_>, packet: &LostPacket) {
        self.late.on_lost();
        match self.late.reordering_window(context.path) {
            Some(reordering_window)
                if context.path.now <= packet.stamp.sent_at + reordering_window =>
            {
                self.count_overdue(context);
                self.late.hold(packet, reordering_window);
            }
            _ => self.handle_lost_packet(context, packet, u64::from(packet.starts_range)),
        }
    }

    /// Counts as lost what has left the reordering window.
    pub(super) fn count_overdue(&mut self, context: &mut EventContext<'_>) {
        while let Some(burst) = self.late.next_to_count(context.path) {
            if burst.missing.is_zero() {
                continue;
            }
            self.late.newly_counted += burst.missing;
            let packet = LostPacket {
                stamp: burst.stamp,
                bytes: burst.missing,
                starts_range: true,
            };
            self.handle_lost_packet(context, &packet, burst.ranges);
        }
    }

    /// What was lost since a packet left, `since_sent` of which were declared so. On a path that
    /// reorders that includes what is only late, and what counts is taken from the present round
    /// trip.
    pub(super) fn lost_of_flight(&self, path: &PathState, since_sent: Bytes) -> Bytes {
        match self.late.reordering_window(path) {
            Some(_) => self.late.lost_in_round,
            None => since_sent,
        }
    }

    /// What counts as lost since the newest ACK.
    pub(super) fn newly_lost(&self, sample: &RateSample) -> Bytes {
        let late = &self.late;
        (sample.newly_lost + late.newly_counted).saturating_sub(late.newly_held)
    }
}
