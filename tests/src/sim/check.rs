//! What must hold in every run.

use super::path::Wire;
use super::world::Ends;
use link_sim::{Link, LinkStats};
use units::{Bandwidth, Bytes, Timestamp};

/// What a link may have delivered by now, at most.
///
/// A delay only ever makes a delivery later, so the bound holds at every moment and not only at
/// the end.
#[derive(Debug)]
pub(crate) struct Capacity {
    rate: Option<Bandwidth>,
    since: Timestamp,
    /// Delivered since `since`.
    delivered: Bytes,
    /// What may be under way at the old rate when it changes.
    allowance: Bytes,
}

impl Capacity {
    pub(crate) fn new(rate: Option<Bandwidth>) -> Self {
        Self {
            rate,
            since: Timestamp::ZERO,
            delivered: Bytes::ZERO,
            allowance: Bytes::ZERO,
        }
    }

    /// The rate is another from `now` on; what the line still carries was let in at the old one.
    pub(crate) fn change(&mut self, now: Timestamp, rate: Option<Bandwidth>, under_way: Bytes) {
        *self = Self {
            rate,
            since: now,
            delivered: Bytes::ZERO,
            allowance: under_way,
        };
    }

    pub(crate) fn on_delivered(&mut self, now: Timestamp, size: Bytes) {
        self.delivered += size;
        if let Some(rate) = self.rate {
            let most = rate * now.since(self.since) + self.allowance + ROUNDING;
            assert!(
                self.delivered <= most,
                "the link carried {} by {now}, which is more than {most} at {rate}",
                self.delivered
            );
        }
    }
}

/// Every packet that left has arrived, was dropped or is under way, and both ends agree.
pub(crate) fn assert_books_balance(ends: &[Ends], link: &Link<Wire>, return_link: &Link<Wire>) {
    assert_conserves(link.stats());
    assert_conserves(return_link.stats());
    for (index, ends) in ends.iter().enumerate() {
        let counts = ends.sender.counts();
        let (packets, bytes) = ends.sender.flying();
        assert_eq!(
            counts.sent,
            counts.acked + counts.lost + packets,
            "packets of flow {index}"
        );
        assert_eq!(
            ends.sender.path().inflight,
            bytes,
            "bytes in flight of flow {index}"
        );
        if let Some(access) = &ends.access {
            assert_conserves(access.stats());
            assert_eq!(
                access.stats().arrived.packets,
                counts.sent,
                "packets of flow {index}"
            );
        }
    }
    let received: u64 = ends.iter().map(|ends| ends.receiver.packets()).sum();
    assert_eq!(
        link.stats().delivered.packets,
        received,
        "packets that receivers got"
    );
    let entered: u64 = ends.iter().map(Ends::packets_before_shared_link).sum();
    assert_eq!(
        link.stats().arrived.packets,
        entered,
        "packets that entered the shared link"
    );
}

fn assert_conserves(stats: &LinkStats) {
    let came = stats.arrived.packets + stats.duplicated.packets;
    let went = stats.delivered.packets + stats.dropped.total().packets + stats.held.packets;
    assert_eq!(came, went, "a link lost or made packets: {stats:?}");
}

/// Times are rounded to nanoseconds: at 400 Gbit/s that is 50 bytes.
const ROUNDING: Bytes = Bytes::new(50);
