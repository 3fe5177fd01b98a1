//! Messages that no honest peer sends. Each is one of the protocol, with some of its values
//! replaced by others; the programs take it or refuse it, and none of them ends by a bug.

use crate::robust::{client, start_client};
use bench_kit::plan::{Datagrams, Direction, Extras, Limit, Plan, Requests};
use bench_kit::sample::{
    Arrivals, FrameReport, FrameTally, RttReport, Sample, SenderReport, SenderState, SideReport,
};
use bench_kit::wire::{ALPN, Reply, Request, read_message};
use e2e::programs::bench_server;
use paceline::tls::{self, SelfSigned};
use paceline::{Connection, Endpoint, VarInt};
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use std::sync::mpsc;
use std::time::Duration;
use tokio::time::timeout;
use units::Rng;

/// Replaces values: about one of as many as the second number says.
struct Liar(Rng, u64);

impl Liar {
    /// Some tell a lie in each message, others hardly any.
    fn new(seed: u64) -> Self {
        Self(Rng::new(seed), [20, 200, 2_000][(seed % 3) as usize])
    }

    fn message(&mut self, honest: impl Into<Said>) -> Vec<u8> {
        let Said(mut message) = honest.into();
        self.change(&mut message);
        let json = message.to_string().into_bytes();
        [&(json.len() as u32).to_be_bytes()[..], &json].concat()
    }

    fn change(&mut self, value: &mut Value) {
        if self.0.below(self.1) == 0 {
            *value = self.value(value);
            return;
        }
        match value {
            Value::Array(values) => values.iter_mut().for_each(|value| self.change(value)),
            Value::Object(fields) => {
                if self.0.below(self.1) == 0 {
                    let name = format!("\u{1b}[2J{}", "x".repeat(20_000));
                    fields.insert(name, json!(1));
                }
                fields.values_mut().for_each(|value| self.change(value));
            }
            _ => {}
        }
    }

    /// In place of `honest`: mostly of its own type, which is what gets furthest.
    fn value(&mut self, honest: &Value) -> Value {
        let numbers = [0, 1, 2, 999_999_999, 1 << 32, 3_000_000_000, u64::MAX];
        match honest {
            Value::Number(_) if self.0.below(8) > 0 => {
                json!(numbers[self.0.below(numbers.len() as u64) as usize])
            }
            Value::Array(values) if self.0.below(8) > 0 => {
                let first = values.first().cloned().unwrap_or_default();
                json!(vec![first; [0, 1, 3, 5_000][self.0.below(4) as usize]])
            }
            Value::String(_) if self.0.below(8) > 0 => {
                json!(["", "cubic", "\u{1b}[2J", &"x".repeat(100_000)][self.0.below(4) as usize])
            }
            _ => [
                json!(null),
                json!(-1),
                json!(1e308),
                json!({}),
                json!([]),
                json!(""),
            ][self.0.below(6) as usize]
                .clone(),
        }
    }
}

/// A message as JSON.
struct Said(Value);

impl From<&Request> for Said {
    fn from(request: &Request) -> Self {
        Self(serde_json::to_value(request).unwrap())
    }
}

impl From<&Reply> for Said {
    fn from(reply: &Reply) -> Self {
        Self(serde_json::to_value(reply).unwrap())
    }
}

fn millis(time: u64) -> Duration {
    Duration::from_millis(time)
}

fn sample(number: u64) -> Sample {
    Sample {
        at: millis(100 * number),
        length: millis(100),
        omitted: number < 3,
        sent: vec![100_000],
        received: vec![100_000],
        sending: Some(SenderState::default()),
        datagrams_sent: vec![70],
        arrivals: vec![arrivals()],
        frames_sent: Some(3),
        frames: Some(FrameTally {
            complete: 3,
            late: 2,
            lost: 1,
        }),
    }
}

fn arrivals() -> Arrivals {
    Arrivals {
        packets: 70,
        lost: 1,
        out_of_order: 1,
        jitter: millis(1),
    }
}

