//! What an endpoint counts, for the crate `metrics`.

use super::inner::Inner;
use super::table::EndpointStats;
use super::unreported;
use crate::connection::Shared;
use crate::totals::{COUNTERS, Group, Groups};
use ::metrics::{Label, Unit, counter, gauge, histogram};
use ::metrics::{describe_counter, describe_gauge, describe_histogram};
use quinn_proto::Side;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use units::{Bandwidth, Bytes};

/// Reports what an endpoint and its connections count to the recorder of the crate `metrics`,
/// which passes it on to Prometheus, StatsD or others.
///
/// Either the application calls [`report`](Self::report), for instance before it answers a scrape,
/// or a task does it every few seconds, [`report_every`](Self::report_every). Between reports it
/// costs nothing: the counters are those that [`ConnectionStats`](crate::ConnectionStats) has.
/// Counters are exact. They have what connections count that live for less than an interval, too.
///
/// Names begin with `paceline_`. The labels are few: `endpoint`, the name given to
/// [`Endpoint::metrics`](crate::Endpoint::metrics); with what connections count, `controller` and
/// `side` (`client` or `server`); nothing has a label for each connection or address. The page
/// `docs/metrics.md` of the repository lists them all. A [`ShardedServer`](crate::ShardedServer)
/// has [`ShardedMetrics`](crate::ShardedMetrics).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use paceline::Endpoint;
/// use std::time::Duration;
///
/// // The recorder comes first, such as that of the crate `metrics-exporter-prometheus`.
/// let endpoint = Endpoint::client("127.0.0.1:0".parse()?)?;
/// let metrics = endpoint.metrics("upstream");
/// let reporting = tokio::spawn(metrics.report_every(Duration::from_secs(5)));
///
/// // It ends with the endpoint.
/// drop(endpoint);
/// reporting.await?;
/// # Ok(())
/// # }
/// ```
///
/// It does not keep the endpoint's task going, but its socket stays bound. Several of one endpoint
/// share what is counted: each is told what the others have not reported.
#[derive(Debug)]
pub struct EndpointMetrics {
    inner: Arc<Inner>,
    /// On everything that it reports.
    labels: Vec<Label>,
    /// What was reported last, to set to zero what has gone.
    open: BTreeMap<Group, Open>,
}

impl EndpointMetrics {
    pub(super) fn new(inner: Arc<Inner>, labels: Vec<Label>) -> Self {
        inner.table().unreported.get_or_insert_default();
        Self {
            inner,
            labels,
            open: BTreeMap::new(),
        }
    }

    /// Reports what has changed since the last time, to the recorder that is installed now: that of
    /// `metrics::with_local_recorder`, or the global one. Without any it is lost.
    ///
    /// It takes each connection's lock once, for about a microsecond.
    pub fn report(&mut self) {
        describe();
        let Report { own, groups, open } = self.collect();
        for ((name, ..), count) in ENDPOINT_COUNTERS.iter().zip(own) {
            counter!(*name, self.labels.clone()).increment(count);
        }
        for (group, counts) in &groups {
            let labels = self.labels(*group);
            for (count, value) in counts.totals.counters() {
                let mut labels = labels.clone();
                labels.extend(count.label.map(|(key, value)| Label::new(key, value)));
                counter!(count.name, labels).increment(value);
            }
            counter!(HANDSHAKE_FAILURES, labels.clone()).increment(counts.failed_handshakes);
            let rtts = histogram!(RTT, labels);
            for (end, count) in counts.totals.rtts.buckets() {
                rtts.record_many(end.as_secs_f64(), count as usize);
            }
        }
        for (group, open) in &open {
            let labels = self.labels(*group);
            gauge!(OPEN, labels.clone()).set(open.connections as f64);
            gauge!(CWND, labels.clone()).set(open.cwnd.get() as f64);
            gauge!(IN_FLIGHT, labels.clone()).set(open.in_flight.get() as f64);
            gauge!(PACING_RATE, labels).set(open.pacing_rate as f64);
        }
        self.open = open;
    }

    /// Reports each `interval`, first at once, and a last time when the endpoint has ended.
    ///
    /// # Panics
    /// When `interval` is zero.
    pub async fn report_every(mut self, interval: Duration) {
        let mut ticks = tokio::time::interval(interval);
        loop {
            // The task tells when it ends, too. Made before the question whether it has.
            let inner = Arc::clone(&self.inner);
            let idle = inner.idle.notified();
            if inner.table().is_lost {
                return self.report();
            }
            tokio::select! {
                _ = ticks.tick() => self.report(),
                () = idle => {}
            }
        }
    }

