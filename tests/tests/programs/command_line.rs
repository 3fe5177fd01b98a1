//! The programs as a user has them: their results, their errors, their ends.

use bench_kit::clock;
use e2e::programs::{Ended, Running, bench_server, port_at_end, run, scratch_file};
use serde_json::Value;
use std::net::UdpSocket;
use std::path::Path;
use std::time::Duration;

#[test]
fn a_run_measures_both_directions_and_both_sides_agree() {
    let (mut server, port) = bench_server(&[]);
    for (flags, reverse) in [(&["-R"][..], 1), (&[], 0)] {
        let result = json_of_run(port, &[&["-n", "20M", "-P", "2"], flags].concat());
        assert_eq!(result["complete"], true);
        assert_eq!(result["start"]["test_start"]["reverse"], reverse);
        let end = &result["end"];
        assert_eq!(end["sum_sent"]["bytes"], 20 << 20);
        assert_eq!(end["sum_received"]["bytes"], 20 << 20);
        assert_eq!(end["streams"].as_array().unwrap().len(), 2);
        assert_eq!(result["result"]["bytes"], 20 << 20);
        check_round(&result["result"], "cubic");
        for who in ["sender", "receiver"] {
            let line = server.line_with(who);
            assert!(line.contains("20.0 MBytes"), "{line}");
        }
    }
}

#[test]
fn a_timed_run_says_iperf3s_and_its_own_figures() {
    let (_server, port) = bench_server(&[]);
    let flags = [
        "-t", "1", "-O", "0.5", "-i", "0.5", "-C", "bbr3", "-T", "a title",
    ];
    let result = json_of_run(port, &flags);
    assert_eq!(result["kind"], "run");
    assert_eq!(result["title"], "a title");
    let test = &result["start"]["test_start"];
    assert_eq!(
        (&test["protocol"], &test["num_streams"]),
        (&"QUIC".into(), &1.into())
    );
    assert_eq!(result["start"]["connected"][0]["remote_port"], port);
    let rows = result["intervals"].as_array().unwrap();
    let omitted: Vec<bool> = rows
        .iter()
        .map(|row| row["sum"]["omitted"].as_bool().unwrap())
        .collect();
    assert_eq!(omitted[..2], [true, false]);
    for figure in [
        "bytes",
        "bits_per_second",
        "retransmits",
        "snd_cwnd",
        "rtt",
        "pmtu",
    ] {
        assert!(rows[1]["sum"][figure].is_number(), "{figure}: {}", rows[1]);
    }
    assert_eq!(result["end"]["sender_tcp_congestion"], "bbr3");
    let busy = &result["end"]["cpu_utilization_percent"];
    assert!(busy["host_total"].as_f64() > Some(0.0) && busy["remote_total"].as_f64() > Some(0.0));
    check_round(&result["result"], "bbr3");
}

