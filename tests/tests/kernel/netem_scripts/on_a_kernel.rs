//! What a kernel makes of it: this machine's own where it has netem, or a guest's.

use super::{Ran, output_of, script, scripts};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn a_kernel_with_netem_delays_as_the_link_says_and_nothing_is_left_behind() {
    let Some(ran) = on_a_kernel_with_netem(
        "echo before: $(ls /run/netns); \
         ./run.sh --return-link 'delay 15ms' 'delay 25ms rate 10mbit queue 1bdp' -- \
         sh -c 'ping -q -c 3 -i 0.2 $PACELINE_SERVER; exit 7'; echo status $?; \
         echo after: $(ls /run/netns)",
    ) else {
        return;
    };
    assert!(ran.success, "{ran:?}");
    assert!(ran.stdout.contains("\nstatus 7\n"), "{ran:?}");
    let namespaces = |when: &str| ran.stdout.lines().find_map(|line| line.strip_prefix(when));
    assert_eq!(namespaces("before:"), namespaces("after:"), "{ran:?}");
    let fastest = ran.stdout.split("rtt min/avg/max/mdev = ").last();
    let fastest = fastest.and_then(|times| times.split('/').next());
    let fastest: f64 = fastest
        .and_then(|ms| ms.parse().ok())
        .expect("ping says its times");
    assert!(fastest >= 40.0, "the path has 40 ms, ping saw {fastest} ms");
}

#[test]
fn a_server_that_serves_for_ever_ends_with_the_command() {
    let Some(ran) = on_a_kernel_with_netem(
        "./run.sh --server 'exec iperf3 -s' 'delay 1ms' -- \
         sh -c 'iperf3 -c $PACELINE_SERVER -n 10k >/dev/null && echo has run'; \
         pgrep -c iperf3; echo status $?",
    ) else {
        return;
    };
    assert!(ran.stdout.contains("has run\n"), "{ran:?}");
    assert!(ran.stdout.contains("\n0\nstatus 1\n"), "{ran:?}");
}

#[test]
fn a_path_that_is_not_as_planned_fails() {
    let said = said_in_a_guest(
        r#"
        ./up.sh --return-link 'delay 5ms' 'delay 20ms' >/dev/null; echo "up: $?"
        tc -n paceline-link qdisc replace dev a0 root netem delay 300ms
        bash -c 'source ./lib.sh; plan "delay 20ms" "delay 5ms"; verify'; echo "slow: $?"
        tc -n paceline-link qdisc replace dev toserver root netem delay 1ms
        tc -n paceline-link qdisc delete dev a0 root
        bash -c 'source ./lib.sh; plan "delay 20ms" "delay 5ms"; verify'; echo "fast: $?"
        tc -n paceline-link qdisc replace dev toserver root netem delay 20ms loss 80%
        bash -c 'source ./lib.sh; plan "delay 20ms loss 1%" ""; verify'; echo "lossy: $?"
        ./shape.sh '' 'delay 7ms' | grep -c netem
        ./shape.sh 'loss 100%' | grep lost; echo "shape: $?"
        ./down.sh; left down $?
        ./shape.sh 'delay 1ms'; left 'no path' $?
        "#,
        &[
            "up: 0",
            "slow: 1",
            "fast: 1",
            "lossy: 1",
            "1",
            "shape: 0",
            "down: 0, 0",
            "no path: 1, 0",
        ],
    );
    let lossy = "pings were lost, but the path loses 1 %";
    for found in ["all pings took", "a ping took", lossy] {
        assert!(
            said.as_ref().is_none_or(|said| said.contains(found)),
            "{found}: {said:?}"
        );
    }
}

#[test]
fn a_kernel_takes_what_the_scripts_had_no_words_for() {
    said_in_a_guest(
        r#"
        ./up.sh '' >/dev/null; echo "up: $?"
        ./shape.sh 'delay 5ms rate 10mbit aqm codel' 'slot 2ms 3ms' | cut -d' ' -f1-2
        ./shape.sh 'rate 8mbit queue 9p policer 1mbit burst 15000b' | cut -d' ' -f1-2
        tc -n paceline-link filter show dev b0 egress | grep -o 'police .* rate [^ ]*' | cut -c1-6
        ./shape.sh '' >/dev/null
        echo "left: $(tc -n paceline-link qdisc show | grep -vc noqueue)"
        ./down.sh
        "#,
        &[
            "up: 0",
            "b0: tbf",
            "b0: codel",
            "toclient: netem",
            "b0: clsact",
            "police",
            "left: 0",
        ],
    );
}

