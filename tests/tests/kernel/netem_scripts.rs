//! The scripts of `netem-scripts`: what they would do is compared everywhere, as printing needs no
//! privilege; what a kernel makes of it is tried in a guest where there is one.
#![cfg(target_os = "linux")]

mod on_a_kernel;

use link_sim::{LinkSpec, TcDevices};
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
    for shaped in qdiscs(&printed.stdout) {
        assert!(!shaped.starts_with("eth0"), "{shaped}");
    }
}

#[test]
fn each_quantity_is_shaped_on_a_device_of_its_own() {
    for (link, expected) in [
        ("", &[][..]),
        (
            "delay 50ms 20ms",
            &["toserver netem limit 1000 delay 50ms 20ms"],
        ),
        (
            EVERYTHING,
            &[
                "a0 netem limit 100000 loss random 3% duplicate 0.5%",
                "b0 tbf rate 100mbit burst 12500 limit 625000",
                "toserver netem limit 100000 delay 50ms 10ms distribution normal reorder 25% gap 5",
            ],
        ),
        (
            "drop gemodel 1% 10% latency 1ms 100us distribution uniform ordered",
            &["toserver netem limit 1000 delay 1ms 100us rate 1tbit loss gemodel 1% 10%"],
        ),
        ("rate 100M queue 64p", &["b0 netem rate 100Mbit limit 65"]),
        ("rate 1gbit", &["toserver netem limit 1000 rate 1gbit"]),
        (
            "rate 800kbps queue 250kb",
            &["b0 tbf rate 800kbps burst 3028 limit 256000"],
        ),
        ("limit 5", &["toserver netem limit 5"]),
    ] {
        let printed = output_of(script("up.sh").args(["--print", link]));
        assert!(printed.success, "{link}: {printed:?}");
        assert_eq!(qdiscs(&printed.stdout), expected, "{link}");
    }
}

#[test]
fn a_return_link_is_shaped_the_other_way_and_counts_in_the_bdp() {
    let (there, back) = (
        "delay 25ms rate 10mbit queue 2bdp",
        "delay 15ms loss 1% rate 1mbit",
    );
    let printed = output_of(script("up.sh").args(["--print", "--return-link", back, there]));
    assert_eq!(
        qdiscs(&printed.stdout),
        [
            // 2 × 1.25 MB/s × 40 ms.
            "b0 tbf rate 10mbit burst 3028 limit 100000",
            "toserver netem limit 100000 delay 25ms",
            "toclient netem limit 1000 delay 15ms loss random 1% rate 1mbit",
        ]
    );
}

#[test]
fn the_qdiscs_are_those_of_link_relay() {
    let devices = TcDevices {
        loss: "a0",
        rate: "b0",
        delay: "toserver",
    };
    for link in [
        "",
        EVERYTHING,
        "limit 5",
        "delay 50ms 20ms loss 3% rate 100mbit limit 1000",
        "delay 5ms 1ms distribution pareto ordered loss gemodel 1% 10% 90% 0.1%",
        "delay 5ms 1ms ordered rate 1.5mbit",
        "delay 5ms 1ms ordered rate 1.5mbit queue 9p",
        "delay 10ms reorder 25% gap 5 duplicate 1% rate 64kbit",
        "loss 1% rate 12.345mbit queue 256000b",
        "delay 1ms rate 64kbit queue 1bdp",
        "delay 33ms rate 7gbit queue 2.5bdp",
        "rate 100mbit queue 64p limit 7",
    ] {
        let spec: LinkSpec = link.parse().expect("a link");
        let words = spec.to_string();
        let printed = output_of(script("up.sh").args(["--print", &words]));
        let commands = spec.tc_commands(spec.delay(), devices).expect("tc has it");
        assert_eq!(
            tc_commands(&printed.stdout),
            commands,
            "{words}: {printed:?}"
        );
    }
}

#[test]
fn a_wrong_link_is_refused_by_the_word() {
    for (link, word, expected) in [
        ("dealy 5ms", "`dealy`", "expected delay"),
        ("delay 50", "`50`", "a time"),
        ("delay", "end of link", "a time"),
        ("loss 101%", "`101%`", "a percentage"),
        ("delay 5ms delay 3ms", "`delay`", "twice"),
        ("queue 5p", "`queue`", "needs a `rate`"),
        ("rate 1mbit queue 1bdp", "`queue 1bdp`", "needs a delay"),
        ("rate 1mbit queue 1kb", "`queue 1kb`", "a full frame"),
        ("reorder 5%", "`reorder`", "needs a `delay`"),
        ("delay 5ms seed 7", "`seed`", "tc"),
        ("rate 1mbit aqm fq_codel", "`aqm`", "tc"),
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
fn the_grammar_is_that_of_link_sim() {
    for link in [
        EVERYTHING,
        "drop gemodel 1% 10% 90% 0.1% latency 1ms 100us distribution pareto ordered",
        "rate 100M queue 64p",
        "rate 1.5gbit delay 1.5s 7nsecs queue .5bdp",
        "rate 800kbps queue 250KB limit 3",
        "delay 50 10ms",
        "delay 50ms 10",
        "delay 2h",
        "delay 0ms 5ms",
        "delay 5ms distribution normal",
        "delay 5ms 1ms distribution gauss",
        "loss 3",
        "loss 100.1%",
        "gap 5",
        "rate 1mbits",
        "rate 0",
        "rate 11tbit",
        "rate 1mbit queue 5",
        "rate 1mbit queue 0p",
        "limit 0",
        "5ms",
    ] {
        let read = link
            .parse::<LinkSpec>()
            .map_err(|error| error.word().to_owned());
        let printed = output_of(script("up.sh").args(["--print", link]));
        match read {
            Ok(_) => assert!(printed.success, "{link}: {printed:?}"),
            Err(word) => {
                let named = printed.stderr.contains(&format!("`{word}`"));
                assert!(
                    !printed.success && named,
                    "{link}: `{word}`, not {printed:?}"
                );
            }
        }
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
    Command::new(scripts().join(name))
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

/// The printed qdiscs as `DEVICE QDISC`.
fn qdiscs(printed: &str) -> Vec<String> {
    let commands = tc_commands(printed).into_iter();
    commands
        .map(|command| command.replacen("tc qdisc replace dev ", "", 1))
        .map(|qdisc| qdisc.replacen(" root ", " ", 1))
        .collect()
}
