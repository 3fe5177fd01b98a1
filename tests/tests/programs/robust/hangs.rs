//! Peers that refuse, take next to nothing, or stop in the midst of a run: whatever a program is
//! doing, it ends within a second of being asked to, and a server goes on serving others.

mod peers;

use crate::robust::{client, start_client};
use bench_kit::clock;
use e2e::programs::{Ended, Running, bench_server, program, scratch_file};
use peers::{Client, Server, Stop, narrowing};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs::OpenOptions;
use std::io::Read as _;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// All that a client can do for a minute.
const MODES: [&[&str]; 12] = [
    &[],
    &["-R"],
    &["--bidir"],
    &["-P", "4", "--connections", "2"],
    &["-u"],
    &["-u", "-b", "0"],
    &["-u", "-b", "0", "-R"],
    &["-u", "-b", "0", "--bidir"],
    &["--ping"],
    &["--rpm"],
    &["-u", "--source", "video:2mbit,30fps,key=2s"],
    &["-u", "--source", "video:2mbit,30fps,key=2s", "--bidir"],
];

#[test]
fn a_client_ends_when_it_is_asked_to_whatever_its_server_does() {
    for stop in Stop::ALL {
        let server = Server::start(stop);
        let clients = MODES.map(|mode| {
            let flags = [&["-t", "60", "--idle-timeout", "60"], mode].concat();
            start_client(server.port, &flags)
        });
        check_ends(stop, clients.into());
    }
}

#[test]
fn a_client_of_perf_ends_when_it_is_asked_to() {
    let server = Server::start(Stop::AfterHandshake);
    let clients = [&[][..], &["-R"], &["--bidir"]].map(|mode| {
        let flags = [&["-t", "60", "--perf", "--idle-timeout", "60"], mode].concat();
        start_client(server.port, &flags)
    });
    check_ends(Stop::AfterHandshake, clients.into());
}

#[test]
fn a_server_ends_when_it_is_asked_to_whatever_its_clients_do() {
    let (server, port) = bench_server(&["--idle-timeout", "60"]);
    let clients = Client::all(port);
    assert_eq!(
        client(port, &["-n", "1M"]).code,
        Some(0),
        "others are served"
    );
    let (ended, took) = ended_after(server, Running::terminate);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(took < LIMIT, "{took:?}: {ended:?}");
    drop(clients);
}

#[test]
fn a_client_whose_disk_does_not_answer_ends_when_it_is_asked_to() {
    // A pipe that nobody reads stands for it: writing blocks the thread of the run.
    let pipe = scratch_file("disk");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let unread = OpenOptions::new()
        .read(true)
        .custom_flags(nonblocking)
        .open(&pipe)
        .unwrap();
    let (_server, port) = bench_server(&[]);
    let flags = ["-R", "-n", "100M", "-F", pipe.to_str().unwrap()];
    let client = start_client(port, &flags);
    pause(Duration::from_secs(2));
    let (ended, took) = ended_after(client, Running::terminate);
    assert_eq!(ended.code, Some(143), "{ended:?}");
    assert!(
        ended.stderr.contains("the run did not end within"),
        "{ended:?}"
    );
    assert!(took < LIMIT, "{took:?}: {ended:?}");
    drop(unread);
}

