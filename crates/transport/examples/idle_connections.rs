//! What a connection costs a server that does nothing with it: memory, CPU time and packets.
//!
//! `cargo run --release -p paceline --example idle_connections [-- CONNECTIONS SECONDS STREAMS]`
//!
//! The server is a process of its own. This one opens the connections over loopback, full TLS 1.3
//! handshakes, and leaves them alone; then once more with keep-alives from the clients, a tenth of
//! the connections each second. Figures are the growth of the server's resident set and the time
//! that it ran, by Linux's accounts. STREAMS is how many of each kind it allows. Linux only.
//!
//! Whose memory it is: `heaptrack target/release/examples/idle_connections serve STREAMS`, and in
//! another terminal `… idle_connections visit CONNECTIONS SECONDS PORT FINGERPRINT`, the last two
//! as `serve` prints them.

#[path = "shared/argument.rs"]
mod argument;
#[path = "shared/program.rs"]
mod program;

use argument::number;
use paceline::tls::{self, Fingerprint};
use paceline::{
    ClientConfig, Connection, Endpoint, EndpointConfig, Incoming, TransportConfig, VarInt,
};
use std::error::Error;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    program::run(USAGE, 5, read, |task| {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().build()?;
        match task {
            Task::Serve(streams) => runtime.block_on(serve(streams))?,
            Task::Visit(server, connections, seconds) => {
                runtime.block_on(visit(&server, connections, None, seconds))?;
            }
            Task::Measure(connections, seconds, streams) => {
                runtime.block_on(measure(connections, seconds, streams))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// What the arguments ask for.
enum Task {
    /// The server's process, which allows so many streams.
    Serve(u32),
    /// So many connections to a server that runs, for so many seconds.
    Visit(Server, usize, u64),
    /// Connections, seconds and streams.
    Measure(usize, u64, u32),
}

fn read(args: &[String]) -> Result<Task> {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    Ok(match words[..] {
        ["serve", streams] => Task::Serve(number("STREAMS", streams)?),
        ["visit", connections, seconds, port, fingerprint] => {
            let server = Server {
                process: None,
                port: number("PORT", port)?,
                fingerprint: fingerprint.parse()?,
            };
            let connections = number("CONNECTIONS", connections)?;
            Task::Visit(server, connections, number("SECONDS", seconds)?)
        }
        [] => Task::Measure(10_000, 10, 100),
        [connections, seconds, streams] => Task::Measure(
            number("CONNECTIONS", connections)?,
            number("SECONDS", seconds)?,
            number("STREAMS", streams)?,
        ),
        _ => {
            let words = words.join(" ");
            return Err(format!("`{words}` is not understood; give three numbers, or none").into());
        }
    })
}

/// A server that accepts.
struct Server {
    /// The process whose memory and time are measured, if any.
    process: Option<u32>,
    port: u16,
    fingerprint: Fingerprint,
}

/// Figures of a server with so many connections.
struct Cost {
    handshake_cpu: f64,
    kibibytes: f64,
    /// Per second and connection, while they are idle.
    idle_cpu: f64,
    packets: f64,
}

async fn measure(connections: usize, seconds: u64, streams: u32) -> Result<()> {
    let interval = Duration::from_secs(10);
    writeln!(
        io::stdout(),
        "{connections} connections, idle for {seconds} s; for each of them, at the server"
    )?;
    writeln!(
        io::stdout(),
        "{:>12} {:>14} {:>9} {:>14} {:>12}",
        "keep-alive",
        "handshake, ms",
        "KiB",
        "CPU, µs/s",
        "packets/s"
    )?;
    for keep_alive in [None, Some(interval)] {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["serve", &streams.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let line = lines.next().ok_or("the server has no port")??;
        let (port, fingerprint) = line.split_once(' ').ok_or("a port and a fingerprint")?;
        let server = Server {
            process: Some(child.id()),
            port: port.parse()?,
            fingerprint: fingerprint.parse()?,
        };
        let cost = visit(&server, connections, keep_alive, seconds).await?;
        writeln!(
            io::stdout(),
            "{:>12} {:>14.3} {:>9.2} {:>14.3} {:>12.3}",
            keep_alive.map_or_else(|| "none".to_owned(), |interval| format!("{interval:?}")),
            cost.handshake_cpu * 1e3,
            cost.kibibytes,
            cost.idle_cpu * 1e6,
            cost.packets,
        )?;
        drop(child.stdin.take());
        child.wait()?;
    }
    Ok(())
}

/// Opens the connections, a hundred before anything is counted, and measures the server.
async fn visit(
    server: &Server,
    connections: usize,
    keep_alive: Option<Duration>,
    seconds: u64,
) -> Result<Cost> {
    let mut endpoint = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into())?;
    endpoint.set_default_client_config(client_config(server.fingerprint, keep_alive)?);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, server.port));
    let mut open = open(&endpoint, address, 100).await?;
    let (memory, cpu) = (server.kibibytes()?, server.cpu_seconds()?);
    open.extend(self::open(&endpoint, address, connections).await?);
    let each = connections as f64;
    let handshake_cpu = (server.cpu_seconds()? - cpu) / each;
    let kibibytes = (server.kibibytes()? - memory) / each;
    let (cpu, packets) = (server.cpu_seconds()?, sent(&open));
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let time = seconds as f64 * open.len() as f64;
    let idle_cpu = (server.cpu_seconds()? - cpu) / time;
    let packets = (sent(&open) - packets) as f64 / time;
    endpoint.close(VarInt::from_u32(0), b"");
    drop(open);
    endpoint.wait_idle().await;
    Ok(Cost {
        handshake_cpu,
        kibibytes,
        idle_cpu,
        packets,
    })
}

/// Opens so many connections, and gives their handshakes time to end at the server, too.
async fn open(endpoint: &Endpoint, to: SocketAddr, count: usize) -> Result<Vec<Connection>> {
    let mut connections = Vec::with_capacity(count);
    let mut handshakes = JoinSet::new();
    while connections.len() < count {
        while handshakes.len() < AT_ONCE && connections.len() + handshakes.len() < count {
            handshakes.spawn(endpoint.connect(to, NAME)?);
        }
        let connected = handshakes.join_next().await.ok_or("a handshake")?;
        connections.push(connected??);
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    Ok(connections)
}

/// Accepts until standard input ends, and keeps what it has accepted.
async fn serve(streams: u32) -> Result<()> {
    let certificate = tls::SelfSigned::generate([NAME])?;
    let mut config = certificate.server().config()?;
    let mut transport = transport_config(None);
    transport
        .max_concurrent_bidi_streams(streams.into())
        .max_concurrent_uni_streams(streams.into());
    config.transport_config(Arc::new(transport));
    let socket = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = socket.local_addr()?.port();
    let endpoint = Endpoint::new(EndpointConfig::default(), Some(config), socket)?;
    writeln!(io::stdout(), "{port} {}", certificate.fingerprint)?;
    io::stdout().flush()?;
    let accepting = async {
        while let Some(attempt) = endpoint.accept().await {
            tokio::spawn(hold(attempt));
        }
    };
    let input = tokio::task::spawn_blocking(|| io::stdin().read_to_end(&mut Vec::new()));
    tokio::select! {
        () = accepting => {}
        ended = input => drop(ended??),
    }
    Ok(())
}

async fn hold(attempt: Incoming) {
    if let Ok(connection) = attempt.await {
        connection.closed().await;
    }
}

fn client_config(fingerprint: Fingerprint, keep_alive: Option<Duration>) -> Result<ClientConfig> {
    let mut config = tls::client_with_fingerprint(fingerprint).config()?;
    config.transport_config(Arc::new(transport_config(keep_alive)));
    Ok(config)
}

/// No MTU discovery, whose probes come some seconds after the handshake.
fn transport_config(keep_alive: Option<Duration>) -> TransportConfig {
    let mut config = TransportConfig::default();
    config
        .max_idle_timeout(None)
        .mtu_discovery_config(None)
        .keep_alive_interval(keep_alive);
    config
}

/// Packets that all of the connections have sent and received.
fn sent(connections: &[Connection]) -> u64 {
    let stats = connections.iter().map(Connection::stats);
    stats
        .map(|stats| stats.udp_tx.datagrams + stats.udp_rx.datagrams)
        .sum()
}

impl Server {
    /// Memory that the process has resident; nothing where it cannot be read.
    fn kibibytes(&self) -> Result<f64> {
        let Some(process) = self.process else {
            return Ok(0.0);
        };
        let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().next());
        Ok(number.ok_or("no VmRSS")?.parse()?)
    }

    /// Time that the process's threads have run, by the scheduler, which is at most 4 ms behind.
    fn cpu_seconds(&self) -> Result<f64> {
        let Some(process) = self.process else {
            return Ok(0.0);
        };
        let mut nanos = 0;
        for thread in std::fs::read_dir(format!("/proc/{process}/task"))? {
            let stat = std::fs::read_to_string(thread?.path().join("schedstat"))?;
            let first = stat.split_whitespace().next();
            nanos += first.ok_or("an empty schedstat")?.parse::<u64>()?;
        }
        Ok(nanos as f64 / 1e9)
    }
}

/// Handshakes under way at one time.
const AT_ONCE: usize = 50;
const NAME: &str = "localhost";

const USAGE: &str = "\
usage: idle_connections [CONNECTIONS SECONDS STREAMS]

What a connection costs a server that does nothing with it. Linux only.
Without arguments: 10000 10 100";
