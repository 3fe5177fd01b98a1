//! What a connection writes to its qlog.

use crate::cc_adapter::{CongestionHandle, Fact, PacketId};
use crate::qlog::{QlogStream, millis};
use crate::stats::ConnectionStats;
use cc_core::{ResumePhaseChange, Snapshot};
use quinn_proto::{Connection, ConnectionError, Side, Transmit};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::net::{IpAddr, SocketAddr};
use units::{Bandwidth, Bytes, Gain, Timestamp};

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
    /// Of a connection whose congestion control tells it of packets from now on.
    pub(super) fn of(
        congestion: &CongestionHandle,
        now: Timestamp,
        stream: QlogStream,
        conn: &Connection,
    ) -> Self {
        congestion.lock().note_facts();
        Self::new(now, stream, conn)
    }

    fn new(now: Timestamp, stream: QlogStream, conn: &Connection) -> Self {
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
                length: segment.min(transmit.size - start) as u64,
            })
            .collect();
        let count = raw.len();
        self.write(now, "transport:datagrams_sent", &Sent { count, raw });
    }

    /// What congestion control has learned of packets.
    ///
    /// An acknowledgement is a packet that was received with an ACK frame: so readers of qlog match
    /// it with what was sent. The frame has only what it newly acknowledges.
    pub(super) fn on_facts(&mut self, now: Timestamp, facts: &[Fact]) {
        let mut acked = Acked::default();
        for fact in facts {
            match fact {
                Fact::Acked(packet) | Fact::Late(packet) => {
                    if let Some(other) = acked.add(*packet) {
                        self.write_ack(now, other);
                    }
                }
                Fact::Sent { packet, bytes, .. } => {
                    let raw = Raw {
                        length: bytes.get(),
                    };
                    let (header, raw) = (header(*packet), raw);
                    self.write(now, "transport:packet_sent", &Packet { header, raw });
                }
                Fact::Lost(packet) => {
                    let data = json!({ "header": header(*packet) });
                    self.write(now, "recovery:packet_lost", &data);
                }
                _ => {}
            }
        }
        self.write_ack(now, acked);
    }

    fn write_ack(&mut self, now: Timestamp, acked: Acked) {
        if acked.ranges.is_empty() {
            return;
        }
        self.flush_received(now);
        let data = json!({
            "header": { "packet_type": packet_type(acked.space) },
            "frames": [{ "frame_type": "ack", "acked_ranges": acked.ranges }],
        });
        self.write(now, "transport:packet_received", &data);
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
        self.flush_received(self.now);
        let data = json!({ "reason": reason });
        self.write(self.now, "connectivity:connection_closed", &data);
        self.has_ended = true;
    }

    fn write_metrics(&mut self, now: Timestamp, stats: &ConnectionStats, snapshot: &Snapshot) {
        let is_paced = stats.pacing_rate != Bandwidth::MAX;
        let rate = |rate: Option<Bandwidth>| rate.map(Bandwidth::bits_per_sec).into();
        let factor = |gain: Option<Gain>| gain.map(Gain::as_f64).into();
        let values: [(&str, Value); 15] = [
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
            // Not the schema's, which allows others: what the controller estimates and aims at.
            ("delivery_rate", rate(stats.delivery_rate)),
            ("bandwidth", rate(snapshot.bandwidth)),
            ("pacing_gain", factor(snapshot.pacing_gain)),
            ("cwnd_gain", factor(snapshot.cwnd_gain)),
            (
                "inflight_longterm",
                snapshot.inflight_longterm.map(Bytes::get).into(),
            ),
            (
                "inflight_shortterm",
                snapshot.inflight_shortterm.map(Bytes::get).into(),
            ),
            ("marked_share", factor(snapshot.marked_share)),
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

    /// Nothing after the end: what a closed connection still answers is its closing once more.
    fn write(&mut self, now: Timestamp, name: &str, data: &impl Serialize) {
        if self.has_ended {
            return;
        }
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
    length: u64,
}

#[derive(Serialize)]
struct Packet {
    header: Header,
    raw: Raw,
}

#[derive(Serialize)]
struct Header {
    packet_type: &'static str,
    packet_number: u64,
}

fn header(packet: PacketId) -> Header {
    Header {
        packet_type: packet_type(packet.space),
        packet_number: packet.number,
    }
}

/// 0-RTT packets, whose numbers are of one space with those of 1-RTT, are called by its name.
fn packet_type(space: usize) -> &'static str {
    ["initial", "handshake", "1RTT"][space]
}

/// Newly acknowledged packets of one space, as ranges of their numbers.
#[derive(Default)]
struct Acked {
    space: usize,
    ranges: Vec<(u64, u64)>,
}

impl Acked {
    /// Adds a packet; what there was before of another space is answered.
    fn add(&mut self, packet: PacketId) -> Option<Self> {
        let number = packet.number;
        let is_other = packet.space != self.space && !self.ranges.is_empty();
        let other = is_other.then(|| std::mem::take(self));
        self.space = packet.space;
        match self.ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => self.ranges.push((number, number)),
        }
        other
    }
}
