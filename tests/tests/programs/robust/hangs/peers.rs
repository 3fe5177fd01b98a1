//! Peers that do not do their part.

use bench_kit::plan::{Datagrams, Direction, Extras, Limit, Plan, Requests};
use bench_kit::wire::{ALPN, Reply, Request, read_message, write_message};
use bench_kit::{clock, perf};
use paceline::tls::{self, SelfSigned};
use paceline::{Connection, Endpoint, RecvStream, SendStream, TransportConfig, VarInt};
use std::future::pending;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

/// After what a peer does nothing more, but for keeping its connection alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    AfterHandshake,
    /// It says no, and keeps the connection.
    AfterRefusal,
    AfterAcceptance,
    /// It says that it is done as soon as it has accepted.
    AfterReport,
    /// Windows of a few bytes and datagrams of ten, and then as after the acceptance.
    Shrunk,
}

impl Stop {
    pub(super) const ALL: [Self; 5] = [
        Self::AfterHandshake,
        Self::AfterRefusal,
        Self::AfterAcceptance,
        Self::AfterReport,
        Self::Shrunk,
    ];

    fn transport(self) -> TransportConfig {
        let mut transport = TransportConfig::default();
        transport.max_idle_timeout(None);
        if self == Self::Shrunk {
            transport
                .receive_window(VarInt::from_u32(2_000))
                .stream_receive_window(VarInt::from_u32(1_000))
                .datagram_receive_buffer_size(Some(10));
        }
        transport
    }
}

/// A server that stops, on a thread of its own for the rest of the test.
pub(super) struct Server {
    pub(super) port: u16,
}

impl Server {
    pub(super) fn start(stop: Stop) -> Self {
        let (sender, port) = mpsc::channel();
        on_a_thread(async move {
            let own = SelfSigned::generate(["localhost"]).unwrap();
            let tls = own.server().alpn(&[ALPN, perf::ALPN]);
            let mut config = tls.config().unwrap();
            config.transport_config(Arc::new(stop.transport()));
            let endpoint = Endpoint::server(config, (Ipv4Addr::LOCALHOST, 0).into()).unwrap();
            sender.send(endpoint.local_addr().unwrap().port()).unwrap();
            while let Some(incoming) = endpoint.accept().await {
                tokio::spawn(async move {
                    let Ok(connection) = incoming.await else {
                        return;
                    };
                    let _streams = answer(&connection, stop).await;
                    connection.closed().await;
                });
            }
        });
        let port = port.recv().unwrap();
        Self { port }
    }
}

async fn answer(connection: &Connection, stop: Stop) -> Option<(SendStream, RecvStream)> {
    if stop == Stop::AfterHandshake {
        return None;
    }
    let (mut send, mut receive) = connection.accept_bi().await.ok()?;
    let _ = read_message::<Request>(&mut receive).await;
    let replies = match stop {
        Stop::AfterRefusal => vec![Reply::Refused("no".to_owned())],
        Stop::AfterReport => vec![Reply::Accepted, Reply::Finished(Box::default())],
        _ => vec![Reply::Accepted],
    };
    for reply in &replies {
        write_message(&mut send, reply).await.ok()?;
    }
    Some((send, receive))
}

/// A client that asks for a run, and then stops.
pub(super) struct Client;

impl Client {
    /// One of each kind, all of which have begun.
    pub(super) fn all(port: u16) -> Vec<Self> {
        let idle = Extras {
            requests: Some(Requests {
                interval: Duration::from_millis(100),
                under_load: false,
            }),
            ..Extras::default()
        };
        let datagrams = Extras {
            datagrams: Some(Datagrams::default()),
            ..Extras::default()
        };
        let kinds = [Extras::default(), idle, datagrams].into_iter();
        let kinds = kinds.flat_map(|extras| {
            [Direction::Forward, Direction::Reverse, Direction::Both]
                .map(|direction| plan(direction, extras.clone()))
        });
        let (sender, begun) = mpsc::channel();
        let mut clients = Vec::new();
        for plan in kinds {
            for stop in [Stop::AfterHandshake, Stop::AfterAcceptance, Stop::Shrunk] {
                let (sender, plan) = (sender.clone(), plan.clone());
                on_a_thread(async move {
                    let _run = begin(port, stop, plan).await;
                    sender.send(()).unwrap();
                    pending::<()>().await;
                });
                clients.push(Self);
            }
        }
        clients.iter().for_each(|_| begun.recv().unwrap());
        clients
    }
}

