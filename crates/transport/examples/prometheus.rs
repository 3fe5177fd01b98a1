//! An endpoint's metrics for Prometheus, while it serves.
//!
//! ```text
//! cargo run -p paceline --features metrics --example prometheus
//! curl http://127.0.0.1:9100/metrics
//! ```
//!
//! A client fetches a megabyte from a server each second, both in this program, until Ctrl-C.
//! Scrapes are answered over plain HTTP/1.1 on loopback. An application that has an HTTP server
//! gives [`scrape`]'s text from there; docs/metrics.md lists the names.

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use paceline::{ClientConfig, Endpoint, EndpointMetrics, tls};
use std::error::Error;
use std::future::Future;
use std::io::{self, ErrorKind, Write};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main]
async fn main() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:9100").await?;
    let address = listener.local_addr()?;
    match writeln!(io::stdout(), "metrics at http://{address}/metrics") {
        // Whoever read this has gone.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
        written => written?,
    }
    let interrupt = async { tokio::signal::ctrl_c().await.unwrap_or_default() };
    run(listener, interrupt).await
}

/// Transfers and answers scrapes, until `stop` resolves.
pub(crate) async fn run(listener: TcpListener, stop: impl Future<Output = ()>) -> Result<()> {
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
        () = stop => Ok(()),
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
        let connecting = endpoint.connect_with(config.clone(), server, "localhost")?;
        let connection = connecting.await?;
        connection.accept_uni().await?.read_to_end(MEGABYTE).await?;
        connection.close(0_u32.into(), b"done");
        sleep(Duration::from_secs(1)).await;
    }
}

/// One after the other: a scrape takes milliseconds.
async fn answer_scrapes(
    listener: TcpListener,
    recorder: PrometheusHandle,
    mut metrics: EndpointMetrics,
) -> Result<()> {
    loop {
        let (mut stream, _) = listener.accept().await?;
        let answered = answer(&mut stream, || scrape(&recorder, &mut metrics));
        // A scraper that goes away, or says nothing, is its own affair.
        let _ = timeout(Duration::from_secs(5), answered).await;
    }
}

/// The present figures in Prometheus' text format.
fn scrape(recorder: &PrometheusHandle, metrics: &mut EndpointMetrics) -> String {
    metrics.report();
    recorder.run_upkeep();
    recorder.render()
}

async fn answer(stream: &mut TcpStream, body: impl FnOnce() -> String) -> io::Result<()> {
    let mut request = [0; 1_024];
    let length = stream.read(&mut request).await?;
    let (status, body) = match request[..length].starts_with(b"GET /metrics ") {
        true => ("200 OK", body()),
        false => ("404 Not Found", String::new()),
    };
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await
}

const MEGABYTE: usize = 1_000_000;
const RTT_BUCKETS: [f64; 9] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.4, 1.0, 3.0];
