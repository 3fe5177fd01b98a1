//! Whether a paced sender keeps its rate on real sockets, to the burst.
//!
//! `cargo run --release -p paceline --example pacing [-- [--kernel] RATE SECONDS]`, such as
//! `-- 50mbit 5`; without a rate a row for each of several, from 64 kbit/s to 5 Gbit/s. With
//! `--kernel` the kernel sends packets at their departure times, after
//! `tc qdisc replace dev lo root fq`.
//!
//! A sender with a fixed rate and an unlimited window sends over loopback. Between it and its peer
//! stands a forwarder that notes the kernel's receive timestamp of every burst, so what is
//! judged is when packets were on the wire, not when the sender meant them to be. Two promises:
//! the rate is kept within 1 %, and in no window of any length leaves more than rate × window +
//! send quantum + one packet. Exit code 1 when one is broken.

#[path = "shared/argument.rs"]
mod argument;
#[path = "shared/program.rs"]
mod program;

use argument::number;
use cc_core::Registry;
use paceline::{Connection, Endpoint, KernelPacing, TransportConfig, VarInt, tls};
use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use std::error::Error;
use std::io::{self, IoSliceMut, Write};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;
use tokio::io::Interest;
use units::{Bandwidth, Bytes};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    program::run(USAGE, 3, read, |(pacing, one)| match one {
        None => survey(pacing),
        Some((rate, time)) => show(rate, time, pacing),
    })
}

/// Who paces, and the rate and time of one run if not all rates are asked for.
fn read(args: &[String]) -> Result<(KernelPacing, Option<(Bandwidth, Duration)>)> {
    let (pacing, args) = match args {
        [first, rest @ ..] if first == "--kernel" => (KernelPacing::On, rest),
        all => (KernelPacing::Off, all),
    };
    let seconds = |text: &str| number("SECONDS", text).map(Duration::from_secs);
    let one = match args {
        [] => None,
        [rate] => Some((rate.parse()?, Duration::from_secs(5))),
        [rate, time] => Some((rate.parse()?, seconds(time)?)),
        [.., extra] => {
            return Err(format!("`{extra}` is one argument too many; leave it out").into());
        }
    };
    Ok((pacing, one))
}

/// One rate in full.
fn show(rate: Bandwidth, time: Duration, pacing: KernelPacing) -> Result<ExitCode> {
    let run = measure(rate, time, pacing)?;
    writeln!(
        io::stdout(),
        "{HEADING}\n{}\n\n{}",
        run.row(),
        run.sender.report
    )?;
    writeln!(io::stdout(), "{}\n", way_out(run.sender.quantum)?)?;
    histogram(&run.bursts)?;
    Ok(exit_code(run.keeps_promises()))
}

/// A row for each rate.
fn survey(pacing: KernelPacing) -> Result<ExitCode> {
    writeln!(io::stdout(), "{HEADING}")?;
    let mut is_kept = true;
    for (rate, seconds) in SURVEY {
        let run = measure(rate.parse()?, Duration::from_secs(seconds), pacing)?;
        writeln!(io::stdout(), "{}", run.row())?;
        is_kept &= run.keeps_promises();
    }
    Ok(exit_code(is_kept))
}