#[test]
fn whatever_ends_a_run_nothing_is_left() {
    said_in_a_guest(
        r#"
        mkdir /run/bin
        printf '#!/bin/sh\ncase "$*" in *-batch*) exit 9; esac; exec %s "$@"\n' \
            "$(command -v tc)" >/run/bin/tc
        chmod +x /run/bin/tc
        PATH=/run/bin:$PATH ./run.sh 'delay 5ms' -- true; left 'run half-way' $?
        ./run.sh 'delay 1ms' -- sh -c 'kill -9 $$' >/dev/null; left 'killed command' $?
        set -m
        for signal in TERM INT; do
            mkfifo /run/$signal
            ./run.sh 'delay 1ms' -- sh -c "echo >/run/$signal; exec sleep 50" >/dev/null & pid=$!
            read <"/run/$signal"
            if [ $signal = INT ]; then kill -INT -- -$pid; else kill -TERM $pid; fi
            wait $pid; left $signal $?
        done
        # Another user may not enter the folder of a clone, and gets a /run of its own.
        cp -r . /dev/scripts && cp "$LINK_RELAY" /dev/scripts/link-relay
        LINK_RELAY=/dev/scripts/link-relay setpriv --reuid 65534 --regid 65534 --clear-groups \
            unshare -rn --wd=/dev/scripts ./run.sh 'delay 1ms' -- id -u; left user $?
        "#,
        &[
            "run half-way: 9, 0",
            "killed command: 137, 0",
            "TERM: 143, 0",
            "INT: 130, 0",
            "user: 0, 0",
        ],
    );
}

/// What commands in a guest say, after it has been found to have each of `lines`; `None` where
/// there is no guest. `left WHAT STATUS` says how many namespaces of ours there are.
fn said_in_a_guest(commands: &str, lines: &[&str]) -> Option<String> {
    const LEFT: &str =
        r#"left() { echo "$1: $2, $(ls /run/netns 2>/dev/null | grep -c '^paceline-')"; }"#;
    let ran = in_a_guest(&format!("{LEFT}\n{commands}"), &[])?;
    for line in lines {
        let is_there = ran.stdout.lines().any(|said| said == *line);
        assert!(is_there, "{line}: {ran:?}");
    }
    Some(ran.stdout)
}

#[test]
fn a_matrix_is_run_over_a_kernels_netem_and_merged() {
    let folder = e2e::programs::scratch_file("netem-matrix");
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    std::fs::write(folder.join("short.toml"), SHORT).expect("the folder is ours");
    let bench_client = e2e::programs::program("bench-client");
    let bench_server = e2e::programs::program("bench-server");
    assert_eq!(bench_client.parent(), bench_server.parent());
    let matrix = format!(
        "{}/matrix.sh --programs {} short.toml --dir cells --csv cells.csv",
        scripts().display(),
        bench_client.parent().expect("it is in a folder").display()
    );
    let place = folder.display();
    let commands = format!("cd {place}; {matrix}; echo first $?; {matrix}; echo again $?");
    let Some(ran) = on_a_kernel_with_netem_writing(&folder, &commands) else {
        return;
    };
    for line in ["first 0", "again 0"] {
        assert!(ran.stdout.lines().any(|said| said == line), "{ran:?}");
    }
    let kept = "2 cells already done, 0 to run";
    assert!(ran.stdout.contains(kept), "{ran:?}");
    let rows = std::fs::read_to_string(folder.join("cells.csv")).expect("it was written");
    assert_eq!(rows.lines().count(), 5, "{rows}");
    check_short(&folder);
    std::fs::remove_dir_all(folder).expect("it is ours");
}

/// Two cells, one in each direction, that a guest can carry in real time.
const SHORT: &str = r#"
    name = "short"
    rounds = 1
    seconds = 2
    omit = 1
    link = "delay {delay} rate 4mbit queue 1bdp"
    direction = "{sender}"
    [axes]
    delay = [{ at = "20ms", sender = "forward" }, { at = "60ms", sender = "reverse" }]
    cc = ["cubic", "bbr3"]
"#;

