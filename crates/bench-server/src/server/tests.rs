use super::*;
use crate::admission::AdmissionLimits;
use bench_kit::plan::{Direction, Extras, Limit, Limits, Plan};
use bench_kit::token::Token;
use bench_kit::wire::{
    ALPN, PROTOCOL_ERROR, Reply, Request, UNAUTHORIZED, read_message, write_message,
};
use cc_core::Registry;
use paceline::tls;
use paceline::{ClientConfig, Connection, ConnectionError, KernelPacing, RecvStream, SendStream};
use std::future::pending;
use std::net::Ipv4Addr;
use std::sync::Mutex;

/// A server and what it has logged.
struct Fixture {
    address: SocketAddr,
    log: Arc<Mutex<Vec<String>>>,
    _serving: tokio::task::JoinHandle<()>,
}

impl Fixture {
    fn new(max_connections: u32) -> Self {
        Self::with(|setup| setup.admission.max_clients = max_connections)
    }

    fn with(change: impl FnOnce(&mut ServerSetup)) -> Self {
        let log: Arc<Mutex<Vec<String>>> = Arc::default();
        let lines = Arc::clone(&log);
        let mut setup = setup();
        change(&mut setup);
        let server = Server::bind(
            setup,
            Arc::new(move |line| lines.lock().unwrap().push(line.to_string())),
        )
        .unwrap();
        Self {
            address: server.local_addr().unwrap(),
            log,
            _serving: tokio::spawn(async move { server.serve(pending()).await }),
        }
    }

    async fn connect(&self) -> Result<(Endpoint, Connection), ConnectionError> {
        connect(self.address).await
    }

    /// Asks for this plan after these messages; gives how it went.
    async fn ask_after(&self, before: impl Fn(&Connection) -> Vec<Request>) -> String {
        let (_endpoint, connection) = self.connect().await.unwrap();
        let (mut send, mut receive) = connection.open_bi().await.unwrap();
        for message in before(&connection)
            .iter()
            .chain([&Request::Run(Box::new(plan()))])
        {
            write_message(&mut send, message).await.unwrap();
        }
        match read_message::<Reply>(&mut receive).await {
            Ok(reply) => format!("{reply:?}"),
            Err(_) => {
                bench_kit::close_reason::lost(&connection.closed().await, "HERE", Duration::ZERO)
            }
        }
    }

    /// Begins a run of this plan; gives its streams and the connection.
    async fn begin(&self, plan: Plan) -> Begun {
        let (endpoint, connection) = self.connect().await.unwrap();
        let (mut send, mut receive) = connection.open_bi().await.unwrap();
        write_message(&mut send, &Request::Run(Box::new(plan)))
            .await
            .unwrap();
        let reply = read_message(&mut receive).await.unwrap();
        assert_eq!(reply, Some(Reply::Accepted));
        Begun {
            receive,
            connection,
            _send: send,
            _endpoint: endpoint,
        }
    }

