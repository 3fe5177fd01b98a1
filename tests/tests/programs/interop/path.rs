//! The way between a client and a server, watched, with a NAT that may forget.

use crate::interop::seen::Seen;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::net::UdpSocket;
use tokio::sync::mpsc::{self, Sender};
use tokio::task::JoinHandle;

/// Forwards datagrams until it is dropped.
pub(crate) struct Path {
    address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
    task: JoinHandle<()>,
}

impl Path {
    /// To `server`; after `rebinds_at` datagrams from the server its clients get other ports.
    pub(crate) async fn to(server: SocketAddr, rebinds_at: Option<usize>) -> Self {
        let inside = UdpSocket::bind(SocketAddr::new(server.ip(), 0))
            .await
            .unwrap();
        let address = inside.local_addr().unwrap();
        let seen = Arc::<Mutex<Seen>>::default();
        let task = tokio::spawn(forward(inside, server, Arc::clone(&seen), rebinds_at));
        Self {
            address,
            seen,
            task,
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn seen(&self) -> Seen {
        self.seen.lock().unwrap().clone()
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A datagram from the server, and the client that it goes to.
type Answer = (Vec<u8>, SocketAddr);

async fn forward(
    inside: UdpSocket,
    server: SocketAddr,
    seen: Arc<Mutex<Seen>>,
    mut rebinds_at: Option<usize>,
) {
    let mut outside = HashMap::<SocketAddr, Mapping>::new();
    let (answers, mut answered) = mpsc::channel::<Answer>(1_024);
    let mut datagram = vec![0; 65_535];
    let mut count = 0;
    loop {
        // A datagram that is refused is lost, as it may be anywhere.
        tokio::select! {
            Ok((len, client)) = inside.recv_from(&mut datagram) => {
                let mapping = match outside.entry(client) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(new) => {
                        seen.lock().unwrap().new_client();
                        new.insert(Mapping::of(client, server, answers.clone()).await)
                    }
                };
                seen.lock().unwrap().upwards(&datagram[..len], client);
                let _ = mapping.socket.send_to(&datagram[..len], server).await;
            }
            Some((datagram, client)) = answered.recv() => {
                seen.lock().unwrap().downwards(&datagram, client);
                let _ = inside.send_to(&datagram, client).await;
                count += 1;
                if rebinds_at.is_some_and(|at| count >= at) {
                    rebinds_at = None;
                    outside.clear();
                }
            }
        }
    }
}

/// The socket by which the server sees a client.
struct Mapping {
    socket: Arc<UdpSocket>,
    task: JoinHandle<()>,
}

impl Mapping {
    async fn of(client: SocketAddr, server: SocketAddr, answers: Sender<Answer>) -> Self {
        let socket = UdpSocket::bind(SocketAddr::new(server.ip(), 0)).await;
        let socket = Arc::new(socket.unwrap());
        let receiving = Arc::clone(&socket);
        let task = tokio::spawn(async move {
            let mut datagram = vec![0; 65_535];
            while let Ok((len, _)) = receiving.recv_from(&mut datagram).await {
                if answers
                    .send((datagram[..len].to_vec(), client))
                    .await
                    .is_err()
                {
                    return;
                }
            }
        });
        Self { socket, task }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        self.task.abort();
    }
}
