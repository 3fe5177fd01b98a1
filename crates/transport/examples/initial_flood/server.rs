//! The server, on a thread of its own.

use super::{Direction, Result};
use paceline::tls::{self, Fingerprint};
use paceline::{Connection, Endpoint, EndpointStats, Incoming};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use tokio::time;

pub(super) struct Server {
    pub(super) address: SocketAddr,
    pub(super) fingerprint: Fingerprint,
    /// Bytes that have arrived on streams.
    pub(super) received: Arc<AtomicU64>,
    endpoint: Endpoint,
    thread: JoinHandle<Result<()>>,
}

impl Server {
    pub(super) fn start(direction: Direction, mbit: u32) -> Result<Self> {
        let certificate = tls::SelfSigned::generate(["localhost"])?;
        let fingerprint = certificate.fingerprint;
        let config = certificate.server().config()?;
        let received = Arc::new(AtomicU64::new(0));
        let (ready, started) = mpsc::channel();
        let count = Arc::clone(&received);
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = { runtime }.enable_all().build()?;
            runtime.block_on(async move {
                let endpoint = Endpoint::server(config, "127.0.0.1:0".parse()?)?;
                ready.send(endpoint.clone())?;
                accept(endpoint, direction, mbit, count).await;
                Ok(())
            })
        });
        let endpoint = started.recv()?;
        Ok(Self {
            address: endpoint.local_addr()?,
            fingerprint,
            received,
            endpoint,
            thread,
        })
    }

    pub(super) fn stats(&self) -> EndpointStats {
        self.endpoint.stats()
    }

    pub(super) fn stop(self) -> Result<()> {
        self.endpoint.close(0_u32.into(), b"");
        self.thread.join().map_err(|_| "the server has panicked")?
    }
}

/// Has every client prove its address, as a server under attack does.
async fn accept(endpoint: Endpoint, direction: Direction, mbit: u32, count: Arc<AtomicU64>) {
    while let Some(attempt) = endpoint.accept().await {
        if attempt.remote_address_validated() {
            tokio::spawn(serve(attempt, direction, mbit, Arc::clone(&count)));
        } else if let Err(error) = attempt.retry() {
            error.into_incoming().refuse();
        }
    }
}

/// Until the client closes: echoes its datagrams, and takes or gives data.
async fn serve(attempt: Incoming, direction: Direction, mbit: u32, count: Arc<AtomicU64>) {
    let Ok(connection) = attempt.await else {
        return;
    };
    let echoing = connection.clone();
    tokio::spawn(async move {
        while let Ok(datagram) = echoing.read_datagram().await {
            if echoing.send_datagram(datagram).is_err() {
                return;
            }
        }
    });
    let Ok(mut stream) = connection.accept_uni().await else {
        return;
    };
    // The client opens the stream in both cases, as the request.
    if direction == Direction::Download {
        let _ = write(&connection, mbit).await;
    }
    while let Ok(Some(chunk)) = stream.read_chunk(1 << 16, true).await {
        count.fetch_add(chunk.bytes.len() as u64, Ordering::Relaxed);
    }
}

/// Writes `mbit` Mbit/s, every 10 ms a part, until the peer wants no more.
pub(super) async fn write(connection: &Connection, mbit: u32) -> Result<()> {
    let part = vec![0; mbit as usize * 1_000_000 / 8 / 100];
    let mut stream = connection.open_uni().await?;
    let mut ticks = time::interval(time::Duration::from_millis(10));
    loop {
        ticks.tick().await;
        stream.write_all(&part).await?;
    }
}
