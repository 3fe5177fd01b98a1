//! What a second shard brings: handshakes and bulk downloads over loopback, with one shard and two.
//!
//! `cargo run --release -p paceline --example shards [-- ROUNDS SECONDS]`
//!
//! A server process and two client processes. Handshakes: 16 at once in each client, full TLS 1.3
//! (ECDSA P-256, X25519, no resumption). Bulk: four connections in each client, AES-128-GCM, UDP
//! payload 1,452, CUBIC, windows of 4 MiB. Connections alternate between the shards. Rounds are
//! interleaved; medians. Linux only.
//!
//! Everything shares the machine: with fewer than four CPUs server and clients take them from each
//! other, and rates say little about the shards. CPU time per unit of work is the steadier figure.
#![expect(clippy::print_stdout, reason = "a program that prints its results")]

use bytes::Bytes;
use paceline::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use paceline::{
    ClientConfig, Connection, ConnectionId, Endpoint, Incoming, ServerConfig, ShardedServer,
    Steering, TransportConfig, VarInt, tls,
};
use rustls::RootCertStore;
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::task::LocalSet;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words[..] {
        ["serve", shards] => serve(shards.parse()?),
        ["load", load, port, seconds] => {
            let load = LOADS.iter().find(|known| known.name == load);
            let load = load.ok_or("expected a load's name")?;
            put_load(
                load,
                port.parse()?,
                Duration::from_secs_f64(seconds.parse()?),
            )
        }
        [] => compare(5, 3.0),
        [rounds, seconds] => compare(rounds.parse()?, seconds.parse()?),
        _ => Err("expected no argument, or ROUNDS SECONDS".into()),
    }
}

