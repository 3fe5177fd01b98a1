//! Waiting for sockets, with a timeout in nanoseconds.

use crate::realtime::poll_for;
use core::time::Duration;
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use std::io;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// The relay shall end.
    Stop,
    /// The relay's handle wants something.
    Requests,
    /// The socket that clients send to.
    Listener,
    /// The socket towards the server of the client with this number.
    Client(u64),
}

/// A set of descriptors, each with its [`Source`].
///
/// On Linux it is an epoll, which costs the same however many clients there are.
#[derive(Debug)]
pub(super) struct Poller {
    set: Set,
    /// Waits so far that found something.
    turn: usize,
}

impl Poller {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            set: Set::new()?,
            turn: 0,
        })
    }

    /// Waits for this one too, until it is closed and, where it does not go by itself,
    /// [removed](Self::remove).
    pub(super) fn add(&mut self, source: Source, fd: impl AsFd) -> io::Result<()> {
        self.set.add(source, fd)
    }

    /// Forgets one that is about to be closed.
    pub(super) fn remove(&mut self, source: Source) {
        self.set.remove(source);
    }

    /// Sleeps until something is readable or `wait` is over, and lists in `ready` what is
    /// readable: at most [`MAX_READY`], the others the next time. Another one stands first each
    /// time, so that one that is always readable does not keep whoever reads from the others.
    ///
    /// # Errors
    /// When the kernel refuses to wait.
    pub(super) fn wait(
        &mut self,
        wait: Option<Duration>,
        ready: &mut Vec<Source>,
    ) -> io::Result<()> {
        ready.clear();
        match self.set.wait(wait, ready) {
            Ok(()) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if !ready.is_empty() {
            self.turn = self.turn.wrapping_add(1);
            let first = self.turn % ready.len();
            ready.rotate_left(first);
        }
        Ok(())
    }
}

#[cfg(target_os = "linux")]
#[derive(Debug)]
struct Set {
    epoll: OwnedFd,
}

#[cfg(target_os = "linux")]
impl Set {
    fn new() -> io::Result<Self> {
        use rustix::event::epoll::{CreateFlags, create};
        let epoll = create(CreateFlags::CLOEXEC)?;
        Ok(Self { epoll })
    }

    fn add(&mut self, source: Source, fd: impl AsFd) -> io::Result<()> {
        use rustix::event::epoll::{EventData, EventFlags, add};
        let data = EventData::new_u64(source.number());
        Ok(add(&self.epoll, fd, data, EventFlags::IN)?)
    }

    /// The kernel forgets a descriptor that is closed.
    fn remove(&mut self, _: Source) {}

    /// epoll_wait counts in milliseconds, and epoll_pwait2 is missing before Linux 5.11, so that
    /// ppoll does the sleeping.
    fn wait(&mut self, wait: Option<Duration>, ready: &mut Vec<Source>) -> Result<(), Errno> {
        self.collect(ready)?;
        if ready.is_empty() && wait != Some(Duration::ZERO) {
            let mut epoll = [PollFd::new(&self.epoll, PollFlags::IN)];
            poll_for(&mut epoll, wait)?;
            if !epoll[0].revents().is_empty() {
                self.collect(ready)?;
            }
        }
        Ok(())
    }

    fn collect(&mut self, ready: &mut Vec<Source>) -> Result<(), Errno> {
        let mut events = [const { core::mem::MaybeUninit::uninit() }; MAX_READY];
        let at_once = rustix::event::Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let (events, _) = rustix::event::epoll::wait(&self.epoll, &mut events, Some(&at_once))?;
        ready.extend(events.iter().map(|event| Source::of(event.data.u64())));
        Ok(())
    }
}

#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
struct Set {
    /// Duplicates, so that the sockets need not outlive this set.
    fds: Vec<(Source, OwnedFd)>,
}

#[cfg(not(target_os = "linux"))]
impl Set {
    fn new() -> io::Result<Self> {
        Ok(Self { fds: Vec::new() })
    }

