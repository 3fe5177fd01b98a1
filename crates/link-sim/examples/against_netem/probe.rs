//! Packets through the qdisc of this network namespace's loopback.

use crate::trace::{Received, Sent, Trace};
use core::time::Duration;
use link_sim::IPV4_UDP_OVERHEAD;
use quinn_udp::{BATCH_SIZE, RecvMeta, UdpSocketState};
use rustix::event::{Timespec, poll};
use std::io::{self, IoSliceMut};
use std::net::{Ipv4Addr, UdpSocket};
use std::time::{SystemTime, UNIX_EPOCH};
use units::{Bytes, Rng, Timestamp};

/// How many datagrams to send, and how far apart on average.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schedule {
    pub(crate) packets: u32,
    pub(crate) gap: Duration,
}

/// Sends datagrams of random sizes at random times and notes when each one left and arrived.
///
/// A datagram's send time is read right before its system call; its receive time is the kernel's,
/// so that it does not matter when this process gets around to reading it. One thread is enough
/// therefore, and no switch between processes disturbs the times.
pub(crate) fn observe(schedule: Schedule) -> io::Result<Trace> {
    #[cfg(target_os = "linux")]
    rustix::thread::set_current_timer_slack(core::num::NonZeroU64::new(1))?;
    let receiver = Receiver::new()?;
    let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    sender.connect(receiver.socket.local_addr()?)?;
    let origin = wall();
    let mut rng = Rng::new(SEED);
    let mut trace = Trace::default();
    let (mut now, mut due) = (Duration::ZERO, Duration::ZERO);
    for sequence in 0..u64::from(schedule.packets) {
        due += rng.duration_between(Duration::ZERO, schedule.gap * 2);
        sleep(due.saturating_sub(now))?;
        let payload = PAYLOAD.start + rng.below(PAYLOAD.end - PAYLOAD.start);
        let mut datagram = [0; PAYLOAD.end as usize];
        datagram[..8].copy_from_slice(&sequence.to_le_bytes());
        now = wall().saturating_sub(origin);
        sender.send(&datagram[..payload as usize])?;
        trace.sent.push(Sent {
            at: Timestamp::ZERO + now,
            size: Bytes::new(payload) + IPV4_UDP_OVERHEAD,
        });
        if sequence % READ_EVERY == 0 {
            receiver.read(origin, &mut trace.received)?;
        }
    }
    receiver.read_until_silent(origin, &mut trace.received)?;
    refuse_overflow()?;
    Ok(trace)
}

struct Receiver {
    socket: UdpSocket,
    state: UdpSocketState,
}

impl Receiver {
    fn new() -> io::Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        #[cfg(target_os = "linux")]
        rustix::net::sockopt::set_socket_recv_buffer_size_force(&socket, BUFFER)?;
        let state = UdpSocketState::new((&socket).into())?;
        Ok(Self { socket, state })
    }

    /// Reads what has arrived.
    fn read(&self, origin: Duration, received: &mut Vec<Received>) -> io::Result<()> {
        let mut memory = [[0; PAYLOAD.end as usize]; BATCH_SIZE];
        loop {
            let mut slices = memory.each_mut().map(|buffer| IoSliceMut::new(buffer));
            let mut metas = [RecvMeta::default(); BATCH_SIZE];
            let socket = (&self.socket).into();
            let count = match self.state.recv(socket, &mut slices, &mut metas) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            for (meta, datagram) in metas.iter().zip(&slices).take(count) {
                received.push(arrival(meta, datagram, origin)?);
            }
        }
    }

    fn read_until_silent(&self, origin: Duration, received: &mut Vec<Received>) -> io::Result<()> {
        loop {
            let before = received.len();
            sleep(SILENCE)?;
            self.read(origin, received)?;
            if received.len() == before {
                return Ok(());
            }
        }
    }
}

fn arrival(meta: &RecvMeta, datagram: &[u8], origin: Duration) -> io::Result<Received> {
    let (Some(stamp), Some((sequence, _)), true) = (
        meta.timestamp,
        datagram.split_first_chunk(),
        meta.stride == meta.len,
    ) else {
        return Err(io::Error::other(
            "a datagram came without the kernel's receive time, or several as one",
        ));
    };
    let sequence = usize::try_from(u64::from_le_bytes(*sequence));
    Ok(Received {
        at: Timestamp::ZERO + stamp.saturating_sub(origin),
        sequence: sequence.map_err(io::Error::other)?,
    })
}

/// What the receiving socket had no room for would look like loss.
fn refuse_overflow() -> io::Result<()> {
    let Ok(counters) = std::fs::read_to_string("/proc/net/snmp") else {
        return Ok(());
    };
    let mut udp = counters.lines().filter(|line| line.starts_with("Udp: "));
    let (names, values) = (udp.next().unwrap_or(""), udp.next().unwrap_or(""));
    let mut columns = names.split(' ').zip(values.split(' '));
    match columns.find(|(name, _)| *name == "RcvbufErrors") {
        Some((_, lost)) if lost != "0" => Err(io::Error::other(format!(
            "the receiving socket overflowed: {lost} datagrams lost"
        ))),
        _ => Ok(()),
    }
}

/// `poll` for nothing: in virtual time it takes exactly so long.
fn sleep(time: Duration) -> io::Result<()> {
    if !time.is_zero() {
        let time = Timespec::try_from(time).map_err(io::Error::other)?;
        poll(&mut [], Some(&time))?;
    }
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "a probe measures real time, on the clock with which the kernel stamps datagrams"
)]
fn wall() -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or(Duration::ZERO)
}

/// Of sizes and gaps. netem draws its own numbers.
const SEED: u64 = 1;
/// Room for the sequence number, and no fragment on any Ethernet.
const PAYLOAD: core::ops::Range<u64> = 60..1_453;
/// Datagrams sent per look at those received.
const READ_EVERY: u64 = 64;
/// Far more than arrives between two looks.
#[cfg(target_os = "linux")]
const BUFFER: usize = 32 << 20;
/// Longer than any link here takes for its last packets.
const SILENCE: Duration = Duration::from_secs(5);
