//! What stands between clients and servers in the wild.

use quinn_udp::{Transmit, UdpSockRef, UdpSocketState};
use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

/// A box that gives one client another port, and forgets which when it is told to.
pub(crate) struct Nat {
    pub(crate) address: SocketAddr,
    forget: Arc<Notify>,
    task: AbortHandle,
}

impl Nat {
    pub(crate) async fn start(server: SocketAddr) -> Self {
        let (inside, mut outside) = (socket().await, socket().await);
        let address = inside.local_addr().unwrap();
        let forget = Arc::<Notify>::default();
        let told = Arc::clone(&forget);
        let task = tokio::spawn(async move {
            let mut client = None;
            let (mut up, mut down) = (vec![0; 65_536], vec![0; 65_536]);
            loop {
                tokio::select! {
                    Ok((len, from)) = inside.recv_from(&mut up) => {
                        client = Some(from);
                        let _ = outside.send_to(&up[..len], server).await;
                    }
                    Ok((len, _)) = outside.recv_from(&mut down), if client.is_some() => {
                        let _ = inside.send_to(&down[..len], client.expect("checked")).await;
                    }
                    () = told.notified() => outside = socket().await,
                }
            }
        });
        Self {
            address,
            forget,
            task: task.abort_handle(),
        }
    }

    /// Whatever the client sends from now on comes from a port that the server has never seen;
    /// what is on its way back is lost.
    pub(crate) fn forget(&self) {
        self.forget.notify_one();
    }
}

impl Drop for Nat {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// As interfaces do with what arrives together (GRO), a box that merges the client's datagrams of
/// one length, whichever connections they belong to.
pub(crate) async fn merging(server: SocketAddr) -> SocketAddr {
    let (inside, outside) = (socket().await, socket().await);
    let address = inside.local_addr().unwrap();
    // Of another socket, because it has its socket's datagrams merged on their way back, too.
    let state = UdpSocketState::new(UdpSockRef::from(&socket().await)).unwrap();
    tokio::spawn(async move {
        let mut client = None;
        let (mut up, mut down) = (vec![0; 65_536], vec![0; 65_536]);
        loop {
            tokio::select! {
                Ok((len, _)) = outside.recv_from(&mut down), if client.is_some() => {
                    let _ = inside.send_to(&down[..len], client.expect("checked")).await;
                    continue;
                }
                Ok(()) = inside.readable() => {}
            }
            // For some company to arrive.
            tokio::time::sleep(Duration::from_millis(1)).await;
            let mut by_length = BTreeMap::<usize, Vec<u8>>::new();
            while let Ok((len, from)) = inside.try_recv_from(&mut up) {
                client = Some(from);
                by_length.entry(len).or_default().extend(&up[..len]);
            }
            for (len, datagrams) in by_length {
                send_merged(&state, &outside, server, len, &datagrams);
            }
        }
    });
    address
}

fn send_merged(
    state: &UdpSocketState,
    socket: &UdpSocket,
    server: SocketAddr,
    len: usize,
    datagrams: &[u8],
) {
    let together = state.max_gso_segments().min(65_507 / len);
    for contents in datagrams.chunks(together * len) {
        let batch = Transmit {
            destination: server,
            ecn: None,
            contents,
            segment_size: (contents.len() > len).then_some(len),
            src_ip: None,
        };
        // What finds the socket full is lost.
        match state.try_send(UdpSockRef::from(socket), &batch) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => panic!("{error}"),
            _ => {}
        }
    }
}

async fn socket() -> UdpSocket {
    UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap()
}
