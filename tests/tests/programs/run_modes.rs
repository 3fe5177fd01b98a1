//! What `bench-client run` can do beside one connection's streams.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use bench_client::Registry;
use cc_core::{
    Control, Controller, ControllerSpec, LostPacket, Observer, PathState, RateSample, Snapshot,
};
use e2e::programs::{Ended, Running, bench_server, port_at_end, program, run, scratch_file};
use link_sim::relay::{Relay, RelayConfig};
use serde_json::Value;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ChildStdin, Command, ExitCode, Stdio};
use std::time::Duration;
use units::Timestamp;

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
    assert!(ended.stderr.contains("too many clients"), "{ended:?}");
    // The two that were accepted are closed, so that their places are free at once.
    let next = client(port, &["-n", "1M", "--connections", "2"]);
    assert_eq!(next.code, Some(0), "{next:?}");
}

/// What the packages iperf3 and piperf3 of PyPI and usual recipes for jq read.
#[test]
fn a_document_for_readers_of_iperf3_has_its_keys_and_no_others() {
    let (_server, port) = bench_server(&[]);
    let form = ["-J", "--json-format", "iperf3", "-t", "1", "-i", "0.5"];
    let numbers = |result: &Value, keys: &[&str]| {
        for key in keys {
            let found = result
                .pointer(key)
                .unwrap_or_else(|| panic!("no {key}: {result}"));
            assert!(found.is_number(), "{key}: {found}");
        }
    };
    let result = parse(&client(port, &[&form[..], &["-P", "2"]].concat()).stdout);
    let keys: Vec<_> = result.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["end", "intervals", "start"]);
    assert_eq!(result["start"]["test_start"]["protocol"], "TCP");
    let common = [
        "/start/timestamp/timesecs",
        "/start/connected/0/local_port",
        "/start/fq_rate",
        "/start/target_bitrate",
        "/start/test_start/blksize",
        "/start/test_start/fqrate",
        "/start/test_start/interval",
        "/end/cpu_utilization_percent/host_total",
        "/end/sum_sent/bits_per_second",
        "/end/sum_received/bytes",
        "/intervals/0/sum/bits_per_second",
        "/intervals/0/streams/0/bytes",
    ];
    numbers(&result, &common);
    numbers(
        &result,
        &[
            "/intervals/1/streams/1/snd_cwnd",
            "/intervals/1/streams/1/rtt",
            "/end/streams/1/sender/mean_rtt",
            "/end/streams/1/receiver/bits_per_second",
        ],
    );
    let retransmits = |rows: &Value, key: &str| -> u64 {
        let rows = rows.as_array().unwrap().iter();
        rows.map(|row| row.pointer(key).and_then(Value::as_u64).unwrap())
            .sum()
    };
    for interval in result["intervals"].as_array().unwrap() {
        let streams = retransmits(&interval["streams"], "/retransmits");
        assert_eq!(interval["sum"]["retransmits"], streams);
        assert_eq!(interval["streams"][0].get("state"), None);
    }
    let sum = retransmits(&result["end"]["streams"], "/sender/retransmits");
    assert_eq!(result["end"]["sum_sent"]["retransmits"], sum);

    let result = parse(&client(port, &[&form[..], &["-u", "-b", "2M"]].concat()).stdout);
    assert_eq!(result["start"]["test_start"]["protocol"], "UDP");
    numbers(&result, &common);
    numbers(
        &result,
        &[
            "/end/sum/jitter_ms",
            "/end/sum/lost_packets",
            "/end/sum/lost_percent",
            "/end/sum/packets",
            "/end/streams/0/udp/jitter_ms",
            "/intervals/0/streams/0/packets",
        ],
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
    let data = |name: &str| {
        let event = events.iter().find(|event| event["event"] == name);
        &event.unwrap_or_else(|| panic!("no {name} in {text}"))["data"]
    };
    let mut names: Vec<_> = events.iter().map(|event| &event["event"]).collect();
    names.dedup();
    assert_eq!(names, ["start", "interval", "end", "result"]);
    assert_eq!(data("start")["test_start"]["protocol"], "QUIC");
    assert!(data("interval")["sum"]["bytes"].as_u64() > Some(0));
    assert!(data("end")["sum_received"]["bytes"].as_u64() > Some(0));

    let nobody = "127.0.0.1:9";
    let flags = ["run", nobody, "--json-stream", "--connect-timeout", "300"];
    let failed = run("bench-client", flags);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    let event = parse(&failed.stdout);
    assert_eq!(event["event"], "error");
    assert!(event["data"].as_str().unwrap().contains(nobody), "{event}");
}

