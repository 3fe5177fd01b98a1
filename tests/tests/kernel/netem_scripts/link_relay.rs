//! Between the scripts and the program that reads links for them.

use super::{EVERYTHING, Ran, output_of, script, scripts, tc_commands};
use link_sim::{LinkSpec, TcDevices};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

#[test]
fn a_path_has_the_qdiscs_that_link_relay_prints() {
    let back = "delay 15ms loss 1% rate 1mbit";
    for link in [
        "",
        EVERYTHING,
        "limit 5",
        "delay 50ms 20ms 25% loss 3% rate 100mbit limit 1000",
        "delay 5ms 1ms ordered loss gemodel 1% 10% 90% 0.1% corrupt 1%",
        "rate 8mbit queue 9p policer 1mbit burst 15000b",
        "delay 5ms rate 10mbit aqm codel ecn",
        "tbf 8mbit burst 9000b peakrate 9mbit mtu 2000b queue 15000b slot 5ms 10ms",
        "lte-down",
    ] {
        let printed = output_of(script("up.sh").args(["--print", "--return-link", back, link]));
        assert!(printed.success, "{link}: {printed:?}");
        let (link, back): (LinkSpec, LinkSpec) = (parse(link), parse(back));
        let base_rtt = link.delay() + back.delay();
        let mut expected = commands(&link, base_rtt, ["a0", "b0", "toserver"]);
        expected.extend(commands(&back, base_rtt, ["b1", "a1", "toclient"]));
        assert_eq!(tc_commands(&printed.stdout), expected, "{link}");
    }
}

fn parse(link: &str) -> LinkSpec {
    link.parse().expect("a link")
}

fn commands(link: &LinkSpec, base_rtt: Duration, devices: [&str; 3]) -> Vec<String> {
    let [loss, rate, delay] = devices;
    let devices = TcDevices { loss, rate, delay };
    link.tc_commands(base_rtt, devices).expect("tc has it")
}

#[test]
fn nothing_but_its_answer_is_run() {
    let folder = scratch("answer");
    let asked = folder.join("asked");
    // Commands that no link of ours has.
    let relay = write_relay(
        &folder,
        &format!("printf '%s\\n' \"$@\" >>{}", asked.display()),
        "tc qdisc replace dev $RATE_DEV root sfq\ntc qdisc add dev $RETURN_LOSS_DEV clsact",
    );
    let printed = output_of(
        script("up.sh")
            .args(["--print", "--return-link", "any 2", "any 1"])
            .env("LINK_RELAY", &relay),
    );
    assert_eq!(
        tc_commands(&printed.stdout),
        [
            "tc qdisc replace dev b0 root sfq",
            "tc qdisc add dev b1 clsact"
        ],
        "{printed:?}"
    );
    let asked = fs::read_to_string(asked).expect("it was asked");
    let links = ["--link=any 1", "--return-link=any 2"];
    let expected = [["--print-tc"].as_slice(), &links, &["--print-ping"], &links].concat();
    assert_eq!(asked.lines().collect::<Vec<_>>(), expected);
    fs::remove_dir_all(folder).expect("it is ours");
}

#[test]
fn where_it_is_missing_one_line_says_how_to_get_it() {
    let nowhere = scratch("nowhere");
    for (name, value) in [("LINK_RELAY", "/nowhere/link-relay"), ("LINK_RELAY", "")] {
        let refused = without_programs(&nowhere)
            .env("PATH", "/usr/bin:/bin")
            .env(name, value)
            .arg("delay 5ms")
            .output();
        let refused = refused.expect("the scripts are executable");
        let stderr = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        assert!(
            stderr.contains("no link-relay") && stderr.contains(value),
            "{stderr}"
        );
        assert!(
            stderr.ends_with("`cargo build -p paceline-link-sim --bin link-relay`\n"),
            "{stderr}"
        );
    }
    fs::remove_dir_all(nowhere).expect("it is ours");
}

#[test]
fn of_two_builds_the_newer_one_is_asked_and_path_last() {
    let target = scratch("target");
    let print = |command: &mut Command| -> Vec<String> {
        let printed: Ran = output_of(command.arg("any"));
        tc_commands(&printed.stdout)
    };
    let installed = target.join("bin");
    let program = |folder: &Path, limit: u32| {
        let answer = format!("tc qdisc replace dev $RATE_DEV root netem limit {limit}");
        write_relay(folder, "", &answer)
    };
    let one = |limit: u32| [format!("tc qdisc replace dev b0 root netem limit {limit}")];
    program(&installed, 1);
    let path = format!(
        "{}:{}",
        installed.display(),
        std::env::var("PATH").expect("there is one")
    );
    assert_eq!(print(without_programs(&target).env("PATH", &path)), one(1));
    let release = program(&target.join("release"), 2);
    let old = fs::File::open(release).expect("it was written");
    let long_ago = std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    old.set_modified(long_ago).expect("it is ours");
    assert_eq!(print(without_programs(&target).env("PATH", &path)), one(2));
    program(&target.join("debug"), 3);
    assert_eq!(print(without_programs(&target).env("PATH", &path)), one(3));
    fs::remove_dir_all(target).expect("it is ours");
}

/// `up.sh --print` that finds builds in `target` alone.
fn without_programs(target: &Path) -> Command {
    let mut up = Command::new(scripts().join("up.sh"));
    up.env_remove("LINK_RELAY")
        .env("CARGO_TARGET_DIR", target)
        .arg("--print");
    up
}

/// A program that does something, and prints `answer` where it is asked for tc's commands.
fn write_relay(folder: &Path, does: &str, answer: &str) -> PathBuf {
    let ping = "min_rtt_us=0\nmax_rtt_us=0\nloss_ppm=";
    let text = format!(
        "#!/bin/sh\n{does}\ncase $1 in\n--print-tc) echo '{answer}' ;;\n*) echo '{ping}' ;;\nesac\n"
    );
    let path = folder.join("link-relay");
    fs::create_dir_all(folder).expect("the target folder can be written");
    fs::write(&path, text).expect("the folder is ours");
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(&path, executable).expect("it is ours");
    path
}

fn scratch(name: &str) -> PathBuf {
    let folder = e2e::programs::scratch_file(&format!("link-relay-{name}"));
    fs::create_dir_all(&folder).expect("the target folder can be written");
    folder
}
