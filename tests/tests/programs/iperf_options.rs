//! Options of iperf3's that need more than the program itself: ports, cores, traffic classes, and
//! servers that are busy.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use e2e::programs::{Ended, Running, bench_server, port_at_end, run, scratch_file};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::net::UdpSocket;

#[test]
fn connections_have_the_ports_that_were_asked_for() {
    let (_server, port) = bench_server(&[]);
    let first = two_free_ports();
    let flags = ["-n", "1M", "--connections", "2", "-J", "--cport"];
    let ended = client(port, &[&flags[..], &[&first.to_string()]].concat());
    let result = parse(&ended.stdout);
    let connected = result["start"]["connected"].as_array().unwrap();
    let ports: Vec<u64> = connected
        .iter()
        .map(|end| end["local_port"].as_u64().unwrap())
        .collect();
    assert_eq!(ports, [u64::from(first), u64::from(first) + 1]);

    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    let taken = socket.local_addr().unwrap().port().to_string();
    let refused = ended_with(port, &["-n", "1M", "--cport", &taken]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let why = format!("port {taken}: another program uses this port; end it");
    assert!(refused.stderr.contains(&why), "{refused:?}");
    assert!(
        refused.stderr.contains("use another --cport"),
        "{refused:?}"
    );
}

/// The first of two that were free a moment ago.
fn two_free_ports() -> u16 {
    let pair = || {
        let first = UdpSocket::bind("0.0.0.0:0").ok()?;
        let port = first.local_addr().ok()?.port();
        UdpSocket::bind(("0.0.0.0", port.checked_add(1)?)).ok()?;
        Some(port)
    };
    let found = (0..100).find_map(|_| pair());
    found.expect("two ports are free somewhere")
}

#[test]
fn ports_that_cannot_be_are_refused_before_anything_is_sent() {
    let refused = ended_with(9, &["--cport", "65535", "--connections", "2"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("use 65534 or less"), "{refused:?}");
}

#[test]
fn a_program_keeps_to_its_core_and_names_those_there_are() {
    let (_server, port) = bench_server(&["-A", "0"]);
    let flags = ["-n", "1M", "-A", "0", "-V"];
    let ended = client(port, &flags);
    let cpu = ended
        .stdout
        .lines()
        .find(|line| line.starts_with("CPU Utilization: "));
    let cpu = cpu.unwrap_or_else(|| panic!("{ended:?}"));
    assert!(
        cpu.contains("local/sender") && cpu.contains("remote/receiver"),
        "{cpu}"
    );
    for program in ["bench-client", "bench-server"] {
        let args: &[&str] = match program {
            "bench-client" => &["run", "127.0.0.1", "-A", "1023"],
            _ => &["-A", "1023"],
        };
        let refused = run(program, args);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(
            refused.stderr.contains("may not run on core 1023"),
            "{refused:?}"
        );
        assert!(refused.stderr.contains("; use 0"), "{refused:?}");
    }
}

/// What `script` gives a program is a terminal.
#[cfg(target_os = "linux")]
#[test]
fn every_line_of_a_verbose_run_fits_the_terminal() {
    use bench_report::table::{Columns, detail_header, interval_header};

    let (_server, port) = bench_server(&[]);
    let client = e2e::programs::program("bench-client");
    for (columns, options) in [(80, "-P 2"), (80, "--bidir"), (80, "-u"), (200, "")] {
        let command = format!(
            "stty cols {columns}; exec {} run 127.0.0.1 -p {port} -t 2 -b 8M -V {options}",
            client.display()
        );
        let terminal = Running::start_system("script", ["-qec", &command, "/dev/null"]);
        let shown = terminal.wait();
        assert_eq!(shown.code, Some(0), "{shown:?}");
        let mut lines = shown.stdout.lines().map(|line| line.trim_end());
        let long = lines.clone().find(|line| line.chars().count() > columns);
        assert_eq!(long, None, "{options}");
        let heads = lines.find(|line| line.contains("MinRTT"));
        match (options, columns) {
            ("-u", _) => assert_eq!(heads, None, "{shown:?}"),
            (_, 80) => assert_eq!(
                heads,
                Some(detail_header().as_str()),
                "{options}: {shown:?}"
            ),
            _ => assert_eq!(heads, Some(interval_header(Columns::Full).as_str())),
        }
    }
}

#[test]
fn both_sides_say_how_much_of_their_time_was_the_systems() {
    let (_server, port) = bench_server(&[]);
    let result = parse(&client(port, &["-n", "200M", "-J"]).stdout);
    let cpu = &result["end"]["cpu_utilization_percent"];
    for side in ["host", "remote"] {
        let figure = |part: &str| cpu[format!("{side}_{part}")].as_f64().unwrap();
        let parts = figure("user") + figure("system");
        assert!((parts - figure("total")).abs() < 1e-6, "{cpu}");
        assert!(figure("system") > 0.0, "{cpu}");
    }
}

#[test]
fn the_sender_counts_what_has_left_and_not_its_buffer() {
    let (_server, port) = bench_server(&[]);
    let flags = ["-t", "1", "-C", "fixed:rate=4mbit", "-J"];
    let result = parse(&client(port, &flags).stdout);
    let bytes = |row: &str| result["end"][row]["bytes"].as_u64().unwrap();
    let (sent, received) = (bytes("sum_sent"), bytes("sum_received"));
    // Half a megabyte in all; the send buffer has more.
    assert!(received > 300_000, "{received}");
    // Each side counts a second of its own, and the two may end a burst apart.
    let burst = 2 * 1_472;
    assert!(
        (received - burst..received + 60_000).contains(&sent),
        "{sent} sent, {received} received"
    );
}

#[test]
fn a_file_is_sent_or_received_for_no_longer_than_the_time() {
    let (_server, port) = bench_server(&[]);
    let [sent, received] = ["timed.bin", "timed-received.bin"].map(scratch_file);
    std::fs::write(&sent, vec![7; 3 << 20]).unwrap();
    let [sent, into] = [&sent, &received].map(|file| file.to_str().unwrap());
    let whole = client(port, &["-F", sent, "-t", "20"]);
    assert!(whole.stdout.contains("SHA-256 at both ends: "), "{whole:?}");
    // A third of it.
    let second = ["-t", "1", "-b", "8M"];
    let cut = client(port, &[&["-F", sent], &second[..]].concat());
    let line = cut
        .stdout
        .lines()
        .find(|line| line.starts_with("-t was over first: "));
    assert!(
        line.is_some_and(|line| line.ends_with(" of the file's 3.00 MBytes arrived")),
        "{cut:?}"
    );
    assert!(!cut.stdout.contains("SHA-256"), "{cut:?}");

    client(port, &[&["-R", "-F", into], &second[..]].concat());
    let length = std::fs::metadata(&received).unwrap().len();
    assert!((300_000..1_500_000).contains(&length), "{length}");
    let unknown = ended_with(port, &["-R", "-F", into]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    assert!(
        unknown
            .stderr
            .contains("give it with -n, or a time with -t"),
        "{unknown:?}"
    );
}

#[test]
fn runs_beyond_those_a_server_takes_wait_for_their_turn_or_are_refused() {
    let (_server, port) = bench_server(&["--max-runs", "1"]);
    let server = format!("127.0.0.1:{port}");
    let long = [
        "run",
        &server,
        "-t",
        "3",
        "--connections",
        "2",
        "--wait",
        "10",
    ];
    let mut first = Running::start("bench-client", long);
    first.line_with("connected to");
    let refused = ended_with(port, &["-n", "1M"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused
            .stderr
            .contains("refused the run: busy with 1 run, as many as it takes; try again"),
        "{refused:?}"
    );
    let flags = ["-n", "1M", "-J", "--connections", "2", "--wait", "30"];
    let waited = client(port, &flags);
    assert!(
        waited
            .stderr
            .contains("The server is busy; waiting for 1 run to end."),
        "{waited:?}"
    );
    assert_eq!(
        parse(&waited.stdout)["end"]["sum_received"]["bytes"],
        1 << 20
    );
    assert_eq!(first.wait().code, Some(0));
}

#[test]
fn the_rounds_of_a_comparison_wait_for_their_turns_or_are_refused() {
    let (_server, port) = bench_server(&["--max-runs", "1"]);
    let server = format!("127.0.0.1:{port}");
    let mut first = Running::start("bench-client", ["run", &server, "-t", "3"]);
    first.line_with("connected to");
    let flags = ["-n", "100K", "--rounds", "1", "--no-report", "-J"];
    let ab = |more: &[&str]| {
        run(
            "bench-client",
            [&["ab", &server], &flags[..], more].concat(),
        )
    };
    let refused = ab(&[]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("--wait 60s"), "{refused:?}");
    let waited = ab(&["--wait", "30"]);
    assert_eq!(waited.code, Some(0), "{waited:?}");
    assert!(
        waited
            .stderr
            .contains("The server is busy; waiting for 1 run to end."),
        "{waited:?}"
    );
    assert_eq!(first.wait().code, Some(0));
}

#[test]
fn a_server_in_the_background_is_ready_when_it_returns_and_ends_by_its_number() {
    let (pid_file, log) = (scratch_file("server.pid"), scratch_file("server.log"));
    let [pid_path, log_path] = [&pid_file, &log].map(|file| file.to_str().unwrap());
    let flags = ["-D", "-B", "127.0.0.1", "-I", pid_path, "-p"];
    // A file of another kind would be replaced, and be gone at the end.
    std::fs::write(&pid_file, "a key\n").unwrap();
    for (more, why) in [
        (&["0"][..], "something else than a process's number"),
        (&["0", "--logfile", pid_path], "the file of --logfile"),
    ] {
        let refused = run("bench-server", [&flags[..], more].concat());
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.stderr.contains(why), "{refused:?}");
    }
    assert_eq!(std::fs::read_to_string(&pid_file).unwrap(), "a key\n");
    std::fs::remove_file(&pid_file).unwrap();
    let started = run(
        "bench-server",
        [&flags[..], &["0", "--logfile", log_path]].concat(),
    );
    assert_eq!(started.code, Some(0), "{started:?}");
    let pid = std::fs::read_to_string(&pid_file).unwrap();
    let server = InBackground(Pid::from_raw(pid.trim().parse().unwrap()).unwrap());
    let mut lines = started.stdout.lines();
    let line = lines.find(|line| line.starts_with("Server listening on UDP "));
    let port = port_at_end(line.unwrap_or_else(|| panic!("{started:?}")));
    client(port, &["-n", "1M"]);

    // Another one cannot have its port, says so, and leaves the first one's file alone.
    let refused = run("bench-server", [&flags[..], &[&port.to_string()]].concat());
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused.stderr.contains("another program uses this port"),
        "{refused:?}"
    );

    kill_process(server.0, Signal::TERM).unwrap();
    let pid = server.0.as_raw_nonzero().to_string();
    let until_it_ends = ["--pid", &pid, "-f", "/dev/null"];
    let ended = Running::start_system("tail", until_it_ends).wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    std::mem::forget(server);
    assert!(!pid_file.exists(), "{started:?}");
    let log = std::fs::read_to_string(&log).unwrap();
    assert!(log.contains("Server listening on UDP 127.0.0.1:"), "{log}");
    let client = "1.00 MBytes";
    assert!(log.contains(client), "{log}");
}

/// Killed when it is dropped, if it still runs.
struct InBackground(Pid);

impl Drop for InBackground {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::KILL);
    }
}

