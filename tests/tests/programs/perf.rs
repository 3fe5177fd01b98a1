//! The protocol `perf` between the programs, and between each of them and another stack, quinn, for
//! which a client and a server of a few lines are here.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use e2e::programs::{Ended, bench_server, run};
use paceline::rustls;
use paceline::tls::SelfSigned;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use serde_json::Value;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

#[test]
fn the_programs_measure_by_perf_in_either_direction() {
    let (mut server, port) = bench_server(&["-C", "bbr3"]);
    for (flags, end) in [(&[][..], "sum_sent"), (&["-R"], "sum_received")] {
        let plan = ["--perf", "-J", "-n", "20M", "-P", "3"];
        let result = result(&client(port, &[&plan[..], flags].concat()));
        for sum in ["sum_sent", "sum_received"] {
            assert_eq!(result["end"][sum]["bytes"], 20 << 20, "{sum}");
        }
        let seconds = result["end"][end]["seconds"].as_f64().unwrap();
        assert!(seconds > 0.0);
        let line = server.line_with("3 streams, ");
        assert!(line.contains("20.0 MBytes"), "{line}");
    }
}

#[test]
fn a_timed_run_by_perf_lasts_as_long_as_it_should_and_knows_its_own_side() {
    let (_server, port) = bench_server(&[]);
    for (flags, sender) in [(&[][..], true), (&["-R"], false)] {
        let plan = ["--perf", "-J", "-t", "1", "-O", "0.3", "-i", "0.5"];
        let result = result(&client(port, &[&plan[..], flags].concat()));
        let round = &result["result"];
        let seconds = round["seconds"].as_f64().unwrap();
        assert!((0.9..3.0).contains(&seconds), "{seconds}");
        assert!(round["bytes"].as_u64() > Some(0), "{round}");
        // What only the sender knows.
        assert_eq!(round["packets_sent"].is_number(), sender, "{round}");
        assert_eq!(round["rtt_ms"]["p50"].is_number(), sender, "{round}");
        assert_eq!(round["cpu_seconds_sender"].is_number(), sender, "{round}");
        assert_eq!(
            round["cpu_seconds_receiver"].is_number(),
            !sender,
            "{round}"
        );
        assert_eq!(round["congestion"] == "cubic", sender, "{round}");
        assert!(!round["intervals"].as_array().unwrap().is_empty());
        assert!(!result["intervals"].as_array().unwrap().is_empty());
    }
    let both = result(&client(port, &["--perf", "-J", "-t", "1", "--bidir"]));
    for sum in ["sum_sent", "sum_received_bidir_reverse"] {
        assert!(both["end"][sum]["bytes"].as_u64() > Some(0), "{sum}");
    }
}

#[test]
fn a_small_window_is_that_of_the_server() {
    let (_server, port) = bench_server(&["--max-window", "64K"]);
    let flags = ["--perf", "-t", "1", "--link", "delay 30ms"];
    let ended = client(port, &flags);
    let told = "the server's receive window was the limit; raise it there";
    assert!(ended.stdout.contains(told), "{ended:?}");
}

#[tokio::test]
async fn an_idle_client_costs_little_memory() {
    if !std::path::Path::new("/proc/self/status").exists() {
        e2e::skipped("there is no /proc that tells the memory of a process");
        return;
    }
    let limits = ["--max-connections", "2000", "--idle-timeout", "60"];
    let (server, port) = bench_server(&[&limits[..], &["--threads", "1"]].concat());
    let endpoint = paceline::Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let tls = paceline::tls::client_without_verification().alpn(&[b"perf"]);
    let config = tls.config().unwrap();
    let mut idle = Vec::new();
    let mut connect = async |count: u32| {
        for _ in 0..count {
            let address = (Ipv4Addr::LOCALHOST, port).into();
            let connecting = endpoint.connect_with(config.clone(), address, "localhost");
            idle.push(connecting.unwrap().await.unwrap());
        }
        tokio::time::sleep(SETTLE).await;
        resident(server.id())
    };
    // What is shared by all comes with the first ones.
    let first = connect(FIRST).await;
    let each = (connect(COUNTED).await - first) / i64::from(COUNTED);
    assert!(each <= MOST_IDLE, "{each} KiB");
}

/// The memory of a process, in KiB.
fn resident(process: u32) -> i64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap()
}

const FIRST: u32 = 100;
const COUNTED: u32 = 300;
/// For last ACKs, and for what only the handshake needs to be dropped.
const SETTLE: std::time::Duration = std::time::Duration::from_millis(1_500);
/// In KiB. A block of payload for each would be 128 more.
const MOST_IDLE: i64 = 80;

