//! Clients that come, go, crash and cheat, all at once and over and over: the others get what they
//! asked for, and the server is afterwards what it was before.

use crate::robust::lies::{lie_to_server, on_a_thread, plan};
use crate::robust::{client, parse, start_client};
use bench_kit::clock;
use bench_kit::plan::Direction;
use bench_kit::wire::{ALPN, Request, write_message};
use e2e::programs::{bench_server, scratch_file};
use paceline::{
    ArrivedDatagrams, Connection, DatagramBatch, DatagramSocket, Endpoint, VarInt, tls,
};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};
use units::Rng;

/// `just siege` makes it 1,000 clients for an hour.
#[test]
fn a_server_is_as_before_after_clients_that_come_go_crash_and_cheat() {
    let asked = |name, default: u64| {
        let text = std::env::var(name).ok();
        text.map_or(default, |text| text.parse().unwrap())
    };
    let seconds = asked("PACELINE_SIEGE_SECONDS", 6);
    let clients = asked("PACELINE_SIEGE_CLIENTS", 40);
    // Who has crashed keeps a place until the idle timeout. That is a handshake's, too: where the
    // kernel drops datagrams for want of room, two flights in a row are lost now and then, and the
    // third leaves after 3 s (RFC 9002 §6.2.2).
    let most = (20 * clients).to_string();
    let idle_timeout = IDLE_TIMEOUT.as_secs().to_string();
    let flags = [
        "--idle-timeout",
        &idle_timeout,
        "--max-connections",
        &most,
        "--max-per-second",
        "65536",
    ];
    let (server, port) = bench_server(&[&flags[..], &["--max-window", "4M"]].concat());
    let until = clock::now() + Duration::from_secs(seconds);
    let (sender, counts) = mpsc::channel();
    // Tasks of few threads: there are as many clients as there are, not as many programs.
    for part in 0..THREADS {
        let sender = sender.clone();
        on_a_thread(async move {
            // They would have machines of their own: here they have what the others leave.
            let _ = rustix::process::nice(19);
            let hostile = (part..clients).step_by(THREADS as usize);
            let tasks = hostile.map(|number| tokio::spawn(besiege(port, number, until)));
            let mut count = 0;
            for task in tasks.collect::<Vec<_>>() {
                count += task
                    .await
                    .expect("no reply of a server makes a client panic");
            }
            sender.send(count).unwrap();
        });
    }
    let honest = thread::spawn(move || {
        let mut runs = 0;
        while clock::now() < until {
            check_honest(port, runs);
            runs += 1;
        }
        runs
    });
    let memory = watch(server.id(), port, until, &honest);
    let honest = honest.join().unwrap();
    let hostile: u64 = (0..THREADS).map(|_| counts.recv().unwrap()).sum();
    println!("{seconds} s, {clients} clients: {hostile} came, {honest} honest; {memory:?} KiB");
    assert!(honest > 0 && hostile > clients, "{hostile} and {honest}");
    let [warm, most] = memory;
    assert!(
        most <= warm + warm / 10 + SLACK,
        "{warm} KiB, then {most} KiB"
    );

    let ended = client(port, &["-n", "1M", "-w", "4M"]);
    assert_eq!(ended.code, Some(0), "others are served: {ended:?}");
    server.terminate();
    let ended = server.wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(!ended.stderr.contains("bug in"), "{}", ended.stderr);
    let shed = ended.stdout.lines().find(|line| line.contains("Dropped "));
    println!("{}", shed.unwrap_or("No first packet was dropped"));
}

/// A program that moves two megabytes, of which not one is missing; each fourth is killed.
fn check_honest(port: u16, number: u64) {
    let patient = ["-w", "4M", "--connect-timeout", "30s"];
    if number % 4 == 3 {
        let flags = [&["-t", "60", "-i", "0.1"], &patient[..]].concat();
        let mut client = start_client(port, &flags);
        client.line_with(" sec ");
        return client.kill();
    }
    let directory = scratch_file("siege-qlog");
    let qlog = directory.to_string_lossy();
    let mut flags = [
        &["-J", "-i", "0", "-n", "2M", "--qlog", &qlog],
        &patient[..],
    ]
    .concat();
    if !number.is_multiple_of(2) {
        flags.push("-R");
    }
    let ended = client(port, &flags);
    if ended.code != Some(0) {
        panic!("{ended:?}; what it has seen: {}", end_of_logs(&directory));
    }
    let _ = std::fs::remove_dir_all(&directory);
    let result = parse(&ended.stdout);
    assert_eq!(result["complete"], true);
    for sum in ["sum_sent", "sum_received"] {
        assert_eq!(result["end"][sum]["bytes"], 2 << 20, "{sum} of {result}");
    }
}

/// The last kilobytes of the logs in `directory`.
fn end_of_logs(directory: &Path) -> String {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let logs = entries.filter_map(|entry| std::fs::read_to_string(entry.path()).ok());
    let ends = logs.map(|log| {
        let from = log
            .char_indices()
            .rev()
            .nth(LOG_END)
            .map_or(0, |(at, _)| at);
        log[from..].to_owned()
    });
    ends.collect::<Vec<_>>().join("\n")
}