#[test]
fn a_relay_whose_output_nobody_reads_ends_when_it_is_asked_to() {
    let (unread, full) = std::io::pipe().unwrap();
    rustix::io::ioctl_fionbio(&full, true).unwrap();
    while rustix::io::write(&full, &[b' '; 4_096]).is_ok() {}
    rustix::io::ioctl_fionbio(&full, false).unwrap();
    let mut relay = Command::new(program("link-relay"))
        .args(["--listen", "127.0.0.1:0", "--to", "127.0.0.1:9"])
        .stdin(Stdio::null())
        .stdout(full)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    pause(Duration::from_secs(1));
    let id = rustix::process::Pid::from_child(&relay);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    let asked = clock::now();
    let mut told = String::new();
    let ended = thread::spawn(move || {
        let stderr = relay.stderr.as_mut().unwrap();
        stderr.read_to_string(&mut told).unwrap();
        (relay.wait().unwrap(), told)
    });
    while !ended.is_finished() && asked.elapsed() < LIMIT {
        pause(Duration::from_millis(10));
    }
    let is_ended = ended.is_finished();
    if !is_ended {
        rustix::process::kill_process(id, rustix::process::Signal::KILL).unwrap();
    }
    let (status, told) = ended.join().unwrap();
    assert!(is_ended, "the relay did not end within {LIMIT:?}");
    assert_eq!(status.code(), Some(143), "{told}");
    assert!(
        told.contains("error: interrupted, and the totals could not be written"),
        "{told}"
    );
    drop(unread);
}

#[test]
fn datagrams_over_a_path_that_becomes_too_narrow_hang_neither_side() {
    let (server, port) = bench_server(&[]);
    let narrow = [&[][..], &["-R"], &["--bidir"]].map(|direction| {
        let path = narrowing(port, Duration::from_secs(2));
        let flags = [&["-u", "-b", "0", "-l", "1350", "-t", "20"], direction].concat();
        start_client(path, &flags)
    });
    for client in narrow {
        let ended = client.wait();
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let told = "datagrams of 1350 bytes too large for this path; use -l ";
        assert!(ended.stderr.contains(told), "{ended:?}");
    }
    let (ended, took) = ended_after(server, Running::terminate);
    assert!(took < LIMIT, "{took:?}: {ended:?}");
}

#[test]
fn a_path_that_becomes_too_narrow_is_that_of_its_client_alone() {
    let sockets = [0; 3].map(|port| UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).unwrap());
    let [server, client, other] = &sockets;
    for socket in &sockets {
        socket.set_read_timeout(Some(LIMIT)).unwrap();
    }
    let path = narrowing(server.local_addr().unwrap().port(), LIMIT);
    let path = (Ipv4Addr::LOCALHOST, path);
    let mut room = [0; 10];
    for (socket, datagram) in [(client, &b"first"[..]), (other, &[]), (client, b"second")] {
        socket.send_to(datagram, path).unwrap();
    }
    let length = server.recv(&mut room).unwrap();
    assert_eq!(&room[..length], b"first");
    let (length, back) = server.recv_from(&mut room).unwrap();
    assert_eq!(&room[..length], b"second");
    server.send_to(b"answer", back).unwrap();
    let length = client.recv(&mut room).unwrap();
    assert_eq!(&room[..length], b"answer");
}

/// Every one of these is asked to end while it runs.
fn check_ends(stop: Stop, clients: Vec<Running>) {
    // Some have ended by then: their server has refused them, or takes no datagrams.
    pause(Duration::from_secs(2));
    let ends = clients.into_iter().map(|client| {
        client.terminate();
        let asked = clock::now();
        thread::spawn(move || (client.wait(), asked.elapsed()))
    });
    let ends: Vec<_> = ends.collect();
    for (mode, end) in ends.into_iter().enumerate() {
        let (ended, took) = end.join().unwrap();
        println!("{stop:?}, mode {mode}: {took:?} {:?}", ended.code);
        assert_eq!(ended.code, Some(1), "{stop:?}, mode {mode}: {ended:?}");
        assert!(took < LIMIT, "{stop:?}, mode {mode}: {took:?}: {ended:?}");
    }
}

fn ended_after(program: Running, ask: fn(&Running)) -> (Ended, Duration) {
    ask(&program);
    let asked = clock::now();
    (program.wait(), asked.elapsed())
}

fn pause(time: Duration) {
    let until = clock::now() + time;
    while let Some(left) = until.checked_duration_since(clock::now()) {
        thread::park_timeout(left);
    }
}

/// The second that a program has, and another one for a busy machine.
const LIMIT: Duration = Duration::from_secs(2);
