//! Datagrams that wait to be sent.
//!
//! quinn-proto has a queue of its own, which neither forgets what is stale nor can be looked into.
//! It is given only what may leave now, one batch at most: what waits, waits here.

use super::limited_probe::LimitedProbe;
use crate::datagrams::{
    DatagramEvent, DatagramGroup, DatagramId, DatagramOptions, DatagramOutcome, DatagramPriority,
    Source,
};
use crate::error::SendDatagramError;
use crate::stats::DatagramStats;
use bytes::Bytes;
use std::collections::VecDeque;
use std::mem;
use std::task::Waker;
use units::Timestamp;

#[derive(Debug, Clone, Copy)]
pub(crate) struct DatagramLimits {
    /// Most bytes that wait, [`OVERHEAD`] of each included.
    pub(crate) bytes: usize,
    /// Most datagrams that wait.
    pub(crate) count: usize,
    /// Whether the connection takes part in datagrams.
    pub(crate) is_enabled: bool,
}

/// Why a datagram is not taken.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// There is no room; here it is back.
    Blocked(Bytes),
    Error(SendDatagramError),
}

#[derive(Debug)]
pub(super) struct DatagramQueue {
    limits: DatagramLimits,
    /// What waits, by priority: the highest first.
    waiting: [VecDeque<Waiting>; 1 + DatagramPriority::AfterStreams as usize],
    /// What quinn-proto has been given and has not sent, oldest first.
    handed: VecDeque<Handed>,
    /// What those that wait take of the limits.
    used: usize,
    next_id: u64,
    /// When the next of those that wait expires, or earlier.
    next_expiry: Option<Timestamp>,
    /// Whether somebody waits for room, and whether there is some again.
    is_blocked: bool,
    has_unblocked: bool,
    listeners: Vec<Source>,
    wakers: Vec<Waker>,
    stats: DatagramStats,
    /// What adds padding, where the application wants to be told of more than it sends.
    pub(super) probe: Option<Box<LimitedProbe>>,
}

#[derive(Debug)]
struct Waiting {
    id: DatagramId,
    data: Bytes,
    expires: Option<Timestamp>,
    group: Option<DatagramGroup>,
    is_notified: bool,
    is_padding: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Handed {
    pub(super) id: DatagramId,
    pub(super) len: usize,
    pub(super) is_notified: bool,
    pub(super) is_padding: bool,
}

impl DatagramQueue {
    pub(super) fn new(limits: DatagramLimits) -> Self {
        Self {
            limits,
            waiting: Default::default(),
            handed: VecDeque::new(),
            used: 0,
            next_id: 0,
            next_expiry: None,
            is_blocked: false,
            has_unblocked: false,
            listeners: Vec::new(),
            wakers: Vec::new(),
            stats: DatagramStats::default(),
            probe: None,
        }
    }

    /// Takes a datagram of at most `most` bytes, `None` if the peer takes none. Where there is no
    /// room, it drops the oldest for it if it may: first those of lower priority.
    pub(super) fn push(
        &mut self,
        now: Timestamp,
        data: Bytes,
        options: DatagramOptions,
        most: Option<usize>,
        drops_oldest: bool,
    ) -> Result<DatagramId, Refusal> {
        self.check(data.len(), most).map_err(Refusal::Error)?;
        self.expire(now);
        let is_superseded = options
            .group
            .is_some_and(|group| !self.supersede(now, group));
        while !is_superseded && !self.has_room(data.len()) {
            if !drops_oldest {
                self.is_blocked = true;
                return Err(Refusal::Blocked(data));
            }
            if !self.displace(now, options.priority) {
                break;
            }
        }
        let id = DatagramId(self.next_id);
        self.next_id += 1;
        let waiting = Waiting {
            id,
            expires: options.ttl.map(|ttl| now + ttl),
            group: options.group,
            is_notified: options.is_notified,
            is_padding: options.is_padding,
            data,
        };
        if is_superseded {
            self.stats.superseded += 1;
            self.tell(now, id, options.is_notified, DatagramOutcome::Superseded);
            return Ok(id);
        }
        if !self.has_room(waiting.data.len()) {
            // What is left has higher priority.
            self.stats.displaced += 1;
            self.tell(now, id, options.is_notified, DatagramOutcome::Displaced);
            return Ok(id);
        }
        self.used += cost(waiting.data.len());
        self.next_expiry = earlier(self.next_expiry, waiting.expires);
        self.waiting[options.priority as usize].push_back(waiting);
        Ok(id)
    }

    fn check(&self, len: usize, most: Option<usize>) -> Result<(), SendDatagramError> {
        if !self.limits.is_enabled {
            return Err(SendDatagramError::Disabled);
        }
        let most = most.ok_or(SendDatagramError::UnsupportedByPeer)?;
        let most = self
            .limits
            .bytes
            .checked_sub(OVERHEAD)
            .map(|all| all.min(most));
        match most {
            Some(most) if len <= most => Ok(()),
            _ => Err(SendDatagramError::TooLarge),
        }
    }