#[test]
fn rows_are_iperf3s() {
    let (_server, port) = bench_server(&[]);
    let ended = client(port, &["-t", "1", "-P", "2", "-f", "m"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for part in [
        "Connecting to host 127.0.0.1, port",
        "[ ID]  Interval ",
        "[SUM]  0.00-1.",
        "Mbits/sec",
        "sender\n",
        "receiver\n",
        "Limited by ",
    ] {
        assert!(ended.stdout.contains(part), "{part} in:\n{}", ended.stdout);
    }
}

#[test]
fn both_sides_send_at_once_with_controllers_of_their_own() {
    let (_server, port) = bench_server(&[]);
    let flags = ["--bidir", "-t", "1", "-C", "bbr3", "--peer-cc", "new_reno"];
    let end = &json_of_run(port, &flags)["end"];
    assert_eq!(end["sender_tcp_congestion"], "bbr3");
    assert_eq!(end["receiver_tcp_congestion"], "new_reno");
    for sum in [
        "sum_sent",
        "sum_received",
        "sum_sent_bidir_reverse",
        "sum_received_bidir_reverse",
    ] {
        assert!(end[sum]["bytes"].as_u64() > Some(0), "{sum}: {end}");
    }
}

#[test]
fn a_run_goes_through_an_emulated_link() {
    let (_server, port) = bench_server(&[]);
    let flags = ["-t", "1", "--link", "delay 20ms rate 20mbit", "-R"];
    let result = json_of_run(port, &flags);
    assert_eq!(result["link"], "delay 20ms rate 20mbit");
    let round = &result["result"];
    assert!(round["rtt_ms"]["min"].as_f64() >= Some(20.0), "{round}");
    assert!(round["goodput_bits_per_second"].as_u64() < Some(20_000_000));
    assert!(round["queue_delay_ms"]["p50"].is_number());
}

#[test]
fn a_run_goes_through_link_relay() {
    let (_server, port) = bench_server(&[]);
    let mut relay = Running::start(
        "link-relay",
        [
            "--listen",
            "127.0.0.1:0",
            "--to",
            &format!("127.0.0.1:{port}"),
            "delay 10ms",
        ],
    );
    let listening = relay.line_with("127.0.0.1:");
    let relay_port = port_at_end(listening.split(" to ").next().unwrap());
    for flags in [&["-t", "1"][..], &["-t", "1", "-R"]] {
        let result = json_of_run(relay_port, flags);
        let round = &result["result"];
        assert!(round["rtt_ms"]["min"].as_f64() >= Some(10.0), "{round}");
    }
}

#[test]
fn a_fingerprint_or_an_authority_says_whom_to_trust() {
    let (mut server, port) = bench_server(&[]);
    server.line_with("SHA-256");
    let fingerprint = server.line_with("  ");
    let flags = ["-n", "1M", "--fingerprint", fingerprint.trim()];
    let ended = client(port, &flags);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.stderr, "");

    let own = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let [cert, key] = ["cert.pem", "key.pem"].map(scratch_file);
    std::fs::write(&cert, own.cert.pem()).unwrap();
    std::fs::write(&key, own.signing_key.serialize_pem()).unwrap();
    let [cert, key] = [&cert, &key].map(|path| path.to_str().unwrap());
    let (_server, port) = bench_server(&["--cert", cert, "--key", key]);
    let ended = client(port, &["-n", "1M", "--ca", cert]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn packets_have_the_size_and_the_cipher_that_are_asked_for() {
    let (_server, port) = bench_server(&[]);
    for direction in [&[][..], &["-R"]] {
        let flags = ["-t", "1", "-M", "1300", "--cipher", "chacha20"];
        let result = json_of_run(port, &[&flags, direction].concat());
        let last = result["intervals"].as_array().unwrap().last().unwrap();
        let mtu = last["sum"]["pmtu"].as_u64().unwrap();
        assert!((1_281..=1_300).contains(&mtu), "{direction:?}: {mtu}");
    }
}

#[test]
fn a_target_rate_and_a_window_hold_a_run_back() {
    let (_server, port) = bench_server(&[]);
    let rated = json_of_run(port, &["-t", "2", "-b", "5M", "-P", "2"]);
    let rate = rated["result"]["goodput_bits_per_second"].as_u64().unwrap();
    assert!((1_000_000..11_000_000).contains(&rate), "{rate}");
    let flags = ["-t", "2", "-w", "64K", "--link", "delay 50ms"];
    let windowed = json_of_run(port, &flags);
    let rate = windowed["result"]["goodput_bits_per_second"]
        .as_u64()
        .unwrap();
    // A window per round trip, and the one that the server lends before it knows the plan.
    assert!(rate < 2 * 8 * 65_536 * 20, "{rate}");
    let limits = &windowed["result"]["limited_by"];
    assert!(limits["flow_control"].as_f64() > Some(0.5), "{limits}");
}

#[test]
fn several_clients_are_served_at_once() {
    let (_server, port) = bench_server(&[]);
    let start = |_| start_client(port, &["-n", "2M", "-b", "20M", "-J"]);
    let clients: Vec<Running> = (0..4).map(start).collect();
    for client in clients {
        let ended = client.wait();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_eq!(
            parse(&ended.stdout)["end"]["sum_received"]["bytes"],
            2 << 20
        );
    }
}

#[test]
fn a_server_of_one_run_ends_after_it() {
    let (server, port) = bench_server(&["-1"]);
    assert_eq!(client(port, &["-n", "1M"]).code, Some(0));
    assert_eq!(server.wait().code, Some(0));
}

#[test]
fn ctrl_c_ends_both_sides_and_keeps_what_was_measured() {
    for direction in [&[][..], &["-R"]] {
        let (mut server, port) = bench_server(&[]);
        let file = scratch_file("interrupted.json");
        let path = file.to_str().unwrap();
        let flags = [&["-t", "60", "-i", "0.2", "--json", path], direction].concat();
        let mut client = start_client(port, &flags);
        client.line_with(" sec ");
        client.interrupt();
        let ended = client.wait();
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(
            ended
                .stderr
                .contains("interrupted: the run was ended early, ")
                && !ended.stderr.contains("error: "),
            "{}",
            ended.stderr
        );
        let result = parse(&std::fs::read_to_string(&file).unwrap());
        assert_eq!(result["complete"], false);
        assert_eq!(result["error"], "interrupted");
        assert!(result["result"]["bytes"].as_u64() > Some(0));
        assert!(!result["intervals"].as_array().unwrap().is_empty());
        server.line_with("Ended early: ");
        // The server is there for the next client.
        assert_eq!(self::client(port, &["-n", "1M"]).code, Some(0));
    }
}

#[test]
fn a_server_that_vanishes_is_noticed_within_the_idle_timeout() {
    for direction in [&[][..], &["-R"]] {
        let (mut server, port) = bench_server(&[]);
        let file = scratch_file("vanished.json");
        let path = file.to_str().unwrap();
        let flags = [
            "-t",
            "60",
            "-i",
            "0.2",
            "--idle-timeout",
            "300",
            "--json",
            path,
        ];
        let mut client = start_client(port, &[&flags, direction].concat());
        // The server's figures arrive with a row's delay.
        (0..4).for_each(|_| drop(client.line_with(" sec ")));
        server.kill();
        let ended = client.wait();
        assert_eq!(ended.code, Some(1), "{ended:?}");
        // The host says so, long before the connection's timeout.
        let reason = format!("nothing listens on UDP 127.0.0.1:{port} (ICMP port unreachable)");
        assert!(ended.stderr.contains(&reason), "{}", ended.stderr);
        let result = parse(&std::fs::read_to_string(&file).unwrap());
        assert_eq!(result["complete"], false);
        assert!(result["result"]["bytes"].as_u64() > Some(0));
    }
}

#[test]
fn nothing_is_waited_for_from_a_port_that_is_closed() {
    // The final report alone would have been waited for that long.
    let is_soon = |took: Duration| took < Duration::from_secs(1);
    let took = || {
        let (mut server, port) = bench_server(&[]);
        let mut client = start_client(port, &["-t", "60", "-b", "1M", "-i", "0.2"]);
        drop(client.line_with(" sec "));
        server.kill();
        let killed = clock::now();
        let ended = client.wait();
        assert!(ended.stderr.contains("nothing listens on"), "{ended:?}");
        killed.elapsed()
    };
    // A machine that is busy with other tests may be late, but not each time.
    assert!((0..5).any(|_| is_soon(took())));
}

#[test]
fn a_server_that_is_stopped_says_so_to_its_clients() {
    let (mut server, port) = bench_server(&[]);
    let client = start_client(port, &["-t", "60"]);
    server.line_with("client sends");
    server.interrupt();
    let ended = client.wait();
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("server stopped"), "{}", ended.stderr);
    assert_eq!(server.wait().code, Some(0));
}

#[test]
fn datagrams_that_are_no_quic_do_not_end_a_server() {
    let (_server, port) = bench_server(&[]);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for length in [0, 1, 20, 1_200, 1_472] {
        for first in [0x00, 0x40, 0xc0, 0xff] {
            let datagram: Vec<u8> = (0..length).map(|n| first ^ (n * 7) as u8).collect();
            socket.send_to(&datagram, ("127.0.0.1", port)).unwrap();
        }
    }
    assert_eq!(client(port, &["-n", "1M"]).code, Some(0));
}

#[test]
fn an_ab_test_writes_its_result_and_its_report() {
    let [json, report, csv] = ["ab.json", "ab.html", "ab.csv"].map(scratch_file);
    let ended = run(
        "bench-client",
        [
            "ab",
            "--rounds",
            "2",
            "-t",
            "1",
            "-O",
            "0.2",
            "--link",
            TINY_LINK,
            "--a",
            "new_reno",
            "--json",
            json.to_str().unwrap(),
            "--report",
            report.to_str().unwrap(),
            "--csv",
            csv.to_str().unwrap(),
        ],
    );
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("Goodput"), "{}", ended.stdout);
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 80));
    let result = parse(&std::fs::read_to_string(&json).unwrap());
    assert_eq!(result["kind"], "ab");
    assert_eq!(result["complete"], true);
    assert_eq!(result["link"], TINY_LINK);
    let variants = result["variants"].as_array().unwrap();
    for (variant, cc) in variants.iter().zip(["new_reno", "paceline"]) {
        assert_eq!(variant["cc"], cc);
        let rounds = variant["rounds"].as_array().unwrap();
        assert_eq!(rounds.len(), 2);
        rounds.iter().for_each(|round| check_round(round, cc));
        assert!(variant["summary"]["goodput_bits_per_second"]["median"].as_f64() > Some(0.0));
    }
    let ratio = &result["comparison"]["goodput_bits_per_second"]["ratio_b_over_a"];
    assert!(ratio.as_f64() > Some(0.0));
    let page = std::fs::read_to_string(&report).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
    assert!(page.contains("<svg"));
    let rows = std::fs::read_to_string(&csv).unwrap();
    assert!(rows.lines().count() > 40);
}

