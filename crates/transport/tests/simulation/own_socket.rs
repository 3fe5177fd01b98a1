//! Sockets of the application's around the simulation's: what they do wrong stays theirs.

use crate::support::{address, configs, connect, receive_for, send_endlessly, simulation};
use paceline::testing::Simulation;
use paceline::{
    ArrivedDatagrams, Connection, DatagramBatch, DatagramSocket, Endpoint, EndpointConfig,
    KernelPacing, TransportConfig,
};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::time::sleep;

const SERVER: &str = "10.0.0.1:443";
const LINK: &str = "delay 10ms rate 10mbit queue 1bdp";

/// What it does other than the simulation's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Habit {
    None,
    /// Takes one datagram at a time.
    NoBatches,
    /// Has no room in three of four attempts, and says when it has.
    IsFullAtTimes,
    /// Says that it has room, and takes nothing.
    SaysThatItHasRoom,
    /// Panics in each second attempt to send.
    Panics,
    /// Uses its own connection while sending.
    UsesTheConnection,
    /// Says that more has arrived than there was room for, in pieces of nothing.
    Exaggerates,
    /// Fails to receive now and then.
    FailsToReceive,
}

#[derive(Debug)]
struct Wrapped {
    socket: Arc<dyn DatagramSocket>,
    habit: Habit,
    attempts: AtomicU32,
    waits: AtomicU32,
    connection: OnceLock<Connection>,
}

impl Wrapped {
    fn new(socket: Arc<dyn DatagramSocket>, habit: Habit) -> Arc<Self> {
        Arc::new(Self {
            socket,
            habit,
            attempts: AtomicU32::new(0),
            waits: AtomicU32::new(0),
            connection: OnceLock::new(),
        })
    }
}

fn is_one_of(count: u32, counter: &AtomicU32) -> bool {
    let number = counter.fetch_add(1, Ordering::Relaxed);
    number.is_multiple_of(count)
}

