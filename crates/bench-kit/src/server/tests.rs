use super::*;
use crate::plan::{Direction, Limit, Plan};
use crate::wire::{PROTOCOL_ERROR, Reply, Request, read_message, write_message};
use std::future::pending;
use std::net::Ipv4Addr;
use std::sync::Mutex;
use transport::{ClientConfig, Connection, ConnectionError};

/// A server and what it has logged.
struct Fixture {
    address: SocketAddr,
    log: Arc<Mutex<Vec<String>>>,
    _serving: tokio::task::JoinHandle<()>,
}

impl Fixture {
    fn new(max_connections: u32) -> Self {
        let log: Arc<Mutex<Vec<String>>> = Arc::default();
        let lines = Arc::clone(&log);
        let setup = ServerSetup {
            bind: (Ipv4Addr::LOCALHOST, 0).into(),
            identity: None,
            idle_timeout: Duration::from_secs(2),
            limits: Limits {
                duration: Duration::from_secs(1),
            },
            max_connections,
            is_one_off: false,
            registry: Registry::standard(),
            seed: Some(1),
        };
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
        let endpoint = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let config: ClientConfig = tls::client_without_verification()
            .alpn(&[ALPN])
            .config()
            .unwrap();
        let connecting = endpoint.connect_with(config, self.address, "localhost");
        let connection = connecting.unwrap().await?;
        Ok((endpoint, connection))
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
        write_message(&mut send, &Request::Run(plan)).await.unwrap();
        let reply = read_message(&mut receive).await.unwrap().unwrap();
        connection.close(VarInt::from_u32(0), b"");
        reply
    }
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
    }
}

#[tokio::test]
async fn malformed_control_messages_are_answered_and_end_nothing_else() {
    let server = Fixture::new(8);
    assert_eq!(
        server.send(&[0xff; 16]).await,
        "a control message of 4294967295 bytes is longer than the 4194304 allowed"
    );
    let garbage = server.send(b"\0\0\0\x04nope").await;
    assert!(garbage.starts_with("not a control message: "), "{garbage}");
    assert_eq!(server.send(b"").await, "the first message is not a plan");
    let cut = server.send(b"\0\0\0\x04no").await;
    assert!(cut.starts_with("the control stream broke: "), "{cut}");
    let mut early = Vec::new();
    let message = Request::Finished(Box::default());
    write_message(&mut early, &message).await.unwrap();
    assert_eq!(server.send(&early).await, "the first message is not a plan");
    assert_eq!(server.ask(plan()).await, Reply::Accepted);
    let log = server.log.lock().unwrap();
    assert!(
        log.iter()
            .any(|line| line.contains("nope") || line.contains("was refused"))
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
    assert_eq!(
        why,
        "a run of 2s is longer than the 1s that this server allows"
    );
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
    write_message(&mut send, &Request::Run(plan()))
        .await
        .unwrap();
    assert_eq!(
        read_message::<Reply>(&mut receive).await.unwrap(),
        Some(Reply::Accepted)
    );
    let refused = server.connect().await.unwrap_err();
    let why = crate::ending::not_connected(&refused, "HERE");
    assert_eq!(
        why,
        "HERE refused the connection: it has as many clients as it takes"
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
    let why = crate::ending::not_connected(&error, "HERE");
    assert_eq!(
        why,
        "HERE speaks QUIC, but it is no bench-server of this version"
    );
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
    let request = Request::Run(endless);
    write_message(&mut send, &request).await.unwrap();
    let error = connection.closed().await;
    let why = crate::ending::lost(&error, "HERE", Duration::ZERO);
    assert_eq!(why, "HERE: the run lasts longer than this server allows");
}
