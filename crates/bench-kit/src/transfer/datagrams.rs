//! Payload in QUIC datagrams (RFC 9221) instead of streams: iperf3's UDP.
//!
//! ```text
//!  0       2                10               18
//!  | stream | number, from 1 | departure, ns | the rest is noise |    big-endian
//! ```
//! Departures count from the sender's begin. When its bytes are sent, or its time is over, a sender
//! says on one stream how many datagrams each of its streams had, in eight bytes each: the last
//! ones may be lost.

use super::arrivals::Ledger;
use super::content::{self, LARGEST_DATAGRAM as LARGEST};
use crate::clock;
use crate::counters::Counters;
use crate::plan::{Limit, Plan, SMALLEST_DATAGRAM};
use bytes::{BufMut, Bytes, BytesMut};
use futures_util::future::join_all;
use paceline::{Connection, RecvStream, SendDatagramError};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};

pub(super) struct Sending {
    connection: Connection,
    counters: Arc<Counters>,
    /// The size that was asked for; `None` is the largest that fits at the time.
    size: Option<usize>,
    /// How long the path may take to carry that.
    max_wait: Duration,
    rate: Option<units::Bandwidth>,
    /// What is left to send over all streams, where bytes limit the run.
    left: Option<AtomicU64>,
    noise: Bytes,
    begin: Instant,
    over: watch::Receiver<bool>,
}

impl Sending {
    pub(super) fn new(
        connection: &Connection,
        plan: &Plan,
        counters: &Arc<Counters>,
        over: &watch::Receiver<bool>,
    ) -> Self {
        let size = plan.extras.datagrams.and_then(|datagrams| datagrams.size);
        Self {
            connection: connection.clone(),
            counters: Arc::clone(counters),
            size: size.map(usize::from),
            max_wait: match plan.limit {
                Limit::Time(time) => MTU_DISCOVERY.min(time / 2),
                Limit::Bytes(_) => MTU_DISCOVERY,
            },
            rate: plan.rate.map(units::Bandwidth::from_bits_per_sec),
            left: match plan.limit {
                Limit::Bytes(bytes) => Some(AtomicU64::new(bytes)),
                Limit::Time(_) => None,
            },
            noise: content::filling(plan.extras.zeros),
            begin: Instant::from_std(clock::now()),
            over: over.clone(),
        }
    }

    /// Sends on all streams, and then says how many there were.
    ///
    /// # Errors
    /// When datagrams of the size that was asked for do not fit, or the other side takes none.
    pub(super) async fn run(self) -> Result<(), String> {
        let mut over = self.over.clone();
        let streams = 0..self.counters.datagrams.sent.len();
        let streams = join_all(streams.map(|index| self.stream(index)));
        let sent = tokio::select! {
            biased;
            _ = over.wait_for(|is_over| *is_over) => return Ok(()),
            sent = streams => sent,
        };
        sent.into_iter().collect::<Result<(), String>>()?;
        // An error means that the connection has gone; the run ends by that.
        let _ = self.say_totals().await;
        Ok(())
    }

    /// The size of a datagram now. The MTU grows in the first round trips, and may fall at any
    /// time: a path that is too narrow has `max_wait` to become wide enough.
    async fn size(&self) -> Result<usize, String> {
        let needed = self.size.unwrap_or(SMALLEST_DATAGRAM as usize);
        let largest = || self.connection.max_datagram_size();
        if largest().is_some_and(|largest| largest < needed) {
            let grow = async {
                while largest().is_some_and(|largest| largest < needed) {
                    sleep(POLL_INTERVAL).await;
                }
            };
            let _ = timeout(self.max_wait, grow).await;
        }
        match largest() {
            None => Err("the peer does not support QUIC datagrams; leave out -u".to_owned()),
            Some(largest) if largest < needed => Err(format!(
                "datagrams of {needed} bytes too large for this path; use -l {largest} or less"
            )),
            Some(largest) => Ok(self.size.unwrap_or(largest).min(LARGEST)),
        }
    }

    async fn stream(&self, index: usize) -> Result<(), String> {
        let mut due = Instant::from_std(clock::now());
        let mut number = 0_u64;
        loop {
            let size = self.size().await?;
            let Some(size) = self.take(size) else {
                return Ok(());
            };
            let datagram = self.datagram(index, number + 1, size);
            match self.connection.send_datagram_wait(datagram).await {
                Ok(()) => number += 1,
                // The MTU fell while this waited for room.
                Err(SendDatagramError::TooLarge) => {
                    self.put_back(size);
                    continue;
                }
                Err(SendDatagramError::ConnectionLost(_)) => return Ok(()),
                Err(error) => return Err(error.to_string()),
            }
            self.counters.sent[index].fetch_add(size as u64, Ordering::Relaxed);
            self.counters.datagrams.sent[index].store(number, Ordering::Relaxed);
            if let Some(rate) = self.rate {
                due += units::Bytes::new(size as u64) / rate;
                sleep_until(due).await;
            }
        }
    }

