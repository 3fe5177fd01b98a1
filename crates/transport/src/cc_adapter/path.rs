//! Congestion control of one network path.

use super::events::DeferredEvents;
use super::path_meter::{MeterInput, PathMeter};
use super::sent_packets::{Lost, SentPacket};
use crate::histogram::RttCounts;
use crate::tap::Ack;
#[cfg(feature = "qlog")]
use cc_core::ResumePhaseChange;
use cc_core::{AckedPacket, Event, Feedback, Flow, LostPacket, Observer, PathState};
use std::time::Duration;
use units::{Bandwidth, Bytes, Timestamp};

#[derive(Debug)]
pub(super) struct Path {
    pub(super) id: u64,
    pub(super) flow: Flow,
    pub(super) pending: Pending,
    /// The newest round-trip time as quinn-proto has it: until its ACK was read, the peer's delay
    /// included.
    newest_raw_rtt: Duration,
    /// The least round-trip time, the peer's delay included.
    least_raw_rtt: Option<Duration>,
    pub(super) first_rtt_at: Option<Timestamp>,
    pub(super) delivery_rate: Option<Bandwidth>,
    pub(super) rtt_counts: RttCounts,
    /// Not written to the qlog yet: the phases of Careful Resume, at most four in a path's life.
    #[cfg(feature = "qlog")]
    pub(super) phase_changes: Vec<ResumePhaseChange>,
    pub(super) meter: PathMeter,
}

/// The circumstances of a datagram.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reception {
    /// When the host had it.
    pub(crate) came_at: Timestamp,
    /// When it was read, which is when it came for quinn-proto.
    pub(crate) read_at: Timestamp,
    /// quinn-proto's, after it.
    pub(crate) smoothed_rtt: Duration,
}

/// What has happened since the last [`Feedback`].
#[derive(Debug, Default)]
pub(super) struct Pending {
    pub(super) acked: Vec<AckedPacket>,
    pub(super) late: Vec<LostPacket>,
    pub(super) lost: Vec<LostPacket>,
    rtt: Option<Duration>,
    pub(super) ce_marked: u64,
    pub(super) is_persistent_congestion: bool,
}

impl Path {
    pub(super) fn new(id: u64, flow: Flow) -> Self {
        Self {
            id,
            flow,
            pending: Pending::default(),
            newest_raw_rtt: Duration::ZERO,
            least_raw_rtt: None,
            first_rtt_at: None,
            delivery_rate: None,
            rtt_counts: RttCounts::default(),
            #[cfg(feature = "qlog")]
            phase_changes: Vec::new(),
            meter: PathMeter::default(),
        }
    }

    /// The newest round-trip time or `smoothed`, if that is longer (RFC 9002 §6.1.2).
    pub(super) fn conservative_rtt(&self, smoothed: Duration) -> Duration {
        smoothed.max(self.newest_raw_rtt)
    }

    /// The packet with the largest number that `ack` acknowledges is newly acknowledged, and one
    /// that it acknowledges was ack-eliciting: a sample (RFC 9002 §5.1). The former left at
    /// `sent_at`.
    ///
    /// The peer's delay is left out unless that makes less than the least round trip (§5.3).
    /// A packet that did not keep its departure time gives no sample, and an ACK that is said to
    /// have come before what it acknowledges left came when it was read.
    pub(super) fn on_rtt_sample(&mut self, reception: Reception, sent_at: Timestamp, ack: &Ack) {
        let Reception {
            came_at, read_at, ..
        } = reception;
        if sent_at > read_at {
            return;
        }
        let now = if came_at < sent_at { read_at } else { came_at };
        let raw = now.since(sent_at);
        let least = self.least_raw_rtt.map_or(raw, |least| least.min(raw));
        let rtt = match raw.checked_sub(ack.delay) {
            Some(rtt) if rtt >= least => rtt,
            _ => raw,
        };
        self.newest_raw_rtt = read_at.since(sent_at);
        self.least_raw_rtt = Some(least);
        self.first_rtt_at.get_or_insert(now);
        self.pending.rtt = Some(rtt);
    }

