//! A qlog of real endpoints says what happened, in the schema's words.

use crate::{config, connect};
use cc_core::SavedPath;
use paceline::testing::{Load, Side};
use paceline::{PathMemory, QlogConfig, QlogStream};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use units::Bytes;

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shared {
    fn stream(&self) -> QlogStream {
        let mut config = QlogConfig::default();
        config.writer(Box::new(self.clone()));
        config.into_stream().expect("a writer and a thread")
    }

    /// The header and the events.
    fn records(&self) -> (Value, Vec<Value>) {
        let bytes = self.0.lock().expect("no panic").clone();
        let text = String::from_utf8(bytes).expect("JSON is UTF-8");
        let mut records = text.split('\u{1e}').skip(1).map(|record| {
            let json = record.strip_suffix('\n').expect("each ends its line");
            serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"))
        });
        (records.next().expect("a header"), records.collect())
    }
}

/// What draft-ietf-quic-qlog-quic-events-01 allows in each event that is written.
fn schema() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    BTreeMap::from([
        (
            "connectivity:connection_started",
            BTreeSet::from(["ip_version", "src_ip", "dst_ip", "src_port", "dst_port"]),
        ),
        (
            "connectivity:connection_closed",
            BTreeSet::from(["owner", "connection_code", "application_code", "reason"]),
        ),
        (
            "transport:datagrams_sent",
            BTreeSet::from(["count", "raw", "datagram_ids"]),
        ),
        (
            "transport:datagrams_received",
            BTreeSet::from(["count", "raw", "datagram_ids"]),
        ),
        (
            "transport:packet_sent",
            BTreeSet::from(["header", "frames", "raw", "datagram_id"]),
        ),
        (
            "transport:packet_received",
            BTreeSet::from(["header", "frames", "raw", "datagram_id"]),
        ),
        (
            "recovery:packet_lost",
            BTreeSet::from(["header", "frames", "trigger"]),
        ),
        (
            "recovery:congestion_state_updated",
            BTreeSet::from(["old", "new", "trigger"]),
        ),
        (
            "recovery:metrics_updated",
            BTreeSet::from([
                "min_rtt",
                "smoothed_rtt",
                "latest_rtt",
                "rtt_variance",
                "pto_count",
                "congestion_window",
                "bytes_in_flight",
                "ssthresh",
                "packets_in_flight",
                "pacing_rate",
                // Ours, which the schema allows.
                "delivery_rate",
                "bandwidth",
                "pacing_gain",
                "cwnd_gain",
                "inflight_longterm",
                "inflight_shortterm",
                "marked_share",
            ]),
        ),
    ])
}

#[test]
fn every_record_obeys_the_schema_and_agrees_with_the_statistics() {
    let shared = Shared::default();
    let stream = shared.stream();
    let mut config = config("delay 20ms rate 20mbit queue 1bdp", "delay 20ms", "bbr3");
    config.client.qlog_stream(Some(stream.clone()));
    let mut pair = connect(&config);
    pair.send(Side::Client, Load::Endless);
    pair.run_for(Duration::from_secs(2));
    let stats = pair.stats(Side::Client);
    drop((pair, config));
    stream.flush();
    assert_eq!(stream.dropped(), 0);

    let (header, events) = shared.records();
    assert_eq!(header["qlog_format"], "JSON-SEQ");
    assert_eq!(header["trace"]["vantage_point"]["type"], "client");
    let (schema, mut last, mut metrics) = (schema(), 0.0, BTreeMap::new());
    let (mut sent, mut received, mut bytes) = (0, 0, 0);
    let mut states = Vec::new();
    for event in &events {
        let (name, data) = (event["name"].as_str().expect("a name"), &event["data"]);
        let known = schema.get(name).unwrap_or_else(|| panic!("{name}"));
        let data = data.as_object().expect("members");
        assert!(
            data.keys().all(|key| known.contains(key.as_str())),
            "{event}"
        );
        let time = event["time"].as_f64().expect("a time");
        assert!(time >= last, "{time} after {last}");
        last = time;
        match name {
            "transport:datagrams_sent" => {
                sent += data["count"].as_u64().expect("a count");
                let raw = data["raw"].as_array().expect("datagrams");
                assert_eq!(Some(raw.len() as u64), data["count"].as_u64());
                bytes += raw
                    .iter()
                    .filter_map(|raw| raw["length"].as_u64())
                    .sum::<u64>();
            }
            "transport:datagrams_received" => received += data["count"].as_u64().expect("a count"),
            "recovery:metrics_updated" => metrics.extend(data.clone()),
            "recovery:congestion_state_updated" => states.push(data["new"].clone()),
            _ => {}
        }
    }
    assert_eq!((sent, bytes), (stats.udp_tx.datagrams, stats.udp_tx.bytes));
    assert!(received.abs_diff(stats.udp_rx.datagrams) <= 1, "{received}");
    assert!(
        (2_030.0..2_100.0).contains(&last),
        "{last} ms with the handshake"
    );
    assert!(states.iter().any(|state| state == "Startup"), "{states:?}");
    assert!(
        states.iter().any(|state| state == "ProbeBW_CRUISE"),
        "{states:?}"
    );
    let min_rtt = metrics["min_rtt"].as_f64().expect("milliseconds");
    assert!((40.0..41.0).contains(&min_rtt), "{min_rtt}");
    let cwnd = metrics["congestion_window"].as_u64();
    assert_eq!(cwnd, Some(stats.cwnd.get()));
    assert_eq!(metrics["pacing_gain"].as_f64(), Some(1.0));
    let bandwidth = metrics["bandwidth"].as_u64().expect("bits per second");
    assert!((19_000_000..21_000_000).contains(&bandwidth), "{bandwidth}");
    let rate = metrics["pacing_rate"].as_u64();
    assert_eq!(rate, Some(stats.pacing_rate.bits_per_sec()));
    assert_eq!(events[0]["name"], "connectivity:connection_started");
    let end = events.last().expect("events");
    assert_eq!(end["name"], "connectivity:connection_closed");
}

