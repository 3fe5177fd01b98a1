//! `link-relay tun` as a user has it: kernel TCP and ping over an emulated link. Skipped, and said
//! so, where the kernel lets this user make no namespaces or a program is missing.

use e2e::programs::{Ended, Running, bench_server, program, run};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

#[test]
fn ping_takes_the_delay_over_both_versions_of_ip() {
    if is_missing(&["ping"]) {
        return;
    }
    let ended = run_tun(&[
        "delay",
        "20ms",
        "--",
        "sh",
        "-c",
        "for to in $PACELINE_SERVER $PACELINE_SERVER6; do ping -n -c 5 -i 0.2 -w 20 $to; done",
    ]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let times: Vec<f64> = ended
        .stdout
        .lines()
        .filter_map(|line| {
            line.split_once("time=")?
                .1
                .strip_suffix(" ms")?
                .parse()
                .ok()
        })
        .collect();
    // A machine without IPv6 has the first five alone.
    assert!([5, 10].contains(&times.len()), "{ended:?}");
    assert!(times.iter().all(|ms| *ms >= 20.0), "{ended:?}");
}

#[test]
fn kernel_tcp_fills_the_rate_and_does_not_exceed_it() {
    if is_missing(&["iperf3"]) {
        return;
    }
    let ended = run_tun(&[
        "--link",
        "delay 10ms rate 20mbit queue 1bdp",
        "--server",
        "iperf3 -s -1",
        "--",
        "iperf3",
        "-J",
        "-t",
        "3",
        "-c",
        "10.77.0.2",
    ]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let result: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let goodput = result["end"]["sum_received"]["bits_per_second"].as_f64();
    // 1448 of the 1514 bytes that the link counts are TCP's payload.
    let most = 20e6 * 1_448.0 / 1_514.0;
    let goodput = goodput.expect("iperf3 says its goodput");
    assert!(goodput <= most, "{goodput}");
    assert!(goodput > 0.25 * most, "{goodput}");
}

#[test]
fn the_commands_exit_code_is_the_programs() {
    if is_missing(&[]) {
        return;
    }
    for (script, code) in [("exit 7", 7), ("kill -TERM $$", 128 + 15)] {
        let ended = run_tun(&["--", "sh", "-c", script]);
        assert_eq!(ended.code, Some(code), "{ended:?}");
    }
    let ended = run_tun(&["--", "no-such-program"]);
    assert_eq!(ended.code, Some(127), "{ended:?}");
    assert!(ended.stderr.contains("no-such-program"), "{ended:?}");
}

#[test]
fn exec_runs_a_program_behind_the_link_and_gives_its_exit_code() {
    if is_missing(&["ping"]) {
        return;
    }
    let script = "ping -c 3 -i 0.2 -q $PACELINE_SERVER && exit 7";
    let ended = run(
        "link-relay",
        ["exec", "delay", "30ms", "--", "sh", "-c", script],
    );
    assert_eq!(ended.code, Some(7), "{ended:?}");
    let times = ended.stdout.lines().find(|line| line.starts_with("rtt "));
    let fastest = times.and_then(|line| line.split(['/', '=']).nth(4)?.trim().parse().ok());
    assert!(fastest.is_some_and(|ms: f64| ms >= 30.0), "{ended:?}");
    let ended = run("link-relay", ["exec", "delay", "30ms"]);
    assert_eq!(ended.code, Some(2), "a program is needed: {ended:?}");
}

/// A download over UDP and one over TCP from servers that are not in the namespaces.
#[test]
fn a_program_reaches_servers_outside_over_the_link() {
    if is_missing(&[]) {
        return;
    }
    let (_server, port) = bench_server(&[]);
    let to = format!("4433=127.0.0.1:{port}");
    let client = program("bench-client");
    let client = client.to_str().unwrap();
    let exec = [
        "exec",
        "delay 15ms rate 20mbit",
        "--return-link",
        "delay 15ms",
        "--forward",
        &to,
    ];
    let command = ["--", client, "run", "10.77.0.2", "-n", "1M", "-J"];
    let ended = run("link-relay", [&exec[..], &command].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let result: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let rate = result["end"]["sum_received"]["bits_per_second"]
        .as_f64()
        .unwrap();
    assert!(rate < 20e6, "{rate}");
    let rtt = result["end"]["streams"][0]["sender"]["min_rtt"]
        .as_u64()
        .unwrap();
    assert!(rtt >= 30_000, "{rtt} µs");

    let outside = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let to = format!("80={}", outside.local_addr().unwrap());
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = outside.accept().unwrap();
        std::io::Write::write_all(&mut stream, b"from outside\n").unwrap();
    });
    let script = "exec 3<>/dev/tcp/$PACELINE_SERVER/80; cat <&3";
    let exec = [
        "exec",
        "delay 5ms",
        "--forward",
        &to,
        "--",
        "bash",
        "-c",
        script,
    ];
    let ended = run("link-relay", exec);
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(0), "from outside\n")
    );
    serving.join().unwrap();
}

