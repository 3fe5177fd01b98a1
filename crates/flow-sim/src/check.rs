//! What must hold between the ends of a run; the simulator itself watches links and routes.

use super::outcome::FlowOutcome;
use link_sim::sim::RouteStats;

/// Every packet that a sender sent has set out, and every packet that came out reached its
/// receiver.
pub(crate) fn assert_books_balance(index: usize, flow: &FlowOutcome, route: RouteStats) {
    assert_eq!(
        flow.packets_sent, route.sent,
        "packets that flow {index} sent and that set out"
    );
    assert_eq!(
        flow.packets_received, route.received,
        "packets of flow {index} that its receiver and that the simulator counted"
    );
    assert!(
        flow.delivered <= flow.sent,
        "flow {index} delivered more than it sent"
    );
    assert!(
        flow.packets_spuriously_lost <= flow.packets_lost,
        "flow {index} got back more than it lost"
    );
    assert!(
        flow.packets_marked <= flow.packets_received,
        "flow {index} got more marks than packets"
    );
}
