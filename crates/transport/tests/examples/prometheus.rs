//! The example of metrics.

#[path = "../../examples/prometheus.rs"]
#[expect(dead_code, reason = "a test has no use for `main`")]
mod example;

use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

async fn get(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// The value of a series in Prometheus' text format.
fn value(text: &str, series: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(series))?;
    line.trim().parse().ok()
}

#[tokio::test]
async fn a_scrape_while_it_transfers_has_the_megabytes() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let scraping = async {
        let labels = r#"endpoint="public",controller="cubic",side="server""#;
        let sent = format!("paceline_sent_bytes_total{{{labels}}}");
        let text = loop {
            let answer = get(address).await;
            let (head, text) = answer.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
            if value(text, &sent).is_some_and(|bytes| bytes > 1e6) {
                break text.to_owned();
            }
            tokio::task::yield_now().await;
        };
        assert!(text.contains("# TYPE paceline_sent_bytes_total counter"));
        assert!(text.contains("# TYPE paceline_rtt_seconds histogram"));
        let accepted = r#"paceline_handshakes_accepted_total{endpoint="public"}"#;
        assert!(value(&text, accepted) >= Some(1.0), "{text}");
    };
    tokio::select! {
        ended = example::run(listener) => panic!("{ended:?}"),
        () = scraping => {}
    }
}
