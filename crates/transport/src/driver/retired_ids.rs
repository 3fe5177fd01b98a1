//! Retirements of connection IDs of which quinn-proto's endpoint has not heard.

use quinn_proto::EndpointEvent;
use std::collections::VecDeque;
use units::Timestamp;

/// The oldest first, and when the endpoint is to hear of each.
#[derive(Debug, Default)]
pub(super) struct RetiredIds {
    waiting: VecDeque<(Timestamp, EndpointEvent)>,
}

impl RetiredIds {
    pub(super) fn push(&mut self, due: Timestamp, event: EndpointEvent) {
        self.waiting.push_back((due, event));
    }

    /// The next retirement that is due.
    pub(super) fn pop(&mut self, now: Timestamp) -> Option<EndpointEvent> {
        let (due, _) = self.waiting.front()?;
        if *due > now && self.waiting.len() <= MAX_WAITING {
            return None;
        }
        self.waiting.pop_front().map(|(_, event)| event)
    }
}

/// Retirements that wait, at most. quinn-proto has eight IDs in use at a time; more are frames
/// that name the same ones again.
const MAX_WAITING: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn retirements_are_due_in_their_order_and_their_number_has_a_bound() {
        let second = |second| Timestamp::ZERO + Duration::from_secs(second);
        let mut ids = RetiredIds::default();
        ids.push(second(2), EndpointEvent::drained());
        ids.push(second(1), EndpointEvent::drained());
        assert!(ids.pop(second(1)).is_none());
        assert!(ids.pop(second(2)).is_some() && ids.pop(second(2)).is_some());
        assert!(ids.pop(second(3)).is_none());
        for _ in 0..MAX_WAITING + 2 {
            ids.push(second(9), EndpointEvent::drained());
        }
        assert!(ids.pop(second(1)).is_some() && ids.pop(second(1)).is_some());
        assert!(ids.pop(second(1)).is_none());
    }
}