    pub(super) fn on_acked(&mut self, packet: &SentPacket) {
        self.pending.acked.push(AckedPacket {
            stamp: packet.stamp,
            bytes: packet.bytes(),
        });
    }

    pub(super) fn on_lost(&mut self, lost: &Lost) {
        if lost.packet.is_mtu_probe {
            self.flow.on_discarded(lost.packet.bytes());
        } else {
            self.pending.lost.push(lost.report());
        }
    }

    /// Passes on what is pending.
    pub(super) fn flush(&mut self, now: Timestamp, observer: &mut DeferredEvents) {
        let Self {
            flow,
            pending,
            delivery_rate,
            #[cfg(feature = "qlog")]
            phase_changes,
            ..
        } = self;
        let mut observer = PathTap {
            delivery_rate,
            #[cfg(feature = "qlog")]
            phase_changes,
            observer,
        };
        for packet in pending.late.drain(..) {
            flow.on_spurious_loss(now, &packet, &mut observer);
        }
        if pending.is_empty() {
            return;
        }
        let rtt = pending.rtt.take();
        if let Some(rtt) = rtt {
            self.rtt_counts.record(rtt);
        }
        let feedback = Feedback {
            acked: &pending.acked,
            lost: &pending.lost,
            rtt,
            ce_marked: pending.ce_marked,
            is_persistent_congestion: pending.is_persistent_congestion,
            ..Feedback::at(now)
        };
        flow.on_feedback(&feedback, &mut observer);
        self.meter.on_feedback(&MeterInput {
            now,
            acked: &pending.acked,
            lost: pending.lost.iter().map(|packet| packet.bytes).sum(),
            rtt,
            min_rtt: flow.path_state().min_rtt,
            pacing_rate: flow.control().pacing_rate,
            mss: flow.path_state().mss,
        });
        pending.clear();
        if flow.path_state().inflight == Bytes::ZERO {
            // Most connections are idle most of the time.
            *pending = Pending::default();
        }
    }
}

impl Pending {
    fn is_empty(&self) -> bool {
        self.acked.is_empty() && self.lost.is_empty() && self.rtt.is_none() && self.ce_marked == 0
    }

    pub(super) fn clear(&mut self) {
        clear(&mut self.acked);
        clear(&mut self.late);
        clear(&mut self.lost);
        self.rtt = None;
        self.ce_marked = 0;
        self.is_persistent_congestion = false;
    }
}

/// Empties a list, whose memory is kept unless it is that of a rare, large ACK.
fn clear<T>(list: &mut Vec<T>) {
    list.clear();
    list.shrink_to(MAX_SPARE);
}

/// Keeps what the path is asked for later, and passes events on.
struct PathTap<'a> {
    delivery_rate: &'a mut Option<Bandwidth>,
    #[cfg(feature = "qlog")]
    phase_changes: &'a mut Vec<ResumePhaseChange>,
    observer: &'a mut DeferredEvents,
}

impl Observer for PathTap<'_> {
    fn on_event(&mut self, event: &Event) {
        if let Event::Sampled { sample, .. } = event {
            *self.delivery_rate = sample.delivery_rate.or(*self.delivery_rate);
        }
        #[cfg(feature = "qlog")]
        if let Event::ResumePhaseChanged(change) = event {
            self.phase_changes.push(*change);
        }
        self.observer.on_event(event);
    }
}

/// Packets of one ACK for which memory is kept. Receivers acknowledge every few packets; a whole
/// window at once comes after ACKs were lost.
const MAX_SPARE: usize = 128;

/// A probe timeout without backoff (RFC 9002 §6.2.1), `smoothed_rtt` being that of all packet
/// number spaces.
pub(crate) fn probe_timeout(
    path: &PathState,
    smoothed_rtt: Duration,
    max_ack_delay: Duration,
) -> Duration {
    let deviation = path.rttvar.unwrap_or(smoothed_rtt / 2);
    smoothed_rtt + (deviation * 4).max(GRANULARITY) + max_ack_delay
}

/// kGranularity (RFC 9002 §6.1.2).
const GRANULARITY: Duration = Duration::from_millis(1);