/// Comes again until the time is over; how often.
async fn besiege(port: u16, number: u64, until: Instant) -> u64 {
    let mut rng = Rng::derive(e2e::seed::choose(1, "siege"), number);
    let mut count = 0;
    while clock::now() < until {
        let seed = rng.next_u64() >> 1;
        let kind = rng.below(5);
        let come = async {
            match kind {
                0 => drop(lie_to_server(port, seed).await),
                1 => drop(go(port, seed).await),
                CRASH => drop(crash(port, seed).await),
                3 => drop(reset(port).await),
                _ => shout(port, seed),
            }
        };
        let _ = timeout(Duration::from_secs(5), come).await;
        count += 1;
        // The server holds one connection of each client, however much CPU time the clients get.
        if kind == CRASH {
            let rest = until.saturating_duration_since(clock::now());
            sleep(IDLE_TIMEOUT.min(rest)).await;
        }
        sleep(Duration::from_millis(100 + number % 50)).await;
    }
    count
}

async fn connect(port: u16) -> Option<(Endpoint, Connection)> {
    let endpoint = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).ok()?;
    let tls = tls::client_without_verification().alpn(&[ALPN]);
    let server = (Ipv4Addr::LOCALHOST, port).into();
    let connecting = endpoint.connect_with(tls.config().ok()?, server, "localhost");
    let connection = connecting.ok()?.await.ok()?;
    Some((endpoint, connection))
}

/// Comes, asks for nothing, and goes.
async fn go(port: u16, seed: u64) -> Option<()> {
    let (_endpoint, connection) = connect(port).await?;
    sleep(Duration::from_millis(seed % 2_000)).await;
    connection.close(VarInt::from_u32(0), b"");
    Some(())
}

/// Asks for a run, and is heard of no more.
async fn crash(port: u16, seed: u64) -> Option<()> {
    let (endpoint, connection) = connect(port).await?;
    let (mut send, _receive) = connection.open_bi().await.ok()?;
    let run = plan(Direction::Both, seed);
    write_message(&mut send, &Request::Run(Box::new(run)))
        .await
        .ok()?;
    sleep(Duration::from_millis(seed % 500)).await;
    let silent = Arc::new(Silent(endpoint.local_addr().ok()?));
    endpoint.rebind_with_socket(silent).ok()
}

/// Opens streams and gives them up at once.
async fn reset(port: u16) -> Option<()> {
    let (_endpoint, connection) = connect(port).await?;
    for _ in 0..500 {
        let Ok(opened) = timeout(Duration::from_millis(100), connection.open_bi()).await else {
            return None;
        };
        let (mut send, mut receive) = opened.ok()?;
        let _ = send.write(b"\0\0\0\x02{}").await;
        let _ = send.reset(VarInt::from_u32(1));
        let _ = receive.stop(VarInt::from_u32(1));
    }
    Some(())
}

/// Datagrams of nothing that QUIC knows.
fn shout(port: u16, seed: u64) {
    let mut rng = Rng::new(seed);
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    for _ in 0..100 {
        let mut datagram = [0; 1_200];
        datagram.fill_with(|| rng.next_u64() as u8);
        let _ = socket.send_to(&datagram, (Ipv4Addr::LOCALHOST, port));
    }
}

/// A socket that neither sends nor receives.
#[derive(Debug)]
struct Silent(SocketAddr);

impl DatagramSocket for Silent {
    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.0)
    }

    fn try_send(&self, _: &DatagramBatch<'_>) -> io::Result<()> {
        Ok(())
    }

    fn poll_writable(&self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    fn poll_recv(&self, _: &mut Context<'_>, _: &mut [u8]) -> Poll<io::Result<ArrivedDatagrams>> {
        Poll::Pending
    }
}

/// The most KiB that process `id` has resident in the first third of the time, which is ten minutes
/// at most, and after that. It ends early if the honest clients do: one of them has failed.
fn watch(id: u32, port: u16, until: Instant, honest: &JoinHandle<u64>) -> [u64; 2] {
    let begin = clock::now();
    let third = until.saturating_duration_since(begin) / 3;
    let warm = begin + third.min(WARM_UP);
    let (mut most, mut told) = ([0; 2], begin);
    while clock::now() < until && !honest.is_finished() {
        let now = resident(id);
        let part = usize::from(clock::now() >= warm);
        most[part] = most[part].max(now);
        if told.elapsed() > Duration::from_secs(10) {
            told = clock::now();
            let seconds = begin.elapsed().as_secs_f64();
            println!(
                "{seconds:.0} s: {now} KiB, {} datagrams dropped by the kernel",
                dropped(port)
            );
        }
        thread::park_timeout(Duration::from_millis(100));
    }
    most
}

/// Datagrams for which the buffers of the server's sockets had no room; 0 where there is no /proc.
fn dropped(port: u16) -> u64 {
    let table = std::fs::read_to_string("/proc/net/udp").unwrap_or_default();
    let port = format!(":{port:04X}");
    let fields = table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let own = fields.filter(|fields| fields.get(1).is_some_and(|local| local.ends_with(&port)));
    own.filter_map(|fields| fields.last()?.parse::<u64>().ok())
        .sum()
}

/// 0 where there is no /proc.
fn resident(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.map_or(0, |line| {
        line.trim().trim_end_matches(" kB").parse().unwrap()
    })
}

const THREADS: u64 = 4;
/// One of five kinds of clients.
const CRASH: u64 = 2;
const IDLE_TIMEOUT: Duration = Duration::from_secs(6);
const WARM_UP: Duration = Duration::from_secs(600);
/// KiB that one more client may take than ever before.
const SLACK: u64 = 16 << 10;
/// Characters: a handshake of packets that are lost has about as many.
const LOG_END: usize = 16_000;
