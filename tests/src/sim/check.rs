//! What must hold between the ends of a run; the simulator itself watches the links.

use super::outcome::FlowOutcome;
use link_sim::LinkStats;

/// Every packet that senders gave to the shared link entered it, and every packet that came out
/// reached its receiver.
pub(crate) fn assert_books_balance(flows: &[FlowOutcome], entered: u64, link: &LinkStats) {
    let received: u64 = flows.iter().map(|flow| flow.packets_received).sum();
    assert_eq!(
        link.arrived.packets, entered,
        "packets that entered the shared link"
    );
    assert_eq!(
        (link.delivered - link.corrupted).packets,
        received,
        "packets that receivers got"
    );
    for (index, flow) in flows.iter().enumerate() {
        assert!(
            flow.delivered <= flow.sent,
            "flow {index} delivered more than it sent"
        );
        assert!(
            flow.packets_spuriously_lost <= flow.packets_lost,
            "flow {index} got back more than it lost"
        );
    }
}
