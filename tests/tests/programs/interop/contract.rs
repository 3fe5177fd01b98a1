//! What the interop runner asks of an endpoint before and beside its cases: which names it knows,
//! and where it puts what the runner collects.
//!
//! The names are those of `testcases_quic.py` and of the compliance check of `interop.py` in
//! <https://github.com/quic-interop/quic-interop-runner>.

use crate::interop::cases::HANDSHAKE;
use crate::interop::stacks::Stack;
use crate::interop::{Outcome, run_in};
use e2e::programs::scratch_file;
use std::path::Path;
use std::process::{Command, Stdio};

/// Without files and certificates a case that is known ends with 1, and nothing waits.
#[test]
fn cases_of_the_runner_are_known_and_others_end_with_127() {
    let ours = Stack::ours();
    let mut wrong = Vec::new();
    let mut expect = |role, name, expected| {
        let code = code(&ours, role, name);
        if code != Some(expected) {
            wrong.push(format!("{role}, `{name}`: {code:?} and not {expected}"));
        }
    };
    for (_, client, server) in RUNNER {
        let known = |role: &str, word: &str| match (role, word) {
            ("client", "versionnegotiation") | (_, "v2") | ("server", "connectionmigration") => 127,
            _ => 1,
        };
        expect("client", client, known("client", client));
        expect("server", server, known("server", server));
    }
    // The runner asks this first, and leaves out who does not say 127. It gives no REQUESTS.
    for name in ["qxzjvw", "", "Handshake"] {
        expect("client", name, 127);
        expect("server", name, 127);
    }
    expect("both", "handshake", 127);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// `QLOGDIR` is `/logs/qlog/`, where `/logs` is an empty directory.
#[tokio::test]
async fn traces_go_into_a_directory_that_is_not_there_yet() {
    let directory = scratch_file("interop-qlog");
    let mut ours = Stack::ours();
    let logs = directory.join("logs").join("qlog");
    ours.set("QLOGDIR", &logs);
    let outcome = run_in(&HANDSHAKE, &ours, &ours, &directory).await;
    let has_trace = |role: &str| logs.join(format!("{role}-1.sqlog")).exists();
    let traces = ["client", "server"].map(has_trace);
    let _ = std::fs::remove_dir_all(&directory);
    assert_eq!((outcome, traces), (Outcome::Passed, [true, true]));
}

/// How our endpoint ends in this case.
fn code(ours: &Stack, role: &str, name: &str) -> Option<i32> {
    let nowhere = Path::new("/nonexistent");
    let mut command = Command::new(&ours.script);
    command
        .envs(ours.environment.iter().map(|(name, value)| (name, value)))
        .env("ROLE", role)
        .env("TESTCASE", name)
        .env("REQUESTS", "")
        .env("CERTS", nowhere)
        .env("WWW", nowhere)
        .env("DOWNLOADS", nowhere)
        .env("PORT", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().unwrap().code()
}

/// Its cases and measurements, with `TESTCASE` of the client and of the server.
const RUNNER: [(&str, &str, &str); 25] = [
    ("handshake", "handshake", "handshake"),
    ("transfer", "transfer", "transfer"),
    ("longrtt", "handshake", "handshake"),
    ("chacha20", "chacha20", "chacha20"),
    ("multiplexing", "transfer", "transfer"),
    ("retry", "retry", "retry"),
    ("resumption", "resumption", "resumption"),
    ("zerortt", "zerortt", "zerortt"),
    ("http3", "http3", "http3"),
    ("blackhole", "transfer", "transfer"),
    ("keyupdate", "keyupdate", "transfer"),
    ("ecn", "ecn", "ecn"),
    ("amplificationlimit", "transfer", "transfer"),
    ("handshakeloss", "multiconnect", "multiconnect"),
    ("transferloss", "transfer", "transfer"),
    ("handshakecorruption", "multiconnect", "multiconnect"),
    ("transfercorruption", "transfer", "transfer"),
    ("ipv6", "transfer", "transfer"),
    ("v2", "v2", "v2"),
    ("rebind-port", "transfer", "transfer"),
    ("rebind-addr", "transfer", "transfer"),
    ("connectionmigration", "transfer", "connectionmigration"),
    (
        "versionnegotiation",
        "versionnegotiation",
        "versionnegotiation",
    ),
    ("goodput", "transfer", "transfer"),
    ("crosstraffic", "transfer", "transfer"),
];