/// What clients do, and how it is counted.
struct Load {
    name: &'static str,
    /// As the units are written, and how many make one of these.
    rate: (&'static str, f64),
    per_cpu: (&'static str, f64),
    /// Tasks in each client.
    tasks: usize,
}

const LOADS: [Load; 2] = [
    Load {
        name: "handshakes",
        rate: ("per second", 1.0),
        per_cpu: ("ms each", 1e-3),
        tasks: 16,
    },
    Load {
        name: "download",
        rate: ("Gbit/s", 1e9 / 8.0),
        per_cpu: ("s/GB", 1e-9),
        tasks: 4,
    },
];

/// Plays all rounds and prints the table.
fn compare(rounds: usize, seconds: f64) -> Result<()> {
    let certificate = tls::SelfSigned::generate([NAME])?;
    let secrets = [hex(&certificate.cert), hex(certificate.key.secret_der())];
    let cpus = std::thread::available_parallelism()?;
    println!(
        "{rounds} rounds of {seconds} s, {CLIENTS} clients, {cpus} CPUs, {}",
        loads()
    );
    for load in &LOADS {
        let mut runs = SHARDS.map(|_| Vec::new());
        for _ in 0..rounds {
            for (shards, runs) in SHARDS.iter().zip(&mut runs) {
                runs.push(run(load, *shards, seconds, &secrets)?);
            }
        }
        println!(
            "\n{}, {}; CPU, {}\n{:>8} {:>10} {:>18} {:>10} {:>10} {:>13} {:>8}",
            load.name,
            load.rate.0,
            load.per_cpu.0,
            "shards",
            "rate",
            "min–max",
            "server",
            "clients",
            "server's CPUs",
            "others",
        );
        for (shards, runs) in SHARDS.iter().zip(&runs) {
            print_row(*shards, load, runs);
        }
    }
    println!("\n{}", loads());
    Ok(())
}

fn print_row(shards: usize, load: &Load, runs: &[Run]) {
    let median = |value: fn(&Run) -> f64| {
        let mut values: Vec<f64> = runs.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let rates = || runs.iter().map(|run| run.units / run.seconds / load.rate.1);
    let (slowest, fastest) = (
        rates().fold(f64::MAX, f64::min),
        rates().fold(0.0, f64::max),
    );
    println!(
        "{shards:>8} {:>10.2} {:>18} {:>10.3} {:>10.3} {:>13.2} {:>8.2}",
        median(|run| run.units / run.seconds) / load.rate.1,
        format!("{slowest:.2}–{fastest:.2}"),
        median(|run| run.server_cpu / run.units) / load.per_cpu.1,
        median(|run| run.client_cpu / run.units) / load.per_cpu.1,
        median(|run| run.server_cpu / run.seconds),
        median(|run| run.others),
    );
}

/// One load on one server, as measured. CPU in seconds.
struct Run {
    seconds: f64,
    /// Handshakes or bytes.
    units: f64,
    server_cpu: f64,
    client_cpu: f64,
    /// CPUs that other programs kept busy.
    others: f64,
}

fn run(load: &Load, shards: usize, seconds: f64, secrets: &[String; 2]) -> Result<Run> {
    let spawn = |args: &[&str]| -> Result<Child> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        command.env("CERT", &secrets[0]).env("KEY", &secrets[1]);
        Ok(command.spawn()?)
    };
    let mut server = spawn(&["serve", &shards.to_string()])?;
    let mut lines = BufReader::new(server.stdout.take().expect("piped")).lines();
    let port = lines.next().ok_or("the server has no port")??;
    let (busy_before, server_before) = (busy_seconds(), cpu_seconds(server.id())?);
    let arguments = ["load", load.name, &port, &seconds.to_string()];
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| spawn(&arguments))
        .collect::<Result<_>>()?;
    let (mut units, mut client_cpu) = (0.0, 0.0);
    for client in clients {
        let output = String::from_utf8(client.wait_with_output()?.stdout)?;
        let (done, cpu) = output.trim().split_once(' ').ok_or("a client failed")?;
        units += done.parse::<f64>()?;
        client_cpu += cpu.parse::<f64>()?;
    }
    let server_cpu = cpu_seconds(server.id())? - server_before;
    let busy = busy_seconds() - busy_before;
    drop(server.stdin.take());
    server.wait()?;
    Ok(Run {
        seconds,
        units,
        server_cpu,
        client_cpu,
        others: (busy - server_cpu - client_cpu).max(0.0) / seconds,
    })
}

/// Serves until standard input ends.
fn serve(shards: usize) -> Result<()> {
    let crypto = QuicServerConfig::try_from(server_tls()?)?;
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config.transport_config(Arc::new(transport_config()));
    let builder = ShardedServer::builder(config, (Ipv4Addr::LOCALHOST, 0).into());
    let server = builder.shards(shards).serve(respond)?;
    if server.steering() == Steering::Unavailable {
        return Err("this kernel does not steer".into());
    }
    println!("{}", server.local_addr().port());
    std::io::stdout().flush()?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    let strays: u64 = server
        .stats()
        .iter()
        .map(|shard| shard.endpoint.misrouted)
        .sum();
    assert_eq!(strays, 0, "loopback merges nothing");
    Ok(())
}

/// Sends without end on every stream.
async fn respond(attempt: Incoming) {
    let Ok(connection) = attempt.await else {
        return;
    };
    let chunk = Bytes::from(vec![7; CHUNK]);
    while let Ok((mut send, _)) = connection.accept_bi().await {
        while send.write_chunk(chunk.clone()).await.is_ok() {}
    }
}

/// Has `load`'s tasks work for `time`, and prints what they have done and the CPU time it took.
fn put_load(load: &'static Load, port: u16, time: Duration) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let units = Rc::new(AtomicU64::new(0));
    let work = async {
        let mut endpoint = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into())?;
        endpoint.set_default_client_config(client_config()?);
        let deadline = tokio::time::Instant::from_std(now() + time);
        for _ in 0..load.tasks {
            let (endpoint, units) = (endpoint.clone(), Rc::clone(&units));
            tokio::task::spawn_local(async move {
                let working = work(load, &endpoint, address, &units);
                let ended = tokio::time::timeout_at(deadline, working).await;
                assert!(
                    !matches!(ended, Ok(Err(_))),
                    "the server answers: {ended:?}"
                );
            });
        }
        tokio::time::sleep_until(deadline).await;
        Ok::<_, Box<dyn Error>>(())
    };
    LocalSet::new().block_on(&runtime, work)?;
    println!(
        "{} {}",
        units.load(Ordering::Relaxed),
        cpu_seconds(std::process::id())?
    );
    Ok(())
}

