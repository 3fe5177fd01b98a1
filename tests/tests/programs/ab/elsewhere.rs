//! Against a server in another process.

use super::{ab, parse};
use e2e::programs::{Running, bench_server, port_at_end, run};

const PLAN: [&str; 8] = ["--rounds", "1", "-t", "1", "-O", "0.2", "-b", "20M"];

#[test]
fn a_server_elsewhere_is_measured_over_the_real_network() {
    let (mut server, port) = bench_server(&[]);
    server.line_with("SHA-256");
    let fingerprint = server.line_with("  ");
    let address = format!("127.0.0.1:{port}");
    let trust = ["--fingerprint", fingerprint.trim()];
    let ended = ab(&[&[address.as_str()], &PLAN[..], &trust].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.stderr.contains("not verified"), "{ended:?}");
    let result = parse(&ended.stdout);
    assert_eq!(
        (&result["server"], &result["link"]),
        (&address.into(), &"".into())
    );
    assert!(result["base_rtt_ms"].is_null());
    for variant in result["variants"].as_array().expect("a list") {
        let round = &variant["rounds"][0];
        assert_eq!(round["queue_delay_source"], "rtt_above_least", "{round}");
        let goodput = round["goodput_bits_per_second"].as_u64();
        assert!(
            goodput > Some(1_000_000) && goodput < Some(22_000_000),
            "{round}"
        );
    }
}

#[test]
fn a_relay_that_somebody_else_runs_is_sent_through() {
    let (_server, port) = bench_server(&[]);
    let to = format!("127.0.0.1:{port}");
    let link = "delay 20ms";
    let mut relay = Running::start("link-relay", ["--listen", "127.0.0.1:0", "--to", &to, link]);
    let listening = relay.line_with("127.0.0.1:");
    let relay_port = port_at_end(listening.split(" to ").next().expect("it says where"));
    let relay_at = format!("127.0.0.1:{relay_port}");
    // The server's own name is nobody's here.
    let server = ["server.invalid", "--relay", &relay_at];
    let ended = ab(&[&server[..], &PLAN].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let result = parse(&ended.stdout);
    assert_eq!(result["server"], "server.invalid:4433");
    let least = &result["variants"][0]["rounds"][0]["rtt_ms"]["min"];
    assert!(least.as_f64() >= Some(20.0), "{least}");
}

#[test]
fn what_does_not_go_together_is_named() {
    for (args, words) in [
        (&["host", "--link", "delay 1ms"][..], ["HOST", "--link"]),
        (&["host", "--virtual"], ["HOST", "--virtual"]),
        (&["--relay", "127.0.0.1:1"], ["HOST", "required"]),
        (&["host", "--relay", "127.0.0.1"], ["--relay", "HOST:PORT"]),
        (&["--stagger", "1"], ["--compete", "required"]),
        (
            &["--compete", "--independent"],
            ["--compete", "--independent"],
        ),
        (
            &["--max-rounds", "9"],
            ["--max-rounds", "add one, such as --until"],
        ),
        (&["--until", "5"], ["--until", "`5`"]),
        (&["--extra-delay", "c=1ms"], ["--extra-delay", "`c`"]),
        (&["--duplicate", "c=2"], ["--duplicate", "`c`"]),
        (
            &["--duplicate", "2", "-R"],
            ["--duplicate", "let the client send"],
        ),
        (&["--also", "bbr9"], ["--also", "`bbr9`"]),
    ] {
        let ended = run("bench-client", [&["ab", "--no-report"], args].concat());
        assert_eq!(ended.code, Some(2), "{args:?}: {ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{args:?}: {ended:?}");
        for word in words {
            assert!(ended.stderr.contains(word), "{args:?}: {}", ended.stderr);
        }
    }
}
