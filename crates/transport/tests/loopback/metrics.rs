//! What the crate `metrics` is told.

use crate::support::{Endpoints, any, noise, receive_all, send_all, within_a_minute};
use metrics::with_local_recorder;
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use paceline::tls::SelfSigned;
use paceline::{Connection, ConnectionStats, EndpointMetrics, Incoming, ShardedServer};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// A recorder, and the sums of what it was told.
struct Recorder {
    recorder: DebuggingRecorder,
    snapshotter: Snapshotter,
    counters: BTreeMap<String, u64>,
    gauges: BTreeMap<String, f64>,
    histograms: BTreeMap<String, Vec<f64>>,
}

impl Recorder {
    fn new() -> Self {
        let recorder = DebuggingRecorder::new();
        Self {
            snapshotter: recorder.snapshotter(),
            recorder,
            counters: BTreeMap::new(),
            gauges: BTreeMap::new(),
            histograms: BTreeMap::new(),
        }
    }

    fn report(&mut self, metrics: &mut EndpointMetrics) {
        self.record(|| metrics.report());
    }

    /// A snapshot sets counters and histograms back to nothing.
    fn record(&mut self, report: impl FnOnce()) {
        with_local_recorder(&self.recorder, report);
        for (key, _, description, value) in self.snapshotter.snapshot().into_vec() {
            assert!(description.is_some(), "{key:?} is not described");
            let (_, key) = key.into_parts();
            let labels = key
                .labels()
                .map(|label| format!(" {}={}", label.key(), label.value()));
            let name = format!("{}{}", key.name(), labels.collect::<String>());
            match value {
                DebugValue::Counter(count) => *self.counters.entry(name).or_default() += count,
                DebugValue::Gauge(value) => drop(self.gauges.insert(name, value.0)),
                DebugValue::Histogram(values) => {
                    let all = self.histograms.entry(name).or_default();
                    all.extend(values.into_iter().map(|value| value.0));
                }
            }
        }
    }

    #[track_caller]
    fn counter(&self, name: &str) -> u64 {
        let found = self.counters.get(name);
        *found.unwrap_or_else(|| panic!("no {name} in {:#?}", self.counters))
    }

    /// That the client's and the server's counters are those of these connections.
    fn assert_counts(&self, endpoint: &str, labels: &str, stats: &[ConnectionStats]) {
        let sum = |read: fn(&ConnectionStats) -> u64| stats.iter().map(read).sum::<u64>();
        let labels = format!("endpoint={endpoint} controller=cubic side={labels}");
        for (name, expected) in [
            ("sent_bytes", sum(|stats| stats.udp_tx.bytes)),
            ("sent_datagrams", sum(|stats| stats.udp_tx.datagrams)),
            ("received_bytes", sum(|stats| stats.udp_rx.bytes)),
            ("received_datagrams", sum(|stats| stats.udp_rx.datagrams)),
            ("sent_packets", sum(|stats| stats.path.sent_packets)),
            ("lost_packets", sum(|stats| stats.path.lost_packets)),
            (
                "congestion_events",
                sum(|stats| stats.path.congestion_events),
            ),
            ("handshake_failures", 0),
        ] {
            let counted = self.counter(&format!("paceline_{name}_total {labels}"));
            assert_eq!(counted, expected, "{name} of {labels}");
        }
        let rtts = &self.histograms[&format!("paceline_rtt_seconds {labels}")];
        assert_eq!(rtts.len() as u64, sum(|stats| stats.rtt_histogram.count()));
    }
}

async fn transfer(from: &Connection, to: &Connection, bytes: usize) {
    let sending = async {
        let stream = from.open_uni().await.unwrap();
        send_all(stream, &noise(7, bytes)).await;
    };
    let receiving = async { receive_all(to.accept_uni().await.unwrap()).await };
    assert_eq!(tokio::join!(sending, receiving).1.len(), bytes);
}

#[tokio::test]
async fn counters_are_those_of_all_connections_each_counted_once() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let mut reporters = [
            endpoints.client.metrics("inside"),
            endpoints.server.metrics("outside"),
        ];
        let mut recorder = Recorder::new();
        let mut handles = Vec::new();
        for round in 1..=3 {
            let (client, server) = endpoints.connect().await;
            transfer(&client, &server, 100_000 * round).await;
            // The first is reported while it is open and again later, the others at their end.
            if round == 1 {
                for reporter in &mut reporters {
                    recorder.report(reporter);
                }
                let open =
                    "paceline_connections_open endpoint=outside controller=cubic side=server";
                assert_eq!(recorder.gauges[open], 1.0);
            }
            transfer(&server, &client, 50_000).await;
            client.close(0_u32.into(), b"");
            handles.push((client, server));
        }
        endpoints.client.wait_idle().await;
        endpoints.server.wait_idle().await;
        // Two reports in a row: nothing is told twice.
        for _ in 0..2 {
            for reporter in &mut reporters {
                recorder.report(reporter);
            }
        }

        let (clients, servers): (Vec<_>, Vec<_>) = handles
            .iter()
            .map(|(client, server)| (client.stats(), server.stats()))
            .unzip();
        recorder.assert_counts("inside", "client", &clients);
        recorder.assert_counts("outside", "server", &servers);
        let begun = "paceline_handshakes_begun_total endpoint=inside";
        let accepted = "paceline_handshakes_accepted_total endpoint=outside";
        assert_eq!(
            (recorder.counter(begun), recorder.counter(accepted)),
            (3, 3)
        );
        for (name, value) in &recorder.gauges {
            assert_eq!(*value, 0.0, "{name} after the last connection's end");
        }
    })
    .await;
}

