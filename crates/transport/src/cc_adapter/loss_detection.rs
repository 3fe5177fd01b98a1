//! Which packets are lost (RFC 9002 §6.1 with the reordering window of RFC 8985 §6.2).

use super::path::Path;
use super::persistent::PersistentCongestion;
use super::reordering::{LossThresholds, Reordering};
use super::sent_packets::{Lost, SentPacket, SentPackets, State};
use super::spaces::Spaces;
use crate::tap::Space;
use std::time::Duration;
use units::Timestamp;

#[derive(Debug)]
pub(super) struct LossDetection {
    reordering: Reordering,
    persistent_congestion: u32,
    run: PersistentCongestion,
    /// When the next packet will be overdue if no ACK comes for it (`loss_time`, RFC 9002 A.3).
    pub(super) loss_time: Option<Timestamp>,
    /// Up to which time of sending quinn-proto has been made to declare packets lost.
    announced: Option<Timestamp>,
}

/// What quinn-proto is to declare lost: what left until then, which it does by itself at an age.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Announcement {
    pub(crate) sent_until: Timestamp,
    pub(crate) max_age: Duration,
}

impl LossDetection {
    pub(super) fn new(thresholds: LossThresholds) -> Self {
        Self {
            reordering: Reordering::new(thresholds),
            persistent_congestion: thresholds.persistent_congestion,
            run: PersistentCongestion::default(),
            loss_time: None,
            announced: None,
        }
    }

    /// A packet that a later one had overtaken took so long to be acknowledged, on a path of this
    /// round-trip time.
    pub(super) fn on_late(&mut self, now: Timestamp, took: Duration, rtt: Duration) {
        self.reordering.on_late(now, took, rtt);
    }

    /// Declares lost what is overdue in each space, on a path of this round-trip time. `on_lost`
    /// gets the space as well.
    pub(super) fn detect(
        &mut self,
        now: Timestamp,
        spaces: &mut Spaces,
        rtt: Duration,
        mut on_lost: impl FnMut(usize, Lost),
    ) {
        self.loss_time = None;
        let overdue = self.reordering.overdue(now, rtt);
        for (index, space) in spaces.iter_mut() {
            let Some(largest) = space.largest_acked() else {
                continue;
            };
            let is_lost = |packet: &SentPacket| {
                let behind = largest.saturating_sub(packet.number);
                overdue.packets.is_some_and(|packets| behind >= packets)
                    || now.since(packet.stamp.sent_at) >= overdue.age
            };
            space.take_lost(now, is_lost, |lost| on_lost(index, lost));
            let next = space.oldest_overtaken();
            let next = next.map(|packet| packet.stamp.sent_at + overdue.age);
            self.loss_time = [self.loss_time, next].into_iter().flatten().min();
        }
    }

    /// Forgets what has left flight. Whether losses establish persistent congestion on `path`, of
    /// which a probe timeout is this long.
    pub(super) fn drop_settled(
        &mut self,
        now: Timestamp,
        spaces: &mut Spaces,
        path: &Path,
        probe_timeout: Duration,
    ) -> bool {
        let threshold = probe_timeout * self.persistent_congestion;
        let mut is_persistent = false;
        let memory = probe_timeout * LOST_MEMORY;
        for (index, space) in spaces.iter_mut() {
            space.drop_front(|state, packet| match state {
                _ if index != Space::Data as usize => {}
                State::Lost if packet.path == path.id => {
                    is_persistent |= self.run.on_lost(packet, threshold, path.first_rtt_at);
                }
                State::Forgotten => {}
                _ => self.run.on_acked(),
            });
            space.forget_lost(now - memory);
        }
        is_persistent
    }

    /// What quinn-proto is to declare lost of the application data, if that is more than before.
    ///
    /// It can be told by the time of sending only, so a packet is told with the last one of those
    /// that left at the same time.
    pub(super) fn announce(
        &mut self,
        now: Timestamp,
        data: &mut SentPackets,
        rtt: Duration,
    ) -> Option<Announcement> {
        if !self.reordering.is_adaptive() {
            return None;
        }
        let sent_until = data.lost_until()?;
        if Some(sent_until) <= self.announced {
            return None;
        }
        self.announced = Some(sent_until);
        let max_age = self.reordering.overdue(now, rtt).max_age;
        Some(Announcement {
            sent_until,
            max_age,
        })
    }
}

/// Probe timeouts for which a lost packet is remembered, in case it arrives after all.
const LOST_MEMORY: u32 = 3;

#[cfg(test)]
mod tests;