/// What is on its way when the client closes is answered by its close again and again. That reaches
/// a server that has ended.
#[test]
fn nothing_follows_the_end() {
    let shared = Shared::default();
    let stream = shared.stream();
    let mut config = config("delay 20ms rate 20mbit queue 1bdp", "delay 20ms", "bbr3");
    config.server.qlog_stream(Some(stream.clone()));
    let mut pair = connect(&config);
    pair.send(Side::Server, Load::Endless);
    pair.run_for(Duration::from_secs(1));
    pair.close(Side::Client);
    pair.run_for(Duration::from_secs(1));
    drop((pair, config));
    stream.flush();
    let (_, events) = shared.records();
    let names: Vec<_> = events.iter().map(|event| &event["name"]).collect();
    let end = names
        .iter()
        .position(|name| *name == "connectivity:connection_closed");
    assert_eq!(
        end,
        Some(names.len() - 1),
        "{:?}",
        &names[names.len() - 4..]
    );
}

/// qvis takes the extent of its congestion graph from packets, and finds what was acknowledged or
/// lost by type and number. Without them it draws nothing.
#[test]
fn packets_are_found_again_when_they_are_acknowledged_or_lost() {
    let shared = Shared::default();
    let stream = shared.stream();
    let mut config = config("delay 20ms rate 10mbit limit 20", "delay 20ms", "cubic");
    config.client.qlog_stream(Some(stream.clone()));
    let mut pair = connect(&config);
    pair.send(Side::Client, Load::Bytes(2_000_000));
    pair.run_for(Duration::from_secs(5));
    let stats = pair.stats(Side::Client);
    stream.flush();
    let (_, events) = shared.records();
    let packet = |event: &Value| {
        let header = &event["data"]["header"];
        let kind = header["packet_type"].as_str().expect("a type").to_owned();
        (kind, header["packet_number"].as_u64())
    };
    let (mut sent, mut lost, mut acked) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut bytes = 0;
    for event in &events {
        match event["name"].as_str().expect("a name") {
            "transport:packet_sent" => {
                assert!(sent.insert(packet(event)), "twice: {event}");
                bytes += event["data"]["raw"]["length"].as_u64().expect("bytes");
            }
            "recovery:packet_lost" => assert!(lost.insert(packet(event)), "twice: {event}"),
            "transport:packet_received" => {
                let (kind, frames) = (packet(event).0, &event["data"]["frames"]);
                for range in frames[0]["acked_ranges"].as_array().expect("ranges") {
                    let end = |index: usize| range[index].as_u64().expect("a number");
                    let numbers = (end(0)..=end(1)).map(|number| (kind.clone(), Some(number)));
                    acked.extend(numbers);
                }
            }
            _ => {}
        }
    }
    let kinds: BTreeSet<_> = sent.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(kinds, BTreeSet::from(["1RTT", "handshake", "initial"]));
    assert!(lost.is_subset(&sent) && acked.is_subset(&sent));
    // MTU probes do not count among the lost packets of the statistics.
    let probes = (lost.len() as u64).checked_sub(stats.path.lost_packets);
    assert!(probes.is_some_and(|probes| probes <= 3), "{lost:?}");
    assert!(lost.len() > 10 && acked.len() > 1_300, "{lost:?}");
    // Initial packets share their datagrams with padding and others.
    let all = stats.udp_tx.bytes;
    assert!((all - 3_000..=all).contains(&bytes), "{bytes} of {all}");
}