#[test]
fn whoever_sends_has_packets_of_the_size_that_was_asked_for() {
    let (_server, port) = bench_server(&[]);
    for size in ["1300", "9000", "65507"] {
        for direction in ["-R", "-i1"] {
            // No socket overflows, so no probe is lost.
            let ended = client(port, &["-t4", "-b50M", "-M", size, direction, "-J"]);
            assert_eq!(
                ended.stderr.matches("bytes instead of").count(),
                0,
                "{ended:?}"
            );
            let result = parse(&ended.stdout);
            assert_eq!(
                packet_size(&result),
                size.parse().ok(),
                "-M {size} {direction}"
            );
        }
    }
    let usual = parse(&client(port, &["-t", "1", "-R", "-J"]).stdout);
    assert_eq!(packet_size(&usual), Some(1_452));
    // Five round trips: not all sizes are tried.
    let flags = ["-t", "1", "-M", "65507", "-R", "--link", "delay 100ms"];
    let short = client(port, &flags);
    assert!(
        short.stderr.contains("bytes instead of 65507; "),
        "{short:?}"
    );
}

/// What the sender's packets had at the end.
fn packet_size(result: &Value) -> Option<u64> {
    let last = result["intervals"].as_array()?.last()?;
    last["streams"][0]["pmtu"].as_u64()
}

#[test]
fn an_address_family_that_the_host_does_not_have_is_named() {
    let ended = run("bench-client", ["run", "127.0.0.1", "-6"]);
    assert_eq!(ended.code, Some(1));
    let error = "error: host `127.0.0.1` has no IPv6 address, which -6 asks for\n";
    assert_eq!(ended.stderr, error);
}

#[test]
fn client_server_and_relay_agree_on_what_was_moved() {
    let (_server, port) = bench_server(&[]);
    let server = ([127, 0, 0, 1], port).into();
    // Lossless, so that the relay sees each byte of payload once.
    for (link, megabytes) in [
        ("rate 10mbit limit 100000", 5),
        ("rate 100mbit limit 100000", 30),
        ("", 100),
    ] {
        let listen = ([127, 0, 0, 1], 0).into();
        let config = RelayConfig {
            link: link.parse().unwrap(),
            ..RelayConfig::new(listen, server)
        };
        let relay = Relay::spawn(config).unwrap();
        let bytes = format!("{megabytes}M");
        let flags = ["-n", &bytes, "-M", "1400", "-J"];
        let result = parse(&client(relay.local_addr().port(), &flags).stdout);
        let end = &result["end"];
        let figure = |sum: &str, name: &str| end[sum][name].as_f64().unwrap();
        let asked = f64::from(megabytes << 20);
        assert_eq!(figure("sum_sent", "bytes"), asked, "{link}");
        assert_eq!(figure("sum_received", "bytes"), asked, "{link}");
        let rates = ["sum_sent", "sum_received"].map(|sum| figure(sum, "bits_per_second"));
        let stats = relay.shutdown().unwrap();
        let delivered = stats.link.delivered;
        let overhead = OVERHEAD * delivered.packets as f64;
        let counted = delivered.bytes.get() as f64 - overhead;
        let lost = end["sum_sent"]["retransmits"].as_u64().unwrap() as f64;
        let again = lost * 1_338.0;
        // Without a link the run is over in a moment, of which a late thread is a part.
        let rates = (!link.is_empty()).then_some(("rate", rates[0] / rates[1]));
        let bytes = ("bytes", (counted - again) / asked);
        for (what, ratio) in rates.into_iter().chain([bytes]) {
            assert!(
                (0.995..1.005).contains(&ratio),
                "{what} at `{link}`: {ratio}"
            );
        }
    }
}

