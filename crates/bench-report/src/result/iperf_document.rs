//! A run's result with iperf3's keys alone, for programs that read iperf3's JSON.
//!
//! A program that knows TCP and UDP finds one of them here, and each stream has the figures that
//! iperf3 gives each stream. docs/measuring.md has a table of all keys.

use super::run::RunResult;
use super::schema::to_json;
use serde_json::{Map, Value, json};

impl RunResult {
    /// The JSON text of iperf3's document, as iperf3 3.12 writes it with `-J`.
    pub fn to_iperf3_json(&self) -> String {
        let document = serde_json::to_value(self).expect("every figure is finite");
        to_json(&adapted(document))
    }
}

fn adapted(mut document: Value) -> Value {
    let is_of_datagrams = document["end"].get("sum").is_some();
    keep(&mut document, &TOP);
    let start = &mut document["start"];
    start["test_start"]["protocol"] = if is_of_datagrams { "UDP" } else { "TCP" }.into();
    start["test_start"]["fqrate"] = 0.into();
    if let Some(start) = start.as_object_mut() {
        // What QUIC has no setting for, at iperf3's value for the system's own.
        for key in ["fq_rate", "sock_bufsize", "sndbuf_actual", "rcvbuf_actual"] {
            start.insert(key.to_owned(), 0.into());
        }
        start.insert("cookie".to_owned(), "".into());
    }
    for interval in elements(&mut document["intervals"]) {
        keep(interval, &["streams", "sum", "sum_bidir_reverse"]);
        let sum = interval["sum"].clone();
        let streams = elements(&mut interval["streams"]);
        share_retransmits(streams.iter_mut().collect(), &sum);
        streams.iter_mut().for_each(|row| keep(row, &ROW));
        for sum in ["sum", "sum_bidir_reverse"] {
            interval
                .get_mut(sum)
                .into_iter()
                .for_each(|row| keep(row, &SUM));
        }
    }
    let end = &mut document["end"];
    let sum = end["sum_sent"].clone();
    let streams = elements(&mut end["streams"]);
    let senders = streams.iter_mut().map(|stream| &mut stream["sender"]);
    share_retransmits(senders.collect(), &sum);
    if is_of_datagrams {
        streams.iter_mut().for_each(in_one_row);
    } else {
        let ends = streams.iter_mut().filter_map(Value::as_object_mut);
        ends.flat_map(Map::values_mut)
            .for_each(|row| keep(row, &END));
    }
    for (key, row) in end.as_object_mut().into_iter().flatten() {
        if key.starts_with("sum") {
            keep(row, &SUM);
        }
    }
    document
}

/// iperf3 has one row for both ends of a stream of datagrams.
fn in_one_row(stream: &mut Value) {
    let mut row = stream["receiver"].clone();
    row["sender"] = stream["sender"]["sender"].clone();
    keep(&mut row, &END);
    *stream = json!({ "udp": row });
}

/// Losses are a connection's, so its streams have none of their own where it has several. The first
/// one gets all, so that the sum is what it was.
fn share_retransmits(mut streams: Vec<&mut Value>, sum: &Value) {
    let Some(all) = sum.get(RETRANSMITS).and_then(Value::as_u64) else {
        return;
    };
    let own = |row: &&mut Value| row.get(RETRANSMITS).and_then(Value::as_u64);
    let mut rest = all.saturating_sub(streams.iter().filter_map(own).sum());
    for row in &mut streams {
        let is_sender = row["sender"] == sum["sender"];
        if is_sender && row.get(RETRANSMITS).is_none() {
            row[RETRANSMITS] = std::mem::take(&mut rest).into();
        }
    }
}

fn elements(list: &mut Value) -> &mut [Value] {
    list.as_array_mut().map_or(&mut [], Vec::as_mut_slice)
}

fn keep(object: &mut Value, keys: &[&str]) {
    if let Some(object) = object.as_object_mut() {
        object.retain(|key, _| keys.contains(&key.as_str()));
    }
}

const RETRANSMITS: &str = "retransmits";

const TOP: [&str; 6] = [
    "start",
    "intervals",
    "end",
    "title",
    "error",
    "server_output_text",
];

const ROW: [&str; 18] = [
    "socket",
    "start",
    "end",
    "seconds",
    "bytes",
    "bits_per_second",
    RETRANSMITS,
    "snd_cwnd",
    "rtt",
    "rttvar",
    "pmtu",
    "jitter_ms",
    "lost_packets",
    "packets",
    "lost_percent",
    "out_of_order",
    "omitted",
    "sender",
];

const SUM: [&str; 13] = [
    "start",
    "end",
    "seconds",
    "bytes",
    "bits_per_second",
    RETRANSMITS,
    "jitter_ms",
    "lost_packets",
    "packets",
    "lost_percent",
    "out_of_order",
    "omitted",
    "sender",
];

const END: [&str; 17] = [
    "socket",
    "start",
    "end",
    "seconds",
    "bytes",
    "bits_per_second",
    RETRANSMITS,
    "max_snd_cwnd",
    "max_rtt",
    "min_rtt",
    "mean_rtt",
    "jitter_ms",
    "lost_packets",
    "packets",
    "lost_percent",
    "out_of_order",
    "sender",
];