    /// The size of the next datagram, at most `size`; `None` when no bytes are left to send.
    fn take(&self, size: usize) -> Option<usize> {
        let Some(left) = &self.left else {
            return Some(size);
        };
        let size = size as u64;
        let before = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            Some(left.saturating_sub(size))
        });
        let before = before.expect("the closure always returns a value");
        // The last one has what is left, and its header at least.
        (before > 0)
            .then(|| usize::try_from(size.min(before.max(SMALLEST_DATAGRAM))).unwrap_or(LARGEST))
    }

    /// These bytes were taken and not sent.
    fn put_back(&self, size: usize) {
        if let Some(left) = &self.left {
            left.fetch_add(size as u64, Ordering::Relaxed);
        }
    }

    fn datagram(&self, index: usize, number: u64, size: usize) -> Bytes {
        let departure = self.begin.elapsed();
        let mut datagram = BytesMut::with_capacity(size);
        datagram.put_u16(u16::try_from(index).unwrap_or(u16::MAX));
        datagram.put_u64(number);
        datagram.put_u64(units::duration::nanos(departure));
        let rest = size.saturating_sub(datagram.len());
        datagram.put_slice(&self.noise[..rest]);
        datagram.freeze()
    }

    async fn say_totals(&self) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let mut stream = self.connection.open_uni().await?;
        let totals = self.counters.datagrams.sent();
        let totals: Vec<u8> = totals.into_iter().flat_map(u64::to_be_bytes).collect();
        stream.write_all(&totals).await?;
        stream.finish()?;
        stream.stopped().await?;
        Ok(())
    }
}

/// Counts what arrives until the sender says that there is no more.
///
/// A sender that does not keep to the form spoils nothing but its own figures; the result is that
/// of a task like the others.
pub(super) async fn receive(connection: Connection, counters: Arc<Counters>) -> Result<(), String> {
    let mut ledgers: Vec<Ledger> = Vec::new();
    ledgers.resize_with(counters.received.len(), Ledger::default);
    let begin = Instant::from_std(clock::now());
    let totals = read_totals(&connection, counters.received.len());
    tokio::pin!(totals);
    let totals = loop {
        tokio::select! {
            biased;
            datagram = connection.read_datagram() => match datagram {
                Ok(datagram) => arrive(&datagram, begin.elapsed(), &mut ledgers, &counters),
                Err(_) => return Ok(()),
            },
            totals = &mut totals => break totals,
        }
    };
    let late = async {
        while let Ok(datagram) = connection.read_datagram().await {
            arrive(&datagram, begin.elapsed(), &mut ledgers, &counters);
        }
    };
    // What was sent before the totals and overtaken by them.
    let _ = timeout((connection.rtt() / 2).min(LATEST), late).await;
    for (index, (ledger, total)) in ledgers.iter_mut().zip(totals).enumerate() {
        counters.datagrams.set_arrivals(index, ledger.end(total));
    }
    Ok(())
}

fn arrive(datagram: &[u8], at: Duration, ledgers: &mut [Ledger], counters: &Counters) {
    let Some((header, _)) = datagram.split_first_chunk::<{ SMALLEST_DATAGRAM as usize }>() else {
        return;
    };
    let index = usize::from(u16::from_be_bytes([header[0], header[1]]));
    let field = |from: usize| {
        let bytes = header[from..from + 8].try_into();
        u64::from_be_bytes(bytes.expect("the header is as long"))
    };
    let (number, sent) = (field(2), Duration::from_nanos(field(10)));
    let Some(ledger) = ledgers.get_mut(index) else {
        return;
    };
    let arrivals = ledger.arrive(number, sent, at);
    counters.datagrams.set_arrivals(index, arrivals);
    counters.receive(index, datagram.len());
}

/// How many datagrams each stream had, once the sender says so.
async fn read_totals(connection: &Connection, streams: usize) -> Vec<u64> {
    let read = async |mut stream: RecvStream| stream.read_to_end(8 * streams).await;
    if let Ok(stream) = connection.accept_uni().await
        && let Ok(totals) = read(stream).await
    {
        let (totals, _) = totals.as_chunks::<8>();
        return totals
            .iter()
            .map(|total| u64::from_be_bytes(*total))
            .collect();
    }
    // A sender that breaks off says so elsewhere.
    std::future::pending().await
}

const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Discovery takes a few probes of a round trip each.
const MTU_DISCOVERY: Duration = Duration::from_secs(3);

/// A datagram that is later than this against the last of the streams is lost.
const LATEST: Duration = Duration::from_secs(1);
