//! qlog files and TLS secrets of the programs.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use e2e::programs::{Ended, Running, bench_server, port_at_end, run, scratch_file};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The names after the date, and each file's header and events.
fn traces(directory: &Path) -> Vec<(String, Value, Vec<Value>)> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    // The date is when the program began.
    names.sort_by(|a, b| a[16..].cmp(&b[16..]));
    let trace = |name: String| {
        let text = fs::read_to_string(directory.join(&name)).unwrap();
        let mut records = text.split('\u{1e}').skip(1).map(|json| {
            serde_json::from_str(json).unwrap_or_else(|error| panic!("{name}: {error}: {json}"))
        });
        let header = records.next().unwrap();
        (name[16..].to_owned(), header, records.collect())
    };
    names.into_iter().map(trace).collect()
}

fn names(traces: &[(String, Value, Vec<Value>)]) -> Vec<&str> {
    traces.iter().map(|(name, ..)| name.as_str()).collect()
}

fn states(events: &[Value]) -> BTreeSet<&str> {
    let of_states = events
        .iter()
        .filter(|event| event["name"] == "recovery:congestion_state_updated");
    of_states
        .filter_map(|event| event["data"]["new"].as_str())
        .collect()
}

#[test]
fn both_ends_of_a_run_write_a_qlog_of_each_connection() {
    let directory = scratch_file("qlog-of-a-run");
    let path = directory.to_str().unwrap();
    let (server, port) = bench_server(&["-1", "--qlog", path]);
    let address = format!("127.0.0.1:{port}");
    let flags = [
        "--connections",
        "2",
        "-n",
        "4M",
        "-C",
        "bbr3",
        "--qlog",
        path,
    ];
    let ended = run("bench-client", [&["run", &address], &flags[..]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.stderr.contains("--qlog"), "{ended:?}");
    assert_eq!(server.wait().code, Some(0));
    let traces = traces(&directory);
    assert_eq!(
        names(&traces),
        [
            "-run-client-1.sqlog",
            "-run-client-2.sqlog",
            "-run-server-1.sqlog",
            "-run-server-2.sqlog"
        ]
    );
    for (name, header, events) in &traces {
        let is_client = name.contains("client");
        let side = if is_client { "client" } else { "server" };
        assert_eq!(header["trace"]["vantage_point"]["type"], side);
        assert!(
            header["title"]
                .as_str()
                .unwrap()
                .ends_with(&name[..name.len() - 6])
        );
        let last = events.last().unwrap();
        assert_eq!(last["name"], "connectivity:connection_closed", "{name}");
        if is_client {
            assert_eq!(header["description"], "bbr3");
            assert!(states(events).contains("Startup"), "{name}");
        }
    }
}

#[test]
fn a_round_of_an_ab_test_is_found_by_its_name() {
    for (mode, rounds) in [(&["--virtual"][..], "2"), (&["-n", "1M"][..], "1")] {
        let directory = scratch_file("qlog-of-ab");
        let _ = fs::remove_dir_all(&directory);
        let path = directory.to_str().unwrap();
        let flags = ["-t", "1", "--rounds", rounds, "--no-report", "--qlog", path];
        let ended = run("bench-client", [&["ab"], mode, &flags[..]].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let traces = traces(&directory);
        let names: BTreeSet<_> = names(&traces).into_iter().map(str::to_owned).collect();
        let mut expected = BTreeSet::new();
        for round in 0..rounds.parse::<u32>().unwrap() {
            for variant in ["a", "b"] {
                for side in ["client", "server"] {
                    expected.insert(format!("-ab-round-{round}-{variant}-{side}-1.sqlog"));
                }
            }
        }
        assert_eq!(names, expected);
        for (name, header, events) in &traces {
            if name.ends_with("-b-client-1.sqlog") {
                assert_eq!(header["description"], "paceline");
                assert!(states(events).contains("Startup"), "{name}");
            }
            // Not even events of a simulation, which is faster than any disk, are missing.
            let is_missing = |event: &Value| event["name"] == "loglevel:warning";
            assert!(!events.iter().any(is_missing), "{name}");
        }
    }
}

/// Wireshark finds a connection's secrets by the client's random number.
#[test]
fn both_programs_write_their_secrets_where_the_environment_says() {
    let files = ["client", "server"].map(|side| scratch_file(&format!("secrets-of-{side}")));
    let [client, server] = files.each_ref().map(|file| file.to_str().unwrap());
    let environment = |file| [("SSLKEYLOGFILE", file)];
    let flags = ["-B", "127.0.0.1", "-p", "0", "-1"];
    let mut listening =
        Running::start_with_environment("bench-server", flags, &environment(server));
    let port = port_at_end(&listening.line_with("listening"));
    let address = format!("127.0.0.1:{port}");
    let flags = ["run", &address, "-n", "1M"];
    let running = Running::start_with_environment("bench-client", flags, &environment(client));
    let Ended { code, .. } = running.wait();
    assert_eq!(code, Some(0));
    assert_eq!(listening.wait().code, Some(0));
    let secrets = files.map(|file| {
        let text = fs::read_to_string(file).unwrap();
        let of_data = |line: &&str| line.starts_with("CLIENT_TRAFFIC_SECRET_0 ");
        text.lines().find(of_data).unwrap().to_owned()
    });
    assert_eq!(secrets[0], secrets[1]);
}
