use super::conservation::{Tag, ensure};
use super::node::{LinkId, NodeId};
use crate::stats::LinkStats;

/// What a route carried so far, in packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RouteStats {
    /// Sent by the node at its begin.
    pub sent: u64,
    /// Received by the node at its end, copies that links made included.
    pub received: u64,
    /// Arrived there damaged and thrown away.
    pub damaged: u64,
}

/// A way from one node to another.
#[derive(Debug)]
pub(super) struct Route {
    pub(super) from: NodeId,
    pub(super) to: NodeId,
    pub(super) via: Box<[LinkId]>,
    pub(super) stats: RouteStats,
}

/// A node's payload on its route.
#[derive(Debug, Clone)]
pub(super) struct Envelope<P> {
    pub(super) route: usize,
    pub(super) hop: usize,
    pub(super) payload: P,
}

/// What the link carries: the packet and its number.
pub(super) type Tagged<P> = (Tag, Envelope<P>);

impl Route {
    pub(super) fn new(from: NodeId, to: NodeId, via: &[LinkId]) -> Self {
        let (via, stats) = (via.into(), RouteStats::default());
        Self {
            from,
            to,
            via,
            stats,
        }
    }
}

/// Whether everything that nodes sent and links copied has arrived, was dropped or is still under
/// way, nothing between two links. `links` says of each what it did and how many packets came out
/// of it so far.
pub(super) fn conserved<'a>(
    routes: &[Route],
    links: impl Iterator<Item = (&'a LinkStats, u64)>,
) -> Result<(), String> {
    let (mut copied, mut dropped, mut under_way) = (0, 0, 0);
    for (stats, collected) in links {
        let uncollected = stats.delivered.packets - collected;
        copied += stats.duplicated.packets;
        dropped += stats.dropped.total().packets;
        under_way += stats.held.packets + uncollected;
    }
    let total = |count: fn(&RouteStats) -> u64| -> u64 {
        let counts = routes.iter().map(|route| count(&route.stats));
        counts.sum()
    };
    let sent = total(|stats| stats.sent);
    let arrived = total(|stats| stats.received + stats.damaged);
    ensure(sent + copied == arrived + dropped + under_way, || {
        format!(
            "{sent} packets sent and {copied} copied, but {arrived} arrived, {dropped} dropped \
             and {under_way} under way"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Bytes;

    #[test]
    fn a_packet_that_is_lost_between_two_links_is_found() {
        let mut route = Route::new(NodeId(0), NodeId(1), &[LinkId(0), LinkId(1)]);
        route.stats.sent = 1;
        let mut first = LinkStats::default();
        first.arrived += Bytes::new(1_250);
        first.delivered += Bytes::new(1_250);
        let mut second = LinkStats::default();
        let mut check = |second: &LinkStats, received| {
            route.stats.received = received;
            let links = [(&first, 1), (second, second.delivered.packets)];
            conserved(core::slice::from_ref(&route), links.into_iter())
        };
        assert!(check(&second, 0).is_err());
        assert!(check(&second, 1).is_ok());
        second.held += Bytes::new(1_250);
        assert!(check(&second, 0).is_ok());
        assert!(check(&second, 1).is_err());
    }
}
