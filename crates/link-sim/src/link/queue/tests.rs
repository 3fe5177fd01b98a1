//! What the tests of several disciplines share.

use super::*;

/// Offers packets of these sizes at time zero, numbered from 0.
pub(super) fn offer(queue: &mut impl Discipline<u64>, sizes: &[u64]) -> Log {
    let mut log = Log::default();
    for (number, size) in (0..).zip(sizes) {
        let packet = Packet::new(Bytes::new(*size), number);
        queue.enqueue(Timestamp::ZERO, packet, &mut log);
    }
    log
}

/// The numbers of what is in the queue, in its order.
pub(super) fn numbers(queue: &mut impl Discipline<u64>) -> Vec<u64> {
    core::iter::from_fn(|| queue.take())
        .map(|waiting| waiting.packet.payload)
        .collect()
}
