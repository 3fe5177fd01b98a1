//! The simulations by which google/quiche judges its BBR, and limits of those that run over the
//! small transport and in real QUIC endpoints.
//!
//! A sender's own link of 10 Mbit/s and 2 ms, a shared link of 4 Mbit/s and 30 ms unless said, a
//! round trip of 64 ms, packets of 1,350 bytes.

use crate::limit::Limit;
use crate::sim::{Flow, FlowOutcome, Scenario};
use core::time::Duration;
use units::Timestamp;

/// The shared link's propagation both ways, and the sender's.
pub const RTT: Duration = Duration::from_millis(64);

/// What 4 Mbit/s carry of payload, in bits per second: an exact estimate.
pub const ESTIMATE: u64 = 4_000_000 * 1_350 / 1_392;

/// 2.885 BDPs and six packets in flight are more than the three that link and queue hold.
pub const WIDE_STARTUP: &str = "Startup's window is wider than link and queue";

/// Of 12 MB.
pub const TRANSFER: Limit = Limit::at_most("duration in ms", 30_000);

/// Where the queue is long enough.
pub const LOST: Limit = Limit::at_most("packets lost", 0);

/// Two and a half round trips.
pub const SRTT: Limit = Limit::at_most("longest srtt in ms", 160);

/// Either way.
pub const MIN_RTT_OFF: Limit = Limit::at_most("error of min_rtt in percent", 20);

/// In a queue of half a BDP.
pub const SHALLOW_LOST: Limit = Limit::at_most("lost per 1,000", 50);

/// Under ACK decimation.
pub const DECIMATED_LOST: Limit = Limit::at_most("lost per 1,000", 1);

/// Under ACK decimation, three round trips.
pub const DECIMATED_SRTT: Limit = Limit::at_most("longest srtt in ms", 192);

/// Of a transfer beside another of the same size.
pub const SHARED: Limit = Limit::at_most("hundredths of the time alone", 300);

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

/// How far a round trip is from [`RTT`], in percent, rounded up.
pub fn off_percent(rtt: Duration) -> u64 {
    (rtt.abs_diff(RTT).as_nanos() * 100).div_ceil(RTT.as_nanos()) as u64
}

/// A time in hundredths of another, rounded up.
pub fn hundredths(time: Duration, alone: Duration) -> u64 {
    (time.as_nanos() * 100).div_ceil(alone.as_nanos()) as u64
}

/// The controller's estimate of the bandwidth, in bits per second.
///
/// # Panics
/// When it has none, or the series ended before.
pub fn estimate(flow: &FlowOutcome, at: Duration) -> u64 {
    let bandwidth = flow.point_at(at).bandwidth;
    bandwidth.expect("a sample came before").bits_per_sec()
}
