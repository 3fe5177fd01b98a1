//! Bulk transfers over loopback: this crate beside quinn, in the same run.
//!
//! `cargo run --release -p transport --example versus_quinn [-- MEGABYTES ROUNDS]`
//!
//! Same bytes, one stream, UDP payload 1,452, AES-128-GCM, CUBIC, windows of 4 MiB. Server and
//! client are two processes with a current-thread runtime each. Rounds are interleaved; medians.
//! CPU seconds (user and system) per 10⁹ bytes are the steadier figure on a machine with other
//! work, and known on Linux only; what others took during a round is printed, too.
#![expect(clippy::print_stdout, reason = "a program that prints its results")]

use bytes::Bytes;
use rustls::RootCertStore;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use socket2::SockRef;
use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;
use transport::tls;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words[..] {
        ["serve", stack] => with_stack(stack, ours::serve, theirs::serve),
        ["fetch", stack, port, direction, bytes] => {
            let request = (port.parse()?, direction == "upload", bytes.parse()?);
            with_stack(stack, || ours::fetch(request), || theirs::fetch(request))
        }
        [] => compare(512, 5),
        [megabytes, rounds] => compare(megabytes.parse()?, rounds.parse()?),
        _ => Err("expected no argument, or MEGABYTES ROUNDS".into()),
    }
}

fn with_stack(
    stack: &str,
    ours: impl FnOnce() -> Result<()>,
    theirs: impl FnOnce() -> Result<()>,
) -> Result<()> {
    if stack == STACKS[0] { ours() } else { theirs() }
}

/// Plays all rounds and prints the table.
fn compare(megabytes: u64, rounds: usize) -> Result<()> {
    let certificate = tls::SelfSigned::generate([NAME])?;
    let secrets = [hex(&certificate.cert), hex(certificate.key.secret_der())];
    println!(
        "{rounds} rounds of {megabytes} MB, UDP payload {MTU}, aes128, window {WINDOW} bytes\n"
    );
    println!(
        "{:<9} {:<10} {:>7} {:>15} {:>12} {:>14} {:>13} {:>8}",
        "", "", "Gbit/s", "min–max", "sender s/GB", "receiver s/GB", "CPU-bound", "others"
    );
    for direction in ["download", "upload"] {
        let mut runs = [Vec::new(), Vec::new()];
        for _ in 0..rounds {
            for (stack, runs) in STACKS.iter().zip(&mut runs) {
                runs.push(run(stack, direction, megabytes * 1_000_000, &secrets)?);
            }
        }
        let medians = runs.map(|runs| Summary::of(&runs));
        for (stack, summary) in STACKS.iter().zip(&medians) {
            println!("{direction:<9} {stack:<10} {summary}");
        }
        let [ours, theirs] = &medians;
        println!(
            "{direction:<9} ratio      {:>7.2} {:>15} {:>12.2} {:>14.2} {:>13.2}\n",
            ours.rate / theirs.rate,
            "",
            ours.sender / theirs.sender,
            ours.receiver / theirs.receiver,
            ours.cpu_bound() / theirs.cpu_bound(),
        );
    }
    Ok(())
}

/// One transfer, as measured.
#[derive(Clone, Copy)]
struct Run {
    /// 10⁹ bits per second.
    rate: f64,
    /// CPU seconds per 10⁹ bytes.
    sender: f64,
    receiver: f64,
    /// CPUs that other programs kept busy.
    others: f64,
}