async fn begin(port: u16, stop: Stop, plan: Plan) -> (Endpoint, Connection, Option<SendStream>) {
    let endpoint = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let tls = tls::client_without_verification().alpn(&[ALPN]);
    let mut config = tls.config().unwrap();
    config.transport_config(Arc::new(stop.transport()));
    let server = (Ipv4Addr::LOCALHOST, port).into();
    let connecting = endpoint.connect_with(config, server, "localhost").unwrap();
    let connection = connecting.await.unwrap();
    if stop == Stop::AfterHandshake {
        return (endpoint, connection, None);
    }
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    let run = Request::Run(Box::new(plan));
    write_message(&mut send, &run).await.unwrap();
    let reply = read_message::<Reply>(&mut receive).await.unwrap();
    assert_eq!(reply, Some(Reply::Accepted));
    // The rest of the control stream is not read, and neither is any other.
    std::mem::forget(receive);
    (endpoint, connection, Some(send))
}

fn plan(direction: Direction, extras: Extras) -> Plan {
    Plan {
        direction,
        limit: Limit::Time(Duration::from_secs(600)),
        omit: Duration::ZERO,
        streams: 2,
        length: 131_072,
        rate: None,
        client_congestion: "cubic".to_owned(),
        server_congestion: "cubic".to_owned(),
        window: 32 << 20,
        step: Duration::from_millis(100),
        extras,
    }
}

/// The port of a path to this one of 127.0.0.1 that takes nothing above 1,280 bytes once its first
/// packet is so old. It belongs to whoever speaks first: a client asks by a socket of its own
/// whether anybody listens, and answers to the client must not go there.
pub(super) fn narrowing(port: u16, after: Duration) -> u16 {
    let server: SocketAddr = (Ipv4Addr::LOCALHOST, port).into();
    let [front, back] = [0, 0].map(|port| UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).unwrap());
    let path = front.local_addr().unwrap().port();
    let (to_client, to_server) = (front.try_clone().unwrap(), back.try_clone().unwrap());
    let client = Arc::new(Mutex::new(None));
    let is_narrow = Arc::new(AtomicBool::new(false));
    let (known, narrow) = (Arc::clone(&client), Arc::clone(&is_narrow));
    thread::spawn(move || {
        let mut datagram = [0; 65_536];
        let mut first = None;
        while let Ok((length, from)) = front.recv_from(&mut datagram) {
            if *known.lock().unwrap().get_or_insert(from) != from {
                continue;
            }
            let begin = *first.get_or_insert_with(clock::now);
            narrow.fetch_or(begin.elapsed() >= after, Ordering::Relaxed);
            if length <= 1_280 || !narrow.load(Ordering::Relaxed) {
                let _ = to_server.send_to(&datagram[..length], server);
            }
        }
    });
    thread::spawn(move || {
        let mut datagram = [0; 65_536];
        while let Ok(length) = back.recv(&mut datagram) {
            let client = client.lock().unwrap().expect("the client spoke first");
            if length <= 1_280 || !is_narrow.load(Ordering::Relaxed) {
                let _ = to_client.send_to(&datagram[..length], client);
            }
        }
    });
    path
}

fn on_a_thread(run: impl Future<Output = ()> + Send + 'static) {
    thread::spawn(move || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_all().build().unwrap().block_on(run);
    });
}
