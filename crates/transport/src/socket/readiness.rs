//! When a UDP socket has something to receive, and when it has room.

#[cfg(target_os = "linux")]
pub(super) use linux::Io;
#[cfg(not(target_os = "linux"))]
pub(super) use portable::Io;

#[cfg(target_os = "linux")]
mod linux {
    use crate::event_loop::register;
    use crate::lock::{Guard, Lock, Locked, Rank};
    use std::io;
    use std::net::UdpSocket;
    use std::os::fd::{AsFd, OwnedFd};
    use std::task::{Context, Poll, ready};
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    /// Wakes its task for what arrives, and for room in the send buffer only after there was none.
    ///
    /// tokio's own socket asks for both at all times, and the kernel announces room whenever a
    /// packet has left: one wake-up more for each request, and one system call.
    #[derive(Debug)]
    pub(in crate::socket) struct Io {
        socket: AsyncFd<UdpSocket>,
        /// A second descriptor of the socket, from when it was full until there is room again.
        full: Lock<Option<AsyncFd<OwnedFd>>>,
    }

    impl Locked for Option<AsyncFd<OwnedFd>> {
        const RANK: Rank = Rank::SocketState;
    }

    impl Io {
        /// # Errors
        /// When the event loop takes no more descriptors.
        ///
        /// # Panics
        /// Outside a tokio runtime.
        pub(in crate::socket) fn new(socket: UdpSocket) -> io::Result<Self> {
            Ok(Self {
                socket: register(socket, Interest::READABLE)?,
                full: Lock::default(),
            })
        }

        pub(in crate::socket) fn socket(&self) -> &UdpSocket {
            self.socket.get_ref()
        }

        /// Calls `receive`, which asks the kernel for `most` messages at most, once there may be
        /// some; if there is none, the task will be woken by the next.
        ///
        /// Fewer than `most` are all there were. Readiness is signalled by the edge, so what comes
        /// later is announced anew, and the kernel need not be asked once more.
        pub(in crate::socket) fn poll_recv(
            &self,
            cx: &mut Context<'_>,
            most: usize,
            mut receive: impl FnMut() -> io::Result<usize>,
        ) -> Poll<io::Result<usize>> {
            loop {
                let mut ready = ready!(self.socket.poll_read_ready(cx))?;
                match receive() {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => ready.clear_ready(),
                    Ok(count) if count < most => {
                        ready.clear_ready();
                        return Poll::Ready(Ok(count));
                    }
                    result => return Poll::Ready(result),
                }
            }
        }

        /// Calls `send`. After [`io::ErrorKind::WouldBlock`], [`poll_room`](Self::poll_room) says
        /// when there is room.
        pub(in crate::socket) fn send(&self, send: impl Fn() -> io::Result<()>) -> io::Result<()> {
            let result = send();
            if let Err(error) = &result
                && error.kind() == io::ErrorKind::WouldBlock
            {
                self.watch_for_room()?;
            }
            result
        }

        fn watch_for_room(&self) -> io::Result<()> {
            let mut full = self.full();
            if full.is_none() {
                let second = self.socket().as_fd().try_clone_to_owned()?;
                *full = Some(register(second, Interest::WRITABLE)?);
            }
            Ok(())
        }

        /// Ready unless the socket has been full since it last was.
        pub(in crate::socket) fn poll_room(&self, cx: &mut Context<'_>) -> Poll<()> {
            let mut full = self.full();
            if let Some(watched) = &*full {
                // An error means that the runtime is shutting down.
                let _ = ready!(watched.poll_write_ready(cx));
                *full = None;
            }
            Poll::Ready(())
        }

        fn full(&self) -> Guard<'_, Option<AsyncFd<OwnedFd>>> {
            self.full.lock()
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use std::cell::Cell;
        use std::net::Ipv4Addr;
        use tokio_test::{assert_pending, assert_ready, assert_ready_ok, task};

        fn io() -> Io {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            socket.set_nonblocking(true).unwrap();
            Io::new(socket).unwrap()
        }