/// What a packet has beside payload, as the link counts it. Layer 2 to 4: 14 + 20 + 8. QUIC's
/// short header: 1 + 8 of connection ID + 2 or so of packet number. The STREAM frame: type, stream,
/// length and offset, 1 + 1 + 2 + 4. The tag: 16.
const OVERHEAD: f64 = 42.0 + 11.0 + 8.0 + 16.0;

#[test]
fn a_file_arrives_as_it_was_either_way_and_both_ends_know_its_hash() {
    let (_server, port) = bench_server(&[]);
    let [sent, received] = ["sent.bin", "received.bin"].map(scratch_file);
    let bytes: Vec<u8> = (0..3_000_001_u32).map(|n| (n % 251) as u8).collect();
    std::fs::write(&sent, &bytes).unwrap();
    let flags = ["-F", sent.to_str().unwrap(), "-J"];
    let result = parse(&client(port, &flags).stdout);
    assert_eq!(result["end"]["sum_received"]["bytes"], 3_000_001);
    let hash = |side: &str| result["sha256"][side].as_str().unwrap();
    assert_eq!(hash("sender"), sha256(&bytes));
    assert_eq!(hash("receiver"), hash("sender"));

    let path = received.to_str().unwrap();
    let ended = client(port, &["-F", path, "-R", "-n", "2M"]);
    let written = std::fs::read(&received).unwrap();
    assert_eq!(written.len(), 2 << 20);
    let line = format!("SHA-256 at both ends: {}", sha256(&written));
    assert!(ended.stdout.contains(&line), "{line} in:\n{}", ended.stdout);

    assert!(!received.with_extension("bin.part").exists());

    let full = self::ended(port, &["-F", "/dev/full", "-R", "-n", "2M"]);
    assert_eq!(full.code, Some(1), "{full:?}");
    assert!(full.stderr.contains("-F /dev/full: "), "{}", full.stderr);
}

#[test]
fn rows_begin_with_the_time_on_request() {
    let (_server, port) = bench_server(&[]);
    let has_time = |line: &str| {
        let digits = line.replace(|c: char| c.is_ascii_digit(), "0");
        digits.starts_with("0000-00-00T00:00:00Z ")
    };
    let text = client(port, &["-n", "1M", "--timestamps"]).stdout;
    let rows: Vec<&str> = text.lines().filter(|line| line.contains("[  1]")).collect();
    assert!(
        rows.len() > 2 && rows.iter().all(|row| has_time(row)),
        "{text}"
    );
    let text = client(port, &["-n", "1M"]).stdout;
    assert!(!text.lines().any(has_time), "{text}");
}

#[test]
fn the_servers_rows_come_with_the_result() {
    let (_server, port) = bench_server(&[]);
    let flags = ["-t", "1", "-Z", "--get-server-output"];
    let text = client(port, &flags).stdout;
    let (_, output) = text.split_once("Server output:\n").unwrap();
    for part in ["Accepted connection", "client sends", "[  1]  0.00-1."] {
        assert!(output.contains(part), "{part} in:\n{text}");
    }
    let result = parse(&client(port, &[&flags[..], &["-J"]].concat()).stdout);
    assert!(
        result["server_output_text"]
            .as_str()
            .unwrap()
            .contains("sec")
    );
}

