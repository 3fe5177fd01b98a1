//! The controllers in quinn's hands: what its callbacks alone tell.
//!
//! quinn-proto reports one sum per batch of datagrams, the send time and size of each acknowledged
//! packet, and one sum for a loss. So a batch has one stamp, and a lost packet is one of the oldest
//! batch that is not acknowledged. Spurious losses and the number of CE marks are not known.

use super::metrics::metrics;
use crate::quinn_proto_habits::{is_ce_mark, window_admitting};
use crate::{clock, random};
use cc_core::{AckedPacket, ControllerChoice, Feedback, Flow, LostPacket, PacketStamp, Setup};
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use std::any::Any;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use units::{Bytes, Timestamp};

/// Makes controllers for connections without a driver, which quinn-proto runs alone.
#[derive(Debug)]
pub(crate) struct SumsFactory {
    choice: ControllerChoice,
    seed: Option<u64>,
}

impl SumsFactory {
    /// Without a seed, each controller draws one from the operating system.
    #[expect(clippy::new_ret_no_self, reason = "quinn-proto wants it like this")]
    pub(crate) fn new(
        choice: ControllerChoice,
        seed: Option<u64>,
    ) -> Arc<dyn ControllerFactory + Send + Sync> {
        Arc::new(Self { choice, seed })
    }
}

/// Each path's controller stands alone, so that any number of connections can share the factory.
impl ControllerFactory for SumsFactory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let seed = self.seed.unwrap_or_else(random::u64);
        let mss = Bytes::new(current_mtu.into());
        let mut setup = Setup::new(clock::timestamp(now), mss, seed);
        setup.shares_stamps = true;
        let sums = Sums::new(Flow::new(self.choice.build(&setup), &setup));
        Box::new(SumsController(Arc::new(Mutex::new(sums))))
    }
}

/// What quinn-proto holds.
#[derive(Debug)]
struct SumsController(Arc<Mutex<Sums>>);

impl SumsController {
    fn lock(&self) -> MutexGuard<'_, Sums> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Controller for SumsController {
    fn on_sent(&mut self, now: Instant, bytes: u64, _: u64) {
        self.lock()
            .on_sent(clock::timestamp(now), Bytes::new(bytes));
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, _: bool, _: &RttEstimator) {
        let (now, sent_at) = (clock::timestamp(now), clock::timestamp(sent));
        self.lock().on_acked(now, sent_at, Bytes::new(bytes));
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, _: bool, _: Option<u64>) {
        self.lock()
            .on_end_acks(clock::timestamp(now), Bytes::new(in_flight));
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        let mut sums = self.lock();
        let pending = sums.begin(clock::timestamp(now));
        pending.is_persistent_congestion |= is_persistent_congestion;
        pending.ce_marked += u64::from(is_ce_mark(lost_bytes));
        sums.on_lost(clock::timestamp(sent), Bytes::new(lost_bytes));
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        let flow = &mut self.lock().flow;
        flow.on_mtu(flow.path_state().now, Bytes::new(new_mtu.into()));
    }

    /// quinn-proto paces by the window alone, so it is no more than the pacing rate sends in a
    /// round trip. One packet may always be in flight.
    fn window(&self) -> u64 {
        let sums = self.lock();
        let (control, path) = (sums.flow.control(), sums.flow.path_state());
        let paced = |srtt| control.pacing_rate.bytes_in(srtt);
        let window = path
            .srtt
            .map_or(control.cwnd, |srtt| control.cwnd.min(paced(srtt)));
        window_admitting(window.max(path.mss))
    }

    fn metrics(&self) -> ControllerMetrics {
        metrics(&self.lock().flow.snapshot())
    }

