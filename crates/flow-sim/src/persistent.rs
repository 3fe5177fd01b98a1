//! Persistent congestion (RFC 9002 §7.6).

use cc_core::{LostPacket, PathState};
use core::time::Duration;
use units::Timestamp;

/// Whether two of the packets now declared lost, with every packet between them lost as well,
/// left further apart than three probe timeouts.
///
/// `first_rtt_at` is when the first RTT sample was taken: what left before does not count.
pub(crate) fn is_established(
    lost: &[(u64, LostPacket)],
    path: &PathState,
    max_ack_delay: Duration,
    first_rtt_at: Option<Timestamp>,
) -> bool {
    let Some(first_rtt_at) = first_rtt_at else {
        return false;
    };
    let threshold = probe_timeout(path, max_ack_delay) * THRESHOLD;
    let mut run: Option<(u64, Timestamp)> = None;
    for (number, packet) in lost {
        let sent_at = packet.stamp.sent_at;
        let start = match run {
            Some((last, start)) if last + 1 == *number => start,
            _ => sent_at,
        };
        if start >= first_rtt_at && sent_at.since(start) > threshold {
            return true;
        }
        run = (sent_at >= first_rtt_at).then_some((*number, start));
    }
    false
}

/// PTO without backoff (RFC 9002 §6.2.1).
pub(crate) fn probe_timeout(path: &PathState, max_ack_delay: Duration) -> Duration {
    let srtt = path.srtt.unwrap_or(INITIAL_RTT);
    let deviation = path.rttvar.unwrap_or(INITIAL_RTT / 2);
    srtt + (deviation * 4).max(GRANULARITY) + max_ack_delay
}

/// kPersistentCongestionThreshold.
const THRESHOLD: u32 = 3;
/// kInitialRtt, in place of the RTT before the first sample (§6.2.2).
const INITIAL_RTT: Duration = Duration::from_millis(333);
/// kGranularity.
pub(crate) const GRANULARITY: Duration = Duration::from_millis(1);