fn exit_code(passes: bool) -> ExitCode {
    if passes {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// What a sender at a rate did.
pub(crate) struct Run {
    /// What it was set to.
    pub(crate) rate: Bandwidth,
    /// What left after the first moments, by the kernel's clock.
    pub(crate) bursts: Vec<Burst>,
    sender: SenderView,
}

/// What the sender knows about its run.
struct SenderView {
    /// The most that may leave at once.
    quantum: Bytes,
    /// Loss probes sent, which wait for no pacer.
    probes: u64,
    report: String,
}

/// Packets that one system call sent.
#[derive(Clone, Copy)]
pub(crate) struct Burst {
    /// Since the Unix epoch, by the kernel.
    at: Duration,
    bytes: u64,
}

impl Run {
    /// By how much the fullest window, of whatever length, exceeds rate × its length.
    ///
    /// It is the highest level of a bucket into which flows what is sent, and which leaks at the
    /// rate.
    pub(crate) fn excess(&self) -> Bytes {
        let (mut level, mut highest) = (Bytes::ZERO, Bytes::ZERO);
        let mut last = self.bursts.first().map_or(Duration::ZERO, |burst| burst.at);
        for burst in &self.bursts {
            level = level.saturating_sub(self.rate * burst.at.saturating_sub(last));
            level += Bytes::new(burst.bytes);
            highest = highest.max(level);
            last = burst.at;
        }
        highest
    }

    /// What may leave on top of rate × time: the send quantum, one packet, and the probes.
    pub(crate) fn allowance(&self) -> Bytes {
        self.sender.quantum + MTU * (1 + self.sender.probes)
    }

    /// The rate between the first burst and the last.
    fn sent(&self) -> Bandwidth {
        let [first, .., last] = &self.bursts[..] else {
            return Bandwidth::ZERO;
        };
        let bytes: u64 = self.bursts[1..].iter().map(|burst| burst.bytes).sum();
        Bandwidth::from_transfer(Bytes::new(bytes), last.at.saturating_sub(first.at))
    }

    /// How far the rate sent is from the one asked for, in percent.
    fn deviation(&self) -> f64 {
        let asked = self.rate.bits_per_sec() as f64;
        (self.sent().bits_per_sec() as f64 / asked - 1.0) * 100.0
    }

    fn keeps_promises(&self) -> bool {
        self.deviation().abs() <= 1.0 && self.excess() <= self.allowance()
    }

    fn row(&self) -> String {
        format!(
            "{:>12} {:>16} {:>+8.2} % {:>10} {:>10}   {}",
            self.rate.to_string(),
            self.sent().to_string(),
            self.deviation(),
            self.excess().to_string(),
            self.allowance().to_string(),
            if self.keeps_promises() {
                "pass"
            } else {
                "FAIL"
            }
        )
    }
}

/// Sends at `rate` for as long as is said.
///
/// # Errors
/// When the machine has no loopback, or its kernel no timestamps or not the pacing asked for.
pub(crate) fn measure(rate: Bandwidth, time: Duration, pacing: KernelPacing) -> Result<Run> {
    let server = serve()?;
    let (forwarder, bursts) = forward(server)?;
    let sender = runtime()?.block_on(send(forwarder, rate, time, pacing))?;
    let mut bursts: Vec<Burst> = bursts.try_iter().collect();
    // The handshake is not paced data, and the bucket was full when it ended.
    let warm_up = bursts.first().ok_or("nothing was sent")?.at + WARM_UP;
    bursts.retain(|burst| burst.at >= warm_up);
    Ok(Run {
        rate,
        bursts,
        sender,
    })
}

/// How far apart the bursts were, in octaves.
fn histogram(bursts: &[Burst]) -> Result<()> {
    let mut octaves = [0_usize; 24];
    for pair in bursts.windows(2) {
        let micros = pair[1].at.saturating_sub(pair[0].at).as_micros().max(1);
        octaves[(micros.ilog2() as usize).min(23)] += 1;
    }
    let bytes: u64 = bursts.iter().map(|burst| burst.bytes).sum();
    let mean = bytes / bursts.len() as u64;
    writeln!(
        io::stdout(),
        "gaps between {} bursts of {mean} bytes on average:",
        bursts.len()
    )?;
    let most = octaves.iter().max().copied().unwrap_or(1).max(1);
    for (octave, count) in octaves.iter().enumerate().filter(|(_, count)| **count > 0) {
        let bar = "█".repeat((count * 50).div_ceil(most));
        writeln!(io::stdout(), "{:>8} µs … {count:>7} {bar}", 1_u64 << octave)?;
    }
    Ok(())
}

/// How long `quantum`, or 64 KiB of it, takes from a sender's clock to the kernel's timestamp, with
/// nobody pacing: by as much as this varies, bursts that were decided in time come closer together
/// on the wire.
#[expect(
    clippy::disallowed_methods,
    reason = "the kernel's timestamps have this clock, and this thread has no event loop"
)]
fn way_out(quantum: Bytes) -> Result<String> {
    let from = std::net::UdpSocket::bind(LOOPBACK)?;
    let to = std::net::UdpSocket::bind(LOOPBACK)?;
    let (out, arrivals) = (UdpSockRef::from(&from), UdpSocketState::new((&to).into())?);
    let state = UdpSocketState::new(out)?;
    let contents = vec![0; (quantum.get().min(64 << 10) / MTU.get() * MTU.get()) as usize];
    let packets = Transmit {
        destination: to.local_addr()?,
        ecn: None,
        contents: &contents,
        segment_size: Some(MTU.get() as usize),
        src_ip: None,
    };
    let mut memory = vec![0; BATCH_SIZE << 16];
    let mut metas = [RecvMeta::default(); BATCH_SIZE];
    let mut times = Vec::new();
    while times.len() < 2_000 {
        let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
        state.try_send((&from).into(), &packets)?;
        thread::sleep(Duration::from_micros(200));
        let mut buffers: Vec<_> = memory.chunks_mut(1 << 16).map(IoSliceMut::new).collect();
        arrivals.recv((&to).into(), &mut buffers, &mut metas)?;
        let at = metas[0].timestamp.ok_or("the kernel gives no timestamps")?;
        times.push(at.saturating_sub(clock));
    }
    times.sort();
    let quantile = |percent: usize| times[(times.len() - 1) * percent / 100];
    Ok(format!(
        "from the clock to the wire, without any pacer: {:?} at least, {:?} at p50, {:?} at p99, \
         {:?} at most",
        quantile(0),
        quantile(50),
        quantile(99),
        quantile(100)
    ))
}

