//! 200 clients at once on one server.

use crate::robust::{parse, start_client};
use e2e::programs::{Running, bench_server};
use serde_json::Value;

/// `just crowd` makes it half a minute, at full speed.
#[test]
fn two_hundred_clients_at_once_are_served_and_their_sums_add_up() {
    let seconds = std::env::var("PACELINE_CROWD_SECONDS").unwrap_or_else(|_| "3".to_owned());
    let rate = std::env::var("PACELINE_CROWD_RATE").unwrap_or_else(|_| "500K".to_owned());
    let (server, port) = bench_server(&["--idle-timeout", "60"]);
    let mut common = vec!["-J", "-i", "0", "-t", &seconds];
    common.extend(["--idle-timeout", "60", "--connect-timeout", "60s"]);
    if rate != "0" {
        common.extend(["-b", &rate]);
    }
    let start = |n| {
        let direction: &[&str] = if n % 2 == 0 { &[] } else { &["-R"] };
        start_client(port, &[&common, direction].concat())
    };
    let clients: Vec<Running> = (0..CLIENTS).map(start).collect();
    let results: Vec<Value> = clients.into_iter().map(result).collect();

    // What the server has told each client that it received or sent.
    let sum = |end: &str, reverse: u64| -> u64 {
        let of = |result: &&Value| result["start"]["test_start"]["reverse"] == reverse;
        let bytes = |result: &Value| result["end"][end]["bytes"].as_u64().unwrap();
        results.iter().filter(of).map(bytes).sum()
    };
    let (received, sent) = (sum("sum_received", 0), sum("sum_sent", 1));
    server.terminate();
    let ended = server.wait();
    let told = format!("Served {CLIENTS} runs: {received} bytes received, {sent} bytes sent");
    assert!(ended.stdout.contains(&told), "{told} in:\n{}", ended.stdout);
    let least = results.iter().map(|result| &result["result"]["bytes"]);
    let least = least.filter_map(Value::as_u64).min().unwrap();
    assert!(least > 0, "every client has moved something");
    let goodput = (received + sent) as f64 * 8.0 / seconds.parse::<f64>().unwrap();
    println!(
        "{CLIENTS} clients for {seconds} s: {:.0} Mbit/s",
        goodput / 1e6
    );
}

/// A client's result; it must have succeeded.
fn result(client: Running) -> Value {
    let ended = client.wait_long();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let result = parse(&ended.stdout);
    assert_eq!(result["complete"], true);
    result
}

const CLIENTS: u64 = 200;