#[test]
fn datagrams_have_iperf3s_figures_of_udp() {
    let (_server, port) = bench_server(&[]);
    // A controller that loss does not slow down.
    let flags = [
        "-u",
        "-t",
        "1",
        "-b",
        "8M",
        "-P",
        "2",
        "-J",
        "-C",
        "fixed:rate=50mbit",
    ];
    for (direction, link) in [
        (&[][..], "delay 5ms loss 10%"),
        (&["-R"], "delay 5ms loss 10%"),
    ] {
        let flags = [&flags[..], direction, &["--link", link]].concat();
        let result = parse(&client(port, &flags).stdout);
        let sum = &result["end"]["sum"];
        let figure = |name: &str| {
            sum[name]
                .as_f64()
                .unwrap_or_else(|| panic!("{name}: {sum}"))
        };
        // Two streams of 8 Mbit/s in packets of 1,200 to 1,450 bytes: 1,380 to 1,670 a second.
        assert!((1_300.0..1_750.0).contains(&figure("packets")), "{sum}");
        let loss = figure("lost_packets") / figure("packets");
        assert!((0.06..0.14).contains(&loss), "{sum}");
        assert!((figure("lost_percent") - 100.0 * loss).abs() < 1e-9);
        assert!(figure("jitter_ms") < 50.0, "{sum}");
        let sent = result["end"]["sum_sent"]["bits_per_second"]
            .as_f64()
            .unwrap();
        assert!((14e6..18e6).contains(&sent), "{sent}");
    }
}

#[test]
fn every_datagram_of_a_run_that_bytes_limit_is_counted() {
    let (_server, port) = bench_server(&[]);
    let flags = ["-u", "-n", "100K", "-b", "10M", "-l", "1000"];
    let text = client(port, &flags).stdout;
    assert!(text.contains("Jitter  Lost/Total Datagrams"), "{text}");
    let receiver = text
        .lines()
        .find(|line| line.ends_with("receiver"))
        .unwrap();
    assert!(receiver.contains(" ms  0/103 (0%)"), "{receiver}");
    let too_large = ended(port, &["-u", "-l", "60K", "-t", "1"]);
    assert_eq!(too_large.code, Some(1), "{too_large:?}");
    assert!(
        too_large
            .stderr
            .contains("datagrams of 61440 bytes too large for this path")
    );
}

#[test]
fn requests_are_timed_alone_and_under_load() {
    let (_server, port) = bench_server(&[]);
    let link = [
        "-t",
        "2",
        "-J",
        "--link",
        "delay 20ms rate 20mbit queue 4bdp",
    ];
    let flags = [&link[..], &["--ping=0.05"]].concat();
    let idle = parse(&client(port, &flags).stdout);
    let requests = &idle["requests"];
    assert_eq!(requests["under_load"], false);
    let count = requests["rtt_ms"]["count"].as_u64().unwrap();
    assert!((30..=41).contains(&count), "{requests}");
    let median = |times: &Value| times["p50"].as_f64().unwrap();
    assert!(
        (20.0..35.0).contains(&median(&requests["rtt_ms"])),
        "{requests}"
    );
    assert_eq!(idle["end"]["sum_received"]["bytes"], 0);
    let idle_rpm = requests["responsiveness_rpm"].as_f64().unwrap();
    assert!((1_000.0..3_000.0).contains(&idle_rpm), "{requests}");

    let loaded = parse(&client(port, &[&link[..], &["--rpm", "-O", "1"]].concat()).stdout);
    let requests = &loaded["requests"];
    assert_eq!(requests["under_load"], true);
    // The queue is full of cubic's packets: up to 100 ms in all.
    assert!(median(&requests["rtt_ms"]) > 40.0, "{requests}");
    assert!(
        median(&requests["foreign"]["handshake_ms"]) > 20.0,
        "{requests}"
    );
    assert!(requests["responsiveness_rpm"].as_f64().unwrap() < idle_rpm);
    assert!(loaded["end"]["sum_received"]["bytes"].as_u64() > Some(1_000_000));
}

