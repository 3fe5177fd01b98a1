//! What the relay costs: how late it is, beside what the machine's own timers and loopback cost,
//! how much it carries, and how much of one core that takes.
//!
//! ```text
//! cargo run --release -p paceline-link-sim --example relay_bench
//! ```
//!
//! The limits are for a machine that does nothing else: source, relay and sink are three threads,
//! and whoever else wants the processor makes each of them late. The exit code is 1 when one is
//! missed.

use core::time::Duration;
use link_sim::relay::{Relay, RelayConfig, RelayHandle};
use link_sim::{Histogram, IPV4_UDP_OVERHEAD, LinkSpec};
use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSocketState};
use rustix::event::{Timespec, poll};
use std::io::{self, IoSliceMut};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;
use units::{Bandwidth, Bytes, Gain};

fn main() -> io::Result<ExitCode> {
    #[cfg(target_os = "linux")]
    rustix::thread::set_current_timer_slack(core::num::NonZeroU64::new(1))?;
    match print_all(&mut io::stdout()) {
        Ok(true) => Ok(ExitCode::SUCCESS),
        Ok(false) => Ok(ExitCode::FAILURE),
        // Whoever read this has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        Err(error) => Err(error),
    }
}

/// Answers whether the limits are kept.
fn print_all(out: &mut impl io::Write) -> io::Result<bool> {
    let origin = now();
    writeln!(out, "{PAYLOAD} bytes of payload over loopback{}", load())?;
    let delays = print_delays(out, origin)?;
    let throughput = print_throughput(out, origin)?;
    Ok(delays && throughput)
}

/// How busy the machine was before, where it tells.
fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let minute = load.split_whitespace().next();
    minute.map_or_else(String::new, |minute| format!(", load average {minute}"))
}

/// Answers whether the limits are kept.
fn print_delays(out: &mut impl io::Write, origin: Instant) -> io::Result<bool> {
    writeln!(
        out,
        "\n{:46}{:>8}{:>8}{:>8}{:>9}",
        "us", "p50", "p99", "p99.9", "most"
    )?;
    print_quantiles(out, "a sleep of 120 us ends late by", &timer_floor(origin)?)?;
    let (direct, _) = delays(origin, None)?;
    print_quantiles(out, "100 Mbit/s without a relay take", &direct)?;
    let mut is_kept = true;
    for link in ["delay 10ms", "delay 10ms rate 200mbit queue 1000p"] {
        writeln!(out, "`{link}`")?;
        let (through, lateness) = delays(origin, Some(link))?;
        print_quantiles(out, "  takes beyond what it says", &through)?;
        print_quantiles(out, "  of which the relay sends late", &lateness)?;
        is_kept &= DELAY_LIMITS
            .iter()
            .all(|(percent, limit)| through.quantile(Gain::percent(*percent)) <= *limit);
    }
    for link in RECORDED {
        writeln!(out, "`{link}`")?;
        let (_, lateness) = delays(origin, Some(link))?;
        print_quantiles(out, "  the relay sends late", &lateness)?;
        // Of a burst that is due at once, half waits for the other half.
        let (percent, limit) = DELAY_LIMITS[1];
        is_kept &= lateness.quantile(Gain::percent(percent)) <= limit;
    }
    let [(_, p50), (_, p99)] = DELAY_LIMITS.map(|(percent, limit)| (percent, micros(limit)));
    let verdict = verdict(is_kept);
    writeln!(out, "{:46}{p50:8.1}{p99:8.1}{verdict:>17}", "limit")?;
    Ok(is_kept)
}

fn print_quantiles(out: &mut impl io::Write, what: &str, all: &Histogram) -> io::Result<()> {
    let shares = [Gain::percent(50), Gain::percent(99), Gain::new(999, 1_000)];
    let [p50, p99, p999] = shares.map(|share| micros(all.quantile(share)));
    let most = micros(all.max());
    writeln!(out, "{what:46}{p50:8.1}{p99:8.1}{p999:8.1}{most:9.1}")
}

/// How late the relay's way of sleeping ends on this machine.
fn timer_floor(origin: Instant) -> io::Result<Histogram> {
    let mut late = Histogram::default();
    for _ in 0..20_000 {
        let due = origin.elapsed() + GAP;
        sleep_until(origin, due)?;
        late.record(origin.elapsed().saturating_sub(due));
    }
    Ok(late)
}

