//! The scripts of `netem-scripts`: what they would do is compared everywhere, as printing needs no
//! privilege; what a kernel makes of it is tried in a guest where there is one.
//!
//! `link-relay` alone reads a LINK. What is tried here is that the scripts run what it prints.
#![cfg(target_os = "linux")]

mod link_relay;
mod on_a_kernel;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[test]
fn a_whole_path_is_printed_as_commands() {
    let printed = output_of(script("up.sh").args(["--print", "delay", "20ms"]));
    assert!(printed.success, "{printed:?}");
    for line in [
        "ip netns add paceline-link",
        "ip link add eth0 netns paceline-client type veth peer name toclient netns paceline-link",
        "ip -n paceline-link link set b0 master br-middle",
        "ip -n paceline-server address add 10.77.0.2/24 dev eth0",
        "tc -n paceline-link qdisc replace dev toserver root netem limit 1000 delay 20ms",
    ] {
        assert!(
            printed.stdout.lines().any(|printed| printed == line),
            "`{line}` is missing from:\n{}",
            printed.stdout
        );
    }
}

#[test]
fn no_offload_stays_on_and_no_end_device_is_shaped() {
    let printed = output_of(script("up.sh").args(["--print", EVERYTHING]));
    let offloads = "tso off gso off gro off tx-udp-segmentation off";
    let switched = |line: &&str| line.contains("ethtool -K") && line.ends_with(offloads);
    let veths = printed.stdout.matches("type veth").count() * 2;
    assert_eq!(printed.stdout.lines().filter(switched).count(), veths);
    for command in tc_commands(&printed.stdout) {
        assert!(!command.contains("dev eth0"), "{command}");
    }
}

#[test]
fn a_wrong_link_is_refused_by_the_word() {
    for (link, word, expected) in [
        ("dealy 5ms", "`dealy`", "expected delay"),
        ("delay 50", "`50`", "a time"),
        ("delay", "end at column 6", "a time"),
        ("loss 101%", "`101%`", "a percentage"),
        ("delay 5ms delay 3ms", "`delay`", "twice"),
        ("queue 5p", "`queue`", "needs a `rate`"),
        ("rate 1mbit queue 1bdp", "`queue`", "needs a `delay`"),
        ("rate 1mbit queue 1kb", "`queue`", "between 1514b"),
        ("reorder 5%", "`reorder`", "needs a `delay`"),
        ("delay 5ms seed 7", "`seed`", "tc"),
        ("delay 5ms at 1s loss 1%", "`at`", "--print-tc"),
        ("delay $(id)", "`$(id)`", "a time"),
    ] {
        for (name, arguments) in [
            ("up.sh", &["--print", link][..]),
            ("run.sh", &[link, "--", "true"][..]),
        ] {
            let refused = output_of(script(name).args(arguments));
            assert_eq!(refused.code, Some(2), "{name} {link}: {refused:?}");
            assert_eq!(
                refused.stderr.lines().count(),
                1,
                "{name} {link}: {refused:?}"
            );
            assert!(refused.stderr.contains(word), "{name} {link}: {refused:?}");
            assert!(
                refused.stderr.contains(expected),
                "{name} {link}: {refused:?}"
            );
        }
    }
}

#[test]
fn a_wrong_option_is_refused_before_anything_runs() {
    for (name, arguments, expected) in [
        ("run.sh", &["--server"][..], "`--server`"),
        ("up.sh", &["--name"], "`--name`"),
        ("vm.sh", &["--memory", "much", "true"], "`--memory`"),
        ("vm.sh", &["--writable", "/nowhere", "true"], "`--writable`"),
        ("vm.sh", &["--seconds", "60"], "no COMMAND"),
        ("compare.sh", &["--packets", "many"], "`--packets`"),
        ("compare.sh", &["--keep"], "`--keep`"),
        (
            "kernel-tcp.sh",
            &["--rounds", "few", "delay 5ms"],
            "`--rounds`",
        ),
        (
            "kernel-tcp.sh",
            &["--cc", "cubic bbr", "delay 5ms"],
            "`--cc`",
        ),
        ("kernel-tcp.sh", &["--cc", "bbr"], "no LINK"),
        (
            "kernel-tcp.sh",
            &["--seconds", "0", "delay 5ms"],
            "`--seconds`",
        ),
        ("shape.sh", &[], "a LINK"),
        ("shape.sh", &["dealy 5ms"], "`dealy`"),
        ("shape.sh", &["delay 5ms", "loss 3"], "`3`"),
        ("matrix.sh", &["--programs"], "`--programs`"),
        (
            "matrix.sh",
            &["--programs", "/nowhere", "buffers"],
            "no bench-client",
        ),
        ("matrix.sh", &["--dir", "cells"], "no matrix"),
        ("build-kernel.sh", &["/nowhere.tar.xz"], "/nowhere.tar.xz"),
    ] {
        let refused = output_of(script(name).args(arguments));
        assert_eq!(refused.code, Some(2), "{name}: {refused:?}");
        assert_eq!(refused.stdout, "", "{name}");
        assert_eq!(refused.stderr.lines().count(), 1, "{name}: {refused:?}");
        assert!(refused.stderr.contains(expected), "{name}: {refused:?}");
    }
}

#[test]
fn what_this_machine_lacks_is_said_in_one_line() {
    let checked = output_of(script("up.sh").arg("--check"));
    match checked.code {
        Some(0) => assert_eq!(checked.stderr, ""),
        Some(2) => assert_eq!(checked.stderr.lines().count(), 1, "{checked:?}"),
        _ => panic!("{checked:?}"),
    }
}

#[test]
fn down_of_nothing_is_no_error() {
    let done = output_of(script("down.sh").arg("paceline-was-never-up"));
    assert!(done.success, "{done:?}");
}

/// Every clause that is shaped, each with its options.
const EVERYTHING: &str = "delay 50ms 10ms distribution normal loss 3% duplicate 0.5% \
                          reorder 25% gap 5 rate 100mbit queue 1bdp limit 100000";

#[derive(Debug)]
struct Ran {
    success: bool,
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn output_of(command: &mut Command) -> Ran {
    let output: Output = command.output().expect("the scripts are executable");
    Ran {
        success: output.status.success(),
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("the scripts print UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("the scripts print UTF-8"),
    }
}

fn script(name: &str) -> Command {
    let mut script = Command::new(scripts().join(name));
    script.env("LINK_RELAY", e2e::programs::program("link-relay"));
    script
}

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../netem-scripts")
}

/// The printed commands of tc, outside of the namespace.
fn tc_commands(printed: &str) -> Vec<String> {
    let commands = printed.lines();
    let commands = commands.filter_map(|line| line.strip_prefix("tc -n paceline-link "));
    commands.map(|command| format!("tc {command}")).collect()
}