    /// Takes what was counted. The recorder, which is the application's, is called without a lock.
    fn collect(&self) -> Report {
        let socket = self.inner.socket();
        let (own, mut groups, connections) = {
            let mut table = self.inner.table();
            let stats = EndpointStats {
                send_errors: socket.send_errors(),
                send_blocked: socket.send_blocked(),
                ..table.stats
            };
            let connections: Vec<Arc<Shared>> = table.iter().cloned().collect();
            let unreported = table.unreported.get_or_insert_default();
            let ended = std::mem::take(&mut unreported.ended);
            let own = ENDPOINT_COUNTERS.map(|(_, _, read)| read(&stats));
            (unreported.advance(own), ended, connections)
        };
        let mut open: BTreeMap<Group, Open> = self
            .open
            .keys()
            .map(|group| (*group, Open::default()))
            .collect();
        for connection in connections {
            let (group, stats) = connection.lock().count_into(&mut groups);
            let sum = open.entry(group).or_default();
            sum.connections += 1;
            sum.cwnd += stats.cwnd;
            sum.in_flight += stats.in_flight;
            if stats.pacing_rate != Bandwidth::MAX {
                sum.pacing_rate += stats.pacing_rate.bytes_per_sec();
            }
        }
        Report { own, groups, open }
    }

    fn labels(&self, group: Group) -> Vec<Label> {
        let side = match group.side {
            Side::Client => "client",
            Side::Server => "server",
        };
        let own = [("controller", group.controller), ("side", side)];
        let own = own.map(|(key, value)| Label::new(key, value));
        [&self.labels[..], &own].concat()
    }
}

/// What is reported at one time.
struct Report {
    /// Of [`ENDPOINT_COUNTERS`].
    own: [u64; unreported::COUNTERS],
    groups: Groups,
    open: BTreeMap<Group, Open>,
}

/// A group's open connections, closing ones among them.
#[derive(Debug, Default)]
struct Open {
    connections: u64,
    cwnd: Bytes,
    in_flight: Bytes,
    /// In bytes per second, without those that are not paced.
    pacing_rate: u64,
}

/// Tells the recorder what the names mean; it keeps the first description of each.
fn describe() {
    for (name, text, _) in ENDPOINT_COUNTERS {
        describe_counter!(name, Unit::Count, text);
    }
    for counter in &COUNTERS {
        let unit = match counter.name {
            name if name.contains("bytes") => Unit::Bytes,
            name if name.contains("microseconds") => Unit::Microseconds,
            _ => Unit::Count,
        };
        describe_counter!(counter.name, unit, counter.text);
    }
    describe_counter!(
        HANDSHAKE_FAILURES,
        Unit::Count,
        "Connections that ended before their handshake had"
    );
    describe_histogram!(
        RTT,
        Unit::Seconds,
        "Round-trip times, by each ACK that has one"
    );
    describe_gauge!(OPEN, Unit::Count, "Connections, closing ones among them");
    describe_gauge!(
        CWND,
        Unit::Bytes,
        "Sum of open connections' congestion windows"
    );
    describe_gauge!(
        IN_FLIGHT,
        Unit::Bytes,
        "Sum of open connections' bytes in flight"
    );
    describe_gauge!(PACING_RATE, "Sum of open connections' pacing rates");
}

const HANDSHAKE_FAILURES: &str = "paceline_handshake_failures_total";
const RTT: &str = "paceline_rtt_seconds";
const OPEN: &str = "paceline_connections_open";
const CWND: &str = "paceline_congestion_window_bytes";
const IN_FLIGHT: &str = "paceline_in_flight_bytes";
const PACING_RATE: &str = "paceline_pacing_rate_bytes_per_second";

type EndpointCounter = (&'static str, &'static str, fn(&EndpointStats) -> u64);

/// Name, description, value. docs/metrics.md has the same list.
const ENDPOINT_COUNTERS: [EndpointCounter; unreported::COUNTERS] = [
    (
        "paceline_handshakes_accepted_total",
        "Connection attempts of clients that were accepted",
        |stats| stats.accepted_handshakes,
    ),
    (
        "paceline_handshakes_begun_total",
        "Connection attempts of this endpoint",
        |stats| stats.outgoing_handshakes,
    ),
    (
        "paceline_handshakes_refused_total",
        "Connection attempts of clients that were refused",
        |stats| stats.refused_handshakes,
    ),
    (
        "paceline_handshakes_ignored_total",
        "Connection attempts of clients that got no answer",
        |stats| stats.ignored_handshakes,
    ),
    (
        "paceline_initials_received_total",
        "Datagrams of new clients, which begin with an Initial packet",
        |stats| stats.initials_received,
    ),
    (
        "paceline_initials_shed_total",
        "Datagrams of new clients that were dropped unread because too many had come",
        |stats| stats.initials_shed,
    ),
    (
        "paceline_retries_sent_total",
        "Connection attempts of clients that were answered with a Retry",
        |stats| stats.retries_sent,
    ),
    (
        "paceline_send_errors_total",
        "Datagrams or batches that the socket refused to send",
        |stats| stats.send_errors,
    ),
    (
        "paceline_send_blocked_total",
        "Times that the kernel's send buffer was full",
        |stats| stats.send_blocked,
    ),
    (
        "paceline_misrouted_datagrams_total",
        "Datagrams of another shard's connections, forwarded to it",
        |stats| stats.misrouted,
    ),
    (
        "paceline_misrouted_lost_datagrams_total",
        "Datagrams of another shard's connections that it was too busy to take",
        |stats| stats.misrouted_lost,
    ),
];
