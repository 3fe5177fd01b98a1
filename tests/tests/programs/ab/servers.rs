//! Servers as the variants: `bench-server`s, and those of other stacks.

use super::{ab, goodput_ratio, parse};
use crate::perf;
use bytes::Bytes;
use e2e::programs::{Ended, Running, bench_server, program, run, scratch_file};
use paceline::tls::SelfSigned;
use s2n_quic::stream::BidirectionalStream;
use serde_json::Value;
use std::net::UdpSocket;
use std::path::Path;
use tokio::io::AsyncReadExt as _;

/// Short rounds over a link that is faster than the servers' fixed rates.
const PLAN: [&str; 6] = ["-t", "0.5", "-O", "0.2", "--link", LINK];
const LINK: &str = "delay 10ms rate 20mbit queue 4bdp";

fn over_plan(servers: [&str; 2], more: &[&str]) -> Ended {
    let [a, b] = servers;
    ab(&[&["--perf", a, "--perf", b][..], &PLAN, more].concat())
}

fn rounds(variant: &Value) -> &[Value] {
    variant["rounds"].as_array().expect("a list")
}

#[test]
fn a_slower_server_is_told_from_the_first_and_breaks_the_rule() {
    let [(_a, fast), (_b, slow)] = ["fixed:rate=4mbit", "fixed:rate=1mbit"]
        .map(|controller| bench_server(&["-C", controller]));
    let servers = [
        format!("base=127.0.0.1:{fast}"),
        format!("127.0.0.1:{slow}"),
    ];
    let servers = [servers[0].as_str(), servers[1].as_str()];
    let ended = over_plan(servers, &["--rounds", "4", "--fail-if", "goodput < -5%"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let rule = "--fail-if: `goodput < -5%` holds for b (127.0.0.1:";
    assert!(ended.stderr.contains(rule), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("against a (base)"),
        "{}",
        ended.stderr
    );
    let result = parse(&ended.stdout);
    assert_eq!(
        (&result["complete"], &result["link"]),
        (&true.into(), &LINK.into())
    );
    let [low, ratio, high] = goodput_ratio(&result, "b");
    assert!(
        low <= ratio && ratio < 0.5 && high < 1.0,
        "{low} {ratio} {high}"
    );
    let names = ["base".to_owned(), format!("127.0.0.1:{slow}")];
    let variants = result["variants"].as_array().expect("a list");
    for (variant, name) in variants.iter().zip(names) {
        assert_eq!(variant["server"]["name"], name);
        assert_eq!(rounds(variant).len(), 4);
        for round in rounds(variant) {
            assert_eq!(round["congestion"], "unknown", "{round}");
            assert_eq!(round["queue_delay_source"], "link", "{round}");
            for unknown in ["packets_sent", "packets_lost", "cpu_seconds_sender"] {
                assert!(round[unknown].is_null(), "{unknown}: {round}");
            }
            assert!(round["rtt_ms"]["p50"].is_null(), "{round}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_of_quinn_and_s2n_quic_are_compared_with_ours() {
    let quinns = perf::serve(|answer| answer).await;
    let s2ns = serve_s2n();
    let compared = move || {
        let (_server, ours) = bench_server(&[]);
        let servers = [("ours", ours), ("quinn", quinns), ("s2n-quic", s2ns)];
        let servers = servers.map(|(name, port)| format!("{name}=127.0.0.1:{port}"));
        let servers = servers.iter().flat_map(|server| ["--perf", server]);
        let servers: Vec<&str> = servers.collect();
        ab(&[&servers[..], &PLAN, &["--rounds", "2"]].concat())
    };
    let ended = tokio::task::spawn_blocking(compared).await;
    let ended = ended.expect("it does not panic");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let result = parse(&ended.stdout);
    let variants = result["variants"].as_array().expect("a list");
    for (variant, name) in variants.iter().zip(["ours", "quinn", "s2n-quic"]) {
        assert_eq!(variant["server"]["name"], name);
        assert_eq!(rounds(variant).len(), 2);
        for round in rounds(variant) {
            assert!(round["bytes"].as_u64() > Some(0), "{name}: {round}");
        }
    }
    assert!(!result["further_comparisons"]["c"].is_null());
}

/// A server of s2n-quic that answers with as many bytes as it is asked for.
fn serve_s2n() -> u16 {
    let certificate = SelfSigned::generate(["localhost"]).expect("it is made");
    let tls = s2n_quic::provider::tls::rustls::Server::builder()
        .with_certificate(&certificate.cert[..], certificate.key.secret_der())
        .and_then(|tls| tls.with_application_protocols(["perf"].iter()))
        .and_then(|tls| tls.build())
        .expect("the certificate is its own");
    let mut server = s2n_quic::Server::builder()
        .with_tls(tls)
        .expect("it is ready")
        .with_io("127.0.0.1:0")
        .expect("there is a port")
        .start()
        .expect("it starts");
    let port = server.local_addr().expect("it is bound").port();
    tokio::spawn(async move {
        while let Some(mut connection) = server.accept().await {
            tokio::spawn(async move {
                while let Ok(Some(stream)) = connection.accept_bidirectional_stream().await {
                    tokio::spawn(answer(stream));
                }
            });
        }
    });
    port
}

async fn answer(stream: BidirectionalStream) {
    let (mut receive, mut send) = stream.split();
    let mut left = receive.read_u64().await.expect("a length");
    while let Ok(Some(_)) = receive.receive().await {}
    while left > 0 {
        let length = left.min(65_536);
        let block = Bytes::from_static(&[0; 65_536]).slice(..length as usize);
        if send.send(block).await.is_err() {
            // The client has had enough.
            return;
        }
        left -= length;
    }
}

/// docs/ab-in-ci.md's, with the servers' ports free, rounds short, and a rule that only a broken
/// server breaks.
#[test]
fn the_documented_step_of_a_workflow_compares_two_commits() {
    let programs = program("bench-server");
    let programs = programs.parent().expect("it is in a folder");
    let [base, new] = [free_port(), free_port()].map(|port| port.to_string());
    let folder = scratch_file("ab-in-ci");
    let step = documented_step("Compare");
    let mut script = format!(
        "trap 'kill $(jobs -p)' EXIT; mkdir -p {folder} && cd {folder} || exit\n{step}",
        folder = folder.display()
    );
    for (documented, here, count) in [
        ("base/target/release", &*programs.to_string_lossy(), 1),
        ("new/target/release", &*programs.to_string_lossy(), 2),
        ("4433", &base, 2),
        ("4434", &new, 2),
        ("--rounds 10 -t 5", "--rounds 3 -t 0.5 -O 0.2", 1),
        ("goodput < -5%", "goodput < -95%", 1),
    ] {
        assert_eq!(
            script.matches(documented).count(),
            count,
            "{documented}: {step}"
        );
        script = script.replace(documented, here);
    }
    let ended = Running::start_system("bash", ["-e", "-c", script.as_str()]).wait_long();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("a: base"), "{ended:?}");
    let json = std::fs::read_to_string(folder.join("ab.json")).expect("it was written");
    let result = parse(&json);
    assert_eq!(result["complete"], true);
    assert_eq!(result["variants"][1]["server"]["name"], "new");
    assert!(folder.join("ab.html").is_file());
}

/// The shell commands of the workflow's step of this name.
fn documented_step(name: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/ab-in-ci.md");
    let page = std::fs::read_to_string(page).expect("it is there");
    let begin = format!("      - name: {name}\n        run: |\n");
    let (_, step) = page.split_once(&begin).expect("the workflow has the step");
    let lines = step
        .lines()
        .map_while(|line| line.strip_prefix("          "));
    lines.map(|line| format!("{line}\n")).collect()
}

/// A UDP port that nobody uses at present.
fn free_port() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("there is a port");
    socket.local_addr().expect("it is bound").port()
}

#[test]
fn a_server_that_is_down_is_named_and_what_was_measured_is_written() {
    let (_server, up) = bench_server(&[]);
    let down = format!("127.0.0.1:{}", free_port());
    let servers = [format!("127.0.0.1:{up}"), format!("gone={down}")];
    let json = scratch_file("servers-down.json");
    let more = ["--rounds", "1", "--connect-timeout", "300", "--json"];
    let file = [json.to_str().expect("UTF-8")];
    let ended = over_plan([&servers[0], &servers[1]], &[&more[..], &file].concat());
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let error = ended.stderr.lines().last().unwrap_or_default();
    assert!(error.contains(&down), "{}", ended.stderr);
    let result = parse(&std::fs::read_to_string(&json).expect("it was written"));
    assert_eq!(result["complete"], false);
    let goodput = &result["variants"][0]["rounds"][0]["goodput_bits_per_second"];
    assert!(goodput.as_u64() > Some(0), "{goodput}");
    assert!(!result["variants"][1]["rounds"][0]["error"].is_null());
}

#[test]
fn what_a_test_of_servers_cannot_do_is_named() {
    let two = ["--perf", "h:1", "--perf", "h:2"];
    for (args, words) in [
        (&["--perf", "h:1"][..], ["1 server", "2 to 8"]),
        (&["--perf", "h:1", "--perf", "h"], ["`h`", "HOST:PORT"]),
        (&two.repeat(5), ["10 servers", "2 to 8"]),
        (&[&two[..], &["host"]].concat(), ["--perf", "HOST"]),
        (&[&two[..], &["--b", "bbr3"]].concat(), ["--perf", "--b"]),
        (
            &[&two[..], &["--also", "bbr3"]].concat(),
            ["--perf", "--also"],
        ),
        (
            &[&two[..], &["--virtual"]].concat(),
            ["--perf", "--virtual"],
        ),
        (
            &[&two[..], &["--compete"]].concat(),
            ["--perf", "--compete"],
        ),
        (
            &[&two[..], &["--duplicate", "2"]].concat(),
            ["--perf", "--duplicate"],
        ),
        (&[&two[..], &["-b", "1M"]].concat(), ["--perf", "--bitrate"]),
        (
            &[&two[..], &["--token", "f"]].concat(),
            ["--perf", "--token"],
        ),
        (&[&two[..], &["-p", "1"]].concat(), ["--perf", "--port"]),
        (
            &[&two[..], &["--fail-if", "rtt_p95 > 5%"]].concat(),
            ["rtt_p95 > 5%", "queue_p95"],
        ),
    ] {
        let ended = run("bench-client", [&["ab", "--no-report"], args].concat());
        assert_eq!(ended.code, Some(2), "{args:?}: {ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{args:?}: {ended:?}");
        for word in words {
            assert!(ended.stderr.contains(word), "{args:?}: {}", ended.stderr);
        }
    }
}