#[test]
fn new_connections_ask_for_no_more_than_the_run_that_they_are_made_in() {
    let limits = [
        "--max-duration",
        "2",
        "--max-rate",
        "20M",
        "--max-bytes",
        "10M",
    ];
    let (server, port) = bench_server(&limits);
    let flags = ["--rpm", "-t", "1.5", "-i", "0", "-b", "10M", "-J"];
    let result = parse(&client(port, &flags).stdout);
    let foreign = &result["requests"]["foreign"];
    assert_eq!(foreign["failed"], 0, "{foreign}");
    assert!(
        foreign["request_ms"]["count"].as_u64() > Some(0),
        "{foreign}"
    );
    // They end without a report, and have carried nothing but the request.
    server.terminate();
    let log = server.wait().stdout;
    assert!(log.contains("] client measures request latency\n"), "{log}");
    assert!(!log.contains("Ended early"), "{log}");
    assert!(!log.contains("0.00 Bytes"), "{log}");
}

#[test]
fn a_server_that_takes_no_more_clients_of_an_address_leaves_responsiveness_to_the_load() {
    let (_server, port) = bench_server(&["--max-per-address", "1"]);
    let ended = client(port, &["--rpm", "-t", "1", "-i", "0", "-b", "10M"]);
    let line = ended.stdout.lines();
    let mut line = line.filter(|line| line.starts_with("New connections, failed: "));
    let line = line.next().unwrap_or_else(|| panic!("{ended:?}"));
    assert!(line.contains("; the first: "), "{line}");
    assert!(line.contains("too many clients"), "{line}");
    assert!(
        ended.stdout.contains("Responsiveness under load: "),
        "{ended:?}"
    );
}

#[test]
fn streams_of_a_run_have_about_as_much_each() {
    let (_server, port) = bench_server(&[]);
    for flags in [&["-R"][..], &[], &["--link", "rate 20mbit delay 5ms"]] {
        let common = ["-P", "5", "-t", "2", "-O", "0.5", "-i", "0", "-J"];
        let result = parse(&client(port, &[&common[..], flags].concat()).stdout);
        let streams = result["end"]["streams"].as_array().unwrap().iter();
        let bytes = streams.map(|stream| stream["receiver"]["bytes"].as_u64().unwrap());
        let bytes: Vec<u64> = bytes.collect();
        let (least, most) = (bytes.iter().min().unwrap(), bytes.iter().max().unwrap());
        assert!(least * 2 > *most, "{flags:?}: {bytes:?}");
    }
}

#[test]
fn what_a_sender_says_is_close_to_what_arrives() {
    let (_server, port) = bench_server(&[]);
    let link = ["--link", "rate 10mbit delay 10ms limit 100000"];
    for (flags, most) in [(&link[..], 1_u64 << 19), (&[], 8 << 20)] {
        let common = [
            "-t",
            "3",
            "-i",
            "0",
            "-C",
            "fixed:cwnd=100000,pacing=off",
            "-J",
        ];
        let result = parse(&client(port, &[&common[..], flags].concat()).stdout);
        let bytes = |sum: &str| result["end"][sum]["bytes"].as_u64().unwrap();
        let (sent, received) = (bytes("sum_sent"), bytes("sum_received"));
        assert!(
            sent.abs_diff(received) <= most,
            "{sent} sent, {received} received"
        );
    }
}

/// What was sent behind a missing packet is kept until that one has come, and is no reason to wait.
#[test]
fn a_sender_on_a_path_that_loses_much_does_not_wait_for_its_own_buffer() {
    let (_server, port) = bench_server(&[]);
    let link = "delay 100ms loss 15% rate 20mbit queue 1bdp";
    let flags = ["--link", link, "-C", "bbr1", "-t", "4", "-O", "2", "-J"];
    let result = parse(&client(port, &flags).stdout);
    let waited = &result["result"]["limited_by"]["flow_control"];
    assert!(waited.as_f64().unwrap() < 0.3, "{waited} of the time");
}

#[test]
fn datagrams_that_are_counted_are_blocks() {
    let (_server, port) = bench_server(&[]);
    for (flags, bytes) in [(&[][..], 50 * 1_150), (&["-l", "600"], 50 * 600)] {
        let common = ["-u", "-k", "50", "-b", "10M", "-J"];
        let result = parse(&client(port, &[&common[..], flags].concat()).stdout);
        assert_eq!(result["end"]["sum_sent"]["packets"], 50, "{flags:?}");
        assert_eq!(result["end"]["sum_sent"]["bytes"], bytes, "{flags:?}");
    }
}

