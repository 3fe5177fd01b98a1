//! What the relay costs: how late it is, beside what the machine's own timers and loopback cost,
//! and how much it carries.
//!
//! ```text
//! cargo run --release -p link-sim --example relay_bench
//! ```

use core::time::Duration;
use link_sim::relay::{Relay, RelayConfig, RelayHandle};
use link_sim::{Histogram, IPV4_UDP_OVERHEAD, LinkSpec};
use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSocketState};
use rustix::event::{Timespec, poll};
use std::io::{self, IoSliceMut, Write as _};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;
use units::{Bandwidth, Bytes, Gain};

fn main() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::thread::set_current_timer_slack(core::num::NonZeroU64::new(1))?;
    let origin = now();
    print("timer: sleeps of 120 us end late by", &timer_floor(origin)?)?;
    let (direct, _) = delays(origin, None)?;
    print("loopback without a relay takes", &direct)?;
    for link in ["delay 10ms", "delay 10ms rate 200mbit queue 1000p"] {
        let (through, lateness) = delays(origin, Some(link))?;
        print(&format!("`{link}` adds, loopback included,"), &through)?;
        print("    of which the relay itself is late by", &lateness)?;
    }
    for (link, offered) in [
        ("", 600_000),
        ("delay 5ms limit 100000", 300_000),
        ("delay 5ms rate 1gbit queue 2000p", 90_000),
        ("delay 5ms rate 5gbit queue 2000p", 450_000),
    ] {
        throughput(origin, link, offered)?;
    }
    Ok(())
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

/// One-way delays beyond the link's 10 ms of a stream of 100 Mbit/s, and the relay's own lateness.
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
    let lateness = relay.map(RelayHandle::shutdown).transpose()?;
    Ok((beyond, lateness.unwrap_or_default().lateness.all().clone()))
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

/// Offers so many packets a second, and prints what arrives.
fn throughput(origin: Instant, link: &str, offered: u32) -> io::Result<()> {
    let sink = socket()?;
    let relay = spawn(sink.local_addr()?, link)?;
    let received = AtomicU64::new(0);
    let seconds = thread::scope(|scope| {
        scope.spawn(|| count(&sink, &received));
        blast(origin, relay.local_addr(), offered)
    })?;
    let packets = received.load(Ordering::Relaxed);
    let stats = relay.shutdown()?;
    let bytes = (Bytes::new(PAYLOAD as u64) + IPV4_UDP_OVERHEAD) * packets;
    let rate = Bandwidth::from_transfer(bytes, seconds);
    writeln!(
        io::stdout(),
        "`{link}`: {:.0} packets/s, {:.0} Mbit/s at layer 2; given {} lost {} in the link, {:?} in \
         front of it; late by p50 {:?} p99 {:?}",
        packets as f64 / seconds.as_secs_f64(),
        rate.bits_per_sec() as f64 / 1e6,
        stats.link.arrived.packets,
        stats.link.dropped.total().packets,
        stats.kernel_dropped.unwrap_or(0),
        stats.lateness.all().quantile(Gain::percent(50)),
        stats.lateness.all().quantile(Gain::percent(99)),
    )
}

/// Sends batches at the offered rate for two seconds; answers how long it took.
fn blast(origin: Instant, to: SocketAddr, offered: u32) -> io::Result<Duration> {
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
    for batch in 0..2 * offered / segments as u32 {
        let due = begin + Duration::from_secs(1) * (batch * segments as u32) / offered;
        if due > origin.elapsed() {
            sleep_until(origin, due)?;
        }
        match state.try_send((&source).into(), &transmit) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            _ => {}
        }
    }
    Ok(origin.elapsed() - begin)
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
    let parse = |link: &str| link.parse().expect("the links above are right");
    Relay::spawn(RelayConfig {
        listen: (Ipv4Addr::LOCALHOST, 0).into(),
        to,
        link: parse(link),
        return_link: parse(""),
        seed: 1,
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

fn print(what: &str, delays: &Histogram) -> io::Result<()> {
    let micros = |share| delays.quantile(share).as_nanos() as f64 / 1e3;
    writeln!(
        io::stdout(),
        "{what} p50 {:.1} us, p99 {:.1} us, p99.9 {:.1} us, most {:.0} us ({} samples)",
        micros(Gain::percent(50)),
        micros(Gain::percent(99)),
        micros(Gain::new(999, 1_000)),
        delays.max().as_nanos() as f64 / 1e3,
        delays.count(),
    )
}

/// Payload of a datagram: what QUIC sends on a path of 1,500 bytes.
const PAYLOAD: usize = 1_452;
/// 1,494 bytes at 100 Mbit/s.
const GAP: Duration = Duration::from_nanos(119_520);
/// Four seconds.
const STREAM: u32 = 33_000;
