//! What programs that serve others do when what they write is taken no more: they go on.

use crate::robust::client;
use e2e::programs::{Running, bench_server, port_at_end, program, scratch_file};
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, UdpSocket};
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn a_relay_whose_reader_has_gone_goes_on() {
    let server = socket();
    let mut relay = Command::new(program("link-relay"))
        .args(["--listen", "127.0.0.1:0", "-i", "0.1", "--to"])
        .arg(server.local_addr().unwrap().to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut heading = String::new();
    let mut reader = BufReader::new(relay.stdout.take().unwrap());
    reader.read_line(&mut heading).unwrap();
    drop(reader);
    let port = port_at_end(heading.split(" to ").next().unwrap());
    let one = socket();
    for _ in 0..10 {
        cross(&one, &server, port);
        std::thread::park_timeout(Duration::from_millis(50));
    }
    let id = rustix::process::Pid::from_child(&relay);
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    assert_eq!(relay.wait().unwrap().code(), Some(0));
}

#[test]
fn a_relay_whose_figures_the_disk_does_not_take_goes_on_and_says_so() {
    let (server, free) = (socket(), socket());
    let port = free.local_addr().unwrap().port();
    drop(free);
    let (listen, to) = (format!("127.0.0.1:{port}"), server.local_addr().unwrap());
    let script = "exec \"$0\" --listen \"$1\" --to \"$2\" -i 0.1 >/dev/full";
    let relay = program("link-relay");
    let arguments = [relay.to_str().unwrap(), &listen, &to.to_string()];
    let mut relay = Running::start_system("sh", [&["-c", script], &arguments[..]].concat());
    let why = "standard output: No space left on device";
    relay.note_with(&format!("figures are lost, the relay goes on: {why}"));
    let one = socket();
    for _ in 0..10 {
        cross(&one, &server, port);
        std::thread::park_timeout(Duration::from_millis(50));
    }
    relay.interrupt();
    let ended = relay.wait();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(
        ended.stderr.matches("figures are lost").count(),
        1,
        "{ended:?}"
    );
    assert!(
        ended.stderr.ends_with(&format!("error: {why}\n")),
        "{ended:?}"
    );
}

#[test]
fn a_server_whose_log_the_disk_does_not_take_goes_on_and_says_so() {
    let (server, port) = bench_server(&["--logfile", "/dev/full"]);
    for _ in 0..2 {
        let ended = client(port, &["-n", "1M"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    server.terminate();
    let ended = server.wait();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let told = "No space left on device; rest saved to ";
    let (_, path) = ended.stderr.split_once(told).expect(&ended.stderr);
    let path = path.split(" instead").next().unwrap();
    let rest = std::fs::read_to_string(path).unwrap();
    std::fs::remove_file(path).unwrap();
    assert_eq!(rest.matches("Accepted connection").count(), 2, "{rest}");
}

#[test]
fn a_disk_that_does_not_take_a_qlog_costs_neither_side_the_run() {
    let folder = scratch_file("full");
    std::fs::create_dir_all(&folder).unwrap();
    // Enough for the first kilobytes of each.
    let script = "mount -t tmpfs -o size=16k none \"$0\" && exec \"$@\"";
    let on_small_disk = |command: &[&str]| {
        let folder = folder.to_str().unwrap();
        let place = ["-r", "-m", "sh", "-c", script, folder];
        let words = [&place, command].concat();
        words.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let is_possible = Command::new("unshare")
        .args(on_small_disk(&["true"]))
        .output();
    if !is_possible.is_ok_and(|output| output.status.success()) {
        return e2e::skipped("no file system of a test's own: unprivileged namespaces are off");
    }
    let (server, client) = (program("bench-server"), program("bench-client"));
    let folder = folder.to_str().unwrap();
    let server = [
        server.to_str().unwrap(),
        "--bind",
        "127.0.0.1",
        "--port",
        "0",
        "--qlog",
        folder,
    ];
    let mut server = Running::start_system("unshare", on_small_disk(&server));
    let port = port_at_end(&server.line_with("listening on UDP 127.0.0.1:"));
    let to = format!("127.0.0.1:{port}");
    let client = [
        client.to_str().unwrap(),
        "run",
        &to,
        "-n",
        "20M",
        "--qlog",
        folder,
    ];
    let ended = Running::start_system("unshare", on_small_disk(&client)).wait();
    server.terminate();
    for ended in [ended, server.wait()] {
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let told = format!("warning: --qlog {folder}: No space left on device");
        assert!(ended.stderr.contains(&told), "{ended:?}");
    }
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let limit = Some(Duration::from_secs(30));
    socket.set_read_timeout(limit).unwrap();
    socket
}

/// A datagram through the relay.
fn cross(client: &UdpSocket, server: &UdpSocket, port: u16) {
    client.send_to(b"!", (Ipv4Addr::LOCALHOST, port)).unwrap();
    let mut buffer = [0; 8];
    assert_eq!(server.recv(&mut buffer).unwrap(), 1);
}
