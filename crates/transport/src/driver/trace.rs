//! What a connection writes to its qlog.

use crate::qlog::{Millis, QlogStream, Text};
use crate::stats::ConnectionStats;
use cc_core::Snapshot;
use quinn_proto::{Connection, ConnectionError, Side, Transmit};
use std::fmt::Write;
use std::net::{IpAddr, SocketAddr};
use units::{Bandwidth, Timestamp};

/// A connection's part in a qlog.
#[derive(Debug)]
pub(super) struct Trace {
    stream: QlogStream,
    connection: (Side, u64),
    state: &'static str,
    /// Members of `metrics_updated` as they were written last.
    metrics: [Option<String>; METRICS.len()],
    /// Datagrams received since the last event.
    received: u64,
    /// When the last event was.
    now: Timestamp,
    has_ended: bool,
}

impl Trace {
    pub(super) fn new(now: Timestamp, stream: QlogStream, conn: &Connection) -> Self {
        let mut trace = Self {
            connection: (conn.side(), stream.add_connection()),
            stream,
            state: "",
            metrics: Default::default(),
            received: 0,
            now,
            has_ended: false,
        };
        let data = started(conn.local_ip(), conn.remote_address());
        trace.write(now, "connectivity:connection_started", &data);
        trace
    }

    /// A datagram has arrived; written with the next event.
    pub(super) fn on_received(&mut self) {
        self.received += 1;
    }

    /// A batch leaves.
    pub(super) fn on_sent(&mut self, now: Timestamp, transmit: &Transmit) {
        self.flush_received(now);
        let segment = transmit.segment_size.unwrap_or(transmit.size).max(1);
        let count = transmit.size.div_ceil(segment);
        let mut data = format!(r#""count":{count},"raw":["#);
        for start in (0..transmit.size).step_by(segment) {
            let separator = if start == 0 { "" } else { "," };
            let length = segment.min(transmit.size - start);
            let _ = write!(data, r#"{separator}{{"length":{length}}}"#);
        }
        data.push(']');
        self.write(now, "transport:datagrams_sent", &data);
    }

    /// Congestion control may have made another decision.
    pub(super) fn on_feedback(
        &mut self,
        now: Timestamp,
        stats: &ConnectionStats,
        snapshot: &Snapshot,
    ) {
        self.flush_received(now);
        if snapshot.state != self.state {
            let mut data = format!(r#""new":{}"#, Text(snapshot.state));
            if !self.state.is_empty() {
                let _ = write!(data, r#","old":{}"#, Text(self.state));
            }
            self.state = snapshot.state;
            self.write(now, "recovery:congestion_state_updated", &data);
        }
        self.write_metrics(now, stats, snapshot);
    }

    /// The connection has ended with the last event.
    pub(super) fn on_lost(&mut self, reason: &ConnectionError) {
        self.end(&reason.to_string());
    }

    fn end(&mut self, reason: &str) {
        if !std::mem::replace(&mut self.has_ended, true) {
            self.flush_received(self.now);
            let data = format!(r#""reason":{}"#, Text(reason));
            self.write(self.now, "connectivity:connection_closed", &data);
        }
    }

    fn write_metrics(&mut self, now: Timestamp, stats: &ConnectionStats, snapshot: &Snapshot) {
        let millis = |time: Option<_>| time.map(|time| Millis(time).to_string());
        let is_paced = stats.pacing_rate != Bandwidth::MAX;
        let values = [
            millis(stats.min_rtt),
            millis(stats.srtt),
            millis(stats.latest_rtt),
            millis(stats.rttvar),
            Some(stats.cwnd.get().to_string()),
            Some(stats.in_flight.get().to_string()),
            snapshot.ssthresh.map(|bytes| bytes.get().to_string()),
            is_paced.then(|| stats.pacing_rate.bits_per_sec().to_string()),
        ];
        let mut data = String::new();
        for ((name, value), last) in METRICS.iter().zip(values).zip(&mut self.metrics) {
            if let Some(value) = value.filter(|value| last.as_ref() != Some(value)) {
                let separator = if data.is_empty() { "" } else { "," };
                let _ = write!(data, r#"{separator}"{name}":{value}"#);
                *last = Some(value);
            }
        }
        if !data.is_empty() {
            self.write(now, "recovery:metrics_updated", &data);
        }
    }

    fn flush_received(&mut self, now: Timestamp) {
        let count = std::mem::take(&mut self.received);
        if count > 0 {
            let data = format!(r#""count":{count}"#);
            self.write(now, "transport:datagrams_received", &data);
        }
    }

    fn write(&mut self, now: Timestamp, name: &str, data: &str) {
        self.now = now;
        self.stream.write(now, self.connection, name, data);
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        self.end("closed on this side");
    }
}

/// The addresses, as far as they are known: the local one is on servers.
fn started(local: Option<IpAddr>, remote: SocketAddr) -> String {
    let version = if remote.is_ipv6() { "v6" } else { "v4" };
    let local = local.map_or_else(String::new, |ip| ip.to_string());
    let (dst_ip, dst_port) = (remote.ip(), remote.port());
    format!(
        r#""ip_version":"{version}","src_ip":"{local}","dst_ip":"{dst_ip}","dst_port":{dst_port}"#
    )
}

/// Of `metrics_updated`, in order.
const METRICS: [&str; 8] = [
    "min_rtt",
    "smoothed_rtt",
    "latest_rtt",
    "rtt_variance",
    "congestion_window",
    "bytes_in_flight",
    "ssthresh",
    "pacing_rate",
];