pub(super) fn report() -> SideReport {
    let frames = [1, 2, 3].map(millis).to_vec();
    SideReport {
        measured: millis(1_000),
        sent: vec![1_000_000],
        received: vec![1_000_000],
        datagrams_sent: vec![700],
        arrivals: vec![arrivals()],
        frames_sent: Some(30),
        frames: Some(FrameReport::new(4, frames, millis(2))),
        sha256: Some("00".repeat(32)),
        socket_drops: Some(1),
        socket_buffer_limit: Some(200_000),
        output: Some("a line\n".to_owned()),
        sender: Some(SenderReport {
            congestion: "cubic".to_owned(),
            rtt: Some(RttReport {
                min: millis(1),
                p50: millis(2),
                p95: millis(3),
                p99: millis(4),
                max: millis(5),
                mean: millis(2),
                base: millis(1),
                samples: 100,
            }),
            rtt_distribution: serde_json::from_value(json!([
                {"at": {"secs": 0, "nanos": 2_000_000}, "at_most": 50},
                {"at": {"secs": 0, "nanos": 5_000_000}, "at_most": 100},
            ]))
            .unwrap(),
            ..SenderReport::default()
        }),
        cpu: millis(10),
        cpu_user: None,
        thread: Some(1),
        error: None,
    }
}

pub(super) fn plan(direction: Direction, number: u64) -> Plan {
    Plan {
        direction,
        limit: Limit::Time(millis(300)),
        omit: millis(100),
        streams: 2,
        length: 131_072,
        rate: Some(1_000_000),
        client_congestion: "cubic".to_owned(),
        server_congestion: "cubic".to_owned(),
        window: 1 << 20,
        step: millis(100),
        extras: Extras {
            server_output: Some(millis(100)),
            datagrams: (number.is_multiple_of(3)).then_some(Datagrams { size: Some(1_000) }),
            requests: (number % 3 == 1).then_some(Requests {
                interval: millis(100),
                under_load: number.is_multiple_of(2),
            }),
            ..Extras::default()
        },
    }
}

#[test]
fn no_reply_of_a_server_crashes_a_client() {
    let port = lying_server();
    let modes: [&[&str]; 6] = [
        &[],
        &["-R"],
        &["--bidir"],
        &["-P", "2", "--connections", "3"],
        &["-u", "-R", "--connections", "2"],
        &["-u", "--source", "video:2mbit,30fps,key=2s", "-R"],
    ];
    let mut codes = [0; 2];
    for _ in 0..6 {
        let clients = modes.map(|mode| {
            let flags = ["-t", "1.2", "-O", "0.2", "-i", "0.2", "--idle-timeout", "2"];
            let flags = [&flags[..], &["--json", "/dev/stdout"], mode].concat();
            start_client(port, &flags)
        });
        for client in clients {
            let ended = client.wait();
            assert!(!ended.stderr.contains("bug in"), "{}", ended.stderr);
            check_words(&ended.stderr, port, ended.code);
            let code = ended.code.expect("no signal ends it");
            codes[usize::try_from(code).unwrap()] += 1;
        }
    }
    println!("{} taken, {} refused", codes[0], codes[1]);
    assert!(codes[0] > 0 && codes[1] > 0, "{codes:?}");
}

/// A few lines in printable words; an error names the server.
fn check_words(stderr: &str, port: u16, code: Option<i32>) {
    let start = stderr.chars().take(2_000).collect::<String>();
    assert!(stderr.len() < 4_000, "{} bytes: {start}", stderr.len());
    let is_printable = |c: char| c == '\n' || !c.is_control();
    assert!(stderr.chars().all(is_printable), "{start:?}");
    let names_server = stderr.contains(&format!("127.0.0.1:{port}"));
    assert!(code == Some(0) || names_server, "{stderr}");
}