/// One-way delays of a stream of 100 Mbit/s beyond what the link says, and the relay's own
/// lateness.
fn delays(origin: Instant, link: Option<&str>) -> io::Result<(Histogram, Histogram)> {
    let sink = socket()?;
    let relay = link
        .map(|link| spawn(sink.local_addr()?, link))
        .transpose()?;
    let to = match &relay {
        Some(relay) => relay.local_addr(),
        None => sink.local_addr()?,
    };
    let asked = asked(link)?;
    let receiver = thread::spawn(move || -> io::Result<Histogram> {
        let mut beyond = Histogram::default();
        let mut buffer = [0; PAYLOAD];
        while sink.recv(&mut buffer).is_ok() {
            let arrived = origin.elapsed();
            let (stamp, _) = buffer
                .split_first_chunk()
                .expect("a datagram holds its time");
            let sent = Duration::from_nanos(u64::from_le_bytes(*stamp));
            beyond.record(arrived.saturating_sub(sent + asked));
        }
        Ok(beyond)
    });
    let source = socket()?;
    let begin = origin.elapsed();
    for n in 0..STREAM {
        sleep_until(origin, begin + GAP * n)?;
        let mut datagram = [0; PAYLOAD];
        let stamp = u64::try_from(origin.elapsed().as_nanos()).expect("584 years");
        datagram[..8].copy_from_slice(&stamp.to_le_bytes());
        source.send_to(&datagram, to)?;
    }
    let beyond = receiver.join().expect("the receiver does not panic")?;
    let stats = relay.map(RelayHandle::shutdown).transpose()?;
    Ok((beyond, stats.unwrap_or_default().lateness.all().clone()))
}

/// How long the link takes by itself, its transmission included.
fn asked(link: Option<&str>) -> io::Result<Duration> {
    let Some(link) = link else {
        return Ok(Duration::ZERO);
    };
    let spec: LinkSpec = link.parse().map_err(io::Error::other)?;
    let size = Bytes::new(PAYLOAD as u64) + IPV4_UDP_OVERHEAD;
    Ok(spec.delay() + spec.rate().map_or(Duration::ZERO, |rate| size / rate))
}

/// A link, packets offered and packets demanded a second.
struct Load {
    link: &'static str,
    offered: u32,
    limit: Option<u32>,
}

/// Answers whether the limits are kept.
fn print_throughput(out: &mut impl io::Write, origin: Instant) -> io::Result<bool> {
    writeln!(
        out,
        "\n{:34}{:>9}{:>8}{:>7}{:>7}{:>7}{:>8}",
        "packets", "per s", "Mbit/s", "lost", "busy", "late", "limit"
    )?;
    let mut is_kept = true;
    for load in &LOADS {
        let Carried {
            packets_per_second,
            rate,
            lost,
            busy,
            late,
        } = carry(origin, load)?;
        let keeps = load
            .limit
            .is_none_or(|limit| packets_per_second >= f64::from(limit));
        is_kept &= keeps;
        let limit = load
            .limit
            .map_or_else(String::new, |limit| limit.to_string());
        writeln!(
            out,
            "{:34}{packets_per_second:9.0}{:8.0}{lost:6.2}%{busy:6.1}%{late:6.2}%{limit:>8}",
            load.link,
            rate.bits_per_sec() as f64 / 1e6,
        )?;
    }
    writeln!(out, "{:72}{:>8}", "", verdict(is_kept))?;
    writeln!(
        out,
        "Mbit/s of payload; lost of the offered, anywhere; busy: share of one core's time that\n\
         the relay took; late: sent more than 1 ms after their time"
    )?;
    Ok(is_kept)
}

/// What became of a load.
struct Carried {
    packets_per_second: f64,
    /// Of payload.
    rate: Bandwidth,
    /// Percent, as all that follow.
    lost: f64,
    busy: f64,
    late: f64,
}

/// Offers a load for some seconds.
fn carry(origin: Instant, load: &Load) -> io::Result<Carried> {
    let sink = socket()?;
    let relay = spawn(sink.local_addr()?, load.link)?;
    let received = AtomicU64::new(0);
    let (offered, time, cpu) = thread::scope(|scope| {
        scope.spawn(|| count(&sink, &received));
        let before = relay.stats().cpu;
        let (offered, time) = blast(origin, relay.local_addr(), load.offered)?;
        Ok::<_, io::Error>((offered, time, relay.stats().cpu - before))
    })?;
    let packets = received.load(Ordering::Relaxed);
    let stats = relay.shutdown()?;
    let percent = |part: f64, whole: f64| 100.0 * part / whole.max(1.0);
    let all = stats.lateness.all().count();
    Ok(Carried {
        packets_per_second: packets as f64 / time.as_secs_f64(),
        rate: Bandwidth::from_transfer(Bytes::new(PAYLOAD as u64) * packets, time),
        lost: percent(offered.saturating_sub(packets) as f64, offered as f64),
        busy: 100.0 * cpu.as_secs_f64() / time.as_secs_f64(),
        late: percent(stats.lateness.late() as f64, all as f64),
    })
}