    /// A line of the log that contains `text`.
    async fn line_with(&self, text: &str) -> String {
        loop {
            let found = {
                let log = self.log.lock().unwrap();
                log.iter().find(|line| line.contains(text)).cloned()
            };
            match found {
                Some(line) => return line,
                None => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    }

    /// Sends these bytes as the first of a control stream; gives how the server ends it.
    async fn send(&self, bytes: &[u8]) -> String {
        let (_endpoint, connection) = self.connect().await.unwrap();
        let (mut send, _receive) = connection.open_bi().await.unwrap();
        send.write_all(bytes).await.unwrap();
        send.finish().unwrap();
        match connection.closed().await {
            ConnectionError::ApplicationClosed(close) => {
                assert_eq!(close.error_code, VarInt::from_u32(PROTOCOL_ERROR));
                String::from_utf8_lossy(&close.reason).into_owned()
            }
            other => panic!("{other}"),
        }
    }

    /// Asks for this plan; gives the answer.
    async fn ask(&self, plan: Plan) -> Reply {
        let (_endpoint, connection) = self.connect().await.unwrap();
        let (mut send, mut receive) = connection.open_bi().await.unwrap();
        write_message(&mut send, &Request::Run(Box::new(plan)))
            .await
            .unwrap();
        let reply = read_message(&mut receive).await.unwrap().unwrap();
        connection.close(VarInt::from_u32(0), b"");
        reply
    }
}

/// A run that was accepted.
struct Begun {
    receive: RecvStream,
    connection: Connection,
    _send: SendStream,
    _endpoint: Endpoint,
}

impl Begun {
    /// Why the server ends the run.
    async fn error(mut self) -> String {
        loop {
            match read_message(&mut self.receive).await.unwrap().unwrap() {
                Reply::Finished(report) => return report.error.expect("it failed"),
                Reply::Samples(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }
}

fn setup() -> ServerSetup {
    ServerSetup {
        bind: (Ipv4Addr::LOCALHOST, 0).into(),
        identity: None,
        idle_timeout: Duration::from_secs(2),
        limits: Limits {
            duration: Duration::from_secs(1),
            ..Limits::NONE
        },
        stranger_limits: None,
        max_runs: None,
        admission: AdmissionLimits {
            max_clients: 8,
            ..AdmissionLimits::OWN_CLIENTS
        },
        token: None,
        perf_congestion: Registry::standard().choose("cubic").ok(),
        is_one_off: false,
        kernel_pacing: KernelPacing::Off,
        qlog: None,
        resume: None,
        registry: Registry::standard(),
        seed: Some(1),
    }
}

async fn connect(server: SocketAddr) -> Result<(Endpoint, Connection), ConnectionError> {
    let endpoint = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let config: ClientConfig = tls::client_without_verification()
        .alpn(&[ALPN])
        .config()
        .unwrap();
    let connecting = endpoint.connect_with(config, server, "localhost");
    let connection = connecting.unwrap().await?;
    Ok((endpoint, connection))
}

fn token(text: &str) -> Token {
    let file = std::env::temp_dir().join(format!("{}-{text}", std::process::id()));
    std::fs::write(&file, text).unwrap();
    let token = Token::find(Some(&file)).unwrap().unwrap();
    std::fs::remove_file(&file).unwrap();
    token
}

fn plan() -> Plan {
    Plan {
        direction: Direction::Forward,
        limit: Limit::Time(Duration::from_secs(1)),
        omit: Duration::ZERO,
        streams: 1,
        length: 1_000,
        rate: None,
        client_congestion: "cubic".to_owned(),
        server_congestion: "cubic".to_owned(),
        window: 32 << 20,
        step: Duration::from_millis(100),
        extras: Extras::default(),
    }
}

#[tokio::test]
async fn malformed_control_messages_are_answered_and_end_nothing_else() {
    let server = Fixture::new(8);
    assert_eq!(
        server.send(&[0xff; 16]).await,
        "control message of 4294967295 bytes too long: at most 65536 allowed"
    );
    let garbage = server.send(b"\0\0\0\x04nope").await;
    assert!(
        garbage.starts_with("malformed control message: "),
        "{garbage}"
    );
    assert_eq!(server.send(b"").await, "first message is not a run request");
    let cut = server.send(b"\0\0\0\x04no").await;
    assert!(cut.starts_with("control stream failed: "), "{cut}");
    let mut early = Vec::new();
    let message = Request::Finished(Box::default());
    write_message(&mut early, &message).await.unwrap();
    assert_eq!(
        server.send(&early).await,
        "first message is not a run request"
    );
    assert_eq!(server.ask(plan()).await, Reply::Accepted);
    let log = server.log.lock().unwrap();
    assert!(
        log.iter()
            .any(|line| line.contains("nope") || line.contains("Refused "))
    );
}

#[tokio::test]
async fn a_plan_beyond_the_servers_limits_is_refused_with_the_reason() {
    let server = Fixture::new(8);
    let long = Plan {
        limit: Limit::Time(Duration::from_secs(2)),
        ..plan()
    };
    let Reply::Refused(why) = server.ask(long).await else {
        panic!("accepted");
    };
    assert_eq!(why, "run of 2s too long: this server allows at most 1s");
    let unknown = Plan {
        server_congestion: "bbr9".to_owned(),
        ..plan()
    };
    let Reply::Refused(why) = server.ask(unknown).await else {
        panic!("accepted");
    };
    assert!(
        why.contains("server: `bbr9` is not a congestion controller"),
        "{why}"
    );
}

#[tokio::test]
async fn a_client_too_many_is_refused_while_the_other_is_served() {
    let server = Fixture::new(1);
    let (_first, first) = server.connect().await.unwrap();
    let (mut send, mut receive) = first.open_bi().await.unwrap();
    write_message(&mut send, &Request::Run(Box::new(plan())))
        .await
        .unwrap();
    assert_eq!(
        read_message::<Reply>(&mut receive).await.unwrap(),
        Some(Reply::Accepted)
    );
    let refused = server.connect().await.unwrap_err();
    let why = bench_kit::close_reason::not_connected(&refused, "HERE");
    assert_eq!(
        why,
        "HERE refused the connection: too many clients, in total, from this address, or per \
         second; try again later"
    );
    assert_eq!(first.close_reason(), None);
}

#[tokio::test]
async fn a_program_that_is_no_client_is_told_so() {
    let server = Fixture::new(1);
    let endpoint = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let config = tls::client_without_verification()
        .alpn(&[b"h3"])
        .config()
        .unwrap();
    let connecting = endpoint.connect_with(config, server.address, "localhost");
    let error = connecting.unwrap().await.unwrap_err();
    let why = bench_kit::close_reason::not_connected(&error, "HERE");
    assert_eq!(
        why,
        "HERE is not a bench-server of this version; use the same version on both sides"
    );
}

#[tokio::test]
async fn a_client_that_ends_its_control_stream_early_is_refused_after_the_run() {
    let server = Fixture::new(1);
    let (_endpoint, connection) = server.connect().await.unwrap();
    let (mut send, _receive) = connection.open_bi().await.unwrap();
    write_message(&mut send, &Request::Run(Box::new(plan())))
        .await
        .unwrap();
    send.finish().unwrap();
    let mut payload = connection.open_uni().await.unwrap();
    payload.write_all(&[0; 1_000]).await.unwrap();
    let error = connection.closed().await;
    let why = bench_kit::close_reason::lost(&error, "HERE", Duration::ZERO);
    assert_eq!(why, "HERE: no final report from the client");
    server.line_with("Refused ").await;
    // Its permit is free again.
    assert_eq!(server.ask(plan()).await, Reply::Accepted);
}

#[tokio::test]
async fn a_client_without_room_for_a_reply_keeps_neither_its_place_nor_its_turn() {
    let server = Fixture::with(|setup| {
        setup.limits.duration = Duration::from_secs(3_600);
        setup.idle_timeout = Duration::from_millis(500);
        setup.max_runs = Some(1);
    });
    let unknown = Plan {
        server_congestion: "bbr9".to_owned(),
        ..plan()
    };
    for plan in [unknown, plan()] {
        let endpoint = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let tls = tls::client_without_verification().alpn(&[ALPN]);
        let mut config = tls.config().unwrap();
        let mut transport = paceline::TransportConfig::default();
        transport.stream_receive_window(VarInt::from_u32(0));
        transport.keep_alive_interval(Some(Duration::from_millis(100)));
        config.transport_config(Arc::new(transport));
        let connecting = endpoint.connect_with(config, server.address, "localhost");
        let connection = connecting.unwrap().await.unwrap();
        let (mut send, _receive) = connection.open_bi().await.unwrap();
        let run = Request::Run(Box::new(plan));
        write_message(&mut send, &run).await.unwrap();
        let ended = tokio::time::timeout(Duration::from_secs(20), connection.closed());
        let error = ended.await.expect("it is ended long before a run would be");
        let why = bench_kit::close_reason::lost(&error, "HERE", Duration::ZERO);
        assert_eq!(why, "HERE: the reply found no room in the client's window");
    }
    assert_eq!(server.ask(plan()).await, Reply::Accepted);
}

#[tokio::test]
async fn a_run_without_end_is_ended() {
    let server = Fixture::new(1);
    let (_endpoint, connection) = server.connect().await.unwrap();
    let (mut send, _receive) = connection.open_bi().await.unwrap();
    let endless = Plan {
        direction: Direction::Reverse,
        limit: Limit::Bytes(u64::MAX),
        rate: Some(100_000),
        ..plan()
    };
    let request = Request::Run(Box::new(endless));
    write_message(&mut send, &request).await.unwrap();
    let error = connection.closed().await;
    let why = bench_kit::close_reason::lost(&error, "HERE", Duration::ZERO);
    assert_eq!(why, "HERE: run exceeds this server's time limit");
}

#[tokio::test]
async fn a_server_with_a_token_serves_those_alone_who_know_it() {
    let server = Fixture::with(|setup| setup.token = Some(token("open sesame, open sesame")));
    let right = token("open sesame, open sesame");
    let wrong = token("open barley, open barley");
    let prove =
        |token: &Token, connection: &Connection| vec![Request::Token(token.proof(connection))];
    let accepted = format!("{:?}", Some(Reply::Accepted));
    assert_eq!(
        server
            .ask_after(|connection| prove(&right, connection))
            .await,
        accepted
    );
    // What a listener or somebody in between has is the proof for another connection.
    let (_endpoint, other) = server.connect().await.unwrap();
    let unauthorized = "missing or wrong token for HERE; use --token";
    assert_eq!(
        server.ask_after(|_| prove(&right, &other)).await,
        unauthorized
    );
    assert_eq!(
        server
            .ask_after(|connection| prove(&wrong, connection))
            .await,
        unauthorized
    );
    assert_eq!(server.ask_after(|_| Vec::new()).await, unauthorized);
    assert_eq!(
        server
            .ask_after(|_| vec![Request::Token("no hex".to_owned())])
            .await,
        unauthorized
    );
    server.line_with("missing or wrong token").await;
}

#[tokio::test]
async fn a_stranger_cannot_tell_what_it_did_wrong() {
    let server = Fixture::with(|setup| {
        setup.token = Some(token("a token that nobody has"));
        setup.idle_timeout = Duration::from_millis(300);
    });
    for bytes in [&b""[..], b"\xff\xff\xff\xff", b"\0\0\0\x04nope", b"\0\0"] {
        let (_endpoint, connection) = server.connect().await.unwrap();
        let (mut send, _receive) = connection.open_bi().await.unwrap();
        send.write_all(bytes).await.unwrap();
        send.finish().unwrap();
        let ConnectionError::ApplicationClosed(close) = connection.closed().await else {
            panic!("not closed");
        };
        assert_eq!(close.error_code, VarInt::from_u32(UNAUTHORIZED));
        assert_eq!(close.reason, b""[..]);
    }
}

#[tokio::test]
async fn a_token_that_a_server_does_not_ask_for_is_no_harm() {
    let server = Fixture::new(8);
    let own = token("nobody wants to know this");
    let reply = server.ask_after(|connection| vec![Request::Token(own.proof(connection))]);
    assert_eq!(reply.await, format!("{:?}", Some(Reply::Accepted)));
}

#[tokio::test]
async fn a_run_that_moves_more_than_allowed_is_ended() {
    let server = Fixture::with(|setup| setup.limits.bytes = units::Bytes::new(1 << 20));
    for direction in [Direction::Forward, Direction::Reverse] {
        let run = server
            .begin(Plan {
                direction,
                ..plan()
            })
            .await;
        let (connection, sends) = (run.connection.clone(), direction.client_sends());
        let payload = tokio::spawn(async move {
            if sends {
                let mut stream = connection.open_uni().await.unwrap();
                while stream.write_all(&[0; 65_536]).await.is_ok() {}
            } else if let Ok(mut stream) = connection.accept_uni().await {
                while let Ok(Some(_)) = stream.read_chunk(usize::MAX, true).await {}
            }
        });
        assert_eq!(
            run.error().await,
            "run exceeds this server's limit of 1.00 MBytes"
        );
        payload.abort();
    }
}

#[tokio::test]
async fn a_client_that_is_faster_than_its_plan_is_ended() {
    let server = Fixture::with(|setup| {
        setup.limits.rate = units::Bandwidth::from_bits_per_sec(1_000_000);
    });
    let honest = Plan {
        rate: Some(1_000_000),
        ..plan()
    };
    let run = server.begin(honest).await;
    let connection = run.connection.clone();
    let payload = tokio::spawn(async move {
        let mut stream = connection.open_uni().await.unwrap();
        while stream.write_all(&[0; 65_536]).await.is_ok() {}
    });
    let error = run.error().await;
    assert_eq!(error, "run exceeds this server's rate limit of 1mbit");
    payload.abort();
}

#[tokio::test]
async fn an_address_with_all_its_places_is_refused_while_others_are_not() {
    let server = Fixture::with(|setup| setup.admission.max_per_prefix = Some(2));
    let _first = server.connect().await.unwrap();
    // The second has to prove its address, which costs it nothing but a round trip.
    let (_second, second) = server.connect().await.unwrap();
    server.connect().await.unwrap_err();
    let line = server.line_with("Refused 127.0.0.1:").await;
    assert!(
        line.ends_with(": already 2 clients from this address (--max-per-address)"),
        "{line}"
    );
    second.close(VarInt::from_u32(0), b"");
    server.line_with("the client closed the connection").await;
    server.connect().await.unwrap();
}

#[tokio::test]
async fn clients_that_come_too_fast_are_refused() {
    let server = Fixture::with(|setup| setup.admission.max_per_second = 2);
    let _clients = [
        server.connect().await.unwrap(),
        server.connect().await.unwrap(),
    ];
    server.connect().await.unwrap_err();
    server
        .line_with(": already 2 new clients within a second (--max-per-second)")
        .await;
}

/// Takes datagrams to `server` from an address of its own each time, and brings nothing back: what
/// somebody sees who writes other people's addresses into packets.
fn forger(server: SocketAddr) -> (SocketAddr, std::thread::JoinHandle<u64>) {
    let inside = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = inside.local_addr().unwrap();
    inside
        .set_read_timeout(Some(Duration::from_millis(500)))
        .unwrap();
    let thread = std::thread::spawn(move || {
        let mut outside = Vec::new();
        let mut datagram = [0; 2_048];
        while let Ok(length) = inside.recv(&mut datagram) {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            socket.send_to(&datagram[..length], server).unwrap();
            outside.push(socket);
        }
        outside.len() as u64
    });
    (address, thread)
}

#[tokio::test]
async fn packets_with_forged_addresses_do_not_take_the_places_of_clients() {
    let server = Fixture::with(|setup| {
        setup.admission.max_clients = 16;
        setup.idle_timeout = Duration::from_secs(20);
    });
    let (forger, forging) = forger(server.address);
    let attempts: Vec<_> = (0..40)
        .map(|_| {
            tokio::spawn(tokio::time::timeout(
                Duration::from_millis(400),
                connect(forger),
            ))
        })
        .collect();
    for attempt in attempts {
        assert!(attempt.await.unwrap().is_err(), "nothing comes back");
    }
    assert!(forging.join().unwrap() >= 40);
    // Of the sixteen permits two are taken by those who will never come.
    let mut clients = Vec::new();
    for _ in 0..14 {
        clients.push(server.connect().await.unwrap());
    }
    server.connect().await.unwrap_err();
}

mod datagrams;
mod perf;

#[tokio::test]
async fn a_session_that_panics_ends_alone() {
    let log: Arc<Mutex<Vec<String>>> = Arc::default();
    let lines = Arc::clone(&log);
    let server = Server::bind(
        setup(),
        Arc::new(move |line| {
            let line = line.to_string();
            assert!(!line.contains("on 3 streams"), "this session fails");
            lines.lock().unwrap().push(line);
        }),
    );
    let server = server.unwrap();
    let address = server.local_addr().unwrap();
    let fixture = Fixture {
        address,
        log,
        _serving: tokio::spawn(async move { server.serve(pending()).await }),
    };
    let three = Plan {
        streams: 3,
        ..plan()
    };
    let (_endpoint, connection) = fixture.connect().await.unwrap();
    let (mut send, _receive) = connection.open_bi().await.unwrap();
    let run = Request::Run(Box::new(three));
    write_message(&mut send, &run).await.unwrap();
    match connection.closed().await {
        ConnectionError::ApplicationClosed(close) => {
            let reason = String::from_utf8_lossy(&close.reason).into_owned();
            assert_eq!(reason, "internal error of the server; see its messages");
        }
        other => panic!("{other}"),
    }
    let line = fixture.line_with("internal error of the server").await;
    assert!(line.starts_with("[  1] Ended "), "{line}");
    assert_eq!(fixture.ask(plan()).await, Reply::Accepted);
}