impl DatagramSocket for Wrapped {
    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    fn try_send(&self, batch: &DatagramBatch<'_>) -> io::Result<()> {
        let is_established = self.connection.get().is_some();
        match self.habit {
            Habit::NoBatches => assert_eq!(batch.datagrams().len(), 1),
            Habit::IsFullAtTimes if !is_one_of(4, &self.attempts) => {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            Habit::SaysThatItHasRoom if is_established => {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            Habit::Panics => assert!(!is_one_of(2, &self.attempts), "on purpose"),
            Habit::UsesTheConnection => {
                if let Some(connection) = self.connection.get() {
                    connection.stats();
                }
            }
            _ => {}
        }
        self.socket.try_send(batch)
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<()> {
        if self.habit == Habit::IsFullAtTimes && is_one_of(2, &self.waits) {
            // A millisecond is about one packet of this link.
            let waker: Waker = cx.waker().clone();
            tokio::spawn(async move {
                sleep(Duration::from_millis(1)).await;
                waker.wake();
            });
            return Poll::Pending;
        }
        self.socket.poll_writable(cx)
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<ArrivedDatagrams>> {
        if self.habit == Habit::FailsToReceive && is_one_of(3, &self.attempts) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        let arrived = self.socket.poll_recv(cx, buffer);
        if self.habit == Habit::Exaggerates && self.connection.get().is_some() {
            return arrived.map_ok(|mut arrived| {
                (arrived.len, arrived.size) = (usize::MAX, 0);
                arrived
            });
        }
        arrived
    }

    fn max_batch(&self) -> usize {
        match self.habit {
            Habit::NoBatches => 0,
            _ => self.socket.max_batch(),
        }
    }
}

/// What a client receives in three seconds, with the server's errors of sending, when its server
/// has this socket.
fn received(habit: Habit) -> (u64, u64) {
    simulation(1, LINK).run(async move {
        let (server, client) = configs("cubic");
        let socket = Wrapped::new(Simulation::bind(address(SERVER)).unwrap(), habit);
        let endpoint = Endpoint::with_socket(
            EndpointConfig::default(),
            Some(server),
            Arc::clone(&socket) as Arc<dyn DatagramSocket>,
        );
        let endpoint = endpoint.unwrap();
        let accepting = endpoint.clone();
        tokio::spawn(async move {
            let connection = accepting.accept().await?.await.ok()?;
            socket.connection.set(connection.clone()).unwrap();
            let mut stream = connection.open_uni().await.ok()?;
            while stream.write_all(&[7; 16_384]).await.is_ok() {}
            Some(())
        });
        let connection = connect(client, "0.0.0.0:0", address(SERVER)).await;
        let bytes = tokio::select! {
            biased;
            bytes = receive_for(&connection, Duration::from_secs(3)) => bytes,
            () = sleep(Duration::from_secs(4)) => 0,
        };
        (bytes, endpoint.stats().send_errors)
    })
}

#[test]
fn a_socket_around_another_changes_nothing() {
    let (bytes, errors) = received(Habit::None);
    assert!(bytes > 3_200_000, "{bytes}");
    assert_eq!(errors, 0);
    let (bytes, errors) = received(Habit::NoBatches);
    assert!(bytes > 3_200_000, "{bytes}");
    assert_eq!(errors, 0);
}

#[test]
fn a_socket_that_is_full_at_times_loses_nothing() {
    let (bytes, errors) = received(Habit::IsFullAtTimes);
    assert!(bytes > 1_000_000, "{bytes}");
    assert_eq!(errors, 0);
}

#[test]
fn what_a_socket_says_of_arrivals_is_not_believed() {
    // ACKs that are followed by what the buffer held before are ACKs.
    let (bytes, errors) = received(Habit::Exaggerates);
    assert!(bytes > 0, "{bytes}");
    assert_eq!(errors, 0);
}

#[test]
fn errors_of_receiving_end_nothing() {
    assert!(received(Habit::FailsToReceive).0 > 3_200_000);
}

#[test]
fn a_panic_is_an_error_of_the_socket() {
    let (bytes, errors) = received(Habit::Panics);
    assert!(bytes > 10_000 && errors > 10, "{bytes}, {errors}");
    // So is the use of a connection that is locked meanwhile.
    let (bytes, errors) = received(Habit::UsesTheConnection);
    assert!(bytes < 100_000 && errors > 1, "{bytes}, {errors}");
}

#[test]
fn a_socket_that_lies_about_its_room_stops_nobody_else() {
    let ticks = simulation(1, LINK)
        .time_limit(Duration::from_secs(30))
        .run(async {
            let (server, client) = configs("cubic");
            let socket = Simulation::bind(address(SERVER)).unwrap();
            let socket = Wrapped::new(socket, Habit::SaysThatItHasRoom);
            let endpoint = Endpoint::with_socket(
                EndpointConfig::default(),
                Some(server),
                Arc::clone(&socket) as Arc<dyn DatagramSocket>,
            );
            let accepting = endpoint.unwrap();
            let connecting = tokio::spawn(connect(client, "0.0.0.0:0", address(SERVER)));
            let connection = accepting.accept().await.unwrap().await.unwrap();
            connecting.await.unwrap();
            socket.connection.set(connection.clone()).unwrap();
            connection
                .open_uni()
                .await
                .unwrap()
                .write_all(b"x")
                .await
                .unwrap();
            // Time stands still as long as the endpoint tries, and other tasks have their turns.
            let mut turns = 0;
            while turns < 1_000 {
                tokio::task::yield_now().await;
                turns += 1;
            }
            turns
        });
    assert_eq!(ticks, 1_000);
}

#[test]
fn an_endpoint_goes_on_over_another_socket() {
    simulation(1, LINK).run(async {
        let (server, client) = configs("cubic");
        let server = Endpoint::server(server, address(SERVER)).unwrap();
        tokio::spawn(send_endlessly(server));
        let endpoint = Endpoint::client(address("0.0.0.0:0")).unwrap();
        let connecting = endpoint.connect_with(client, address(SERVER), "server.test");
        let connection = connecting.unwrap().await.unwrap();
        let before = endpoint.local_addr().unwrap();
        let moved = endpoint.clone();
        tokio::spawn(async move {
            sleep(Duration::from_secs(1)).await;
            let next = Simulation::bind(address("0.0.0.0:0")).unwrap();
            moved
                .rebind_with_socket(Wrapped::new(next, Habit::NoBatches))
                .unwrap();
        });
        let bytes = receive_for(&connection, Duration::from_secs(4)).await;
        assert!(bytes > 3_500_000, "{bytes}");
        let after = endpoint.local_addr().unwrap();
        assert_ne!(before, after);
        assert!(Simulation::packets(address(SERVER), after).received > 2_000);
    });
}

#[test]
fn the_kernel_does_not_pace_a_socket_of_the_applications() {
    simulation(1, LINK).run(async {
        let (server, mut client) = configs("cubic");
        let server = Endpoint::server(server, address(SERVER)).unwrap();
        tokio::spawn(send_endlessly(server));
        let mut transport = TransportConfig::default();
        transport.kernel_pacing(KernelPacing::On);
        client.transport_config(Arc::new(transport));
        let endpoint = Endpoint::client(address("0.0.0.0:0")).unwrap();
        let connecting = endpoint.connect_with(client, address(SERVER), "server.test");
        let error = connecting.unwrap().await.unwrap_err().to_string();
        assert!(error.contains("use one of the kernel's"), "{error}");
    });
}
