//! Messages that hold anything: the fuzz target's harness on random bytes, and on honest messages
//! some of whose values are others.

#[path = "any_message/harness.rs"]
mod harness;

use bench_kit::sample::{
    Arrivals, FrameReport, FrameTally, Sample, SenderReport, SenderState, SideReport,
};
use bench_kit::wire::{Reply, Request};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::time::Duration;

proptest! {
    #[test]
    fn any_bytes_are_a_message_or_a_refusal(
        data in proptest::collection::vec(any::<u8>(), 0..300)
    ) {
        harness::message(&data);
        harness::message(&framed(&data));
    }

    #[test]
    fn a_message_with_any_values_is_taken_or_refused(
        which in any::<Index>(),
        lies in proptest::collection::vec((any::<Index>(), lie()), 0..6),
    ) {
        let mut message = which.get(&honest()).clone();
        for (place, lie) in &lies {
            let places = count(&message);
            put(&mut message, &mut place.index(places), lie);
        }
        harness::message(&framed(message.to_string().as_bytes()));
    }
}

#[test]
fn honest_messages_are_taken() {
    for message in honest() {
        let (by_server, by_client) = harness::message(&framed(message.to_string().as_bytes()));
        assert!(by_server || by_client, "{message}");
    }
}

#[test]
fn what_broke_a_promise_once_does_not_again() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/regressions/message");
    let entries = fs::read_dir(folder).expect("it is in the repository");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    let findings: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "bin"))
        .collect();
    assert!(!findings.is_empty());
    for path in findings {
        harness::message(&fs::read(path).expect("it can be read"));
    }
}

/// One of each kind, with everything in it.
fn honest() -> Vec<Value> {
    let time = Duration::from_millis(100);
    let arrivals = Arrivals {
        packets: 70,
        ..Arrivals::default()
    };
    let sample = Sample {
        at: time,
        length: time,
        sent: vec![1],
        received: vec![1],
        sending: Some(SenderState::default()),
        datagrams_sent: vec![1],
        arrivals: vec![arrivals],
        frames_sent: Some(1),
        frames: Some(FrameTally::default()),
        ..Sample::default()
    };
    let report = SideReport {
        measured: time,
        sent: vec![1],
        received: vec![1],
        datagrams_sent: vec![1],
        arrivals: vec![arrivals],
        frames_sent: Some(1),
        frames: Some(FrameReport::new(1, vec![time], time)),
        sha256: Some(String::new()),
        socket_drops: Some(1),
        socket_buffer_limit: Some(1),
        output: Some(String::new()),
        sender: Some(SenderReport {
            rtt: FrameReport::new(1, vec![time], time).latency,
            rtt_distribution: FrameReport::new(1, vec![time], time).distribution,
            ..SenderReport::default()
        }),
        thread: Some(1),
        error: Some(String::new()),
        ..SideReport::default()
    };
    let requests = [
        Request::Token("secret".to_owned()),
        Request::Run(Box::new(harness::plan())),
        Request::Finished(Box::new(report.clone())),
    ];
    let replies = [
        Reply::Accepted,
        Reply::Waiting(3),
        Reply::Refused("why".to_owned()),
        Reply::Samples(vec![sample; 3]),
        Reply::Finished(Box::new(report)),
    ];
    let requests = requests.iter().map(serde_json::to_value);
    let replies = replies.iter().map(serde_json::to_value);
    requests.chain(replies).map(Result::unwrap).collect()
}

/// A value that no honest peer sends, or where it should not be.
#[derive(Debug, Clone)]
enum Lie {
    Value(Value),
    /// A list of so many of what the list begins with.
    Repeated(usize),
    /// A field of this name.
    Field(String),
}

fn lie() -> impl Strategy<Value = Lie> {
    let numbers = proptest::sample::select(vec![
        json!(0),
        json!(1),
        json!(999_999_999),
        json!(1_u64 << 32),
        json!(3_000_000_000_u64),
        json!(u64::MAX),
        json!(-1),
        json!(1e308),
        json!(5e-324),
        json!("NaN"),
        json!(null),
        json!(true),
        json!({}),
        json!([]),
        json!({"secs": u64::MAX, "nanos": 999_999_999}),
        json!("\u{1b}[2J"),
        json!("x".repeat(100_000)),
    ]);
    prop_oneof![
        6 => numbers.prop_map(Lie::Value),
        2 => any::<u64>().prop_map(|number| Lie::Value(json!(number))),
        2 => proptest::sample::select(vec![0, 2, 5_000]).prop_map(Lie::Repeated),
        1 => "\\PC{0,40}\u{1b}x{0,2000}".prop_map(Lie::Field),
    ]
}

fn count(value: &Value) -> usize {
    match value {
        Value::Array(values) => 1 + values.iter().take(WALKED).map(count).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(count).sum::<usize>(),
        _ => 1,
    }
}

/// Puts it in the place of this number, counting from the outside.
fn put(value: &mut Value, place: &mut usize, lie: &Lie) {
    if *place == 0 {
        match (lie, &mut *value) {
            (Lie::Repeated(times), Value::Array(values)) => {
                let first = values.first().cloned().unwrap_or_default();
                *values = vec![first; *times];
            }
            (Lie::Field(name), Value::Object(fields)) => {
                fields.insert(name.clone(), json!(1));
            }
            (Lie::Value(lie), value) => *value = lie.clone(),
            _ => {}
        }
        *place = usize::MAX;
        return;
    }
    *place -= 1;
    let within: Vec<&mut Value> = match value {
        Value::Array(values) => values.iter_mut().take(WALKED).collect(),
        Value::Object(fields) => fields.values_mut().collect(),
        _ => Vec::new(),
    };
    for value in within {
        let size = count(value);
        if *place < size {
            put(value, place, lie);
            return;
        }
        *place -= size;
    }
}

fn framed(json: &[u8]) -> Vec<u8> {
    let length = u32::try_from(json.len()).expect("it is short");
    [&length.to_be_bytes(), json].concat()
}

/// Of a list: its others are the same.
const WALKED: usize = 4;