/// One task's work, without end.
async fn work(load: &Load, endpoint: &Endpoint, to: SocketAddr, units: &AtomicU64) -> Result<()> {
    loop {
        let connection: Connection = endpoint.connect(to, NAME)?.await?;
        if load.name == LOADS[0].name {
            units.fetch_add(1, Ordering::Relaxed);
            connection.close(VarInt::from_u32(0), b"");
            continue;
        }
        let (mut send, mut recv) = connection.open_bi().await?;
        send.write_all(b"go").await?;
        while let Some(chunk) = recv.read_chunk(usize::MAX, true).await? {
            units.fetch_add(chunk.bytes.len() as u64, Ordering::Relaxed);
        }
    }
}

fn client_config() -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate()?)?;
    let mut tls = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.resumption = Resumption::disabled();
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    config.transport_config(Arc::new(transport_config()));
    // Unpredictable but for the last octet, by which shards take turns.
    let count = AtomicU64::new(0);
    config.initial_dst_cid_provider(Arc::new(move || {
        let mut id = [0; 16];
        let random = aws_lc_rs::default_provider().secure_random;
        random.fill(&mut id).expect("aws-lc has randomness");
        id[15] = count.fetch_add(1, Ordering::Relaxed).to_le_bytes()[0];
        ConnectionId::new(&id)
    }));
    Ok(config)
}

fn transport_config() -> TransportConfig {
    let mut config = TransportConfig::default();
    config
        .initial_mtu(1_452)
        .mtu_discovery_config(None)
        .stream_receive_window(VarInt::from_u32(WINDOW))
        .receive_window(VarInt::from_u32(WINDOW))
        .send_window(WINDOW.into());
    config
}

fn server_tls() -> Result<rustls::ServerConfig> {
    let chain = vec![certificate()?];
    let key = PrivateKeyDer::try_from(unhex(&std::env::var("KEY")?)?)?;
    Ok(rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, key)?)
}

fn certificate() -> Result<CertificateDer<'static>> {
    Ok(unhex(&std::env::var("CERT")?)?.into())
}

fn provider() -> Arc<CryptoProvider> {
    let mut provider = aws_lc_rs::default_provider();
    provider.cipher_suites = vec![aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256];
    provider.kx_groups = vec![aws_lc_rs::kx_group::X25519];
    Arc::new(provider)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Result<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    let bytes = digits.map(|pair| Ok(u8::from_str_radix(std::str::from_utf8(pair)?, 16)?));
    bytes.collect()
}

#[expect(clippy::disallowed_methods, reason = "a stopwatch")]
fn now() -> Instant {
    Instant::now()
}

/// User and system time of a process's threads, by Linux's scheduler. It is brought up to date at
/// least every 4 ms.
fn cpu_seconds(process: u32) -> Result<f64> {
    let mut nanos = 0;
    for thread in std::fs::read_dir(format!("/proc/{process}/task"))? {
        let stat = std::fs::read_to_string(thread?.path().join("schedstat"))?;
        let first = stat.split_whitespace().next();
        nanos += first.ok_or("an empty schedstat")?.parse::<u64>()?;
    }
    Ok(nanos as f64 / 1e9)
}

/// CPU seconds that all programs have used since the machine started.
fn busy_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let fields = stat.lines().next().unwrap_or_default().split_whitespace();
    let ticks: Vec<u64> = fields.skip(1).flat_map(str::parse).collect();
    // user, nice, system; then idle and waiting; then interrupts.
    let busy: u64 = ticks
        .iter()
        .take(3)
        .chain(ticks.iter().skip(5).take(2))
        .sum();
    busy as f64 / 100.0
}

/// How busy the machine is, in its own words.
fn loads() -> String {
    let loads = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let first: Vec<&str> = loads.split_whitespace().take(3).collect();
    format!("load {}", first.join(" "))
}

/// Compared with each other.
const SHARDS: [usize; 2] = [1, 2];
const CLIENTS: usize = 2;
const NAME: &str = "localhost";
const WINDOW: u32 = 4 << 20;
const CHUNK: usize = 64 << 10;