#[test]
fn connections_that_share_a_trace_are_told_apart() {
    let shared = Shared::default();
    let stream = shared.stream();
    let mut config = config("delay 5ms rate 10mbit queue 1bdp", "delay 5ms", "cubic");
    config.client.qlog_stream(Some(stream.clone()));
    config.server.qlog_stream(Some(stream.clone()));
    let mut pair = connect(&config);
    pair.send(Side::Client, Load::Bytes(100_000));
    pair.run_for(Duration::from_secs(1));
    stream.flush();
    let (_, events) = shared.records();
    let groups: BTreeSet<_> = events
        .iter()
        .map(|event| event["group_id"].as_str())
        .collect();
    assert_eq!(groups, BTreeSet::from([Some("0"), Some("1")]));
}

/// What an upload of 3 s over 20 Mbit/s and 200 ms writes of Careful Resume, when the connection
/// remembers this capacity.
fn resumed(capacity: Bytes) -> Vec<Value> {
    let shared = Shared::default();
    let stream = shared.stream();
    let link = "delay 100ms rate 20mbit queue 1bdp";
    let mut config = config(link, "delay 100ms", "cubic");
    let path = SavedPath {
        capacity,
        min_rtt: Duration::from_millis(200),
    };
    let memory = PathMemory::new(path, [192, 0, 2, 1].into());
    config.client.path_memory(Some(memory));
    config.client.qlog_stream(Some(stream.clone()));
    let mut pair = connect(&config);
    pair.send(Side::Client, Load::Endless);
    pair.run_for(Duration::from_secs(3));
    stream.flush();
    let (_, mut events) = shared.records();
    events.retain(|event| event["name"] == "recovery:careful_resume_phase_updated");
    events
}

/// Members that draft-ietf-tsvwg-careful-resume-qlog-02 defines.
#[test]
fn phases_of_careful_resume_are_written_with_their_reasons() {
    let steps = |events: &[Value]| -> Vec<[String; 3]> {
        let step = |event: &Value| {
            ["old", "new", "trigger"].map(|key| event["data"][key].as_str().expect(key).to_owned())
        };
        events.iter().map(step).collect()
    };
    let saved = resumed(Bytes::new(500_000));
    assert_eq!(
        steps(&saved)[..],
        [
            ["reconnaissance", "unvalidated", "congestion_window_limited"],
            ["unvalidated", "validating", "last_unvalidated_packet_sent"],
            [
                "validating",
                "normal",
                "last_unvalidated_packet_acknowledged"
            ],
        ]
    );
    let jump = &saved[0]["data"]["state_data"];
    // Half of what is saved (RFC 9959 section 3.2), once the initial window is acknowledged: the
    // handshake and a round trip later.
    assert_eq!(jump["congestion_window"], 250_000);
    let acknowledged = jump["pipesize"].as_u64().expect("bytes");
    assert!((10_000..20_000).contains(&acknowledged), "{jump}");
    let times: Vec<_> = saved.iter().filter_map(|e| e["time"].as_f64()).collect();
    // Each phase takes a round trip.
    assert!((600.0..610.0).contains(&times[0]), "{times:?}");
    assert!((790.0..810.0).contains(&times[1]), "{times:?}");
    assert!((990.0..1_020.0).contains(&times[2]), "{times:?}");

    let too_much = resumed(Bytes::new(5_000_000));
    assert_eq!(
        steps(&too_much)[2..],
        [
            ["validating", "safe_retreat", "packet_loss"],
            ["safe_retreat", "normal", "exit_recovery"],
        ]
    );
    let [retreat, end] = [2, 3].map(|at: usize| &too_much[at]["data"]["state_data"]);
    // Half of what the path has carried (section 3.5).
    let bytes = |state: &Value, key| state[key].as_u64().expect("bytes");
    let half = bytes(retreat, "pipesize") / 2;
    assert_eq!(bytes(retreat, "congestion_window"), half);
    assert_eq!(retreat.get("ssthresh"), None);
    assert_eq!(bytes(end, "ssthresh"), bytes(end, "pipesize") / 2);
}
