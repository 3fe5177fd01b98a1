//! A full disk, for which `/dev/full` stands.

use crate::robust::{parse, start_client};
use e2e::programs::{Ended, bench_server, program};
use serde_json::Value;
use std::fs::OpenOptions;
use std::path::PathBuf;
use std::process::{Command, Stdio};

#[test]
fn a_result_that_its_file_does_not_take_is_saved_elsewhere() {
    let (_server, port) = bench_server(&[]);
    let ended = start_client(port, &["-n", "1M", "--json", "/dev/full"]).wait();
    let told = "error: --json /dev/full: No space left on device (os error 28); result saved to ";
    check_saved(&ended, told);
    assert!(ended.stdout.contains("receiver"), "{ended:?}");
}

#[test]
fn a_result_that_stdout_does_not_take_is_saved_elsewhere() {
    let (_server, port) = bench_server(&[]);
    let told = "error: standard output: No space left on device (os error 28); rest saved to ";
    check_saved(&into_full_disk(port, &["-J"], None), told);
}

#[test]
fn without_any_place_for_it_the_loss_is_told() {
    let (_server, port) = bench_server(&[]);
    for flags in [&["-J"][..], &["--json", "/dev/full"]] {
        let ended = into_full_disk(port, flags, Some("/nonexistent"));
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let told = "No space left on device (os error 28); saving it elsewhere failed too: ";
        assert!(ended.stderr.contains(told), "{ended:?}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let (_server, port) = bench_server(&[]);
    let script = "{ \"$0\" run 127.0.0.1:$1 -t 1 -i 0.1; echo \"code $?\" >&2; } | head -n 1";
    let output = Command::new("sh")
        .args(["-c", script])
        .arg(program("bench-client"))
        .arg(port.to_string())
        .output()
        .unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.ends_with("code 0\n"), "{told}");
}

/// Runs with a stdout that takes nothing, and with this folder for temporary files.
fn into_full_disk(port: u16, flags: &[&str], temporary: Option<&str>) -> Ended {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut client = Command::new(program("bench-client"));
    client
        .args(["run", &format!("127.0.0.1:{port}"), "-n", "1M"])
        .args(flags)
        .stdin(Stdio::null())
        .stdout(full);
    if let Some(folder) = temporary {
        client.env("TMPDIR", folder);
    }
    let output = client.output().unwrap();
    Ended {
        code: output.status.code(),
        stdout: String::new(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The error `told` names a file that has the whole result.
fn check_saved(ended: &Ended, told: &str) {
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let line = ended
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix(told));
    let line = line.unwrap_or_else(|| panic!("{told} in {}", ended.stderr));
    let path = PathBuf::from(line.strip_suffix(" instead").unwrap());
    let result: Value = parse(&std::fs::read_to_string(&path).unwrap());
    std::fs::remove_file(&path).unwrap();
    assert_eq!(result["complete"], true);
    assert_eq!(result["result"]["bytes"], 1 << 20);
}
