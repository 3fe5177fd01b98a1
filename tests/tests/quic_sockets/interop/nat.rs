//! A network address translation that forgets: the server sees another port from then on.

use crate::interop::any;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::net::UdpSocket;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// One client's way to a server.
pub(crate) struct Nat {
    address: SocketAddr,
    task: JoinHandle<()>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    forget: Notify,
    forgotten: Notify,
    retries: AtomicU64,
    /// Datagrams from the server to the address that came last.
    answers: AtomicU64,
    moves: AtomicU64,
}

impl Nat {
    pub(crate) async fn start(server: SocketAddr) -> Self {
        let inside = UdpSocket::bind(any()).await.unwrap();
        let shared = Arc::<Shared>::default();
        Self {
            address: inside.local_addr().unwrap(),
            task: tokio::spawn(forward(inside, server, Arc::clone(&shared))),
            shared,
        }
    }

    /// Where the client sends to.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Forgets the mapping: the next packet makes another.
    pub(crate) async fn rebind(&self) {
        self.shared.forget.notify_one();
        self.shared.forgotten.notified().await;
    }

    /// Retry packets that have passed (RFC 9000 §17.2.5).
    pub(crate) fn retries(&self) -> u64 {
        self.shared.retries.load(Ordering::Relaxed)
    }

    /// Datagrams from the server since it was rebound.
    pub(crate) fn answers_to_new_address(&self) -> u64 {
        assert_eq!(self.shared.moves.load(Ordering::Relaxed), 1);
        self.shared.answers.load(Ordering::Relaxed)
    }
}

impl Drop for Nat {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn forward(inside: UdpSocket, server: SocketAddr, shared: Arc<Shared>) {
    let mut outside = mapping().await;
    // Nobody answers there any more, not even the kernel.
    let mut forgotten = Vec::new();
    let mut client = None;
    let (mut up, mut down) = (vec![0; 65_535], vec![0; 65_535]);
    loop {
        // A datagram that is refused is lost, as it may be anywhere.
        tokio::select! {
            Ok((len, from)) = inside.recv_from(&mut up) => {
                client = Some(from);
                let _ = outside.send_to(&up[..len], server).await;
            }
            Ok((len, _)) = outside.recv_from(&mut down) => {
                shared.answers.fetch_add(1, Ordering::Relaxed);
                if down[0] & 0xf0 == 0xf0 {
                    shared.retries.fetch_add(1, Ordering::Relaxed);
                }
                if let Some(client) = client {
                    let _ = inside.send_to(&down[..len], client).await;
                }
            }
            () = shared.forget.notified() => {
                let fresh = mapping().await;
                forgotten.push(std::mem::replace(&mut outside, fresh));
                shared.answers.store(0, Ordering::Relaxed);
                shared.moves.fetch_add(1, Ordering::Relaxed);
                shared.forgotten.notify_one();
            }
        }
    }
}

/// A socket whose port is one of the dynamic ones (RFC 6335 §6), as are those of all others here.
///
/// s2n-quic's servers drop what comes from a port of another kind than the client's had before
/// (`PortScopeChanged`), and Linux hands out both dynamic ones and others.
async fn mapping() -> UdpSocket {
    // While they are held, the kernel gives others.
    let mut others = Vec::new();
    loop {
        let socket = UdpSocket::bind(any()).await.unwrap();
        if socket.local_addr().unwrap().port() >= 49_152 {
            return socket;
        }
        others.push(socket);
        assert!(
            others.len() < 1_000,
            "the kernel hands out no dynamic ports"
        );
    }
}
