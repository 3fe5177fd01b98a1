//! The far end of a flow: takes packets, decides when to acknowledge.

use super::flow::Acks;
use super::path::{ACK_PAYLOAD, Ack, Content, Data};
use super::ranges::RangeSet;
use link_sim::Ecn;
use link_sim::sim::{NodeId, Transmit};
use std::collections::VecDeque;
use units::Timestamp;

/// Received packet numbers and bytes, and the ACK that is due.
#[derive(Debug)]
pub(crate) struct Receiver {
    policy: Acks,
    /// Where the packets come from.
    peer: Option<NodeId>,
    numbers: RangeSet,
    stream: RangeSet,
    /// Bytes received at least once, and when the last of them came.
    received: u64,
    received_at: Timestamp,
    packets: u64,
    ce_count: u64,
    /// Packets that no ACK has reported yet.
    unreported: u64,
    largest: Option<(u64, Timestamp)>,
    due: Option<Timestamp>,
    /// ACKs that have not gone on yet, and since when.
    held: VecDeque<Ack>,
    held_since: Timestamp,
    /// All that is held goes on, one after the other.
    is_releasing: bool,
}

impl Receiver {
    pub(crate) fn new(policy: Acks) -> Self {
        Self {
            policy,
            peer: None,
            numbers: RangeSet::default(),
            stream: RangeSet::default(),
            received: 0,
            received_at: Timestamp::ZERO,
            packets: 0,
            ce_count: 0,
            unreported: 0,
            largest: None,
            due: None,
            held: VecDeque::new(),
            held_since: Timestamp::ZERO,
            is_releasing: false,
        }
    }

    /// Bytes of the stream received, each counted once.
    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// Packets received, duplicates included.
    pub(crate) fn packets(&self) -> u64 {
        self.packets
    }

    /// Packets received marked Congestion Experienced, duplicates included.
    pub(crate) fn marked(&self) -> u64 {
        self.ce_count
    }

    /// When all `length` bytes were there; `None` if they are not.
    pub(crate) fn completed_at(&self, length: Option<u64>) -> Option<Timestamp> {
        (length == Some(self.received)).then_some(self.received_at)
    }

    pub(crate) fn on_packet(&mut self, now: Timestamp, from: NodeId, data: &Data, ecn: Ecn) {
        self.peer = Some(from);
        self.packets += 1;
        self.ce_count += u64::from(ecn == Ecn::Ce);
        if self.numbers.insert(data.number..data.number + 1) == 0 {
            return;
        }
        self.numbers.keep_newest(MAX_RANGES);
        let new = self.stream.insert(data.span.clone());
        if new > 0 {
            self.received += new;
            self.received_at = now;
        }
        let is_next = self
            .largest
            .map_or(data.number == 0, |(n, _)| data.number == n + 1);
        if self.largest.is_none_or(|(number, _)| data.number > number) {
            self.largest = Some((data.number, now));
        }
        self.unreported += 1;
        let is_urgent = self.policy.is_immediate && (!is_next || ecn == Ecn::Ce);
        if is_urgent || self.unreported >= self.policy.packets {
            self.report(now);
        } else if self.due.is_none() {
            self.due = Some(now + self.policy.max_delay);
        }
    }

    /// When [`on_time`](Self::on_time) has something to do.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        let released = (!self.held.is_empty()).then(|| self.release());
        match (self.due, released) {
            (Some(due), Some(released)) => Some(due.min(released)),
            (one, other) => one.or(other),
        }
    }

    pub(crate) fn on_time(&mut self, now: Timestamp) {
        if self.due.is_some_and(|due| due <= now) {
            self.report(now);
        }
    }

    /// The next ACK that leaves now.
    pub(crate) fn poll_transmit(&mut self, now: Timestamp) -> Option<Transmit<Content>> {
        if self.is_releasing || (!self.held.is_empty() && self.release() <= now) {
            let ack = self.held.pop_front();
            self.is_releasing = !self.held.is_empty();
            return Some(Transmit {
                to: self.peer?,
                packet: Content::ack(ack?),
            });
        }
        None
    }

    fn report(&mut self, now: Timestamp) {
        self.due = None;
        self.unreported = 0;
        if self.held.is_empty() {
            self.held_since = now;
        }
        let came = self.largest.map_or(now, |(_, at)| at);
        self.held.push_back(Ack {
            ranges: self.numbers.newest(MAX_RANGES).to_vec(),
            delay: now.since(came),
            ce_count: self.ce_count,
        });
    }

    /// When what is held goes on.
    fn release(&self) -> Timestamp {
        match self.policy.held {
            Some((bytes, time)) if ACK_PAYLOAD * (self.held.len() as u64) < bytes => {
                self.held_since + time
            }
            Some(_) | None => self.held_since,
        }
    }
}

/// Ranges in an ACK; a packet that falls out unreported is repeated by its sender.
const MAX_RANGES: usize = 32;