    fn add(&mut self, source: Source, fd: impl AsFd) -> io::Result<()> {
        let duplicate = fd.as_fd().try_clone_to_owned()?;
        self.fds.push((source, duplicate));
        Ok(())
    }

    fn remove(&mut self, source: Source) {
        self.fds.retain(|(known, _)| *known != source);
    }

    fn wait(&mut self, wait: Option<Duration>, ready: &mut Vec<Source>) -> Result<(), Errno> {
        // Another one is the first each time, so that none is always beyond the limit.
        let turn = usize::from(!self.fds.is_empty());
        self.fds.rotate_left(turn);
        let mut polled: Vec<PollFd<'_>> = self
            .fds
            .iter()
            .map(|(_, fd)| PollFd::new(fd, PollFlags::IN))
            .collect();
        poll_for(&mut polled, wait)?;
        let readable = polled.iter().map(|fd| !fd.revents().is_empty());
        let all = self.fds.iter().zip(readable);
        let sources = all.filter_map(|((source, _), readable)| readable.then_some(*source));
        ready.extend(sources.take(MAX_READY));
        Ok(())
    }
}

#[cfg(target_os = "linux")]
impl Source {
    fn number(self) -> u64 {
        match self {
            Self::Stop => 0,
            Self::Requests => 1,
            Self::Listener => 2,
            Self::Client(number) => number + 3,
        }
    }

    fn of(number: u64) -> Self {
        match number {
            0 => Self::Stop,
            1 => Self::Requests,
            2 => Self::Listener,
            number => Self::Client(number - 3),
        }
    }
}

/// So that what is due does not wait for a thousand sockets to be read.
const MAX_READY: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, UdpSocket};

    #[test]
    fn what_is_readable_is_named_until_it_was_read_and_nothing_else_is() {
        let sockets = [(); 3].map(|()| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
        let mut poller = Poller::new().unwrap();
        let sources = [
            Source::Listener,
            Source::Client(0),
            Source::Client(u64::MAX - 3),
        ];
        for (source, socket) in sources.into_iter().zip(&sockets) {
            poller.add(source, socket).unwrap();
        }
        let mut ready = vec![Source::Requests];
        poller.wait(Some(Duration::ZERO), &mut ready).unwrap();
        assert_eq!(ready, []);
        let to = sockets[2].local_addr().unwrap();
        sockets[0].send_to(b"!", to).unwrap();
        for _ in 0..2 {
            poller.wait(None, &mut ready).unwrap();
            assert_eq!(ready, [sources[2]]);
        }
        sockets[2].recv(&mut [0]).unwrap();
        poller.wait(Some(Duration::ZERO), &mut ready).unwrap();
        assert_eq!(ready, []);
    }

    #[test]
    fn each_of_those_that_stay_readable_is_first_in_its_turn() {
        let sockets = [(); 3].map(|()| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
        let mut poller = Poller::new().unwrap();
        let sources = [Source::Listener, Source::Client(0), Source::Client(1)];
        for (source, socket) in sources.into_iter().zip(&sockets) {
            poller.add(source, socket).unwrap();
            let to = socket.local_addr().unwrap();
            sockets[0].send_to(b"!", to).unwrap();
        }
        let mut ready = Vec::new();
        let first = [(); 3].map(|()| {
            poller.wait(None, &mut ready).unwrap();
            ready[0]
        });
        assert!(
            sources.iter().all(|source| first.contains(source)),
            "{first:?}"
        );
    }

    #[test]
    fn a_closed_one_is_forgotten() {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let to = socket.local_addr().unwrap();
        let mut poller = Poller::new().unwrap();
        poller.add(Source::Client(7), &socket).unwrap();
        UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))
            .unwrap()
            .send_to(b"!", to)
            .unwrap();
        let mut ready = Vec::new();
        poller.wait(None, &mut ready).unwrap();
        assert_eq!(ready, [Source::Client(7)]);
        poller.remove(Source::Client(7));
        drop(socket);
        poller.wait(Some(Duration::ZERO), &mut ready).unwrap();
        assert_eq!(ready, []);
    }
}
