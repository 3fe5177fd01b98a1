use crate::spec::{OPPORTUNITY, RateTrace};
use std::sync::Arc;
use units::{Bytes, Timestamp};

/// mahimahi's link: at each line of a trace one full packet may leave, or as many small ones as
/// fit, or the next part of one larger than that. An opportunity that finds nothing is gone.
#[derive(Debug)]
pub(super) struct Opportunities {
    trace: Arc<RateTrace>,
    /// The opportunity in use, counted over all repetitions of the trace.
    current: u64,
    /// What is left of it.
    left: Bytes,
    free_at: Timestamp,
}

impl Opportunities {
    pub(super) fn new(trace: Arc<RateTrace>) -> Self {
        Self {
            trace,
            current: 0,
            left: OPPORTUNITY,
            free_at: Timestamp::ZERO,
        }
    }

    pub(super) fn trace(&self) -> &Arc<RateTrace> {
        &self.trace
    }

    pub(super) fn reset(&mut self, at: Timestamp) {
        self.free_at = at;
    }

    pub(super) fn free_at(&self) -> Timestamp {
        self.free_at
    }

    /// When a packet that is ready at `ready` begins to leave.
    pub(super) fn next(&self, ready: Timestamp) -> Timestamp {
        let (opportunity, _) = self.seek(ready);
        self.trace.time_of(opportunity)
    }

    /// When its last byte is out.
    pub(super) fn transmit(&mut self, ready: Timestamp, size: Bytes) -> Timestamp {
        (self.current, self.left) = self.seek(ready);
        let beyond = size.saturating_sub(self.left);
        let more = beyond.packets_ceil(OPPORTUNITY);
        self.current = self.current.saturating_add(more);
        self.left = if more == 0 {
            self.left - size
        } else {
            OPPORTUNITY * more - beyond
        };
        self.free_at = self.trace.time_of(self.current);
        self.free_at
    }

    /// The first opportunity from `ready` on that is not used up, and what is left of it.
    fn seek(&self, ready: Timestamp) -> (u64, Bytes) {
        let start = ready.max(self.free_at);
        let is_used_up = self.left.is_zero();
        if !is_used_up && self.trace.time_of(self.current) >= start {
            return (self.current, self.left);
        }
        let unused = self.current.saturating_add(u64::from(is_used_up));
        (self.trace.first_at(start).max(unused), OPPORTUNITY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opportunities(text: &str) -> Opportunities {
        Opportunities::new(RateTrace::parse(text).unwrap().into())
    }

    /// When packets of these sizes leave, all of them waiting from `from` on, in milliseconds.
    fn departures(text: &str, from: u64, sizes: &[u64]) -> Vec<u64> {
        let mut link = opportunities(text);
        let ready = Timestamp::from_millis(from);
        let send = |size: &u64| link.transmit(ready, Bytes::new(*size)).as_nanos() / 1_000_000;
        sizes.iter().map(send).collect()
    }

    #[test]
    fn each_line_sends_one_full_packet_and_the_trace_repeats() {
        let full = [1_514; 7];
        assert_eq!(
            departures("1\n3\n3\n10\n", 0, &full),
            [1, 3, 3, 10, 11, 13, 13]
        );
    }

    #[test]
    fn small_packets_share_an_opportunity_and_large_ones_take_several() {
        assert_eq!(
            departures("1\n3\n10\n", 0, &[700, 700, 700, 3_000]),
            [1, 1, 3, 11]
        );
        assert_eq!(departures("1\n3\n10\n", 0, &[1_514 * 3, 1]), [10, 11]);
    }

    #[test]
    fn what_nobody_used_is_gone() {
        assert_eq!(departures("1\n3\n10\n", 4, &[1_514, 1_514]), [10, 11]);
        assert_eq!(departures("5\n10\n", 10, &[1_514, 1_514]), [10, 15]);
        assert_eq!(departures("0\n10\n", 10, &[1_514; 4]), [10, 10, 20, 20]);
    }
}