/// The cells in `folder` make a whole result, whose figures are those of their links.
fn check_short(folder: &Path) {
    let (cells, merged) = (folder.join("cells"), folder.join("merged.json"));
    let arguments = ["matrix", "merge", "--json"].map(OsStr::new).into_iter();
    let arguments = arguments.chain([merged.as_os_str(), cells.as_os_str()]);
    let joined = e2e::programs::run("bench-client", arguments);
    assert_eq!(joined.code, Some(0), "{joined:?}");
    let result = std::fs::read_to_string(merged).expect("it was written");
    let result: serde_json::Value = serde_json::from_str(&result).expect("it is JSON");
    assert_eq!(result["complete"], true);
    assert_eq!(result["network"], true);
    let cells = result["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 2);
    for cell in cells {
        let rtt = cell["base_rtt_ms"].as_f64().expect("a time");
        for variant in cell["variants"].as_array().expect("variants") {
            let median = |metric: &str| variant["summary"][metric]["median"].as_f64();
            // Payload is 95 % of a frame; a guest on a busy machine may carry less.
            let goodput = median("goodput_bits_per_second").expect("a rate");
            assert!((1e6..=3.9e6).contains(&goodput), "{cell}");
            assert!(median("rtt_ms_p50") >= Some(rtt), "{cell}");
        }
    }
}

#[test]
fn a_kernel_with_fq_times_what_the_programs_send() {
    let programs = ["bench-server", "bench-client"].map(e2e::programs::program);
    let [server, client] = programs.map(|program| program.display().to_string());
    let commands = format!(
        r#"
        run() {{ ./run.sh --server '{server} --kernel-pacing auto' 'delay 5ms' -- sh -c "$1
            {client} run \$PACELINE_SERVER -b 20M -t 2 -V --kernel-pacing $2" 2>&1; }}
        run 'tc qdisc replace dev eth0 root fq' on; echo "fq: $?"
        run 'tc qdisc replace dev eth0 root pfifo' auto; echo "pfifo, auto: $?"
        run 'tc qdisc replace dev eth0 root pfifo' on; echo "pfifo, on: $?"
        "#
    );
    let Some(ran) = in_a_guest(&commands, &[]) else {
        return;
    };
    let said = &ran.stdout;
    let (with_fq, without) = said.split_once("\nfq: 0\n").expect(said);
    assert!(with_fq.contains("[  1] kernel pacing\n"), "{said}");
    let (auto, on) = without.split_once("\npfifo, auto: 0\n").expect(said);
    let reason = "leave by device eth0, whose qdisc pfifo keeps no departure times; \
                  run `tc qdisc replace dev eth0 root fq`";
    let goes_on = auto.lines().find(|line| line.contains(reason));
    let begin = "[  1] no kernel pacing: ";
    assert!(
        goes_on.is_some_and(|line| line.starts_with(begin)),
        "{said}"
    );
    assert!(on.contains(reason) && on.contains("pfifo, on: 1"), "{said}");
}

#[test]
fn fq_keeps_a_rate_within_the_promise() {
    let pacing = e2e::programs::example("pacing");
    let commands = format!(
        "ip link set lo up; tc qdisc replace dev lo root fq; {} --kernel 1gbit 1; echo status $?",
        pacing.display()
    );
    let Some(ran) = in_a_guest(&commands, &["--virtual-time".as_ref()]) else {
        return;
    };
    // The rate within 1 %, and no window of time with more than a quantum beyond it.
    let is_kept = ran.stdout.lines().any(|line| line == "status 0");
    assert!(is_kept, "{ran:?}");
}

#[test]
fn a_guest_ends_with_the_script_that_started_it() {
    let mut guest = script("vm.sh");
    guest.args(["--seconds", "300", "sh", "-c", "echo $0 up; sleep 200"]);
    guest.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut guest = guest.spawn().expect("the script is executable");
    let mut line = String::new();
    let stdout = guest.stdout.take().expect("it is piped");
    let mut stdout = BufReader::new(stdout);
    stdout.read_line(&mut line).expect("it prints UTF-8");
    if line.is_empty() {
        let ran = guest.wait_with_output().expect("it was started");
        return skipped(&String::from_utf8_lossy(&ran.stderr));
    }
    let pid = Pid::from_child(&guest);
    kill_process(pid, Signal::TERM).expect("it runs");
    // Until the guest has closed its end, too.
    let rest = stdout.read_to_string(&mut line).expect("it prints UTF-8");
    let ended = guest.wait().expect("it was started");
    assert_eq!(ended.code(), Some(143), "{rest} bytes: {line}");
}

#[test]
fn the_kernels_tcp_is_measured_over_a_link() {
    let csv = std::env::temp_dir().join(format!("paceline-rounds-{}.csv", std::process::id()));
    let measured = output_of(
        script("kernel-tcp.sh")
            .args(["--seconds", "4", "--omit", "1", "--csv"])
            .arg(&csv)
            .arg("delay 20ms rate 5mbit queue 1bdp"),
    );
    if measured.code == Some(2) {
        return skipped(&measured.stderr);
    }
    assert!(measured.success, "{measured:?}");
    for name in ["cubic", "bbr"] {
        let row = measured.stdout.lines().find(|row| row.starts_with(name));
        let cells: Vec<&str> = row.expect("a row each").split_whitespace().collect();
        let mbits: f64 = cells[1].parse().expect("a number");
        // 1,448 of the 1,514 bytes of a frame are payload.
        assert!((4.2..=4.8).contains(&mbits), "{}", measured.stdout);
        assert_eq!(
            cells[1..4],
            [cells[1]; 3],
            "of one round, least and most are the median"
        );
        let rtt: f64 = cells[5].parse().expect("a number");
        assert!((20.0..=45.0).contains(&rtt), "{}", measured.stdout);
    }
    let rows = std::fs::read_to_string(&csv).expect("it was written");
    std::fs::remove_file(csv).expect("it was written");
    assert_eq!(rows.lines().count(), 3, "{rows}");
}

#[test]
fn the_kernels_tcp_is_measured_over_a_trace() {
    let mut measure = script("kernel-tcp.sh");
    measure.args([
        "--link-relay",
        "--cc",
        "cubic",
        "--seconds",
        "4",
        "--omit",
        "1",
    ]);
    let measured = output_of(measure.arg("delay 20ms trace 12mbps queue 1bdp"));
    if measured.code == Some(2) {
        return skipped(&measured.stderr);
    }
    assert!(measured.success, "{measured:?}");
    let row = measured.stdout.lines().find(|row| row.starts_with("cubic"));
    let mbits = row.expect("a row").split_whitespace().nth(1);
    let mbits: f64 = mbits.expect("a goodput").parse().expect("a number");
    // 1,448 bytes each millisecond are 11.6 Mbit/s.
    assert!((10.0..=11.7).contains(&mbits), "{}", measured.stdout);
}

#[test]
fn a_kernels_netem_does_to_packets_what_link_sim_does() {
    let compare = || {
        output_of(
            script("compare.sh")
                .arg("--program")
                .arg(e2e::programs::example("against_netem"))
                .args(["--packets", "5000"])
                .args([
                    "1ms delay 50ms 20ms loss 3% duplicate 1%",
                    "400us delay 20ms 5ms distribution normal rate 20mbit",
                    "1ms delay 10ms reorder 25% gap 5 loss gemodel 1% 10%",
                ]),
        )
    };
    // netem draws other numbers every time, and one comparison in 300 goes beyond its limits by
    // chance alone; two in a row do not.
    let compared = Some(compare()).filter(|ran| ran.code != Some(1));
    let compared = compared.unwrap_or_else(compare);
    if compared.code == Some(2) {
        return skipped(&compared.stderr);
    }
    assert!(compared.success, "{}{}", compared.stdout, compared.stderr);
    assert_eq!(compared.stdout.matches("| lost, % |").count(), 2);
    assert_eq!(compared.stdout.matches("| delay, mean, ms |").count(), 3);
}

/// Runs shell commands in `netem-scripts` here or, where this kernel has no netem, in a guest;
/// `None` when there is no guest either.
fn on_a_kernel_with_netem(commands: &str) -> Option<Ran> {
    here_or_in_a_guest(commands, &[])
}

/// The same with a folder that the guest may write to.
fn on_a_kernel_with_netem_writing(folder: &Path, commands: &str) -> Option<Ran> {
    here_or_in_a_guest(commands, &["--writable".as_ref(), folder.as_os_str()])
}

fn here_or_in_a_guest(commands: &str, options: &[&OsStr]) -> Option<Ran> {
    if output_of(script("up.sh").arg("--check")).success {
        let mut shell = Command::new("bash");
        return Some(output_of(
            shell
                .args(["-c", commands])
                .env("LINK_RELAY", e2e::programs::program("link-relay"))
                .current_dir(scripts()),
        ));
    }
    in_a_guest(commands, options)
}

/// In a guest, where everybody is root; `None` when there is none.
fn in_a_guest(commands: &str, options: &[&OsStr]) -> Option<Ran> {
    let mut guest = script("vm.sh");
    guest.args(options);
    guest.args(["--seconds", "600", "bash", "-c", commands]);
    let ran = output_of(guest.current_dir(scripts()));
    if ran.code != Some(2) {
        return Some(ran);
    }
    skipped(&ran.stderr);
    None
}

fn skipped(reason: &str) {
    e2e::skipped(&format!("no real netem: {}", reason.trim()));
}
