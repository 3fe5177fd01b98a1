//! Congestion control of one network path, in noq's order of calls.
//!
//! For one ACK noq says, in this order: late packets, acknowledged packets, their end, lost
//! packets, congestion by loss, congestion by CE marks. A loss timer brings lost packets alone.

use crate::packets::Packets;
use crate::pending::Pending;
use cc_core::{Control, Flow, LostPacket, Snapshot};
use std::mem;
use std::time::Duration;
use units::{Bytes, Timestamp};

#[derive(Debug)]
pub(crate) struct Path {
    flow: Flow,
    packets: Packets,
    pending: Pending,
    /// Position in the order of sending of the newest packet that was acknowledged.
    newest_acked: u64,
    /// Whether the lost packets have arrived after all; noq says so without the time.
    is_late_due: bool,
}

impl Path {
    pub(crate) fn new(flow: Flow) -> Self {
        Self {
            flow,
            packets: Packets::default(),
            pending: Pending::default(),
            newest_acked: 0,
            is_late_due: false,
        }
    }

    pub(crate) fn on_sent(&mut self, now: Timestamp, number: u64, bytes: Bytes) {
        self.flush();
        self.report_late(now);
        let stamp = self.flow.on_sent(now, bytes);
        self.packets.push(number, stamp, bytes);
    }

    pub(crate) fn on_acked(
        &mut self,
        now: Timestamp,
        sent_at: Timestamp,
        number: u64,
        bytes: Bytes,
    ) {
        if self.pending.has_ended_acks {
            self.flush();
        }
        self.begin(now);
        let Some(packet) = self.packets.take_sent_at(number, sent_at, bytes) else {
            return;
        };
        // noq has taken no sample of its own yet, so this one has the peer's delay in it.
        if packet.stamp.sequence > self.newest_acked {
            self.newest_acked = packet.stamp.sequence;
            self.pending.rtt = Some(now.since(sent_at));
        }
        self.pending.acked.push(packet);
    }

    pub(crate) fn on_acks_ended(&mut self, now: Timestamp, in_flight: Bytes, is_limited: bool) {
        self.begin(now);
        self.pending.in_flight = Some(in_flight);
        self.pending.is_app_limited = is_limited;
        self.pending.has_ended_acks = true;
    }

    pub(crate) fn on_lost(&mut self, now: Timestamp, number: u64, bytes: Bytes) {
        self.begin(now);
        if let Some(packet) = self.packets.take_sized(number, bytes) {
            self.pending.lost.push(LostPacket {
                stamp: packet.stamp,
                bytes: packet.bytes,
                starts_range: true,
            });
        }
    }

    pub(crate) fn on_persistent_congestion(&mut self, now: Timestamp) {
        self.begin(now);
        self.pending.is_persistent_congestion = true;
    }

    /// noq does not say how many packets were marked: one at least.
    pub(crate) fn on_marked(&mut self, now: Timestamp) {
        self.begin(now);
        self.pending.ce_marked += 1;
    }

    /// Every packet that noq still remembers as lost has arrived.
    pub(crate) fn on_late(&mut self) {
        self.flush();
        self.is_late_due = true;
    }

    pub(crate) fn on_mss(&mut self, mss: Bytes) {
        self.flush();
        self.flow.on_mtu(self.flow.path_state().now, mss);
    }

    /// The decision, after all that was reported.
    pub(crate) fn control(&mut self) -> Control {
        self.flush();
        self.flow.control()
    }

    pub(crate) fn snapshot(&mut self) -> Snapshot {
        self.flush();
        self.flow.snapshot()
    }

    /// What happens now belongs to the ACK that is being reported, or begins another report.
    fn begin(&mut self, now: Timestamp) {
        if self.pending.now.is_some_and(|reported| reported != now) {
            self.flush();
        }
        self.report_late(now);
        self.pending.now = Some(now);
    }

    fn report_late(&mut self, now: Timestamp) {
        if !mem::take(&mut self.is_late_due) {
            return;
        }
        for packet in self.packets.take_lost() {
            self.flow.on_spurious_loss(now, &packet, &mut ());
        }
    }

    fn flush(&mut self) {
        let Some(now) = self.pending.now else {
            return;
        };
        let mut pending = mem::take(&mut self.pending);
        pending.mark_ranges();
        self.flow.on_feedback(&pending.feedback(now), &mut ());
        for packet in pending.lost.drain(..) {
            self.packets.remember_lost(packet);
        }
        if pending.is_app_limited {
            self.flow.on_app_limited();
        }
        self.packets.forget_lost(now, self.lost_memory());
        pending.acked.clear();
        self.pending = Pending {
            acked: pending.acked,
            lost: pending.lost,
            ..Pending::default()
        };
    }

    /// For how long noq remembers lost packets: two probe timeouts without the peer's delay
    /// (RFC 9002 §6.2.1).
    fn lost_memory(&self) -> Duration {
        let path = self.flow.path_state();
        let (Some(srtt), Some(deviation)) = (path.srtt, path.rttvar) else {
            return INITIAL_LOST_MEMORY;
        };
        (srtt + (deviation * 4).max(GRANULARITY)) * 2
    }
}

/// Timer granularity (RFC 9002 §6.1.2).
const GRANULARITY: Duration = Duration::from_millis(1);
/// Two probe timeouts of the initial RTT, 333 ms, and its half as deviation (RFC 9002 §6.2.2).
const INITIAL_LOST_MEMORY: Duration = Duration::from_millis(1_998);

#[cfg(test)]
mod tests;
