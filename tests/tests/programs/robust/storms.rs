//! Clients that wear a server out by what the protocol permits: each datagram from another address,
//! a word at a time, and packets of connections that never were.

use crate::robust::lies::{on_a_thread, plan};
use crate::robust::{client, start_client};
use bench_kit::clock;
use bench_kit::plan::{Direction, Extras, Limit, Plan};
use bench_kit::wire::{ALPN, Request, write_message};
use e2e::programs::{Running, bench_server};
use paceline::{
    ArrivedDatagrams, Connection, DatagramBatch, DatagramSocket, Endpoint, EndpointConfig,
    TransportConfig, tls,
};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{sleep, timeout};
use units::Rng;

#[test]
fn a_client_that_moves_with_every_datagram_costs_others_nothing() {
    let (server, port) = bench_server(&["--idle-timeout", "5"]);
    let (sender, ran) = mpsc::channel();
    for direction in [Direction::Forward, Direction::Reverse, Direction::Both] {
        let sender = sender.clone();
        on_a_thread(async move {
            let nomad = Arc::new(Nomad::new().unwrap());
            let shared = Arc::clone(&nomad) as _;
            let endpoint = Endpoint::with_socket(EndpointConfig::default(), None, shared).unwrap();
            let connection = connect(&endpoint, port, TransportConfig::default()).await;
            let (mut send, _receive) = connection.open_bi().await.unwrap();
            let run = Request::Run(Box::new(Plan {
                limit: Limit::Time(Duration::from_secs(600)),
                rate: None,
                extras: Extras::default(),
                ..plan(direction, 0)
            }));
            write_message(&mut send, &run).await.unwrap();
            let mut payload = connection.open_uni().await.unwrap();
            // Some of its moves may end it.
            let storm = async {
                while payload.write_all(&[7; 1_000]).await.is_ok() {
                    sleep(Duration::from_micros(200)).await;
                }
            };
            let _ = timeout(Duration::from_secs(4), storm).await;
            sender.send(nomad.next.load(Ordering::Relaxed)).unwrap();
        });
    }
    let begin = clock::now();
    let mut runs = 0;
    while begin.elapsed() < Duration::from_secs(3) {
        let ended = client(port, &["-n", "2M", "--connect-timeout", "30s"]);
        assert_eq!(ended.code, Some(0), "others are served: {ended:?}");
        runs += 1;
    }
    let moves: Vec<usize> = (0..3).map(|_| ran.recv().unwrap()).collect();
    println!("{runs} honest runs beside {moves:?} moves");
    assert!(moves.iter().sum::<usize>() > 1_000, "{moves:?}");
    check_ends(server);
}

#[test]
fn words_that_come_one_at_a_time_are_given_up_in_time() {
    let (server, port) = bench_server(&["--idle-timeout", "1", "--max-connections", "8"]);
    let (sender, ended) = mpsc::channel();
    for _ in 0..4 {
        let sender = sender.clone();
        on_a_thread(async move {
            let endpoint = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
            let connection = connect(&endpoint, port, TransportConfig::default()).await;
            let (mut send, _receive) = connection.open_bi().await.unwrap();
            // A message of 60,000 bytes, which would take hours.
            let mut written = send.write_all(&60_000_u32.to_be_bytes()).await;
            while written.is_ok() {
                sleep(Duration::from_millis(200)).await;
                written = send.write_all(b" ").await;
            }
            sender
                .send(connection.close_reason().unwrap().to_string())
                .unwrap();
        });
    }
    for _ in 0..4 {
        let why = ended.recv_timeout(Duration::from_secs(20)).unwrap();
        assert!(why.contains("no run request received"), "{why}");
    }
    let served = client(port, &["-n", "1M"]);
    assert_eq!(served.code, Some(0), "{served:?}");
    check_ends(server);
}

#[test]
fn packets_of_connections_that_never_were_are_answered_by_less() {
    let (server, port) = bench_server(&[]);
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.set_nonblocking(true).unwrap();
    let honest = start_client(port, &["-t", "2", "-b", "5M"]);
    let mut rng = Rng::new(1);
    let (mut sent, mut received) = (0, 0);
    let mut answer = [0; 2_000];
    let begin = clock::now();
    while begin.elapsed() < Duration::from_secs(2) {
        // Short headers, long ones, and versions that there are not.
        let mut datagram = vec![0; 21 + rng.below(1_400) as usize];
        datagram.fill_with(|| rng.next_u64() as u8);
        match rng.below(3) {
            0 => datagram[0] = 0x40 | datagram[0] & 0x3f,
            1 => datagram[..5].copy_from_slice(&[0xe0, 0, 0, 0, 1]),
            _ => datagram[0] |= 0xc0,
        }
        if let Ok(bytes) = socket.send_to(&datagram, (Ipv4Addr::LOCALHOST, port)) {
            sent += bytes;
        }
        while let Ok(bytes) = socket.recv(&mut answer) {
            received += bytes;
        }
    }
    println!("{received} bytes for {sent}");
    assert!(received > 0 && received < sent / 2, "{received} of {sent}");
    let ended = honest.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    check_ends(server);
}

async fn connect(endpoint: &Endpoint, port: u16, transport: TransportConfig) -> Connection {
    let tls = tls::client_without_verification().alpn(&[ALPN]);
    let mut config = tls.config().unwrap();
    config.transport_config(Arc::new(transport));
    let server = (Ipv4Addr::LOCALHOST, port).into();
    let connecting = endpoint.connect_with(config, server, "localhost");
    connecting.unwrap().await.unwrap()
}

/// It is asked to end, does so at once, and has had no bug.
fn check_ends(server: Running) {
    server.terminate();
    let asked = clock::now();
    let ended = server.wait();
    let took = asked.elapsed();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert!(!ended.stderr.contains("bug in"), "{}", ended.stderr);
}

/// Sockets with addresses of their own, of which each datagram leaves by the next.
#[derive(Debug)]
struct Nomad {
    sockets: Vec<tokio::net::UdpSocket>,
    /// Datagrams that have left.
    next: AtomicUsize,
}

impl Nomad {
    fn new() -> io::Result<Self> {
        let sockets = (2..=100).map(|last| {
            let socket = UdpSocket::bind((Ipv4Addr::new(127, 0, 0, last), 0))?;
            socket.set_nonblocking(true)?;
            tokio::net::UdpSocket::from_std(socket)
        });
        Ok(Self {
            sockets: sockets.collect::<io::Result<_>>()?,
            next: AtomicUsize::new(0),
        })
    }
}

impl DatagramSocket for Nomad {
    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.sockets[0].local_addr()
    }

    fn try_send(&self, batch: &DatagramBatch<'_>) -> io::Result<()> {
        for datagram in batch.datagrams() {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            // The first ones are the handshake's, which may not move (RFC 9000 §9).
            let socket = &self.sockets[number.saturating_sub(20) % self.sockets.len()];
            // One that is refused is lost, as it may be anywhere.
            let _ = socket.try_send_to(datagram, batch.destination);
        }
        Ok(())
    }

    fn poll_writable(&self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<ArrivedDatagrams>> {
        for socket in &self.sockets {
            let mut space = tokio::io::ReadBuf::new(buffer);
            if let Poll::Ready(source) = socket.poll_recv_from(cx, &mut space) {
                let len = space.filled().len();
                return Poll::Ready(source.map(|source| ArrivedDatagrams::one(len, source)));
            }
        }
        Poll::Pending
    }
}
