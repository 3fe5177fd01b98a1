//! A full disk, for which `/dev/full` stands.

use crate::robust::{parse, start_client};
use e2e::programs::{Ended, bench_server, program, run, scratch_file};
use serde_json::Value;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[test]
fn a_result_that_its_file_does_not_take_is_saved_elsewhere() {
    let (_server, port) = bench_server(&[]);
    let ended = start_client(port, &["-n", "1M", "--json", "/dev/full"]).wait();
    let told = "error: --json /dev/full: No space left on device; result saved to ";
    check_saved(&ended, told);
    assert!(ended.stdout.contains("receiver"), "{ended:?}");
}

#[test]
fn a_result_that_stdout_does_not_take_is_saved_elsewhere() {
    let (_server, port) = bench_server(&[]);
    let told = "error: standard output: No space left on device; rest saved to ";
    check_saved(&into_full_disk(port, &["-J"], None), told);
}

#[test]
fn without_any_place_for_it_the_loss_is_told() {
    let (_server, port) = bench_server(&[]);
    for flags in [&["-J"][..], &["--json", "/dev/full"]] {
        let ended = into_full_disk(port, flags, Some("/nonexistent"));
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let told = "No space left on device; saving it elsewhere failed too: ";
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

#[test]
fn a_run_that_comes_to_nothing_leaves_earlier_files_as_they_are() {
    let [json, report] = ["good.json", "good.html"].map(scratch_file);
    let flags = ["--json", json.to_str().unwrap(), "--report"];
    let flags = [&flags[..], &[report.to_str().unwrap()]].concat();
    let nobody = [
        &["run", "127.0.0.1:9", "--connect-timeout", "300"],
        &flags[..],
    ]
    .concat();
    // There was nothing before: what went wrong is written.
    assert_eq!(run("bench-client", &nobody).code, Some(1));
    let failed = parse(&std::fs::read_to_string(&json).unwrap());
    assert!(
        failed["error"].as_str().unwrap().contains("127.0.0.1:9"),
        "{failed}"
    );

    let (_server, port) = bench_server(&[]);
    let ended = start_client(port, &[&["-n", "1M"], &flags[..]].concat()).wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let good = [&json, &report].map(|file| std::fs::read(file).unwrap());
    assert!(good[0].starts_with(b"{\n") && good[1].starts_with(b"<!DOCTYPE html>"));
    let ended = run("bench-client", &nobody);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let kept = ended.stderr.matches("Kept as before: ").count();
    assert_eq!(kept, 2, "{ended:?}");
    assert_eq!(
        [&json, &report].map(|file| std::fs::read(file).unwrap()),
        good
    );
}

#[test]
fn no_output_takes_the_place_of_what_is_read_or_written_besides() {
    let [result, data, other] = ["kept.json", "kept.bin", "kept.out"].map(scratch_file);
    let [result, data, other] = [&result, &data, &other].map(|file| file.to_str().unwrap());
    let plan = "ab --virtual --rounds 1 -t 1 --no-report --json";
    let ended = run("bench-client", plan.split(' ').chain([result]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    std::fs::write(data, "a file to send").unwrap();
    let before = std::fs::read(result).unwrap();
    let ab = ["ab", "--virtual", "--rounds", "1", "-t", "1"];
    let over_baseline = [&ab[..], &["--baseline", result, "--report", result]].concat();
    for (args, flag) in [
        (&["report", result, "--html", result][..], "--html"),
        (
            &["report", result, "--csv", other, "--html", other],
            "--html",
        ),
        (
            &["run", "127.0.0.1:9", "-F", data, "--json", data],
            "--json",
        ),
        (
            &["run", "127.0.0.1:9", "--logfile", data, "--report", data],
            "--report",
        ),
        (&over_baseline[..], "--report"),
        (
            &["scorecard", "cubic", "--output", other, "--json", other],
            "--output",
        ),
    ] {
        let ended = run("bench-client", args);
        assert_eq!(ended.code, Some(2), "{args:?}: {ended:?}");
        let told = ended.stderr.lines().last().unwrap_or_default();
        let is_named = told.starts_with(&format!("error: {flag} "));
        assert!(is_named && told.contains("file"), "{args:?}: {ended:?}");
        assert!(!Path::new(other).exists(), "{args:?}");
    }
    assert_eq!(std::fs::read(result).unwrap(), before);
    assert_eq!(std::fs::read(data).unwrap(), b"a file to send");
}