/// The port of a server whose replies come in their order and are no other than that.
fn lying_server() -> u16 {
    let (sender, port) = mpsc::channel();
    on_a_thread(async move {
        let own = SelfSigned::generate(["localhost"]).unwrap();
        let config = own.server().alpn(&[ALPN]).config().unwrap();
        let endpoint = Endpoint::server(config, (Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        sender.send(endpoint.local_addr().unwrap().port()).unwrap();
        let mut seeds = 1_u64..;
        while let Some(incoming) = endpoint.accept().await {
            let liar = Liar::new(seeds.next().unwrap());
            tokio::spawn(async move {
                if let Ok(connection) = incoming.await {
                    lie_to_client(&connection, liar).await;
                }
            });
        }
    });
    port.recv().unwrap()
}

async fn lie_to_client(connection: &Connection, mut liar: Liar) -> Option<()> {
    let (mut send, mut receive) = connection.accept_bi().await.ok()?;
    let _ = read_message::<Request>(&mut receive).await;
    let accepted = serde_json::to_vec(&Reply::Accepted).unwrap();
    let length = (accepted.len() as u32).to_be_bytes();
    send.write_all(&[&length[..], &accepted].concat())
        .await
        .ok()?;
    // What a client that receives is waiting for.
    let mut payload = connection.open_uni().await.ok()?;
    payload.write_all(&[0; 10_000]).await.ok()?;
    for number in 0..12 {
        let samples = Reply::Samples(vec![sample(number)]);
        send.write_all(&liar.message(&samples)).await.ok()?;
        tokio::time::sleep(millis(50)).await;
    }
    let finished = Reply::Finished(Box::new(report()));
    send.write_all(&liar.message(&finished)).await.ok()?;
    connection.closed().await;
    Some(())
}

#[test]
fn no_message_of_a_client_crashes_a_server() {
    let (server, port) = bench_server(&["--idle-timeout", "1", "--max-duration", "1"]);
    let (sender, done) = mpsc::channel();
    for seed in 1..=120 {
        let sender = sender.clone();
        on_a_thread(async move {
            let _ = timeout(Duration::from_secs(5), lie_to_server(port, seed)).await;
            sender.send(()).unwrap();
        });
    }
    (1..=120).for_each(|_| done.recv().unwrap());
    let ended = client(port, &["-n", "1M"]);
    assert_eq!(ended.code, Some(0), "others are served: {ended:?}");
    server.terminate();
    let ended = server.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.stderr.contains("bug in"), "{}", ended.stderr);
    for line in ended.stdout.lines() {
        assert!(line.chars().count() < 600, "{line}");
        assert!(!line.contains(char::is_control), "{line:?}");
    }
}

pub(super) async fn lie_to_server(port: u16, seed: u64) -> Option<()> {
    let mut liar = Liar::new(seed);
    let endpoint = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).ok()?;
    let tls = tls::client_without_verification().alpn(&[ALPN]);
    let config = tls.config().ok()?;
    let server = (Ipv4Addr::LOCALHOST, port).into();
    let connecting = endpoint.connect_with(config, server, "localhost").ok()?;
    let connection = connecting.await.ok()?;
    let (mut send, mut receive) = connection.open_bi().await.ok()?;
    let directions = [Direction::Forward, Direction::Reverse, Direction::Both];
    let run = plan(directions[liar.0.below(3) as usize], seed);
    let run = Request::Run(Box::new(run));
    if liar.0.below(4) == 0 {
        let token = Request::Token("guess".to_owned());
        send.write_all(&liar.message(&token)).await.ok()?;
    }
    send.write_all(&liar.message(&run)).await.ok()?;
    let _ = read_message::<Reply>(&mut receive).await;
    // Totals of datagrams, requests and payload, all of the same bytes.
    let noise = [liar.0.below(256) as u8; 5_000];
    if let Ok(mut payload) = connection.open_uni().await {
        let _ = payload.write_all(&noise).await;
    }
    let _ = connection.send_datagram(noise[..1_000].to_vec().into());
    tokio::time::sleep(millis(200)).await;
    let finished = Request::Finished(Box::new(report()));
    send.write_all(&liar.message(&finished)).await.ok()?;
    let _ = send.finish();
    while let Ok(Some(_)) = read_message::<Reply>(&mut receive).await {}
    connection.close(VarInt::from_u32(0), b"");
    Some(())
}

pub(super) fn on_a_thread(run: impl Future<Output = ()> + Send + 'static) {
    std::thread::spawn(move || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_all().build().unwrap().block_on(run);
    });
}