#[test]
fn what_perf_cannot_do_is_told() {
    let (_server, port) = bench_server(&["--max-duration", "1"]);
    let ended = client(port, &["--perf", "-t", "5"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let told = "run exceeds this server's time limit";
    assert!(ended.stderr.contains(told), "{ended:?}");
    let ended = client(port, &["--perf", "-R", "-b", "1M"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_of_quinn_is_served() {
    let (_server, port) = tokio::task::spawn_blocking(|| bench_server(&[]))
        .await
        .unwrap();
    let mut tls = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anyone))
        .with_no_client_auth();
    tls.alpn_protocols = vec![PERF.to_vec()];
    let crypto = QuicClientConfig::try_from(tls).unwrap();
    let config = quinn::ClientConfig::new(Arc::new(crypto));
    let endpoint = quinn::Endpoint::client(any()).unwrap();
    let server = (Ipv4Addr::LOCALHOST, port).into();
    let connection = endpoint
        .connect_with(config, server, "localhost")
        .unwrap()
        .await
        .unwrap();
    for (answer, payload) in [(10_000_000_u64, 0_usize), (0, 10_000_000), (77, 99)] {
        let (mut send, mut receive) = connection.open_bi().await.unwrap();
        send.write_all(&answer.to_be_bytes()).await.unwrap();
        send.write_all(&vec![1; payload]).await.unwrap();
        send.finish().unwrap();
        let answered = receive.read_to_end(usize::MAX).await.unwrap();
        assert_eq!(answered.len() as u64, answer);
    }
    connection.close(0_u32.into(), b"");
    endpoint.wait_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_of_quinn_is_measured() {
    let port = serve(|answer| answer).await;
    let measure = |flags: &'static [&str]| {
        let flags = [&["--perf", "-J"], flags].concat();
        tokio::task::spawn_blocking(move || result(&client(port, &flags)))
    };
    for flags in [&["-n", "5M"][..], &["-n", "5M", "-R"]] {
        let result = measure(flags).await.unwrap();
        assert_eq!(result["result"]["bytes"], 5 << 20);
    }
    let timed = measure(&["-t", "1", "-R", "-P", "2"]).await.unwrap();
    assert!(timed["result"]["bytes"].as_u64() > Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_answers_too_little_is_no_result() {
    let port = serve(|answer| answer / 2).await;
    let run = move || client(port, &["--perf", "-J", "-n", "1M", "-R"]);
    let ended = tokio::task::spawn_blocking(run).await.unwrap();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let told = "protocol error by the server (perf): response of only 524288 bytes";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
}

/// A server of quinn that answers with so many bytes when it is asked for some.
pub(crate) async fn serve(answer: fn(u64) -> u64) -> u16 {
    let certificate = SelfSigned::generate(["localhost"]).unwrap();
    let mut tls = rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.cert.clone()], certificate.key.clone_key())
        .unwrap();
    tls.alpn_protocols = vec![PERF.to_vec()];
    let crypto = Arc::new(QuicServerConfig::try_from(tls).unwrap());
    let server = quinn::Endpoint::server(quinn::ServerConfig::with_crypto(crypto), any()).unwrap();
    let port = server.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Some(attempt) = server.accept().await {
            tokio::spawn(async move {
                let connection = attempt.await.unwrap();
                while let Ok((send, receive)) = connection.accept_bi().await {
                    tokio::spawn(answered(send, receive, answer));
                }
            });
        }
    });
    port
}

async fn answered(
    mut send: quinn::SendStream,
    mut receive: quinn::RecvStream,
    answer: fn(u64) -> u64,
) {
    let mut asked = [0; 8];
    receive.read_exact(&mut asked).await.unwrap();
    while let Ok(Some(_)) = receive.read_chunk(usize::MAX, true).await {}
    let mut left = answer(u64::from_be_bytes(asked));
    while left > 0 {
        let length = left.min(65_536);
        // The client may have had enough.
        if send
            .write_all(&[0; 65_536][..length as usize])
            .await
            .is_err()
        {
            return;
        }
        left -= length;
    }
    let _ = send.finish();
    let _ = send.stopped().await;
}

fn client(port: u16, flags: &[&str]) -> Ended {
    let server = format!("127.0.0.1:{port}");
    run("bench-client", [&["run", server.as_str()], flags].concat())
}

fn result(ended: &Ended) -> Value {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    serde_json::from_str(&ended.stdout).unwrap()
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

fn any() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

/// Takes any certificate.
#[derive(Debug)]
struct Anyone;

impl rustls::client::danger::ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _end_entity: &rustls::pki_types::CertificateDer<'_>,
        _intermediates: &[rustls::pki_types::CertificateDer<'_>],
        _server_name: &rustls::pki_types::ServerName<'_>,
        _ocsp_response: &[u8],
        _now: rustls::pki_types::UnixTime,
    ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &rustls::pki_types::CertificateDer<'_>,
        _signature: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        unreachable!("QUIC speaks TLS 1.3 only")
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _cert: &rustls::pki_types::CertificateDer<'_>,
        _signature: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        provider()
            .signature_verification_algorithms
            .supported_schemes()
    }
}

const PERF: &[u8] = b"perf";