    /// Bytes of one datagram for which there is room.
    pub(super) fn space(&self) -> usize {
        if self.len() >= self.limits.count {
            return 0;
        }
        let left = self.limits.bytes.saturating_sub(self.used);
        left.saturating_sub(OVERHEAD)
    }

    fn has_room(&self, len: usize) -> bool {
        self.len() < self.limits.count && self.used + cost(len) <= self.limits.bytes
    }

    fn len(&self) -> usize {
        self.waiting.iter().map(VecDeque::len).sum()
    }

    /// Drops the oldest of the lowest priority, if that is no higher than this one. Whether there
    /// was one.
    fn displace(&mut self, now: Timestamp, priority: DatagramPriority) -> bool {
        let no_higher = self.waiting[priority as usize..].iter_mut().rev();
        let Some(oldest) = no_higher.filter_map(VecDeque::pop_front).next() else {
            return false;
        };
        self.stats.displaced += u64::from(!oldest.is_padding);
        self.drop_waiting(now, &oldest, DatagramOutcome::Displaced);
        true
    }

    /// Drops what waits of earlier groups of the same track. Whether none of a later one waits.
    ///
    /// All that waits of a track is of one group, so that usually the newest of it decides.
    fn supersede(&mut self, now: Timestamp, group: DatagramGroup) -> bool {
        let newest_first = self.waiting.iter().flat_map(|queue| queue.iter().rev());
        let mut groups = newest_first.filter_map(|waiting| waiting.group);
        let waiting = groups.find(|waiting| waiting.track == group.track);
        let Some(waiting) = waiting.filter(|waiting| waiting.number != group.number) else {
            return true;
        };
        if waiting.number > group.number {
            return false;
        }
        let is_earlier = |other: &Waiting| other.group == Some(waiting);
        let queues = self.waiting.iter_mut();
        let dropped: Vec<_> = queues
            .flat_map(|queue| extract(queue, is_earlier))
            .collect();
        self.stats.superseded += dropped.len() as u64;
        for waiting in &dropped {
            self.drop_waiting(now, waiting, DatagramOutcome::Superseded);
        }
        true
    }

    /// Drops what has waited for too long.
    pub(super) fn expire(&mut self, now: Timestamp) {
        if self.next_expiry.is_none_or(|at| now < at) {
            return;
        }
        let is_over = |waiting: &Waiting| waiting.expires.is_some_and(|at| now >= at);
        let queues = self.waiting.iter_mut();
        let expired: Vec<_> = queues.flat_map(|queue| extract(queue, is_over)).collect();
        let of_application = expired.iter().filter(|waiting| !waiting.is_padding);
        self.stats.expired += of_application.count() as u64;
        for waiting in &expired {
            self.drop_waiting(now, waiting, DatagramOutcome::Expired);
        }
        let waiting = self.waiting.iter().flatten();
        self.next_expiry = waiting.filter_map(|waiting| waiting.expires).min();
    }

    fn drop_waiting(&mut self, now: Timestamp, waiting: &Waiting, outcome: DatagramOutcome) {
        self.release(waiting.data.len());
        self.tell(now, waiting.id, waiting.is_notified, outcome);
    }

    fn release(&mut self, len: usize) {
        self.used -= cost(len);
        self.has_unblocked |= mem::take(&mut self.is_blocked);
    }

    /// Bytes that wait, of the datagrams alone.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.used - self.len() * OVERHEAD
    }

    /// When [`Self::expire`] is next due, or earlier.
    pub(super) fn next_expiry(&self) -> Option<Timestamp> {
        self.next_expiry
    }

    /// Whether something waits that quinn-proto has not been given.
    pub(super) fn is_waiting(&self) -> bool {
        self.has(DatagramPriority::AfterStreams)
    }

    /// Whether something of this priority or a higher one waits.
    pub(super) fn has(&self, least: DatagramPriority) -> bool {
        !self.waiting[..=least as usize]
            .iter()
            .all(VecDeque::is_empty)
    }

    /// Takes the next of this priority and higher ones that `packets` packets with room for `room`
    /// bytes of frames each can carry besides what quinn-proto has been given.
    pub(super) fn hand_over(
        &mut self,
        least: DatagramPriority,
        packets: usize,
        room: usize,
    ) -> Vec<Bytes> {
        let mut packing = Packing::new(room);
        for handed in &self.handed {
            packing.add(handed.len);
        }
        let mut taken = Vec::new();
        while let Some(queue) = self.next_queue(least) {
            packing.add(queue.front().map_or(0, |next| next.data.len()));
            if packing.packets > packets {
                break;
            }
            let next = queue.pop_front().expect("the next one");
            self.release(next.data.len());
            self.handed.push_back(Handed {
                id: next.id,
                len: next.data.len(),
                is_notified: next.is_notified,
                is_padding: next.is_padding,
            });
            taken.push(next.data);
        }
        taken
    }