        /// Receives up to two messages, and counts how often the kernel is asked.
        fn poll_two(io: &Io, cx: &mut Context<'_>, calls: &Cell<u32>) -> Poll<io::Result<usize>> {
            io.poll_recv(cx, 2, || {
                calls.set(calls.get() + 1);
                let first = io.socket().recv(&mut [0; 9])?;
                let second = io.socket().recv(&mut [0; 9]);
                Ok(first.min(1) + usize::from(second.is_ok()))
            })
        }

        #[tokio::test]
        async fn the_kernel_is_asked_once_when_it_has_less_than_was_asked_for() {
            let (io, calls) = (io(), Cell::new(0));
            let address = io.socket().local_addr().unwrap();
            for round in 1..=3 {
                io.socket().send_to(b"x", address).unwrap();
                let receive = std::future::poll_fn(|cx| poll_two(&io, cx, &calls));
                assert_eq!(receive.await.unwrap(), 1);
                let mut idle = task::spawn(());
                assert_pending!(idle.enter(|cx, _| poll_two(&io, cx, &calls)));
                assert_eq!(calls.get(), round);
            }
        }

        #[tokio::test]
        async fn a_full_batch_may_not_have_been_all() {
            let (io, calls) = (io(), Cell::new(0));
            let address = io.socket().local_addr().unwrap();
            for _ in 0..3 {
                io.socket().send_to(b"x", address).unwrap();
            }
            let receive = std::future::poll_fn(|cx| poll_two(&io, cx, &calls));
            assert_eq!(receive.await.unwrap(), 2);
            let mut rest = task::spawn(());
            let rest = rest.enter(|cx, _| poll_two(&io, cx, &calls));
            assert_eq!(assert_ready_ok!(rest), 1);
        }

        #[tokio::test]
        async fn a_full_socket_is_waited_for() {
            let io = io();
            let mut waiting = task::spawn(());
            assert_ready!(waiting.enter(|cx, _| io.poll_room(cx)));
            let refused = io.send(|| Err(io::ErrorKind::WouldBlock.into()));
            assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::WouldBlock);
            assert_pending!(waiting.enter(|cx, _| io.poll_room(cx)));
            // The event loop looks, and there is room.
            std::future::poll_fn(|cx| io.poll_room(cx)).await;
            assert!(io.full().is_none());
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod portable {
    use std::io;
    use std::net::UdpSocket;
    use std::task::{Context, Poll, ready};
    use tokio::io::Interest;

    /// Wakes its task for what arrives, and when there is room in the send buffer.
    #[derive(Debug)]
    pub(in crate::socket) struct Io(tokio::net::UdpSocket);

    impl Io {
        /// # Errors
        /// When the event loop takes no more sockets.
        ///
        /// # Panics
        /// Outside a tokio runtime.
        pub(in crate::socket) fn new(socket: UdpSocket) -> io::Result<Self> {
            Ok(Self(tokio::net::UdpSocket::from_std(socket)?))
        }

        pub(in crate::socket) fn socket(&self) -> &tokio::net::UdpSocket {
            &self.0
        }

        /// Calls `receive` once there may be messages; if there is none, the task will be woken by
        /// the next. That there were fewer than `most` says nothing: some systems give one at a
        /// time.
        pub(in crate::socket) fn poll_recv(
            &self,
            cx: &mut Context<'_>,
            _most: usize,
            mut receive: impl FnMut() -> io::Result<usize>,
        ) -> Poll<io::Result<usize>> {
            loop {
                ready!(self.0.poll_recv_ready(cx))?;
                match self.0.try_io(Interest::READABLE, &mut receive) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    result => return Poll::Ready(result),
                }
            }
        }

        /// Calls `send`. After [`io::ErrorKind::WouldBlock`], [`poll_room`](Self::poll_room) says
        /// when there is room.
        pub(in crate::socket) fn send(&self, send: impl Fn() -> io::Result<()>) -> io::Result<()> {
            match send() {
                // Through the event loop, so that it learns that the socket is full.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.0.try_io(Interest::WRITABLE, send)
                }
                result => result,
            }
        }

        pub(in crate::socket) fn poll_room(&self, cx: &mut Context<'_>) -> Poll<()> {
            self.0.poll_send_ready(cx).map(|_| ())
        }
    }
}
