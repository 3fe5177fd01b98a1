//! What a connection writes to its qlog.

use crate::qlog::{QlogStream, millis};
use crate::stats::ConnectionStats;
use cc_core::{ResumePhaseChange, Snapshot};
use quinn_proto::{Connection, ConnectionError, Side, Transmit};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::net::{IpAddr, SocketAddr};
use units::{Bandwidth, Bytes, Timestamp};

#[derive(Debug)]
pub(super) struct Trace {
    stream: QlogStream,
    connection: (Side, u64),
    state: &'static str,
    /// Members of `metrics_updated` as they were written last.
    metrics: Map<String, Value>,
    /// Datagrams received since the last event.
    received: u64,
    now: Timestamp,
    has_ended: bool,
}

impl Trace {
    pub(super) fn new(now: Timestamp, stream: QlogStream, conn: &Connection) -> Self {
        let mut trace = Self {
            connection: (conn.side(), stream.add_connection()),
            stream,
            state: "",
            metrics: Map::new(),
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

    pub(super) fn on_sent(&mut self, now: Timestamp, transmit: &Transmit) {
        self.flush_received(now);
        let segment = transmit.segment_size.unwrap_or(transmit.size).max(1);
        let raw: Vec<Raw> = (0..transmit.size)
            .step_by(segment)
            .map(|start| Raw {
                length: segment.min(transmit.size - start),
            })
            .collect();
        let count = raw.len();
        self.write(now, "transport:datagrams_sent", &Sent { count, raw });
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
            let mut data = json!({ "new": snapshot.state });
            if !self.state.is_empty() {
                data["old"] = self.state.into();
            }
            self.state = snapshot.state;
            self.write(now, "recovery:congestion_state_updated", &data);
        }
        self.write_metrics(now, stats, snapshot);
    }

    /// Careful Resume went on to another phase (draft-ietf-tsvwg-careful-resume-qlog-02). Packet
    /// numbers are left out: congestion control counts the packets of all spaces together.
    pub(super) fn on_resume_phase(&mut self, change: &ResumePhaseChange) {
        let mut state = json!({ "pipesize": change.pipe_size.get() });
        if let Some(cwnd) = change.cwnd {
            state["congestion_window"] = cwnd.get().into();
        }
        if let Some(ssthresh) = change.ssthresh {
            state["ssthresh"] = ssthresh.get().into();
        }
        let data = json!({
            "old": change.from.name(),
            "new": change.to.name(),
            "state_data": state,
            "trigger": change.trigger.name(),
        });
        self.write(change.at, "recovery:careful_resume_phase_updated", &data);
    }

    /// The connection has ended with the last event.
    pub(super) fn on_lost(&mut self, reason: &ConnectionError) {
        self.end(&reason.to_string());
    }

    fn end(&mut self, reason: &str) {
        if !std::mem::replace(&mut self.has_ended, true) {
            self.flush_received(self.now);
            let data = json!({ "reason": reason });
            self.write(self.now, "connectivity:connection_closed", &data);
        }
    }

    fn write_metrics(&mut self, now: Timestamp, stats: &ConnectionStats, snapshot: &Snapshot) {
        let is_paced = stats.pacing_rate != Bandwidth::MAX;
        let values: [(&str, Value); 8] = [
            ("min_rtt", stats.min_rtt.map(millis).into()),
            ("smoothed_rtt", stats.srtt.map(millis).into()),
            ("latest_rtt", stats.latest_rtt.map(millis).into()),
            ("rtt_variance", stats.rttvar.map(millis).into()),
            ("congestion_window", stats.cwnd.get().into()),
            ("bytes_in_flight", stats.in_flight.get().into()),
            ("ssthresh", snapshot.ssthresh.map(Bytes::get).into()),
            (
                "pacing_rate",
                is_paced.then(|| stats.pacing_rate.bits_per_sec()).into(),
            ),
        ];
        let changed: Map<String, Value> = values
            .into_iter()
            .filter(|(name, value)| !value.is_null() && self.metrics.get(*name) != Some(value))
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        if !changed.is_empty() {
            self.write(now, "recovery:metrics_updated", &changed);
            self.metrics.extend(changed);
        }
    }

    fn flush_received(&mut self, now: Timestamp) {
        let count = std::mem::take(&mut self.received);
        if count > 0 {
            let data = json!({ "count": count });
            self.write(now, "transport:datagrams_received", &data);
        }
    }

    fn write(&mut self, now: Timestamp, name: &str, data: &impl Serialize) {
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
fn started(local: Option<IpAddr>, remote: SocketAddr) -> Value {
    json!({
        "ip_version": if remote.is_ipv6() { "v6" } else { "v4" },
        "src_ip": local.map_or_else(String::new, |ip| ip.to_string()),
        "dst_ip": remote.ip(),
        "dst_port": remote.port(),
    })
}

#[derive(Serialize)]
struct Sent {
    count: usize,
    raw: Vec<Raw>,
}

#[derive(Serialize)]
struct Raw {
    length: usize,
}