    /// What quinn-proto takes of its own buffer for what it was given, as it counts.
    pub(super) fn handed_memory(&self) -> usize {
        self.handed.iter().map(|handed| cost(handed.len)).sum()
    }

    pub(super) fn has_handed(&self) -> bool {
        !self.handed.is_empty()
    }

    /// quinn-proto has sent the oldest of what it was given.
    pub(super) fn on_sent(&mut self, now: Timestamp) -> Option<Handed> {
        let handed = self.handed.pop_front()?;
        match handed.is_padding {
            true => self.stats.padding += 1,
            false => self.stats.sent += 1,
        }
        self.tell(now, handed.id, handed.is_notified, DatagramOutcome::Sent);
        Some(handed)
    }

    /// quinn-proto has dropped what is larger than `most` bytes.
    pub(super) fn drop_oversized(&mut self, now: Timestamp, most: usize) {
        let dropped: Vec<_> = extract(&mut self.handed, |handed| handed.len > most);
        let of_application = dropped.iter().filter(|handed| !handed.is_padding);
        self.stats.too_large += of_application.count() as u64;
        for handed in dropped {
            self.tell(
                now,
                handed.id,
                handed.is_notified,
                DatagramOutcome::TooLarge,
            );
        }
    }

    /// Drops those that are next, of this priority and higher ones, and do not fit into a packet
    /// any more.
    pub(super) fn drop_unsendable(&mut self, now: Timestamp, least: DatagramPriority, most: usize) {
        for place in 0..=least as usize {
            let is_oversized = |waiting: &Waiting| waiting.data.len() > most;
            while self.waiting[place].front().is_some_and(is_oversized) {
                let next = self.waiting[place].pop_front().expect("the front");
                self.stats.too_large += u64::from(!next.is_padding);
                self.drop_waiting(now, &next, DatagramOutcome::TooLarge);
            }
        }
    }

    /// The queue of the highest priority in which something waits, down to this one.
    fn next_queue(&mut self, least: DatagramPriority) -> Option<&mut VecDeque<Waiting>> {
        let queues = &mut self.waiting[..=least as usize];
        queues.iter_mut().find(|queue| !queue.is_empty())
    }

    /// Whether there is room again for those that wait for it.
    pub(super) fn take_unblocked(&mut self) -> bool {
        mem::take(&mut self.has_unblocked)
    }

    pub(super) fn stats(&self) -> DatagramStats {
        DatagramStats {
            queued: self.len() as u64,
            queued_bytes: units::Bytes::new(self.waiting_bytes() as u64),
            ..self.stats
        }
    }

    /// Who is told what becomes of datagrams from now on.
    pub(super) fn listen(&mut self, source: Source) {
        self.listeners.retain(|listener| !listener.is_abandoned());
        self.listeners.push(source);
    }

    /// There are no more events.
    pub(super) fn end_listening(&mut self) {
        let listeners = mem::take(&mut self.listeners);
        self.wakers.extend(listeners.iter().filter_map(Source::end));
    }

    /// Who is to be woken without the connection's lock.
    pub(super) fn take_wakers(&mut self) -> Vec<Waker> {
        mem::take(&mut self.wakers)
    }

    pub(super) fn tell(
        &mut self,
        at: Timestamp,
        id: DatagramId,
        is_notified: bool,
        outcome: DatagramOutcome,
    ) {
        if is_notified {
            let event = DatagramEvent { id, at, outcome };
            let readers = self.listeners.iter();
            self.wakers
                .extend(readers.filter_map(|listener| listener.put([event])));
        }
    }
}

/// How many packets frames take that are put into them in order.
struct Packing {
    room: usize,
    left: usize,
    packets: usize,
}

impl Packing {
    fn new(room: usize) -> Self {
        Self {
            room,
            left: 0,
            packets: 0,
        }
    }

    fn add(&mut self, len: usize) {
        let frame = len + if len < 64 { 2 } else { 3 };
        if frame > self.left {
            self.packets += 1;
            self.left = self.room;
        }
        self.left = self.left.saturating_sub(frame);
    }
}

fn extract<T>(queue: &mut VecDeque<T>, is_out: impl Fn(&T) -> bool) -> Vec<T> {
    let (out, kept): (Vec<T>, Vec<T>) = mem::take(queue).into_iter().partition(is_out);
    *queue = kept.into();
    out
}

fn earlier(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    a.into_iter().chain(b).min()
}

fn cost(len: usize) -> usize {
    len + OVERHEAD
}

/// Bytes that a datagram takes of the buffer besides its contents: as in quinn-proto, the value
/// that holds it.
const OVERHEAD: usize = size_of::<Bytes>();

#[cfg(test)]
mod tests;
