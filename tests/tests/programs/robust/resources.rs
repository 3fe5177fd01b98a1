//! What the system refuses, takes away or stops: directories, disks, memory, processor time.

use crate::robust::{assert_windows_fit, client, start_client};
use bench_kit::clock;
use e2e::programs::{Ended, Running, bench_server, port_at_end, program, scratch_file};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::Path;
use std::thread;
use std::time::Duration;

#[test]
fn a_directory_that_takes_no_file_is_an_error_before_the_run() {
    // Not even root may create files there.
    if !Path::new("/sys/kernel").is_dir() {
        e2e::skipped("there is no /sys, where nobody may create a file");
        return;
    }
    let (server, port) = bench_server(&[]);
    let outputs: [&[&str]; 5] = [
        &["--json", "/sys/x"],
        &["--report", "/sys/x"],
        &["--logfile", "/sys/x"],
        &["--qlog", "/sys/x"],
        &["-R", "-F", "/sys/x"],
    ];
    for output in outputs {
        let ended = client(port, &[output, &["-n", "1M"]].concat());
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let flag = format!("error: {} /sys/x", output[output.len() - 2]);
        assert!(ended.stderr.contains(&flag), "{ended:?}");
        assert!(!ended.stderr.contains("(os error "), "{ended:?}");
    }
    server.terminate();
    let ended = server.wait();
    assert!(!ended.stdout.contains("Accepted connection"), "{ended:?}");
}

#[test]
fn a_full_disk_is_an_error_of_each_output_that_names_it() {
    let (_server, port) = bench_server(&[]);
    for flag in ["--report", "--logfile"] {
        let ended = client(port, &[flag, "/dev/full", "-n", "1M"]);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let told = format!("error: {flag} /dev/full: No space left on device");
        assert!(ended.stderr.contains(&told), "{ended:?}");
    }
}

#[test]
fn a_run_outlives_that_one_of_its_sides_is_stopped_for_a_while() {
    let (server, port) = bench_server(&[]);
    for direction in [&[][..], &["-R"]] {
        let flags = [&["-t", "3", "-i", "0.2"], direction].concat();
        let mut client = start_client(port, &flags);
        client.line_with(" sec ");
        for process in [&client, &server] {
            signal(process, Signal::STOP);
            pause(Duration::from_millis(700));
            signal(process, Signal::CONT);
        }
        let ended = client.wait();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.stdout.contains("receiver"), "{ended:?}");
    }
    server.terminate();
    assert_eq!(server.wait().code, Some(0));
}

/// The link is in the program that is stopped: all that was to leave it meanwhile is late.
#[test]
fn a_round_whose_link_was_late_is_repeated_on_request() {
    let plan = "ab --reject-late --rounds 1 -t 1 -O 0 --no-report -J --link";
    let link = "delay 50ms rate 10mbit queue 1bdp";
    let mut ab = Running::start("bench-client", plan.split(' ').chain([link]));
    ab.note_with("rounds: 1 per variant");
    for _ in 0..5 {
        pause(Duration::from_millis(100));
        signal(&ab, Signal::STOP);
        pause(Duration::from_millis(100));
        signal(&ab, Signal::CONT);
    }
    ab.note_with("the link was late; repeating the round (1 of at most 5 times)");
    let ended = ab.wait_long();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let result: Value = serde_json::from_str(&ended.stdout).unwrap();
    for variant in result["variants"].as_array().unwrap() {
        let rounds = variant["rounds"].as_array().unwrap();
        assert_eq!(rounds.len(), 1, "{variant}");
        assert!(rounds[0]["error"].is_null(), "{variant}");
    }
}

#[test]
fn a_server_that_stays_stopped_ends_its_client_after_the_idle_timeout() {
    let (server, port) = bench_server(&[]);
    let mut client = start_client(port, &["-t", "60", "-i", "0.2", "--idle-timeout", "1"]);
    client.line_with(" sec ");
    signal(&server, Signal::STOP);
    let ended = client.wait();
    signal(&server, Signal::CONT);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let named = format!("127.0.0.1:{port}");
    assert!(ended.stderr.contains(&named), "{ended:?}");
}

#[test]
fn a_server_with_little_memory_serves_windows_that_fit_into_it() {
    let script = "ulimit -v 400000; exec \"$0\" --bind 127.0.0.1 --port 0 --threads 1 \
                  --max-window 4M --max-connections 8";
    let server = program("bench-server");
    let mut server = Running::start_system("sh", ["-c", script, server.to_str().unwrap()]);
    let port = port_at_end(&server.line_with("listening on UDP 127.0.0.1:"));
    assert_windows_fit(server, port);
}

#[test]
fn programs_without_file_descriptors_name_the_limit() {
    let (_server, port) = bench_server(&[]);
    let to = format!("127.0.0.1:{port}");
    let file = scratch_file("result.json");
    let file = file.to_str().unwrap();
    for limit in 5..14 {
        let server = ["--bind", "127.0.0.1", "--port", "0", "--threads", "1"];
        check_refused(limit, &limited(limit, "bench-server", &server));
        let client = ["run", &to, "-n", "1M", "--json", file];
        check_refused(limit, &limited(limit, "bench-client", &client));
    }
    let enough = limited(24, "bench-client", &["run", &to, "-n", "1M"]);
    assert_eq!(enough.code, Some(0), "{enough:?}");
}

fn check_refused(limit: u32, ended: &Ended) {
    assert_eq!(ended.code, Some(1), "{limit}: {ended:?}");
    let told = "Too many open files; raise ulimit -n\n";
    assert!(ended.stderr.ends_with(told), "{limit}: {ended:?}");
}

/// What comes of a program that may have so many file descriptors.
fn limited(descriptors: u32, name: &str, arguments: &[&str]) -> Ended {
    let script = "ulimit -n \"$1\"; shift; exec \"$@\"";
    let (limit, program) = (descriptors.to_string(), program(name));
    let command = ["-c", script, "sh", &limit, program.to_str().unwrap()];
    Running::start_system("sh", [&command[..], arguments].concat()).wait()
}

fn signal(process: &Running, signal: Signal) {
    let id = i32::try_from(process.id()).ok().and_then(Pid::from_raw);
    kill_process(id.unwrap(), signal).unwrap();
}

fn pause(time: Duration) {
    let until = clock::now() + time;
    while let Some(left) = until.checked_duration_since(clock::now()) {
        thread::park_timeout(left);
    }
}
