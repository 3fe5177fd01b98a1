//! Examples whose output nobody reads.

use e2e::programs::example;
use std::process::{Command, Stdio};

#[test]
fn examples_end_quietly_when_nobody_reads_on() {
    let examples: [(&str, &[&str]); 8] = [
        ("live", &["cubic"]),
        ("startup_trace", &[]),
        ("short_flows", &["cubic", "delay 20ms rate 50mbit", "1"]),
        ("controller_in_endpoint", &[]),
        ("own_socket", &[]),
        ("make_trace", &[]),
        ("relay_bench", &[]),
        ("interval_coverage", &[]),
    ];
    for (name, args) in examples {
        // The first line is already one too many.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ended = Command::new(example(name))
            .args(args)
            .stdin(Stdio::null())
            .stdout(writer)
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&ended.stderr);
        assert_eq!((ended.status.code(), &*errors), (Some(0), ""), "{name}");
    }
}