    /// The same network path under a new port: the estimates stay.
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self(Arc::clone(&self.0)))
    }

    fn initial_window(&self) -> u64 {
        self.lock().flow.control().cwnd.get()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// One path's flow, and the bytes in flight by batch, oldest first.
#[derive(Debug)]
struct Sums {
    flow: Flow,
    batches: VecDeque<(PacketStamp, Bytes)>,
    outstanding: Bytes,
    pending: Pending,
    newest_acked: Option<Timestamp>,
}

/// What quinn-proto has reported of one ACK, which is complete when the next packet leaves.
#[derive(Debug, Default)]
struct Pending {
    now: Option<Timestamp>,
    acked: Vec<AckedPacket>,
    lost: Vec<LostPacket>,
    rtt: Option<Duration>,
    ce_marked: u64,
    is_persistent_congestion: bool,
    inflight: Option<Bytes>,
}

impl Sums {
    fn new(flow: Flow) -> Self {
        Self {
            flow,
            batches: VecDeque::new(),
            outstanding: Bytes::ZERO,
            pending: Pending::default(),
            newest_acked: None,
        }
    }

    fn begin(&mut self, now: Timestamp) -> &mut Pending {
        self.pending.now = Some(now);
        &mut self.pending
    }

    fn on_sent(&mut self, now: Timestamp, bytes: Bytes) {
        self.flush();
        let stamp = self.flow.on_sent(now, bytes);
        // quinn's pacer and its window are others than the flow's: what they hold back is not late.
        self.flow.on_blocked();
        if self.batches.len() == MAX_BATCHES
            && let Some((_, left)) = self.batches.pop_front()
        {
            self.outstanding -= left;
        }
        self.batches.push_back((stamp, bytes));
        self.outstanding += bytes;
    }

    fn on_acked(&mut self, now: Timestamp, sent_at: Timestamp, mut bytes: Bytes) {
        if self.newest_acked.is_none_or(|newest| sent_at > newest) {
            self.newest_acked = Some(sent_at);
            self.pending.rtt = Some(now.since(sent_at));
        }
        let start = self
            .batches
            .partition_point(|(stamp, _)| stamp.sent_at < sent_at);
        for (stamp, left) in self.batches.range_mut(start..) {
            if stamp.sent_at > sent_at || bytes.is_zero() {
                break;
            }
            let taken = bytes.min(*left);
            *left -= taken;
            self.outstanding -= taken;
            bytes -= taken;
            if !taken.is_zero() {
                self.pending.acked.push(AckedPacket {
                    stamp: *stamp,
                    bytes: taken,
                });
            }
        }
    }

    fn on_end_acks(&mut self, now: Timestamp, in_flight: Bytes) {
        self.begin(now).inflight = Some(in_flight);
        // What left flight unreported is the oldest.
        let excess = self.outstanding.saturating_sub(in_flight);
        self.take_oldest(Timestamp::MAX, excess, |_, _| {});
    }

    fn on_lost(&mut self, newest: Timestamp, bytes: Bytes) {
        let mss = self.flow.path_state().mss;
        let mut lost = std::mem::take(&mut self.pending.lost);
        let mut total = Bytes::ZERO;
        self.take_oldest(newest, bytes, |stamp, mut bytes| {
            total += bytes;
            while !bytes.is_zero() {
                let packet = bytes.min(mss);
                bytes -= packet;
                lost.push(LostPacket {
                    stamp,
                    bytes: packet,
                    starts_range: lost.is_empty(),
                });
            }
        });
        self.pending.lost = lost;
        let inflight = &mut self.pending.inflight;
        *inflight = inflight.map(|inflight| inflight.saturating_sub(total));
    }

    /// Takes up to so many of the oldest bytes that left until `newest`.
    fn take_oldest(
        &mut self,
        newest: Timestamp,
        mut bytes: Bytes,
        mut take: impl FnMut(PacketStamp, Bytes),
    ) {
        for (stamp, left) in &mut self.batches {
            if stamp.sent_at > newest || bytes.is_zero() {
                break;
            }
            let taken = bytes.min(*left);
            *left -= taken;
            self.outstanding -= taken;
            bytes -= taken;
            take(*stamp, taken);
        }
        while self.batches.front().is_some_and(|(_, left)| left.is_zero()) {
            self.batches.pop_front();
        }
    }

    fn flush(&mut self) {
        let Some(now) = self.pending.now.take() else {
            return;
        };
        let Pending {
            acked,
            lost,
            rtt,
            ce_marked,
            is_persistent_congestion,
            inflight,
            ..
        } = std::mem::take(&mut self.pending);
        let feedback = Feedback {
            now,
            acked: &acked,
            lost: &lost,
            rtt,
            ce_marked,
            is_persistent_congestion,
            inflight,
        };
        self.flow.on_feedback(&feedback, &mut ());
    }
}

/// Most batches that are kept apart. At 2 µs a batch, about the cost of a system call, they span
/// 65 ms.
const MAX_BATCHES: usize = 32_768;

#[cfg(test)]
mod tests;