#[tokio::test]
async fn time_is_counted_by_what_limited_the_sender() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let mut metrics = endpoints.client.metrics("inside");
        let (client, server) = endpoints.connect().await;
        transfer(&client, &server, 100_000).await;
        let mut recorder = Recorder::new();
        let before = client.stats().limited_by.total();
        recorder.report(&mut metrics);
        let after = client.stats().limited_by.total();
        let limited = recorder
            .counters
            .iter()
            .filter(|(name, _)| name.contains("limited"));
        let parts: Vec<u64> = limited.map(|(_, count)| *count).collect();
        assert_eq!(parts.len(), 5);
        let micros: u64 = parts.iter().sum();
        // Each of five parts is rounded down to a microsecond.
        assert!(
            u128::from(micros) + 5 >= before.as_micros() && u128::from(micros) <= after.as_micros()
        );
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_handshake_that_fails_is_counted() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let mut metrics = endpoints.client.metrics("inside");
        let connecting = endpoints.client.connect(endpoints.address(), "elsewhere");
        let refusing = async { endpoints.server.accept().await.unwrap().refuse() };
        let (failed, ()) = tokio::join!(connecting.unwrap(), refusing);
        failed.unwrap_err();
        endpoints.client.wait_idle().await;
        let mut recorder = Recorder::new();
        recorder.report(&mut metrics);
        let labels = "endpoint=inside controller=cubic side=client";
        let failures = format!("paceline_handshake_failures_total {labels}");
        assert_eq!(recorder.counter(&failures), 1);
        endpoints.close().await;
    })
    .await;
}

/// Connections that a shard has served, by its number.
type Served = Arc<Mutex<Vec<(usize, Connection)>>>;

/// Receives a stream, and panics if it begins with 13.
async fn take(attempt: Incoming, shard: usize, served: Served) {
    let connection = attempt.await.unwrap();
    served.lock().unwrap().push((shard, connection.clone()));
    let received = receive_all(connection.accept_uni().await.unwrap()).await;
    connection.close(0_u32.into(), b"");
    assert_ne!(received.first(), Some(&13), "an unlucky number");
}

#[tokio::test]
async fn each_shard_of_a_server_reports_its_own_connections() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let served = Served::default();
        let handed = Arc::clone(&served);
        let config = endpoints.certificate.server().config().unwrap();
        let builder = ShardedServer::builder(config, any());
        let server = builder.shards(3).serve_each(move |shard| {
            let served = Arc::clone(&handed);
            move |attempt| take(attempt, shard, Arc::clone(&served))
        });
        let server = server.unwrap();
        let (shards, address) = (server.shards(), server.local_addr());
        let mut metrics = server.metrics("public");
        let mut recorder = Recorder::new();
        for first in 0..20 {
            let connecting = endpoints.client.connect(address, "localhost").unwrap();
            let client = connecting.await.unwrap();
            send_all(client.open_uni().await.unwrap(), &[first; 10_000]).await;
            // In the middle, too: nothing is told twice.
            recorder.record(|| metrics.report());
            client.closed().await;
        }
        endpoints.client.wait_idle().await;
        server.join().await;
        recorder.record(|| metrics.report());

        let mut panics = 0;
        for number in 0..shards {
            let served = served.lock().unwrap();
            let own = served.iter().filter(|(shard, _)| *shard == number);
            let own: Vec<_> = own.map(|(_, connection)| connection.stats()).collect();
            let labels = format!("public shard={number}");
            let accepted = recorder.counter(&format!(
                "paceline_handshakes_accepted_total endpoint={labels}"
            ));
            assert_eq!(accepted, own.len() as u64, "shard {number}");
            if !own.is_empty() {
                recorder.assert_counts(&labels, "server", &own);
            }
            panics += recorder.counter(&format!("paceline_handler_panics_total endpoint={labels}"));
        }
        assert_eq!((panics, served.lock().unwrap().len()), (1, 20));
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn the_reporting_task_of_a_sharded_server_ends_with_its_shards() {
    within_a_minute(async {
        let certificate = SelfSigned::generate(["localhost"]).unwrap();
        let config = certificate.server().config().unwrap();
        let builder = ShardedServer::builder(config, any());
        let server = builder
            .shards(2)
            .serve(|attempt| async { attempt.ignore() });
        let server = server.unwrap();
        let an_hour = std::time::Duration::from_secs(3_600);
        let reporting = tokio::spawn(server.metrics("task").report_every(an_hour));
        tokio::task::yield_now().await;
        assert!(!reporting.is_finished(), "it goes on while shards serve");
        server.join().await;
        reporting.await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn the_reporting_task_reports_a_last_time_and_ends_with_the_endpoint() {
    within_a_minute(async {
        let recorder = DebuggingRecorder::new();
        let snapshotter = recorder.snapshotter();
        recorder.install().unwrap();
        let endpoints = Endpoints::new();
        let an_hour = std::time::Duration::from_secs(3_600);
        let reporting = tokio::spawn(endpoints.client.metrics("task").report_every(an_hour));
        let (client, server) = endpoints.connect().await;
        transfer(&client, &server, 1_000).await;
        client.close(0_u32.into(), b"");
        endpoints.client.wait_idle().await;
        let sent = client.stats().udp_tx.bytes;
        drop((client, server));
        drop(endpoints);
        reporting.await.unwrap();
        let counted = snapshotter.snapshot().into_vec().into_iter();
        let counted = counted.filter(|(key, ..)| key.key().name() == "paceline_sent_bytes_total");
        let counted: Vec<_> = counted.map(|(_, _, _, value)| value).collect();
        assert_eq!(counted, [DebugValue::Counter(sent)]);
    })
    .await;
}
