//! The client: the five kinds of work. What has to happen before the clock runs is done before
//! the parent is asked to let go.

use crate::child::{Orders, say};
use crate::machine::{Usage, now};
use crate::protocol::{GO, Job, Latency, Message, Work};
use crate::server::send;
use crate::settings::Settings;
use crate::stack::{Connection, Sender, Stack};
use crate::wire::{Content, Incoming, Request};
use crate::{Error, Result};
use bytes::Bytes;
use hdrhistogram::Histogram;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::sleep;

/// Does `job` and says what came of it, then waits for the parent to end it: the connections stay
/// until the server has been asked.
pub(crate) async fn work<S: Stack>(
    settings: &Settings,
    certificate: &[u8],
    port: u16,
    job: Job,
    orders: Orders,
) -> Result<()> {
    let mut worker = Worker::<S> {
        client: S::client(settings, certificate)?,
        server: (Ipv4Addr::LOCALHOST, port).into(),
        orders,
    };
    match job {
        Job::Bulk {
            is_upload: true,
            bytes,
            is_checked,
        } => worker.upload(bytes, content(is_checked)).await?,
        Job::Bulk {
            is_upload: false,
            bytes,
            is_checked,
        } => worker.download(bytes, content(is_checked)).await?,
        Job::Ping { requests } => worker.ping(requests).await?,
        Job::Handshakes { count, at_once } => worker.handshakes(count, at_once).await?,
        Job::Many { connections, time } => worker.many(connections, time).await?,
        Job::Idle { connections } => worker.idle(connections).await?,
    }
    Ok(())
}

fn content(is_checked: bool) -> Content {
    match is_checked {
        true => Content::Checked,
        false => Content::Constant,
    }
}

struct Worker<S: Stack> {
    client: S::Client,
    server: SocketAddr,
    orders: Orders,
}

impl<S: Stack> Worker<S> {
    async fn download(&mut self, bytes: u64, content: Content) -> Result<()> {
        let mut connection = S::connect(&self.client, self.server).await?;
        let stopwatch = self.go().await?;
        let (mut sender, receiver) = connection.open().await?;
        let request = Request::Download { bytes, content };
        sender.write(request.encode()).await?;
        let received = Incoming::new(receiver).count(content).await?;
        if received != bytes {
            return Err(format!("{received} of {bytes} bytes arrived").into());
        }
        self.done(stopwatch.work(bytes)?).await
    }

    async fn upload(&mut self, bytes: u64, content: Content) -> Result<()> {
        let mut connection = S::connect(&self.client, self.server).await?;
        let stopwatch = self.go().await?;
        let (mut sender, receiver) = connection.open().await?;
        let request = Request::Upload { bytes, content };
        sender.write(request.encode()).await?;
        send(&mut sender, bytes, content).await?;
        sender.finish()?;
        let received = u64::from_le_bytes(Incoming::new(receiver).read_exact().await?);
        if received != bytes {
            return Err(format!("{received} of {bytes} bytes arrived").into());
        }
        self.done(stopwatch.work(bytes)?).await
    }

    async fn ping(&mut self, requests: u64) -> Result<()> {
        let mut connection = S::connect(&self.client, self.server).await?;
        let (mut sender, receiver) = connection.open().await?;
        let mut incoming = Incoming::new(receiver);
        sender.write(Request::Echo.encode()).await?;
        let mut latencies = Histogram::<u64>::new(3)?;
        let mut stopwatch = None;
        for request in 0..requests + requests / 10 {
            if request == requests / 10 {
                stopwatch = Some(self.go().await?);
                latencies.reset();
            }
            let begin = now();
            sender.write(Bytes::from_static(b"?")).await?;
            let [_] = incoming.read_exact().await?;
            latencies.record(begin.elapsed().as_nanos() as u64)?;
        }
        let mut work = stopwatch.ok_or("no request was made")?.work(requests)?;
        work.latency = Some(Latency {
            p50: latencies.value_at_quantile(0.5),
            p99: latencies.value_at_quantile(0.99),
        });
        self.done(work).await
    }

    async fn handshakes(&mut self, count: u64, at_once: u64) -> Result<()> {
        self.connect_and_lose(count / 20, at_once).await?;
        let stopwatch = self.go().await?;
        self.connect_and_lose(count, at_once).await?;
        self.done(stopwatch.work(count)?).await
    }

