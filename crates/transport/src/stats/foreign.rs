//! How quinn-proto's statistics are written by serde, whose traits they do not implement.

use quinn_proto::{FrameStats, PathStats, UdpStats};
use serde::Serialize;
use std::time::Duration;
use units::encoding::seconds;

#[derive(Serialize)]
#[serde(remote = "UdpStats")]
pub(super) struct UdpStatsFields {
    datagrams: u64,
    bytes: u64,
    ios: u64,
}

#[derive(Serialize)]
#[serde(remote = "FrameStats")]
pub(super) struct FrameStatsFields {
    acks: u64,
    ack_frequency: u64,
    crypto: u64,
    connection_close: u64,
    data_blocked: u64,
    datagram: u64,
    handshake_done: u8,
    immediate_ack: u64,
    max_data: u64,
    max_stream_data: u64,
    max_streams_bidi: u64,
    max_streams_uni: u64,
    new_connection_id: u64,
    new_token: u64,
    path_challenge: u64,
    path_response: u64,
    ping: u64,
    reset_stream: u64,
    retire_connection_id: u64,
    stream_data_blocked: u64,
    streams_blocked_bidi: u64,
    streams_blocked_uni: u64,
    stop_sending: u64,
    stream: u64,
}

#[derive(Serialize)]
#[serde(remote = "PathStats")]
pub(super) struct PathStatsFields {
    #[serde(serialize_with = "seconds")]
    rtt: Duration,
    #[serde(serialize_with = "seconds")]
    min_rtt: Duration,
    cwnd: u64,
    congestion_events: u64,
    lost_packets: u64,
    lost_bytes: u64,
    sent_packets: u64,
    sent_plpmtud_probes: u64,
    lost_plpmtud_probes: u64,
    black_holes_detected: u64,
    current_mtu: u16,
}