fn run(stack: &str, direction: &str, bytes: u64, secrets: &[String; 2]) -> Result<Run> {
    let spawn = |args: &[&str]| -> Result<Child> {
        let command = &mut Command::new(std::env::current_exe()?);
        command
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        Ok(command
            .env("CERT", &secrets[0])
            .env("KEY", &secrets[1])
            .spawn()?)
    };
    let mut server = spawn(&["serve", stack])?;
    let mut server_lines = BufReader::new(server.stdout.take().expect("piped")).lines();
    let port = server_lines.next().ok_or("the server has no port")??;
    let busy_before = busy_seconds();
    let client = spawn(&["fetch", stack, &port, direction, &bytes.to_string()])?;
    let output = client.wait_with_output()?;
    let busy = busy_seconds() - busy_before;
    let server_cpu: f64 = server_lines
        .next()
        .ok_or("the server measured nothing")??
        .parse()?;
    server.wait()?;
    let output = String::from_utf8(output.stdout)?;
    let (seconds, client_cpu) = output.trim().split_once(' ').ok_or("the client failed")?;
    let (seconds, client_cpu): (f64, f64) = (seconds.parse()?, client_cpu.parse()?);
    let per_gigabyte = |cpu: f64| cpu / bytes as f64 * 1e9;
    let (sender, receiver) = match direction {
        "upload" => (client_cpu, server_cpu),
        _ => (server_cpu, client_cpu),
    };
    Ok(Run {
        rate: bytes as f64 * 8.0 / seconds / 1e9,
        sender: per_gigabyte(sender),
        receiver: per_gigabyte(receiver),
        others: (busy - client_cpu - server_cpu).max(0.0) / seconds,
    })
}

/// Medians over rounds.
struct Summary {
    rate: f64,
    slowest: f64,
    fastest: f64,
    sender: f64,
    receiver: f64,
    others: f64,
}

impl Summary {
    fn of(runs: &[Run]) -> Self {
        let median = |value: fn(&Run) -> f64| {
            let mut values: Vec<f64> = runs.iter().map(value).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        let rates = || runs.iter().map(|run| run.rate);
        Self {
            rate: median(|run| run.rate),
            slowest: rates().fold(f64::MAX, f64::min),
            fastest: rates().fold(0.0, f64::max),
            sender: median(|run| run.sender),
            receiver: median(|run| run.receiver),
            others: median(|run| run.others),
        }
    }

    /// The rate that the busier side could reach with a CPU of its own, in Gbit/s.
    fn cpu_bound(&self) -> f64 {
        8.0 / self.sender.max(self.receiver)
    }
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let range = format!("{:.2}–{:.2}", self.slowest, self.fastest);
        write!(
            f,
            "{:>7.2} {range:>15} {:>12.3} {:>14.3} {:>13.1} {:>8.2}",
            self.rate,
            self.sender,
            self.receiver,
            self.cpu_bound(),
            self.others
        )
    }
}