#[test]
fn an_ab_test_in_virtual_time_is_the_same_to_the_byte_and_soon_over() {
    let [once, again, reverse] = ["once.json", "again.json", "reverse.json"].map(scratch_file);
    let compare = |file: &Path, more: &[&str]| {
        let json = ["--json", file.to_str().unwrap()];
        let plan = ["ab", "--virtual", "--seed", "7", "--no-report", "-t", "20"];
        let ended = run("bench-client", [&plan[..], &json, more].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        std::fs::read_to_string(file).unwrap()
    };
    let (first, second) = (compare(&once, &[]), compare(&again, &[]));
    assert_eq!(first, second);
    let result = parse(&first);
    assert_eq!(result["virtual"], true);
    assert!(result["started_unix_seconds"].is_null());
    for (variant, cc) in result["variants"]
        .as_array()
        .unwrap()
        .iter()
        .zip(["cubic", "paceline"])
    {
        for round in variant["rounds"].as_array().unwrap() {
            assert_eq!(round["congestion"], cc);
            assert_eq!(round["seconds"], 20.0);
            assert_eq!(round["queue_delay_source"], "link");
            assert!(round["cpu_seconds_sender"].is_null());
            let intervals = round["intervals"].as_array().unwrap();
            assert!(
                (200..=220).contains(&intervals.len()),
                "{}",
                intervals.len()
            );
        }
    }
    // A server that sends meets the same link.
    let link = ["--link", "delay 20ms rate 10mbit queue 1bdp", "-P", "2"];
    let result = parse(&compare(&reverse, &[&link[..], &["-R"]].concat()));
    let goodput = &result["variants"][0]["summary"]["goodput_bits_per_second"]["median"];
    let goodput = goodput.as_f64().unwrap();
    assert!((9.0e6..9.8e6).contains(&goodput), "{goodput}");
}

#[test]
fn an_ab_test_in_virtual_time_without_an_answer_ends_and_says_so() {
    let link = ["--link", "delay 20ms loss 100%", "--rounds", "1"];
    let ended = run(
        "bench-client",
        [&["ab", "--virtual", "--no-report"][..], &link].concat(),
    );
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.stderr.contains("handshake was not finished after 5s"),
        "{ended:?}"
    );
}