#[test]
fn what_cannot_work_is_said_in_one_line() {
    let ended = run_tun(&["dely", "5ms", "--", "true"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("`dely`"), "{ended:?}");
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    if is_missing(&[]) {
        return;
    }
    let ended = run_tun(&["--server", "exit 3", "--", "true"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("before it listened"), "{ended:?}");
}

#[test]
fn a_request_to_end_goes_to_the_command() {
    if is_missing(&[]) {
        return;
    }
    let script = "trap 'echo ended in order; exit 3' TERM; echo ready; while :; do sleep 0.1; done";
    let mut running = Running::start("link-relay", ["tun", "--", "sh", "-c", script]);
    running.line_with("ready");
    running.terminate();
    let ended = running.wait();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stdout.contains("ended in order"), "{ended:?}");
}

#[test]
fn nothing_outlives_a_killed_link_nor_a_server_its_client() {
    if is_missing(&["iperf3"]) {
        return;
    }
    // No other line has these words: the heading names the server too, with a seed at its end.
    let server = "echo serves as $$ >&2; exec iperf3 -s >/dev/null";
    let tun = ["tun", "--server", server, "--", "sh", "-c"];
    let mut killed = Running::start(
        "link-relay",
        tun.into_iter().chain(["echo runs as $$; exec sleep 1000"]),
    );
    let server = number_at_end(&killed.note_with("serves as "));
    let client = number_at_end(&killed.line_with("runs as "));
    killed.kill();
    wait_for_the_end_of(server);
    wait_for_the_end_of(client);

    let mut short = Running::start("link-relay", tun.into_iter().chain(["exit 0"]));
    let server = number_at_end(&short.note_with("serves as "));
    assert_eq!(short.wait().code, Some(0));
    wait_for_the_end_of(server);
}

#[test]
fn an_unprivileged_user_needs_nothing_else() {
    if is_missing(&["setpriv", "ping"]) {
        return;
    }
    // As udev makes it, and as a machine without udev may not.
    let mode = fs::metadata(TUN).unwrap().permissions().mode();
    if mode & 0o006 != 0o006 {
        return skip(&format!(
            "{TUN} has mode {mode:o}, for a user alone it is 666"
        ));
    }
    // Where a user may not look into the target folder.
    let copy = std::env::temp_dir().join(format!("link-relay-{}", std::process::id()));
    fs::copy(program("link-relay"), &copy).unwrap();
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
    let ended = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&copy)
        .args([
            "tun",
            "delay 5ms",
            "--",
            "ping",
            "-n",
            "-c",
            "1",
            "-w",
            "20",
        ])
        .arg("10.77.0.2")
        .current_dir("/")
        .output();
    fs::remove_file(&copy).unwrap();
    let ended = ended.unwrap();
    let stderr = String::from_utf8_lossy(&ended.stderr);
    if stderr.contains("setpriv:") {
        return skip(stderr.trim());
    }
    assert!(ended.status.success(), "{stderr}");
}

/// Whether this machine lacks what a test needs, which it then says.
fn is_missing(programs: &[&str]) -> bool {
    let missing = missing(programs);
    if let Some(what) = &missing {
        skip(what);
    }
    missing.is_some()
}

/// What this machine lacks, found without the program that is tested.
fn missing(programs: &[&str]) -> Option<String> {
    if let Err(error) = File::options().read(true).write(true).open(TUN) {
        return Some(format!("{TUN}: {error}"));
    }
    let mut probe = Command::new("unshare");
    match probe.args(["--map-root-user", "--net", "true"]).output() {
        Ok(probe) if probe.status.success() => {}
        Ok(probe) => return Some(String::from_utf8_lossy(&probe.stderr).trim().to_owned()),
        Err(error) => return Some(format!("unshare: {error}")),
    }
    let is_there = |program: &&str| {
        let mut probe = Command::new(program);
        probe.arg("-V").stdout(Stdio::null()).stderr(Stdio::null());
        probe.stdin(Stdio::null()).status().is_ok()
    };
    let program = programs.iter().find(|program| !is_there(program))?;
    Some(format!("there is no {program}"))
}

fn skip(why: &str) {
    e2e::skipped(&format!("no link between TUN devices: {why}"));
}

const TUN: &str = "/dev/net/tun";

fn run_tun(arguments: &[&str]) -> Ended {
    run("link-relay", [&["tun"], arguments].concat())
}

fn number_at_end(line: &str) -> u32 {
    let number = line.rsplit(' ').next().and_then(|word| word.parse().ok());
    number.unwrap_or_else(|| panic!("no number at the end of `{line}`"))
}

fn wait_for_the_end_of(process: u32) {
    let id = i32::try_from(process).ok().and_then(Pid::from_raw);
    let id = id.expect("a process has a positive number");
    // It may have ended before.
    let Ok(process) = pidfd_open(id, PidfdFlags::empty()) else {
        return;
    };
    let mut ended = [PollFd::new(&process, PollFlags::IN)];
    let ten_seconds = Timespec {
        tv_sec: 10,
        tv_nsec: 0,
    };
    let count = poll(&mut ended, Some(&ten_seconds)).expect("the kernel waits");
    assert_eq!(count, 1, "process {id:?} does not end");
}
