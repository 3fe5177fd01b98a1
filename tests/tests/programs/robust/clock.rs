//! The system's date jumps while a run goes on. Durations come from the clock that never does
//! (`tests/tests/repository` and a lint see to it that no other is read), so nothing happens.
//!
//! libfaketime (Debian: `libfaketime`) stands in for whoever sets the date.

use crate::robust::parse;
use e2e::programs::{Running, bench_server, scratch_file};
use std::path::Path;
use std::thread;
use std::time::Duration;

#[test]
fn a_date_that_jumps_changes_no_figure() {
    let Some(library) = library() else {
        e2e::skipped("there is no libfaketime; Debian's package has that name");
        return;
    };
    let date = scratch_file("date");
    let jump = |to: &str| std::fs::write(&date, to).unwrap();
    jump("+0");
    let environment = [
        ("LD_PRELOAD", library),
        ("FAKETIME_TIMESTAMP_FILE", date.to_str().unwrap()),
        ("FAKETIME_NO_CACHE", "1"),
        ("DONT_FAKE_MONOTONIC", "1"),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
    ];
    let (_server, port) = bench_server(&[]);
    let server = format!("127.0.0.1:{port}");
    let args = ["run", &server, "-t", "3", "-i", "0.5", "-b", "10M", "-J"];
    let client = Running::start_with_environment("bench-client", args, &environment);
    for to in ["+1h", "-40d", "+3y", "-1d"] {
        thread::park_timeout(Duration::from_millis(600));
        jump(to);
    }
    let ended = client.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let result = parse(&ended.stdout);
    let seconds = result["end"]["sum_sent"]["seconds"].as_f64().unwrap();
    assert!((3.0..3.5).contains(&seconds), "{seconds}");
    let begun = result["start"]["timestamp"]["timesecs"].as_i64().unwrap();
    let rows = result["intervals"].as_array().unwrap();
    for row in rows {
        let seconds = row["sum"]["seconds"].as_f64().unwrap();
        assert!((0.0..2.0).contains(&seconds), "{row}");
    }
    // The library did what it is for: a client that is started now begins a day earlier.
    let args = ["run", &server, "-n", "1M", "-J"];
    let client = Running::start_with_environment("bench-client", args, &environment);
    let later = parse(&client.wait().stdout)["start"]["timestamp"]["timesecs"].clone();
    assert!(later.as_i64().unwrap() < begun - 80_000, "{later}, {begun}");
}

fn library() -> Option<&'static str> {
    let folders = [
        "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
        "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
        "/usr/lib64/faketime/libfaketime.so.1",
    ];
    folders.into_iter().find(|path| Path::new(path).exists())
}
