//! A controller's state in quinn-proto's words.

use cc_core::{Control, Snapshot};
use quinn_proto::congestion::ControllerMetrics;
use units::{Bandwidth, Bytes};

/// What quinn-proto shows of a controller.
pub(super) fn metrics(snapshot: &Snapshot) -> ControllerMetrics {
    let Control {
        cwnd, pacing_rate, ..
    } = snapshot.control;
    let mut metrics = ControllerMetrics::default();
    metrics.congestion_window = cwnd.get();
    metrics.ssthresh = snapshot.ssthresh.map(Bytes::get);
    metrics.pacing_rate = (pacing_rate != Bandwidth::MAX).then(|| pacing_rate.bits_per_sec());
    metrics
}