/// Sends small batches at the offered rate; answers how many datagrams, and how long it took.
fn blast(origin: Instant, to: SocketAddr, offered: u32) -> io::Result<(u64, Duration)> {
    let source = socket()?;
    let state = UdpSocketState::new((&source).into())?;
    let segments = state.max_gso_segments().min(16);
    let contents = vec![7; segments * PAYLOAD];
    let transmit = Transmit {
        destination: to,
        ecn: None,
        contents: &contents,
        segment_size: Some(PAYLOAD),
        src_ip: None,
    };
    let begin = origin.elapsed();
    let batches = BLAST_SECONDS * offered / segments as u32;
    for batch in 0..batches {
        let due = begin + Duration::from_secs(1) * (batch * segments as u32) / offered;
        if due > origin.elapsed() {
            sleep_until(origin, due)?;
        }
        match state.try_send((&source).into(), &transmit) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            _ => {}
        }
    }
    Ok((
        u64::from(batches) * segments as u64,
        origin.elapsed() - begin,
    ))
}

/// Counts datagrams until none comes for a while.
fn count(sink: &UdpSocket, received: &AtomicU64) {
    let state = UdpSocketState::new(sink.into()).expect("a UDP socket has batches");
    let mut memory = vec![0; BATCH_SIZE * 65_535];
    let mut metas = [RecvMeta::default(); BATCH_SIZE];
    loop {
        let mut slices: Vec<_> = memory.chunks_mut(65_535).map(IoSliceMut::new).collect();
        match state.recv(sink.into(), &mut slices, &mut metas) {
            Ok(batches) => {
                let datagrams = |meta: &RecvMeta| meta.len.div_ceil(meta.stride.max(1)) as u64;
                let count = metas[..batches].iter().map(datagrams).sum();
                received.fetch_add(count, Ordering::Relaxed);
            }
            Err(_) if !readable(sink) => return,
            Err(_) => {}
        }
    }
}

/// Whether something comes within half a second.
fn readable(socket: &UdpSocket) -> bool {
    use rustix::event::{PollFd, PollFlags};
    let patience = Timespec {
        tv_sec: 0,
        tv_nsec: 500_000_000,
    };
    poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&patience)).is_ok_and(|ready| ready > 0)
}

fn spawn(to: SocketAddr, link: &str) -> io::Result<RelayHandle> {
    Relay::spawn(RelayConfig {
        link: link.parse().map_err(io::Error::other)?,
        seed: 1,
        ..RelayConfig::new((Ipv4Addr::LOCALHOST, 0).into(), to)
    })
}

/// A socket on loopback whose receiver gives up after half a second of silence.
fn socket() -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.set_read_timeout(Some(Duration::from_millis(500)))?;
    #[cfg(target_os = "linux")]
    let _ = rustix::net::sockopt::set_socket_recv_buffer_size_force(&socket, 8 << 20);
    Ok(socket)
}

fn sleep_until(origin: Instant, due: Duration) -> io::Result<()> {
    let wait = due.saturating_sub(origin.elapsed());
    let wait = Timespec {
        tv_sec: 0,
        tv_nsec: i64::from(wait.subsec_nanos()),
    };
    poll(&mut [], Some(&wait))?;
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a bench measures real time")]
fn now() -> Instant {
    Instant::now()
}

fn micros(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e3
}

fn verdict(is_kept: bool) -> &'static str {
    if is_kept { "kept" } else { "MISSED" }
}

/// Payload of a datagram: what QUIC sends on a path of 1,500 bytes.
const PAYLOAD: usize = 1_452;
/// 1,494 bytes at 100 Mbit/s.
const GAP: Duration = Duration::from_nanos(119_520);
/// Four seconds.
const STREAM: u32 = 33_000;
const BLAST_SECONDS: u32 = 3;
/// Percentiles of the delay beyond what the link says, loopback included.
const DELAY_LIMITS: [(u64, Duration); 2] = [
    (50, Duration::from_micros(60)),
    (99, Duration::from_micros(300)),
];
/// What is played back, by the relay's own account: how long a packet should have waited is not
/// known outside. Starlink's opportunities come in bursts of about 20.
const RECORDED: [&str; 2] = ["starlink-trace", "china-wired"];
/// 86,089 packets of 1,452 bytes are 1 Gbit/s. Where there is a rate, each leaves by itself;
/// without one, they leave as they came, 16 at a time.
const LOADS: [Load; 4] = [
    Load {
        link: "delay 5ms rate 2gbit queue 4000p",
        offered: 90_000,
        limit: Some(86_089),
    },
    Load {
        link: "delay 5ms rate 5gbit queue 4000p",
        offered: 205_000,
        limit: Some(200_000),
    },
    Load {
        link: "delay 5ms rate 9gbit queue 4000p",
        offered: 400_000,
        limit: None,
    },
    Load {
        link: "delay 5ms limit 100000",
        offered: 500_000,
        limit: None,
    },
];