/// The same program on either library: the names are the same.
macro_rules! stack {
    ($module:ident, $library:ident $(, $runtime:expr)?) => {
        mod $module {
            use super::*;
            use $library::{Connection, Endpoint, VarInt};

            pub(super) fn serve() -> Result<()> {
                runtime()?.block_on(async {
                    let endpoint = endpoint(Some(server_config()?))?;
                    println!("{}", endpoint.local_addr()?.port());
                    std::io::stdout().flush()?;
                    let incoming = endpoint.accept().await.ok_or("closed")?;
                    let connection = incoming.await?;
                    let (mut send, mut recv) = connection.accept_bi().await?;
                    let mut request = [0; 9];
                    recv.read_exact(&mut request).await?;
                    let bytes = u64::from_le_bytes(request[1..].try_into()?);
                    let before = cpu_seconds();
                    if request[0] == 0 {
                        write(&mut send, bytes).await?;
                    } else {
                        read(&mut recv).await?;
                        send.finish()?;
                    }
                    connection.closed().await;
                    println!("{}", cpu_seconds() - before);
                    Ok(())
                })
            }

            pub(super) fn fetch((port, is_upload, bytes): (u16, bool, u64)) -> Result<()> {
                runtime()?.block_on(async {
                    let mut endpoint = endpoint(None)?;
                    endpoint.set_default_client_config(client_config()?);
                    let address = ([127, 0, 0, 1], port).into();
                    let connection = endpoint.connect(address, NAME)?.await?;
                    let (start, before) = (now(), cpu_seconds());
                    transfer(&connection, is_upload, bytes).await?;
                    let seconds = start.elapsed().as_secs_f64();
                    println!("{seconds} {}", cpu_seconds() - before);
                    connection.close(VarInt::from_u32(0), b"");
                    endpoint.wait_idle().await;
                    Ok(())
                })
            }

            fn endpoint(server: Option<$library::ServerConfig>) -> Result<Endpoint> {
                let config = $library::EndpointConfig::default();
                Ok(Endpoint::new(config, server, socket()? $(, $runtime)?)?)
            }

            async fn transfer(connection: &Connection, is_upload: bool, bytes: u64) -> Result<()> {
                let (mut send, mut recv) = connection.open_bi().await?;
                send.write_all(&[u8::from(is_upload)]).await?;
                send.write_all(&bytes.to_le_bytes()).await?;
                if is_upload {
                    write(&mut send, bytes).await?;
                    read(&mut recv).await?;
                } else {
                    let received = read(&mut recv).await?;
                    assert_eq!(received, bytes, "all bytes arrive");
                }
                Ok(())
            }

            async fn write(send: &mut $library::SendStream, mut bytes: u64) -> Result<()> {
                let chunk = Bytes::from(vec![7; CHUNK]);
                while bytes > 0 {
                    let part = chunk.slice(..bytes.min(CHUNK as u64) as usize);
                    bytes -= part.len() as u64;
                    send.write_chunk(part).await?;
                }
                Ok(send.finish()?)
            }

            async fn read(recv: &mut $library::RecvStream) -> Result<u64> {
                let mut bytes = 0;
                while let Some(chunk) = recv.read_chunk(usize::MAX, true).await? {
                    bytes += chunk.bytes.len() as u64;
                }
                Ok(bytes)
            }

            fn server_config() -> Result<$library::ServerConfig> {
                let crypto = quinn::crypto::rustls::QuicServerConfig::try_from(server_tls()?)?;
                let mut config = $library::ServerConfig::with_crypto(Arc::new(crypto));
                config.transport_config(Arc::new(transport_config()));
                Ok(config)
            }

            fn client_config() -> Result<$library::ClientConfig> {
                let crypto = quinn::crypto::rustls::QuicClientConfig::try_from(client_tls()?)?;
                let mut config = $library::ClientConfig::new(Arc::new(crypto));
                config.transport_config(Arc::new(transport_config()));
                Ok(config)
            }

            fn transport_config() -> $library::TransportConfig {
                let mut config = $library::TransportConfig::default();
                config
                    .initial_mtu(MTU)
                    .mtu_discovery_config(None)
                    .stream_receive_window(VarInt::from_u32(WINDOW))
                    .receive_window(VarInt::from_u32(WINDOW))
                    .send_window(WINDOW.into());
                config
            }
        }
    };
}

stack!(ours, transport);
stack!(theirs, quinn, Arc::new(quinn::TokioRuntime));

/// A socket whose buffers hold a whole window, for either library.
fn socket() -> Result<std::net::UdpSocket> {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0")?;
    SockRef::from(&socket).set_recv_buffer_size(WINDOW as usize)?;
    SockRef::from(&socket).set_send_buffer_size(WINDOW as usize)?;
    Ok(socket)
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    Ok(builder.enable_all().build()?)
}

fn server_tls() -> Result<rustls::ServerConfig> {
    let chain = vec![certificate()?];
    let key = PrivateKeyDer::try_from(unhex(&std::env::var("KEY")?)?)?;
    Ok(rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, key)?)
}

fn client_tls() -> Result<rustls::ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate()?)?;
    Ok(rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

fn certificate() -> Result<CertificateDer<'static>> {
    Ok(unhex(&std::env::var("CERT")?)?.into())
}

fn provider() -> Arc<CryptoProvider> {
    let mut provider = aws_lc_rs::default_provider();
    provider.cipher_suites = vec![aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256];
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

/// User and system time of this thread, which does all the work, by Linux's scheduler. It is
/// brought up to date at least every 4 ms.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanos = stat
        .split_whitespace()
        .next()
        .and_then(|word| word.parse::<u64>().ok());
    nanos.map_or(f64::NAN, |nanos| nanos as f64 / 1e9)
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

/// The names of the two, ours first.
const STACKS: [&str; 2] = ["paceline", "quinn"];
const NAME: &str = "localhost";
const MTU: u16 = 1_452;
const WINDOW: u32 = 4 << 20;
const CHUNK: usize = 64 << 10;