#[test]
fn an_ab_test_that_is_interrupted_keeps_its_rounds() {
    let json = scratch_file("interrupted-ab.json");
    let args = [
        "ab",
        "--rounds",
        "50",
        "-t",
        "1",
        "-O",
        "0",
        "--link",
        TINY_LINK,
        "--no-report",
        "--json",
        json.to_str().unwrap(),
    ];
    let mut ab = Running::start("bench-client", args);
    ab.note_with("  1/100");
    ab.interrupt();
    let ended = ab.wait();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let result = parse(&std::fs::read_to_string(&json).unwrap());
    assert_eq!(result["complete"], false);
    let variants = result["variants"].as_array().unwrap();
    let rounds = variants
        .iter()
        .flat_map(|variant| variant["rounds"].as_array().unwrap());
    let done = rounds.filter(|round| round["error"].is_null()).count();
    assert!(done > 0);
    let said = format!(
        "interrupted: the test was ended early, by Ctrl-C or a signal, after {done} of 100 rounds"
    );
    assert!(ended.stderr.contains(&said), "{ended:?}");
    assert!(!ended.stderr.contains("error:"), "{ended:?}");
}

#[test]
fn errors_are_one_line_that_names_the_word() {
    let (_server, port) = bench_server(&[]);
    let here = format!("127.0.0.1:{port}");
    let nobody = free_port();
    let nobody = format!("127.0.0.1:{nobody}");
    let cases: [&[&str]; 14] = [
        &["bench-client", "run", &here, "-C", "bbr4"],
        &["bench-client", "run", &here, "-C", "bbr3:loss_thres=5%"],
        &["bench-client", "ab", "--b", "bbr3:ambient_loss=on"],
        &[
            "bench-client",
            "run",
            &here,
            "--bidir",
            "--peer-cc",
            "cubik",
        ],
        &["bench-client", "run", &here, "--link", "delay 20ms los 1%"],
        &[
            "bench-client",
            "run",
            &here,
            "--link",
            "rate 1mbit queue 1bdp",
        ],
        &[
            "bench-client",
            "run",
            &here,
            "--json",
            "/nonexistent/run.json",
        ],
        &[
            "bench-client",
            "run",
            &here,
            "--fingerprint",
            &"00".repeat(32),
        ],
        &["bench-client", "run", &nobody, "--connect-timeout", "300"],
        &["bench-client", "run", "no.such.host.invalid"],
        &["bench-client", "ab", "--report", "/nonexistent/ab.html"],
        &["bench-client", "ab", "--virtual", "--link", "loss 1%"],
        &["bench-client", "ab", "--virtual", "--cipher", "aes128"],
        &[
            "bench-server",
            "--bind",
            "127.0.0.1",
            "--port",
            here.rsplit(':').next().unwrap(),
        ],
    ];
    let texts: Vec<String> = cases.iter().map(|case| refused(case)).collect();
    let text = texts
        .join("\n")
        .replace(&here, "HERE")
        .replace(&nobody, "NOBODY");
    insta::assert_snapshot!(text.replace(&port.to_string(), "PORT"));
}