/// Sends at `rate` for as long as asked.
async fn send(
    to: SocketAddr,
    rate: Bandwidth,
    duration: Duration,
    pacing: KernelPacing,
) -> Result<SenderView> {
    let fixed = Registry::standard().choose(&format!("fixed:rate={rate}"))?;
    let mut transport = TransportConfig::default();
    transport
        .congestion(fixed)
        .kernel_pacing(pacing)
        .initial_mtu(MTU.get() as u16)
        .mtu_discovery_config(None);
    let mut config = tls::client_without_verification().config()?;
    config.transport_config(Arc::new(transport));
    let endpoint = Endpoint::client(LOOPBACK.parse()?)?;
    let connection = endpoint.connect_with(config, to, "localhost")?.await?;
    let sending = write_forever(&connection);
    let _ = tokio::time::timeout(duration + WARM_UP, sending).await;
    let (stats, timer) = (connection.stats(), endpoint.stats().timer);
    connection.close(VarInt::from_u32(0), b"");
    endpoint.wait_idle().await;
    let report = format!(
        "{}\ntimer: {} wake-ups, {:?} late at p50, {:?} at p99; {} packets lost",
        connection.congestion(),
        timer.count,
        timer.p50,
        timer.p99,
        stats.path.lost_packets,
    );
    Ok(SenderView {
        quantum: stats.send_quantum,
        probes: stats.frame_tx.ping + stats.frame_tx.immediate_ack,
        report,
    })
}

async fn write_forever(connection: &Connection) -> Result<()> {
    let mut stream = connection.open_uni().await?;
    loop {
        stream.write_all(&[0; 16 << 10]).await?;
    }
}

/// A thread with a server that reads everything; returns its address.
fn serve() -> Result<SocketAddr> {
    let (address, bound) = channel();
    thread::spawn(move || {
        let served = runtime()?.block_on(async {
            let config = tls::SelfSigned::generate(["localhost"])?
                .server()
                .config()?;
            let endpoint = Endpoint::server(config, LOOPBACK.parse()?)?;
            address.send(endpoint.local_addr()?)?;
            let connection = endpoint.accept().await.ok_or("closed")?.await?;
            let mut stream = connection.accept_uni().await?;
            while stream.read_chunk(usize::MAX, true).await?.is_some() {}
            Ok::<(), Box<dyn Error>>(())
        });
        served.map_err(|error| error.to_string())
    });
    Ok(bound.recv()?)
}

/// A thread that forwards between one client and `server`; returns its address and the bursts
/// from the client.
fn forward(server: SocketAddr) -> Result<(SocketAddr, Receiver<Burst>)> {
    let (address, bound) = channel();
    let (log, bursts) = channel();
    thread::spawn(move || {
        let forwarded = runtime()?.block_on(async {
            let socket = tokio::net::UdpSocket::bind(LOOPBACK).await?;
            address.send(socket.local_addr()?)?;
            forward_on(&socket, server, &log).await
        });
        forwarded.map_err(|error| error.to_string())
    });
    Ok((bound.recv()?, bursts))
}

async fn forward_on(
    socket: &tokio::net::UdpSocket,
    server: SocketAddr,
    log: &Sender<Burst>,
) -> Result<()> {
    let udp = UdpSocketState::new(UdpSockRef::from(socket))?;
    let mut memory = vec![0; BATCH_SIZE << 16];
    let mut metas = [RecvMeta::default(); BATCH_SIZE];
    let mut client = server;
    loop {
        let mut buffers: Vec<_> = memory.chunks_mut(1 << 16).map(IoSliceMut::new).collect();
        let receive = || udp.recv(UdpSockRef::from(socket), &mut buffers, &mut metas);
        let count = socket.async_io(Interest::READABLE, receive).await?;
        for (meta, contents) in metas.iter().zip(memory.chunks(1 << 16)).take(count) {
            let is_from_client = meta.addr != server;
            if is_from_client {
                client = meta.addr;
                let at = meta.timestamp.ok_or("the kernel gives no timestamps")?;
                let bytes = meta.len as u64;
                log.send(Burst { at, bytes })?;
            }
            let packets = Transmit {
                destination: if is_from_client { server } else { client },
                ecn: meta.ecn,
                contents: &contents[..meta.len],
                segment_size: Some(meta.stride),
                src_ip: None,
            };
            let send = || udp.try_send(UdpSockRef::from(socket), &packets);
            socket.async_io(Interest::WRITABLE, send).await?;
        }
    }
}

fn runtime() -> std::result::Result<tokio::runtime::Runtime, String> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder
        .enable_all()
        .build()
        .map_err(|error| error.to_string())
}

const USAGE: &str = "\
usage: pacing [--kernel] [RATE [SECONDS]]

Whether a paced sender keeps its rate on real sockets, such as 50mbit for 5 seconds; without a rate
a row for each of several. With --kernel the kernel sends packets at their departure times, after
`tc qdisc replace dev lo root fq`. The exit code is 1 if a promise is broken.";

const LOOPBACK: &str = "127.0.0.1:0";
const MTU: Bytes = Bytes::new(1_452);
const HEADING: &str =
    "       asked             sent    deviation   in excess    allowed   (of the fullest window)";
/// Rates, and seconds enough to measure each.
const SURVEY: [(&str, u64); 6] = [
    ("64kbit", 20),
    ("1mbit", 10),
    ("10mbit", 5),
    ("100mbit", 5),
    ("1gbit", 3),
    ("5gbit", 3),
];
const WARM_UP: Duration = Duration::from_millis(200);
