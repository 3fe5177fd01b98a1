//! The simulations by which google/quiche judges its BBR, as far as several test files share them.
//!
//! A sender's own link of 10 Mbit/s and 2 ms, a shared link of 4 Mbit/s and 30 ms unless said, a
//! round trip of 64 ms, packets of 1,350 bytes.

use crate::sim::{Flow, FlowOutcome, Scenario};
use core::time::Duration;
use units::Timestamp;

/// The shared link's propagation both ways, and the sender's.
pub const RTT: Duration = Duration::from_millis(64);

/// What 4 Mbit/s carry of payload, in bits per second: an exact estimate.
pub const ESTIMATE: u64 = 4_000_000 * 1_350 / 1_392;

/// The topology around the shared link that `link` describes but for its delay.
pub fn sharing(link: &str) -> Scenario {
    Scenario::new(&format!("{link} delay 30ms")).return_link("delay 32ms")
}

/// A flow behind the sender's own link.
pub fn sender(controller: &str) -> Flow {
    Flow::of(controller)
        .mss(1_350)
        .access("rate 10mbit delay 2ms queue 1000p")
}

/// When the receiver had everything, since the begin of the run.
///
/// # Panics
/// When it never had.
pub fn completed(flow: &FlowOutcome) -> Duration {
    let at = flow.completed_at.expect("the run is long enough");
    at.since(Timestamp::ZERO)
}

/// The longest smoothed round-trip time of the series.
///
/// # Panics
/// When none was measured.
pub fn longest_srtt(flow: &FlowOutcome) -> Duration {
    let series = flow.points.iter().filter_map(|point| point.srtt);
    series.max().expect("a round trip was measured")
}

/// The controller's estimate of the bandwidth, in bits per second.
///
/// # Panics
/// When it has none, or the series ended before.
pub fn estimate(flow: &FlowOutcome, at: Duration) -> u64 {
    let bandwidth = flow.point_at(at).bandwidth;
    bandwidth.expect("a sample came before").bits_per_sec()
}
