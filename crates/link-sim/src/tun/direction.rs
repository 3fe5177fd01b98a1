use super::ip::{self, ETHERNET_OVERHEAD};
use super::unread::Unread;
use crate::link::Link;
use crate::packet::{Ecn, Packet};
use crate::realtime::{Clock, Lateness, minimize_timer_slack, poll_for};
use crate::stats::LinkStats;
use core::time::Duration;
use rustix::event::{PollFd, PollFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::io::{self, PipeReader};
use std::sync::{Arc, Mutex, PoisonError};
use units::{Bytes, Timestamp};

/// One link and the devices at its ends.
#[derive(Debug)]
pub(super) struct Direction {
    clock: Clock,
    from: Arc<OwnedFd>,
    to: Arc<OwnedFd>,
    link: Link<Box<[u8]>>,
    unread: Unread,
    lateness: Lateness,
    long_unread: u64,
    malformed: u64,
    unsent: u64,
}

/// As in [`TunStats`](super::TunStats), of one direction.
#[derive(Debug)]
pub(super) struct Stats {
    pub(super) link: LinkStats,
    pub(super) lateness: Lateness,
    pub(super) unread: u64,
    pub(super) malformed: u64,
    pub(super) unsent: u64,
}

/// The thread of one direction: works until the other end of `stop` is closed.
///
/// # Errors
/// When the kernel refuses to wait, or the device to read from is gone.
pub(super) fn run(direction: &Mutex<Direction>, stop: &PipeReader) -> io::Result<()> {
    minimize_timer_slack();
    let lock = || direction.lock().unwrap_or_else(PoisonError::into_inner);
    let from = Arc::clone(&lock().from);
    let mut buffer = vec![0; MAX_PACKET];
    loop {
        let wait = lock().turn(&mut buffer)?;
        let mut fds = [
            PollFd::new(stop, PollFlags::IN),
            PollFd::new(&*from, PollFlags::IN),
        ];
        poll_for(&mut fds, wait)?;
        if !fds[0].revents().is_empty() {
            return Ok(());
        }
    }
}

impl Direction {
    /// # Errors
    /// When `from` cannot be read without waiting.
    pub(super) fn new(
        link: Link<Box<[u8]>>,
        from: Arc<OwnedFd>,
        to: Arc<OwnedFd>,
    ) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&from, true)?;
        let clock = Clock::new();
        Ok(Self {
            unread: Unread::new(clock.now()),
            clock,
            from,
            to,
            link,
            lateness: Lateness::default(),
            long_unread: 0,
            malformed: 0,
            unsent: 0,
        })
    }

    pub(super) fn stats(&self) -> Stats {
        Stats {
            link: self.link.stats().clone(),
            lateness: self.lateness.clone(),
            unread: self.long_unread,
            malformed: self.malformed,
            unsent: self.unsent,
        }
    }

    /// Reads what has come, sends what is due, and answers how long there is nothing to do.
    fn turn(&mut self, buffer: &mut [u8]) -> io::Result<Option<Duration>> {
        let more = self.receive(buffer)?;
        self.deliver();
        if more {
            return Ok(Some(Duration::ZERO));
        }
        let now = self.clock.now();
        self.unread.sleep(now);
        Ok(self.link.poll_timeout().map(|next| next.since(now)))
    }

    /// Reads a bounded number of packets, so that nothing due waits for long. Answers whether
    /// there may be more.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        self.unread.wake(self.clock.now());
        for _ in 0..PACKETS_PER_TURN {
            let read = match rustix::io::read(&self.from, &mut *buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => read,
                Err(Errno::INTR) => continue,
                Err(Errno::WOULDBLOCK) => {
                    self.unread.emptied(self.clock.now());
                    return Ok(false);
                }
                Err(error) => return Err(error.into()),
            };
            self.handle(self.clock.now(), &buffer[..read]);
        }
        Ok(true)
    }

    fn handle(&mut self, now: Timestamp, packet: &[u8]) {
        let Some(headers) = ip::parse(packet) else {
            self.malformed += 1;
            return;
        };
        self.long_unread += u64::from(self.unread.is_long(now));
        let size = Bytes::new(packet.len() as u64) + ETHERNET_OVERHEAD;
        let packet = Packet::new(size, packet.into())
            .ecn(headers.ecn)
            .flow(headers.flow);
        self.link.handle_packet(now, packet);
    }

    /// Sends what has reached the far end of the link.
    fn deliver(&mut self) {
        let now = self.clock.now();
        while let Some(delivery) = self.link.poll_output(now) {
            let packet = apply_marks_and_damage(delivery.packet);
            match rustix::io::write(&self.to, &packet) {
                Ok(_) => self
                    .lateness
                    .record(self.clock.now().since(delivery.due), 1),
                Err(_) => self.unsent += 1,
            }
        }
    }
}

/// The bytes of a packet as the link leaves them.
fn apply_marks_and_damage(packet: Packet<Box<[u8]>>) -> Box<[u8]> {
    let mut bytes = packet.payload;
    if packet.ecn == Ecn::Ce {
        ip::mark(&mut bytes);
    }
    if packet.corrupted {
        ip::damage(&mut bytes);
    }
    bytes
}

/// About 50 µs of reading.
const PACKETS_PER_TURN: usize = 32;
/// The largest IP packet, so that none is cut, whatever MTU somebody sets.
const MAX_PACKET: usize = 65_575;
