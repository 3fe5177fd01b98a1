//! What `bench-client run` can do beside one connection's streams.

use e2e::programs::{Ended, bench_server, run, scratch_file};
use serde_json::Value;

#[test]
fn several_connections_are_one_run_and_add_up() {
    let (server, port) = bench_server(&["-1"]);
    let flags = ["-n", "10M", "--connections", "3", "-P", "2", "-J"];
    let result = parse(&client(port, &flags).stdout);
    let connected = result["start"]["connected"].as_array().unwrap();
    let sockets: Vec<_> = connected.iter().map(|end| &end["socket"]).collect();
    assert_eq!(sockets, [1, 3, 5]);
    let ports: Vec<_> = connected.iter().map(|end| &end["local_port"]).collect();
    assert!(ports[0] != ports[1] && ports[1] != ports[2], "{ports:?}");
    let end = &result["end"];
    assert_eq!(end["sum_received"]["bytes"], 10 << 20);
    let streams = end["streams"].as_array().unwrap();
    assert_eq!(streams.len(), 6);
    let received = |stream: &Value| stream["receiver"]["bytes"].as_u64().unwrap();
    assert_eq!(streams.iter().map(received).sum::<u64>(), 10 << 20);
    assert_eq!(result["result"]["streams"], 6);
    assert!(result["result"]["rtt_ms"]["p99"].is_number());
    // All connections belong to the one run after which such a server ends.
    assert_eq!(server.wait().code, Some(0));
}

#[test]
fn a_connection_that_is_refused_ends_the_run_of_the_others() {
    let (_server, port) = bench_server(&["--max-connections", "2"]);
    let ended = ended(port, &["-t", "30", "--connections", "3"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.stderr.contains("as many clients as it takes"),
        "{ended:?}"
    );
}

#[test]
fn a_stream_of_json_has_iperf3s_events_in_their_order() {
    let (_server, port) = bench_server(&[]);
    let file = scratch_file("stream.log");
    let path = file.to_str().unwrap();
    let flags = ["-t", "1", "-i", "0.5", "--json-stream", "--logfile", path];
    let ended = client(port, &[&flags[..], &["--forceflush", "-4"]].concat());
    assert_eq!(ended.stdout, "");
    let text = std::fs::read_to_string(&file).unwrap();
    let events: Vec<Value> = text.lines().map(parse).collect();
    let names: Vec<_> = events.iter().map(|event| &event["event"]).collect();
    assert_eq!(names, ["start", "interval", "interval", "end", "result"]);
    assert_eq!(events[0]["data"]["test_start"]["protocol"], "QUIC");
    assert!(events[1]["data"]["sum"]["bytes"].as_u64() > Some(0));
    assert!(events[3]["data"]["sum_received"]["bytes"].as_u64() > Some(0));

    let nobody = "127.0.0.1:9";
    let flags = ["run", nobody, "--json-stream", "--connect-timeout", "300"];
    let failed = run("bench-client", flags);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    let event = parse(&failed.stdout);
    assert_eq!(event["event"], "error");
    assert!(event["data"].as_str().unwrap().contains(nobody), "{event}");
}

#[test]
fn an_address_family_that_the_host_does_not_have_is_named() {
    let ended = run("bench-client", ["run", "127.0.0.1", "-6"]);
    assert_eq!(ended.code, Some(1));
    let error = "error: the host `127.0.0.1` has no address of the family of -6\n";
    assert_eq!(ended.stderr, error);
}

fn ended(port: u16, flags: &[&str]) -> Ended {
    let server = format!("127.0.0.1:{port}");
    run("bench-client", [&["run", server.as_str()], flags].concat())
}

/// A run that succeeds.
fn client(port: u16, flags: &[&str]) -> Ended {
    let ended = ended(port, flags);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended
}

fn parse(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}:\n{json}"))
}
