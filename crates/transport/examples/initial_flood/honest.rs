//! The honest client and the newcomers.
#![expect(clippy::disallowed_methods, reason = "a stopwatch")]

use super::server::{self, Server};
use super::{Direction, Result};
use paceline::tls::{self, Fingerprint};
use paceline::{Connection, Endpoint};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::time;

pub(super) struct Figures {
    /// Bytes of the transfer that have arrived while it was measured.
    pub(super) bytes: u64,
    /// Of the datagrams whose echo has come.
    pub(super) rtts: Vec<Duration>,
    /// Times that handshakes took.
    pub(super) newcomers: Vec<Duration>,
    pub(super) tried: usize,
}

pub(super) fn run(
    server: &Server,
    direction: Direction,
    mbit: u32,
    warm_up: Duration,
    duration: Duration,
) -> Result<Figures> {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build()?;
    runtime.block_on(transfer(server, direction, mbit, warm_up, duration))
}

async fn transfer(
    server: &Server,
    direction: Direction,
    mbit: u32,
    warm_up: Duration,
    duration: Duration,
) -> Result<Figures> {
    let config = tls::client_with_fingerprint(server.fingerprint).config()?;
    let endpoint = Endpoint::client("127.0.0.1:0".parse()?)?;
    let address = server.address;
    let connection = time::timeout(PATIENCE, async {
        endpoint
            .connect_with(config, address, "localhost")?
            .await
            .map_err(Into::into)
    });
    let connection: Connection = { connection.await? as Result<_> }?;
    let count = match direction {
        Direction::Upload => Arc::clone(&server.received),
        Direction::Download => Arc::default(),
    };
    let moving = tokio::spawn(move_data(
        connection.clone(),
        direction,
        mbit,
        count.clone(),
    ));
    time::sleep(warm_up).await;
    let before = count.load(Ordering::Relaxed);
    let (start, newcomers) = (
        Instant::now(),
        tokio::spawn(come(
            endpoint.clone(),
            server.fingerprint,
            address,
            duration,
        )),
    );
    let rtts = ping(&connection, start + duration).await?;
    let bytes = count.load(Ordering::Relaxed) - before;
    moving.abort();
    connection.close(0_u32.into(), b"");
    let (newcomers, tried) = newcomers.await?;
    endpoint.close(0_u32.into(), b"");
    Ok(Figures {
        bytes,
        rtts,
        newcomers,
        tried,
    })
}

async fn move_data(
    connection: Connection,
    direction: Direction,
    mbit: u32,
    count: Arc<AtomicU64>,
) -> Result<()> {
    if direction == Direction::Upload {
        return server::write(&connection, mbit).await;
    }
    let mut request = connection.open_uni().await?;
    request.write_all(b"data").await?;
    let mut stream = connection.accept_uni().await?;
    while let Some(chunk) = stream.read_chunk(1 << 16, true).await? {
        count.fetch_add(chunk.bytes.len() as u64, Ordering::Relaxed);
    }
    Ok(())
}

/// A datagram every 5 ms until `end`; the times until their echoes.
async fn ping(connection: &Connection, end: Instant) -> Result<Vec<Duration>> {
    let start = Instant::now();
    let mut ticks = time::interval(Duration::from_millis(5));
    let mut rtts = Vec::new();
    loop {
        tokio::select! {
            _ = ticks.tick() => {
                if Instant::now() >= end {
                    return Ok(rtts);
                }
                let sent = start.elapsed().as_nanos() as u64;
                connection.send_datagram(sent.to_be_bytes().to_vec().into())?;
            }
            echo = connection.read_datagram() => {
                let sent = u64::from_be_bytes(echo?[..].try_into()?);
                rtts.push(start.elapsed() - Duration::from_nanos(sent));
            }
        }
    }
}

/// A newcomer every 200 ms; the times that their handshakes took, and how many there were.
async fn come(
    endpoint: Endpoint,
    fingerprint: Fingerprint,
    address: std::net::SocketAddr,
    duration: Duration,
) -> (Vec<Duration>, usize) {
    let end = Instant::now() + duration;
    let (mut times, mut tried) = (Vec::new(), 0);
    let mut ticks = time::interval(Duration::from_millis(200));
    while Instant::now() < end {
        ticks.tick().await;
        tried += 1;
        let start = Instant::now();
        // Each keeps the tokens that servers give it.
        let Ok(config) = tls::client_with_fingerprint(fingerprint).config() else {
            continue;
        };
        let Ok(connecting) = endpoint.connect_with(config, address, "localhost") else {
            continue;
        };
        if let Ok(Ok(connection)) = time::timeout(PATIENCE, connecting).await {
            times.push(start.elapsed());
            connection.close(0_u32.into(), b"");
        }
    }
    (times, tried)
}

/// The smallest that is no less than so many percent of them; zero if there are none.
pub(super) fn percentile(times: &[Duration], percent: usize) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    let index = (times.len() * percent).div_ceil(100).saturating_sub(1);
    times.get(index).copied().unwrap_or_default()
}

const PATIENCE: Duration = Duration::from_secs(10);
