//! A socket of the application's, in the words of quinn-udp's.

use super::ecn;
use crate::datagram_socket::{ArrivedDatagrams, DatagramBatch, DatagramSocket};
use crate::dscp::Dscp;
use crate::user_code::{self, Role};
use quinn_udp::{RecvMeta, Transmit};
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

#[derive(Debug)]
pub(super) struct OwnSocket(Arc<dyn DatagramSocket>);

impl OwnSocket {
    pub(super) fn new(socket: Arc<dyn DatagramSocket>) -> Self {
        Self(socket)
    }

    pub(super) fn local_addr(&self) -> io::Result<SocketAddr> {
        call(|| self.0.local_addr())?
    }

    pub(super) fn may_fragment(&self) -> bool {
        call(|| self.0.may_fragment()).unwrap_or(true)
    }

    pub(super) fn max_batch(&self) -> usize {
        call(|| self.0.max_batch()).unwrap_or(1)
    }

    pub(super) fn try_send(&self, packets: &Transmit<'_>, dscp: Dscp) -> io::Result<()> {
        let batch = DatagramBatch {
            destination: packets.destination,
            source: packets.src_ip,
            ecn: packets.ecn.map(ecn::to_proto),
            dscp,
            contents: packets.contents,
            size: packets
                .segment_size
                .unwrap_or(packets.contents.len())
                .max(1),
        };
        call(|| self.0.try_send(&batch))?
    }

    pub(super) fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<()> {
        // What is broken is not waited for: the next attempt to send says so.
        call(|| self.0.poll_writable(cx)).unwrap_or(Poll::Ready(()))
    }

    /// As [`poll_recv`](Self::poll_recv), without a task to be woken.
    pub(super) fn try_recv(
        &self,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> io::Result<usize> {
        match self.poll_recv(&mut Context::from_waker(Waker::noop()), buffers, metas) {
            Poll::Ready(result) => result,
            Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    /// Fills buffers until nothing is there. An error is told when it comes first; one that comes
    /// later comes again, or was none.
    pub(super) fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        for (index, (buffer, meta)) in buffers.iter_mut().zip(metas).enumerate() {
            let polled = call(|| self.0.poll_recv(cx, buffer)).unwrap_or_else(error);
            *meta = match polled {
                Poll::Ready(Ok(arrived)) => meta_of(&arrived, buffer.len()),
                Poll::Ready(Err(error)) if error.kind() != io::ErrorKind::WouldBlock => {
                    return Poll::Ready(if index > 0 { Ok(index) } else { Err(error) });
                }
                _ if index > 0 => return Poll::Ready(Ok(index)),
                _ => return Poll::Pending,
            };
        }
        Poll::Ready(Ok(buffers.len()))
    }
}

/// Whatever it says fits the buffer.
fn meta_of(arrived: &ArrivedDatagrams, capacity: usize) -> RecvMeta {
    let len = arrived.len.min(capacity);
    let mut meta = RecvMeta::default();
    meta.addr = arrived.source;
    meta.len = len;
    meta.stride = arrived.size.clamp(1, len.max(1));
    meta.ecn = arrived.ecn.map(ecn::to_udp);
    meta.dst_ip = arrived.destination;
    meta
}

/// Calls the application's code, some of which runs under a connection's lock.
fn call<T>(code: impl FnOnce() -> T) -> io::Result<T> {
    user_code::call_locked(Role::Socket, code).map_err(|panic| {
        io::Error::other(format!(
            "the application's socket panicked: {panic}; mend that `DatagramSocket`"
        ))
    })
}

fn error<T>(error: io::Error) -> Poll<io::Result<T>> {
    Poll::Ready(Err(error))
}
