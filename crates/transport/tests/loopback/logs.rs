//! What is written down for those who look into it: spans and secrets.

use crate::support::{Endpoints, NAME, any, receive_all, send_all, within_a_minute};
use paceline::Endpoint;
use paceline::tls::{self, SelfSigned};
use std::ffi::OsStr;
use std::fmt::Debug;
use std::process::Command;
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Writes down spans by their number, and in which spans events happened.
#[derive(Default, Clone)]
struct Recorder(Arc<Mutex<Records>>);

#[derive(Default)]
struct Records {
    spans: Vec<String>,
    entered: Vec<Id>,
    events: Vec<Vec<String>>,
}

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() || metadata.target().starts_with("paceline") || metadata.name() == "app"
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut text = Text(span.metadata().name().to_owned());
        span.record(&mut text);
        let mut records = self.0.lock().unwrap();
        records.spans.push(text.0);
        Id::from_u64(records.spans.len() as u64)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        let mut records = self.0.lock().unwrap();
        let name = |id: &Id| records.spans[id.into_u64() as usize - 1].clone();
        let spans = records.entered.iter().map(name).collect();
        records.events.push(spans);
    }

    fn enter(&self, id: &Id) {
        self.0.lock().unwrap().entered.push(id.clone());
    }

    fn exit(&self, id: &Id) {
        let mut records = self.0.lock().unwrap();
        let last = records.entered.iter().rposition(|entered| entered == id);
        records.entered.remove(last.unwrap());
    }
}

/// A span's name and fields.
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0 += &format!(" {field}={value:?}");
    }
}

/// `tracing` decides for all threads at once which places in the code are of interest, and other
/// tests have no subscriber; so this one has a process of its own.
#[tokio::test]
async fn events_are_in_the_span_of_their_connection() {
    const ALONE: &str = "PACELINE_TEST_ALONE";
    if std::env::var_os(ALONE).is_none() {
        return run_again(
            "logs::events_are_in_the_span_of_their_connection",
            ALONE,
            "1",
        );
    }
    let recorder = Recorder::default();
    let _guard = tracing::subscriber::set_default(recorder.clone());
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        let (send, recv) = client.open_bi().await.unwrap();
        tokio::join!(send_all(send, b"hello"), async {
            let (send, recv) = server.accept_bi().await.unwrap();
            receive_all(recv).await;
            send_all(send, b"back").await;
        });
        receive_all(recv).await;
        let remote = format!("side=Client remote={}", endpoints.address());
        endpoints.close().await;

        let records = recorder.0.lock().unwrap();
        let is_in_both = |spans: &&Vec<String>| {
            let mut spans = spans.iter();
            spans.any(|span| span.starts_with("endpoint local=127.0.0.1"))
                && spans.any(|span| span.starts_with("connection id=") && span.ends_with(&remote))
        };
        assert!(records.events.iter().filter(is_in_both).count() > 10);
        assert!(records.entered.is_empty(), "who enters leaves");
    })
    .await;
}

/// The environment belongs to the whole process, so the handshake takes place in another one.
#[tokio::test]
async fn secrets_are_written_to_the_file_that_the_environment_names_and_only_if_asked_to() {
    const TEST: &str =
        "logs::secrets_are_written_to_the_file_that_the_environment_names_and_only_if_asked_to";
    if std::env::var_os("SSLKEYLOGFILE").is_some() {
        return within_a_minute(handshakes()).await;
    }
    let file = std::env::temp_dir().join(format!("paceline-secrets-{}", std::process::id()));
    run_again(TEST, "SSLKEYLOGFILE", &file);
    let secrets = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    // One handshake, seen from both sides.
    let of = |label: &str| {
        let lines = secrets.lines().filter(|line| line.starts_with(label));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let traffic = of("CLIENT_TRAFFIC_SECRET_0 ");
    assert_eq!(traffic.len(), 2, "{secrets}");
    assert_eq!(traffic[0], traffic[1]);
}

/// Runs a test of this binary in a process of its own, which has one more variable.
fn run_again(test: &str, variable: &str, value: impl AsRef<OsStr>) {
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", test]).env(variable, value);
    let output = again.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("1 passed"), "{said}");
}

/// One with the log and one without.
async fn handshakes() {
    let certificate = SelfSigned::generate([NAME]).unwrap();
    for has_log in [true, false] {
        let (mut server, mut client) = (certificate.server(), tls::client_without_verification());
        if has_log {
            (server, client) = (server.key_log(), client.key_log());
        }
        let server = Endpoint::server(server.config().unwrap(), any()).unwrap();
        let address = server.local_addr().unwrap();
        let endpoint = Endpoint::client(any()).unwrap();
        let config = client.config().unwrap();
        let connecting = endpoint.connect_with(config, address, NAME).unwrap();
        let (client, server) =
            tokio::join!(connecting, async { server.accept().await.unwrap().await });
        assert!(client.is_ok() && server.is_ok());
    }
}
