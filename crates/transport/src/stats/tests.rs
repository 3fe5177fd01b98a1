use super::*;
use crate::histogram::RttCounts;
use serde_json::{Value, json};
use std::fmt::Debug;

fn stats() -> ConnectionStats {
    let mut stats = ConnectionStats {
        srtt: Some(Duration::from_millis(40)),
        in_flight: Bytes::new(12_000),
        pacing_rate: Bandwidth::from_bytes_per_sec(125_000),
        ..ConnectionStats::default()
    };
    stats.path.rtt = Duration::from_millis(50);
    stats.limited_by.pacing = Duration::from_millis(1_500);
    let mut rtts = RttCounts::default();
    rtts.record(Duration::from_millis(30));
    stats.rtt_histogram = rtts.histogram();
    stats
}

#[test]
fn statistics_are_written_in_bits_per_second_bytes_and_seconds() {
    let json = serde_json::to_value(stats()).unwrap();
    assert_eq!(json["srtt"], json!(0.04));
    assert_eq!(json["min_rtt"], Value::Null);
    assert_eq!(json["in_flight"], json!(12_000));
    assert_eq!(json["pacing_rate"], json!(1_000_000));
    assert_eq!(json["path"]["rtt"], json!(0.05));
    assert_eq!(json["limited_by"]["pacing"], json!(1.5));
    let end = json["rtt_histogram"][0][0].as_f64().unwrap();
    assert!((0.030..=0.034).contains(&end), "{end}");
    assert_eq!(json["rtt_histogram"][0][1], json!(1));
}

/// The number of fields that `Debug` prints is that of the type, also of a newer quinn-proto's.
#[test]
fn every_field_of_quinn_protos_is_written() {
    let json = serde_json::to_value(stats()).unwrap();
    let fields = |value: &dyn Debug| format!("{value:?}").matches(": ").count();
    let written = |name: &str| json[name].as_object().unwrap().len();
    let stats = ConnectionStats::default();
    assert_eq!(written("udp_tx"), fields(&stats.udp_tx));
    assert_eq!(written("udp_rx"), fields(&stats.udp_rx));
    assert_eq!(written("frame_tx"), fields(&stats.frame_tx));
    assert_eq!(written("frame_rx"), fields(&stats.frame_rx));
    assert_eq!(written("path"), fields(&stats.path));
}
