//! An endpoint's metrics for Prometheus, while it serves.
//!
//! ```text
//! cargo run -p paceline --features metrics --example prometheus
//! curl http://127.0.0.1:9100/metrics
//! ```
//!
//! A client fetches a megabyte from a server each second, both in this program, until Ctrl-C.
//! Scrapes are answered over plain HTTP/1.1 on loopback. An application that has an HTTP server
//! gives the same text from there, see [`answer_scrapes`]; docs/metrics.md lists the names.

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use paceline::{ClientConfig, Endpoint, EndpointMetrics, tls};
use std::error::Error;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main]
async fn main() -> Result<()> {
    // Where the node exporter listens, too.
    let listener = TcpListener::bind("127.0.0.1:9100").await;
    let listener = listener.map_err(|error| {
        format!("127.0.0.1:9100: {error}; end the program that listens there, and run this again")
    })?;
    writeln!(io::stdout(), "metrics at http://127.0.0.1:9100/metrics")?;
    run(listener).await
}

/// Transfers and answers scrapes.
pub(crate) async fn run(listener: TcpListener) -> Result<()> {
    // Without buckets it would make a summary, whose quantiles cannot be added up.
    let rtt = Matcher::Full("paceline_rtt_seconds".to_owned());
    let recorder = PrometheusBuilder::new().set_buckets_for_metric(rtt, &RTT_BUCKETS)?;
    let recorder = recorder.install_recorder()?;
    let certificate = tls::SelfSigned::generate(["localhost"])?;
    let server = Endpoint::server(certificate.server().config()?, "127.0.0.1:0".parse()?)?;
    let address = server.local_addr()?;
    let metrics = server.metrics("public");
    let config = tls::client_with_fingerprint(certificate.fingerprint).config()?;
    tokio::select! {
        ended = serve(server) => ended,
        ended = fetch_each_second(config, address) => ended,
        ended = answer_scrapes(listener, recorder, metrics) => ended,
    }
}

/// The server sends a megabyte to whoever connects.
async fn serve(endpoint: Endpoint) -> Result<()> {
    while let Some(attempt) = endpoint.accept().await {
        tokio::spawn(async move {
            let connection = attempt.await?;
            let mut stream = connection.open_uni().await?;
            stream.write_all(&vec![0; MEGABYTE]).await?;
            stream.finish()?;
            Result::Ok(connection.closed().await)
        });
    }
    Ok(())
}

async fn fetch_each_second(config: ClientConfig, server: SocketAddr) -> Result<()> {
    let endpoint = Endpoint::client("127.0.0.1:0".parse()?)?;
    loop {
        let connecting = endpoint.connect_with(config.clone(), server, "localhost");
        let connection = connecting?.await?;
        connection.accept_uni().await?.read_to_end(MEGABYTE).await?;
        connection.close(0_u32.into(), b"done");
        sleep(Duration::from_secs(1)).await;
    }
}

/// One after the other, and the same whatever is asked for.
async fn answer_scrapes(
    listener: TcpListener,
    recorder: PrometheusHandle,
    mut metrics: EndpointMetrics,
) -> Result<()> {
    loop {
        let (mut stream, _) = listener.accept().await?;
        metrics.report();
        recorder.run_upkeep();
        let answer = HEAD.to_owned() + &recorder.render();
        let answering = async {
            stream.read_buf(&mut Vec::with_capacity(1_024)).await?;
            stream.write_all(answer.as_bytes()).await?;
            stream.shutdown().await
        };
        // A scraper that goes away, or says nothing, is its own affair.
        let _ = timeout(Duration::from_secs(5), answering).await;
    }
}

const HEAD: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nConnection: close\r\n\r\n";
const MEGABYTE: usize = 1_000_000;
const RTT_BUCKETS: [f64; 9] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.4, 1.0, 3.0];