#[test]
fn a_full_screen_is_left_however_the_run_ends() {
    // `script` hands a signal on to the program, and a terminal's Ctrl-C comes as a byte.
    let Some(shown) = in_terminal("--live -t 30 -C cubic", |server, _| server.kill()) else {
        return;
    };
    // Nothing listens there, or another test's server does and does not know the connection.
    check_left(&shown, 1, "\nerror: ");
    let ctrl_c = |_: &mut Running, input: &mut ChildStdin| input.write_all(b"\x03").unwrap();
    let shown = in_terminal("--live -t 30", ctrl_c).expect("there was a terminal before");
    check_left(&shown, 1, "interrupted");
    let q = |_: &mut Running, input: &mut ChildStdin| input.write_all(b"q").unwrap();
    let shown = in_terminal("--live -t 30", q).expect("there was a terminal before");
    check_left(&shown, 1, "interrupted");
}

/// A controller from outside may panic, in the middle of a connection's task.
#[test]
fn a_full_screen_is_left_by_a_panic_which_stays_to_be_read() {
    if let Ok(args) = std::env::var(PANICKING_ARGS) {
        let main: fn(&Registry, Vec<OsString>) -> ExitCode = match args.starts_with("bench-server")
        {
            true => bench_server::main_with,
            false => bench_client::main_with,
        };
        let args = args.split(' ').map(OsString::from).collect();
        let code = main(&Registry::standard().with(PANICKING), args);
        std::process::exit(if code == ExitCode::from(1) { 1 } else { 99 });
    }
    // The server has to know the controllers that its clients choose, too.
    let name = "run_modes::a_full_screen_is_left_by_a_panic_which_stays_to_be_read";
    let server = "bench-server --bind 127.0.0.1 --port 0".to_owned();
    let mut server = Running::start_test(name, &[(PANICKING_ARGS, server)]);
    let port = port_at_end(&server.line_with("listening on UDP"));
    let test = std::env::current_exe().unwrap();
    let flags = "--live -t 30 -C panicking --peer-cc cubic --idle-timeout 1";
    let args = format!("{PANICKING_ARGS}='bench-client run 127.0.0.1:{port} {flags}'");
    let run = format!("{args} {} {name} --exact --nocapture", test.display());
    let Some(shown) = in_terminal_of(server, &run, 1, |_, _| {}) else {
        return;
    };
    check_left(&shown, 1, "controller panicking panicked");
    let (_, after) = shown.0.split_once("\u{1b}[?1049l").unwrap();
    assert!(after.contains("a controller of somebody's"), "{after}");
}

const PANICKING_ARGS: &str = "PACELINE_PANICKING_ARGS";

/// Panics half a second after its first ACK.
const PANICKING: ControllerSpec =
    ControllerSpec::new("panicking", "an unlucky controller", |_, setup| {
        Box::new(Panicking(setup.initial_cwnd, None))
    });

#[derive(Debug)]
struct Panicking(units::Bytes, Option<Timestamp>);

impl Controller for Panicking {
    fn on_lost(&mut self, _: &PathState, _: &LostPacket, _: &mut dyn Observer) {}

    fn on_ack(&mut self, path: &PathState, _: &RateSample, _: &mut dyn Observer) {
        let first = *self.1.get_or_insert(path.now);
        let is_over = path.now.since(first) > Duration::from_millis(500);
        assert!(!is_over, "a controller of somebody's");
    }

    fn control(&self) -> Control {
        Control::paced(self.0, None, units::Bytes::new(1_200))
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot::new(PANICKING.name, "Calm", self.control())
    }
}

