use crate::packet::{Delivery, Packet};
use core::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};
use units::Timestamp;

/// Packets on their way, each with the time of its arrival, handed out in that order; equal times
/// in the order of [`push`](Self::push).
///
/// Nearly all packets of nearly all links arrive in the order in which they were sent: those cost
/// a ring buffer, and only one that overtakes costs a heap.
#[derive(Debug)]
pub(super) struct DelayLine<T> {
    in_order: VecDeque<InFlight<T>>,
    overtaking: BinaryHeap<Reverse<InFlight<T>>>,
    pushed: u64,
}

impl<T> DelayLine<T> {
    pub(super) fn push(&mut self, due: Timestamp, packet: Packet<T>) {
        let number = self.pushed;
        self.pushed += 1;
        let in_flight = InFlight {
            due,
            number,
            packet,
        };
        match self.in_order.back() {
            Some(last) if last.due > due => self.overtaking.push(Reverse(in_flight)),
            _ => self.in_order.push_back(in_flight),
        }
    }

    /// The packet that arrives next, if it does by `now`.
    pub(super) fn pop(&mut self, now: Timestamp) -> Option<Delivery<T>> {
        let overtakes = match (self.in_order.front(), self.overtaking.peek()) {
            (Some(ordered), Some(Reverse(overtaking))) => overtaking < ordered,
            (ordered, _) => ordered.is_none(),
        };
        self.next_due().filter(|due| *due <= now)?;
        let next = if overtakes {
            self.overtaking.pop().map(|Reverse(next)| next)
        } else {
            self.in_order.pop_front()
        };
        next.map(|InFlight { due, packet, .. }| Delivery { due, packet })
    }

    pub(super) fn next_due(&self) -> Option<Timestamp> {
        let ordered = self.in_order.front().map(|next| next.due);
        let overtaking = self.overtaking.peek().map(|Reverse(next)| next.due);
        match (ordered, overtaking) {
            (Some(ordered), Some(overtaking)) => Some(ordered.min(overtaking)),
            (one, other) => one.or(other),
        }
    }
}

impl<T> Default for DelayLine<T> {
    fn default() -> Self {
        Self {
            in_order: VecDeque::new(),
            overtaking: BinaryHeap::new(),
            pushed: 0,
        }
    }
}

#[derive(Debug)]
struct InFlight<T> {
    due: Timestamp,
    number: u64,
    packet: Packet<T>,
}

impl<T> Ord for InFlight<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.due, self.number).cmp(&(other.due, other.number))
    }
}

impl<T> PartialOrd for InFlight<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for InFlight<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for InFlight<T> {}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Bytes;

    #[test]
    fn packets_come_out_by_time_and_ties_in_the_order_they_went_in() {
        let mut line = DelayLine::default();
        for (payload, millis) in [5, 3, 5, 9, 3, 1, 9].into_iter().enumerate() {
            let packet = Packet::new(Bytes::new(1), payload);
            line.push(Timestamp::from_millis(millis), packet);
        }
        assert_eq!(line.next_due(), Some(Timestamp::from_millis(1)));
        let early: Vec<_> = core::iter::from_fn(|| line.pop(Timestamp::from_millis(5)))
            .map(|delivery| delivery.packet.payload)
            .collect();
        assert_eq!(early, [5, 1, 4, 0, 2]);
        assert_eq!(line.next_due(), Some(Timestamp::from_millis(9)));
    }
}