    /// Handshakes, each over when the server has closed the connection, so that both have done all.
    async fn connect_and_lose(&self, count: u64, at_once: u64) -> Result<()> {
        let left = Arc::new(AtomicI64::new(count as i64));
        let mut tasks = JoinSet::new();
        for _ in 0..at_once {
            let (client, server, left) = (self.client.clone(), self.server, Arc::clone(&left));
            tasks.spawn(async move {
                while left.fetch_sub(1, Ordering::Relaxed) > 0 {
                    let mut connection = S::connect(&client, server).await?;
                    if connection.accept().await.is_ok() {
                        return Err("expected the server to close the connection".into());
                    }
                }
                Ok::<_, Error>(())
            });
        }
        while let Some(ended) = tasks.join_next().await {
            ended??;
        }
        Ok(())
    }

    async fn many(&mut self, connections: u64, time: Duration) -> Result<()> {
        let mut counts = Vec::new();
        let mut opened = Vec::new();
        for _ in 0..connections {
            opened.push(S::connect(&self.client, self.server).await?);
        }
        let mut tasks = JoinSet::new();
        for connection in opened {
            let count = Arc::new(AtomicU64::new(0));
            counts.push(Arc::clone(&count));
            tasks.spawn(endless(connection, count));
        }
        let count = || -> Vec<u64> {
            let counts = counts.iter().map(|count| count.load(Ordering::Relaxed));
            counts.collect()
        };
        let measured = async {
            sleep(time / 4).await;
            let (stopwatch, before) = (self.go().await?, count());
            sleep(time).await;
            let shares = before.iter().zip(count()).map(|(a, b)| b - a);
            let shares: Vec<u64> = shares.collect();
            let mut work = stopwatch.work(shares.iter().sum())?;
            work.shares = shares;
            Ok::<_, Error>(work)
        };
        let work = tokio::select! {
            work = measured => work?,
            Some(ended) = tasks.join_next() => return Err(match ended {
                Ok(Ok(())) => "a connection ended early".into(),
                Ok(Err(error)) => error,
                Err(panicked) => panicked.into(),
            }),
        };
        self.done(work).await
    }

    async fn idle(&mut self, connections: u64) -> Result<()> {
        let mut opened = Vec::new();
        self.open(&mut opened, connections / 100).await?;
        sleep(SETTLE).await;
        let stopwatch = self.go().await?;
        self.open(&mut opened, connections).await?;
        sleep(SETTLE).await;
        self.done(stopwatch.work(connections)?).await?;
        drop(opened);
        Ok(())
    }

    /// So many more connections, several at once.
    async fn open(&self, opened: &mut Vec<S::Connection>, count: u64) -> Result<()> {
        let mut attempts = JoinSet::new();
        for _ in 0..count {
            if attempts.len() == OPENED_AT_ONCE
                && let Some(connection) = attempts.join_next().await
            {
                opened.push(connection??);
            }
            let (client, server) = (self.client.clone(), self.server);
            attempts.spawn(async move { S::connect(&client, server).await });
        }
        while let Some(connection) = attempts.join_next().await {
            opened.push(connection??);
        }
        Ok(())
    }

    /// Waits for the parent, and starts the clocks.
    async fn go(&mut self) -> Result<Stopwatch> {
        say(&Message::Ready)?;
        match self.orders.next_line().await?.as_deref() {
            Some(GO) => Stopwatch::start(),
            order => Err(format!("expected `{GO}`, not {order:?}").into()),
        }
    }

    /// Tells the parent, and waits until it ends this process's input.
    async fn done(&mut self, work: Work) -> Result<()> {
        say(&Message::Done(work))?;
        while self.orders.next_line().await?.is_some() {}
        Ok(())
    }
}

/// Counts what comes.
async fn endless(mut connection: impl Connection, count: Arc<AtomicU64>) -> Result<()> {
    let (mut sender, receiver) = connection.open().await?;
    let mut incoming = Incoming::new(receiver);
    sender.write(Request::Endless.encode()).await?;
    while let Some(chunk) = incoming.read().await? {
        count.fetch_add(chunk.len() as u64, Ordering::Relaxed);
    }
    Ok(())
}

struct Stopwatch {
    start: Instant,
    usage: Usage,
}

impl Stopwatch {
    fn start() -> Result<Self> {
        let usage = Usage::now()?;
        Ok(Self {
            start: now(),
            usage,
        })
    }

    fn work(self, amount: u64) -> Result<Work> {
        Ok(Work {
            time: self.start.elapsed(),
            amount,
            shares: Vec::new(),
            latency: None,
            usage: [self.usage, Usage::now()?],
        })
    }
}

/// Handshakes under way at a time while many connections are opened.
const OPENED_AT_ONCE: usize = 32;
/// For last ACKs, and for keys and timers of the handshakes to be dropped.
const SETTLE: Duration = Duration::from_millis(1_500);