/// What a terminal shows of a run that `end` ends after its first second, and the run's exit code;
/// `None` without a program that makes a terminal.
fn in_terminal(
    flags: &str,
    end: impl FnOnce(&mut Running, &mut ChildStdin),
) -> Option<(String, Option<i32>)> {
    let (server, port) = bench_server(&[]);
    let program = program("bench-client");
    let program = program.to_str().unwrap();
    let run = format!("{program} run 127.0.0.1:{port} {flags} --idle-timeout 1");
    in_terminal_of(server, &run, 10, end)
}

/// The same of any command, ended after so many frames.
fn in_terminal_of(
    mut server: Running,
    run: &str,
    after: usize,
    end: impl FnOnce(&mut Running, &mut ChildStdin),
) -> Option<(String, Option<i32>)> {
    // What the terminal is set to, before and after. Ctrl-C reaches the shell too, and not every
    // one outlives it unless it has something else to do then.
    let command = format!("trap : INT; stty -a; {run}; code=$?; stty -a; exit $code");
    let script = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .env("SHELL", "/bin/sh")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut script) = script else {
        e2e::skipped("there is no program `script` (Debian: bsdutils)");
        return None;
    };
    let mut input = script.stdin.take().unwrap();
    let mut output = BufReader::new(script.stdout.take().unwrap());
    let mut shown = Vec::new();
    // A frame goes to the screen's upper left corner first; there are ten a second.
    let frames = |shown: &[u8]| String::from_utf8_lossy(shown).matches("\u{1b}[H").count();
    while frames(&shown) < after {
        let read = output.read_until(b'\n', &mut shown).unwrap();
        assert!(read > 0, "{}", String::from_utf8_lossy(&shown));
    }
    end(&mut server, &mut input);
    output.read_to_end(&mut shown).unwrap();
    let code = script.wait().unwrap().code();
    Some((String::from_utf8_lossy(&shown).into_owned(), code))
}

/// The screen was left, what was measured and why it ended stand below, and the terminal is set to
/// what it was.
fn check_left((shown, code): &(String, Option<i32>), expected: i32, why: &str) {
    assert_eq!(*code, Some(expected), "{shown}");
    let (_, after) = shown
        .split_once("\u{1b}[?25h\u{1b}[?1049l")
        .expect("it is left");
    assert!(after.contains("sender") && after.contains(why), "{shown}");
    assert!(!after.contains('\u{1b}'), "{shown}");
    let settings: Vec<&str> = shown
        .lines()
        .filter(|line| line.contains("icanon"))
        .collect();
    assert_eq!(settings.len(), 2, "{shown}");
    assert_eq!(settings[0], settings[1]);
}

#[test]
fn a_full_screen_needs_a_terminal_and_gives_it_back() {
    let (_server, port) = bench_server(&[]);
    let refused = ended(port, &["--live"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("--live: stdout is not a terminal"));

    let program = program("bench-client");
    let program = program.to_str().unwrap();
    for (flags, code) in [("-t 1", 0), ("-t 1 -u -l 60K", 1), ("-C bbr3 -R -t 1", 0)] {
        let command = format!("{program} run 127.0.0.1:{port} --live {flags}");
        // util-linux's: the command in a terminal of its own, its exit code handed on.
        let Ok(shown) = Command::new("script")
            .args(["-qec", &command, "/dev/null"])
            .stdin(Stdio::null())
            .output()
        else {
            return e2e::skipped("there is no program `script` (Debian: bsdutils)");
        };
        let text = String::from_utf8_lossy(&shown.stdout);
        assert_eq!(shown.status.code(), Some(code), "{text}");
        let (before, screen) = text.split_once("\u{1b}[?1049h").expect("it is entered");
        assert!(before.contains("Connecting to host"), "{text}");
        let (screen, after) = screen.split_once("\u{1b}[?1049l").expect("it is left");
        assert!(screen.contains("Throughput"), "{text}");
        assert!(
            after.contains("receiver") && !after.contains('\u{1b}'),
            "{text}"
        );
    }
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

fn sha256(bytes: &[u8]) -> String {
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, bytes);
    let bytes = digest.as_ref().iter();
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

fn parse(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}:\n{json}"))
}
