//! The program itself, with rounds as short as can be.

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

fn peers(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_peers"));
    command
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

#[test]
fn every_row_has_every_stack_and_fits_into_80_columns() {
    let file = std::env::temp_dir().join(format!("peers-{}.json", std::process::id()));
    let path = file.to_str().unwrap();
    let output = peers(&["--rounds", "1", "--scale", "0.01", "--json", path]).output();
    let output = output.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let report: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    fs::remove_file(file).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 19);
    for row in rows {
        for (figure, medians) in row["medians"].as_object().unwrap() {
            let is_paced = row["title"].as_str().unwrap().contains("BBR");
            let quinn_or_ours = if is_paced { "cubic" } else { "quinn" };
            for stack in ["paceline", quinn_or_ours, "s2n-quic"] {
                let median = medians[stack].as_f64().unwrap();
                assert!(median.is_finite(), "{} {figure} {stack}", row["row"]);
            }
        }
    }
}

#[test]
fn another_build_is_measured_beside() {
    let beside = |before: &str| {
        let rows = ["--rows", "ping", "--only", "paceline", "--before", before];
        let scale = ["--rounds", "1", "--scale", "0.01"];
        let output = peers(&[&rows[..], &scale[..]].concat()).output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    let (code, text) = beside(env!("CARGO_BIN_EXE_peers"));
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("\nbefore  ") && text.contains("\n× before  "),
        "{text}"
    );
    let (code, text) = beside("/nowhere/peers");
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains("\nbefore     failed: round 1: /nowhere/peers: "),
        "{text}"
    );
}

#[test]
fn a_profile_says_whose_code_took_the_time() {
    if let Err(reason) = can_record() {
        eprintln!("SKIPPED: no profile is tried here: {reason}");
        return;
    }
    let arguments = [
        "--rows",
        "handshakes",
        "--only",
        "paceline,quinn",
        "--profile",
    ];
    let scale = ["--rounds", "1", "--scale", "0.5"];
    let output = peers(&[&arguments[..], &scale[..]].concat()).output();
    let output = output.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let handshakes: Vec<&str> = text.split("full handshakes").skip(1).collect();
    assert_eq!(handshakes.len(), 2);
    for row in handshakes {
        for side in ["\nserver  ", "\nclient  "] {
            let (_, profile) = row.split_once(side).expect(side);
            // Of a thousand handshakes' samples each has a tenth or more.
            for code in ["kernel", "cryptography", "protocol"] {
                let line = profile.lines().find(|line| line.trim().starts_with(code));
                let micros = line.expect(code).split_whitespace().skip(1);
                let micros: Vec<f64> = micros.map(|word| word.parse().unwrap()).collect();
                assert!(
                    micros.len() == 2 && micros.iter().all(|&micros| micros > 0.0),
                    "{row}"
                );
            }
        }
    }
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
}

/// Whether Linux's `perf` may sample processes here, in the kernel, too.
fn can_record() -> Result<(), String> {
    let mut perf = Command::new("perf");
    perf.args([
        "record",
        "--quiet",
        "--event",
        "cpu-clock",
        "--output",
        "/dev/null",
        "true",
    ]);
    match perf.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => Err(format!("perf: {error}")),
    }
}

#[test]
fn no_row_is_played_where_no_profile_can_be_had() {
    let output = peers(&["--rows", "ping", "--profile"])
        .env("PATH", "/nowhere")
        .output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        error.starts_with("peers: --profile: perf: ") && error.contains("install"),
        "{error}"
    );
    assert!(output.stdout.is_empty());
}

#[test]
fn a_round_whose_server_dies_is_shown_and_the_run_goes_on() {
    let arguments = [
        "--only",
        "paceline,quinn",
        "--rows",
        "many",
        "--rounds",
        "1",
    ];
    let mut program = peers(&arguments).spawn().unwrap();
    let [server, _client] = two_children(&program);
    kill_process(server, Signal::KILL).unwrap();
    let mut text = String::new();
    let mut output = program.stdout.take().unwrap();
    output.read_to_string(&mut text).unwrap();
    assert_eq!(program.wait().unwrap().code(), Some(1), "{text}");
    let failed = "paceline   failed: round 1: server: ended: signal: 9";
    assert!(text.contains(failed), "{text}");
    assert!(text.contains("\nquinn  "), "{text}");
}

#[test]
fn children_do_not_outlive_a_program_that_is_killed() {
    let arguments = ["--rows", "many", "--rounds", "1", "--scale", "100"];
    let mut program = peers(&arguments).spawn().unwrap();
    let children = two_children(&program);
    program.kill().unwrap();
    program.wait().unwrap();
    // What is left of them is for init to collect.
    for child in children {
        while test_kill_process(child).is_ok() && !is_zombie(child) {
            std::thread::yield_now();
        }
    }
}

/// Server and client of the first round, once both are there.
fn two_children(program: &Child) -> [Pid; 2] {
    let file = format!("/proc/{0}/task/{0}/children", program.id());
    loop {
        let children = fs::read_to_string(&file).expect("the program runs");
        let children: Vec<Pid> = children
            .split_whitespace()
            .map(|child| child.parse().ok().and_then(Pid::from_raw))
            .map(|child| child.expect("the kernel lists processes by number"))
            .collect();
        if let Ok(both) = children.try_into() {
            return both;
        }
        std::thread::yield_now();
    }
}

fn is_zombie(process: Pid) -> bool {
    let file = format!("/proc/{}/status", process.as_raw_nonzero());
    let Ok(status) = fs::File::open(file) else {
        return true;
    };
    let mut lines = BufReader::new(status).lines().map_while(Result::ok);
    lines.any(|line| line.starts_with("State:\tZ"))
}