/// The command, its exit code and its error.
fn refused(case: &[&str]) -> String {
    let ended = run(case[0], &case[1..]);
    let errors = ended
        .stderr
        .lines()
        .filter(|line| line.starts_with("error: "));
    let errors: Vec<&str> = errors.collect();
    assert_eq!(errors.len(), 1, "{case:?}: {ended:?}");
    format!(
        "{}\n  {} {}",
        case.join(" "),
        ended.code.expect("no signal ended it"),
        errors[0]
    )
}

/// The fields of a round in the programs' contract.
fn check_round(round: &Value, cc: &str) {
    assert_eq!(round["congestion"], cc);
    for figure in [
        "seconds",
        "bytes",
        "goodput_bits_per_second",
        "packets_sent",
        "packets_lost",
        "bytes_retransmitted",
        "cpu_seconds_sender",
        "cpu_seconds_receiver",
    ] {
        assert!(round[figure].is_number(), "{figure}: {round}");
    }
    for (quantiles, names) in [
        ("rtt_ms", &["min", "p50", "p95", "p99", "max"][..]),
        ("queue_delay_ms", &["p50", "p95", "p99"]),
    ] {
        for name in names {
            assert!(
                round[quantiles][name].is_number(),
                "{quantiles}.{name}: {round}"
            );
        }
    }
    let limits = round["limited_by"].as_object().expect("it was told");
    let sum: f64 = limits.values().filter_map(Value::as_f64).sum();
    assert!(limits.len() == 5 && (sum - 1.0).abs() < 1e-6, "{limits:?}");
    let intervals = round["intervals"].as_array().expect("there is a course");
    // What arrives after the sender has finished has no sender's figures beside it.
    let told = |interval: &&Value| interval["state"].is_string();
    let last = intervals.iter().rfind(told).expect("the sender told");
    for figure in [
        "t",
        "goodput_bits_per_second",
        "rtt_ms",
        "cwnd_bytes",
        "bytes_in_flight",
    ] {
        assert!(last[figure].is_number(), "{figure}: {last}");
    }
}

fn start_client(port: u16, flags: &[&str]) -> Running {
    let server = format!("127.0.0.1:{port}");
    Running::start("bench-client", [&["run", server.as_str()], flags].concat())
}

fn client(port: u16, flags: &[&str]) -> Ended {
    start_client(port, flags).wait()
}

/// The result of a run that succeeds.
fn json_of_run(port: u16, flags: &[&str]) -> Value {
    let ended = client(port, &[&["-J"], flags].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    parse(&ended.stdout)
}

fn parse(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}:\n{json}"))
}

/// A port on which nobody listens.
fn free_port() -> u16 {
    let address = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    address.expect("there is a free port").port()
}

const TINY_LINK: &str = "delay 10ms rate 20mbit queue 2bdp";