fn ended_with(port: u16, flags: &[&str]) -> Ended {
    let server = format!("127.0.0.1:{port}");
    run("bench-client", [&["run", server.as_str()], flags].concat())
}

/// A run that succeeds.
fn client(port: u16, flags: &[&str]) -> Ended {
    let ended = ended_with(port, flags);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended
}

fn parse(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}:\n{json}"))
}

/// What passes through has a traffic class, which a forwarder between the two reads.
#[cfg(target_os = "linux")]
mod traffic_class {
    use super::{bench_server, client, parse};
    use nix::sys::socket::sockopt::IpRecvTos;
    use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt};
    use std::collections::BTreeSet;
    use std::io::IoSliceMut;
    use std::net::{SocketAddr, UdpSocket};
    use std::os::fd::AsRawFd as _;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    /// The DSCPs that came from the client, and from the server.
    type Seen = Arc<[Mutex<BTreeSet<u8>>; 2]>;

    /// A packet, where it came from, and its traffic class; `None` when none comes for a while.
    fn receive(socket: &UdpSocket, memory: &mut [u8]) -> Option<(usize, SocketAddr, u8)> {
        let mut contents = [IoSliceMut::new(memory)];
        let mut space = nix::cmsg_space!(i32);
        let fd = socket.as_raw_fd();
        let received =
            recvmsg::<SockaddrStorage>(fd, &mut contents, Some(&mut space), MsgFlags::empty());
        let received = received.ok()?;
        let from = received.address.unwrap();
        let from = from.as_sockaddr_in().unwrap();
        let tos = received.cmsgs().unwrap().find_map(|message| match message {
            ControlMessageOwned::Ipv4Tos(tos) => Some(tos),
            _ => None,
        });
        let from = SocketAddr::new(from.ip().into(), from.port());
        Some((received.bytes, from, tos.unwrap()))
    }

    /// Forwards between its own port, which it returns, and the server's, until nothing comes.
    fn forwarder(server: u16, seen: &Seen) -> u16 {
        let sockets = [(); 2].map(|()| {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            setsockopt(&socket, IpRecvTos, &true).unwrap();
            socket
                .set_read_timeout(Some(Duration::from_secs(10)))
                .unwrap();
            Arc::new(socket)
        });
        let port = sockets[0].local_addr().unwrap().port();
        sockets[1].connect(("127.0.0.1", server)).unwrap();
        let client = Arc::new(Mutex::new(None));
        for place in [0, 1] {
            let (sockets, seen, client) = (sockets.clone(), Arc::clone(seen), Arc::clone(&client));
            std::thread::spawn(move || {
                let mut memory = [0; 65_535];
                while let Some((length, from, tos)) = receive(&sockets[place], &mut memory) {
                    seen[place].lock().unwrap().insert(tos >> 2);
                    let packet = &memory[..length];
                    if place == 0 {
                        *client.lock().unwrap() = Some(from);
                        let _ = sockets[1].send(packet);
                    } else if let Some(to) = *client.lock().unwrap() {
                        let _ = sockets[0].send_to(packet, to);
                    }
                }
            });
        }
        port
    }

    #[test]
    fn both_sides_mark_their_packets() {
        let (_server, port) = bench_server(&[]);
        let seen = Seen::default();
        let through = forwarder(port, &seen);
        let flags = ["-n", "200K", "-R", "-J", "--dscp", "af41"];
        let result = parse(&client(through, &flags).stdout);
        assert_eq!(result["start"]["test_start"]["tos"], 34 << 2);
        let [of_client, of_server] = &*seen;
        assert_eq!(*of_client.lock().unwrap(), [34].into());
        // Its first packets are from before it knew.
        assert_eq!(*of_server.lock().unwrap(), [0, 34].into());
    }
}
