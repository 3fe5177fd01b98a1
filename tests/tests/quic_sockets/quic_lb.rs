//! Two servers, each a process of its own, behind a balancer that reads nothing but the server
//! ID of each packet's connection ID.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod client;
mod router;
mod server;

use client::Client;
use paceline::ConnectionError;
use paceline::tls::SelfSigned;
use router::Router;
use server::{Mode, Server};
use std::time::Duration;

/// Two servers, a balancer, and what a client has to know.
struct Fleet {
    a: Server,
    b: Server,
    router: Router,
    certificate: SelfSigned,
    runtime: tokio::runtime::Runtime,
}

impl Fleet {
    fn start(mode: Mode) -> Self {
        let certificate = SelfSigned::generate([client::NAME]).unwrap();
        let mut a = Server::start(1, mode, &certificate);
        let mut b = Server::start(2, mode, &certificate);
        a.tell(&format!("peer {}", b.sessions));
        b.tell(&format!("peer {}", a.sessions));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let router = runtime.block_on(Router::start(&[(1, a.address), (2, b.address)]));
        Self {
            a,
            b,
            router,
            certificate,
            runtime,
        }
    }

    /// A client whose new connections the balancer sends to server `number`.
    fn client_of(&self, number: u8) -> Client {
        let _runtime = self.runtime.enter();
        Client::new(&self.certificate, self.router.socket_for(number))
    }

    /// Waits for `future`, not longer than a minute.
    fn run<T>(&self, future: impl Future<Output = T>) -> T {
        let limited = async { tokio::time::timeout(Duration::from_secs(60), future).await };
        self.runtime.block_on(limited).expect("hangs")
    }
}

#[test]
fn clients_that_move_in_mid_transfer_stay_with_their_server() {
    let fleet = Fleet::start(Mode::Open);
    for number in [1, 2, 1, 2] {
        let client = fleet.client_of(number);
        fleet.run(async {
            let connection = client.connect(fleet.router.address).await;
            let mut transfer = client::Transfer::begin(&connection, 4 << 20).await;
            assert_eq!(transfer.answer.server, number);
            for _ in 0..3 {
                transfer.read(1 << 20).await;
                // By its address it would be the other server's now.
                let stranger = fleet.router.socket_for(3 - number);
                client.endpoint.rebind(stranger).unwrap();
            }
            transfer.finish().await;
            let again = client::ask(&connection).await;
            assert_eq!(again.server, number);
            connection.close(0_u32.into(), b"");
            client.endpoint.wait_idle().await;
        });
    }
    assert_eq!(fleet.router.unknown(), 0);
}

#[test]
fn a_session_of_one_server_is_resumed_with_0rtt_at_the_other() {
    let mut fleet = Fleet::start(Mode::Open);
    let first = fleet.client_of(1);
    fleet.run(async {
        let connection = first.connect(fleet.router.address).await;
        let answer = client::ask(&connection).await;
        assert_eq!((answer.server, answer.is_validated), (1, false));
        connection.close(0_u32.into(), b"");
        first.endpoint.wait_idle().await;
    });
    fleet.b.wait_for("received a session");
    fleet.b.wait_for("received a session");
    let second = fleet.client_of(2).with_sessions_of(&first);
    fleet.run(async {
        let connecting = second.connecting(fleet.router.address);
        let (connection, accepted) = connecting.into_0rtt().expect("there is a session");
        let answer = client::ask(&connection).await;
        // By the token that A gave the client for its next connection.
        assert_eq!((answer.server, answer.is_validated), (2, true));
        assert!(accepted.await, "the data came as 0-RTT");
    });
    fleet.a.wait_for("received a session");
}

#[test]
fn the_token_of_a_retry_is_good_at_the_other_server() {
    let fleet = Fleet::start(Mode::Retry);
    // As if A had gone for good behind its Retry: what names it goes to B.
    fleet.router.replace(1, 2);
    let client = fleet.client_of(1);
    fleet.run(async {
        let connection = client.connect(fleet.router.address).await;
        let answer = client::ask(&connection).await;
        assert_eq!((answer.server, answer.is_validated), (2, true));
    });
    assert!(fleet.router.count(1) > 0, "the first packet went to A");
}

#[test]
fn connections_of_a_server_that_is_gone_are_reset_by_the_one_in_its_place() {
    let mut fleet = Fleet::start(Mode::Open);
    let client = fleet.client_of(1);
    let connection = fleet.run(async {
        let connection = client.connect(fleet.router.address).await;
        assert_eq!(client::ask(&connection).await.server, 1);
        connection
    });
    fleet.a.kill();
    fleet.router.replace(1, 2);
    fleet.run(async {
        // For all that B knows, A still serves its connections, so B does not answer.
        let asking = tokio::time::timeout(SILENCE, client::try_ask(&connection));
        assert!(asking.await.is_err());
    });
    fleet.b.tell(&format!("adopt {}", server::id(1)));
    fleet.run(async {
        let _ = client::try_ask(&connection).await;
        assert_eq!(connection.closed().await, ConnectionError::Reset);
    });
}

#[test]
fn a_server_that_drains_finishes_while_new_clients_come_to_the_other() {
    let mut fleet = Fleet::start(Mode::Open);
    let old = fleet.client_of(1);
    let (connection, mut transfer) = fleet.run(async {
        let connection = old.connect(fleet.router.address).await;
        let transfer = client::Transfer::begin(&connection, 4 << 20).await;
        (connection, transfer)
    });
    fleet.a.tell("drain");
    let new = fleet.client_of(1);
    fleet.run(async {
        let before = fleet.router.count(1);
        let connecting = new.connecting(fleet.router.address);
        while fleet.router.count(1) == before {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // The balancer learns of it late. The client tries again, and is sent elsewhere.
        fleet.router.retire(1);
        let connection = connecting.await.unwrap();
        assert_eq!(client::ask(&connection).await.server, 2);
    });
    fleet.run(async {
        transfer.read(1 << 20).await;
        old.endpoint.rebind(fleet.router.socket_for(2)).unwrap();
        transfer.finish().await;
        assert_eq!(transfer.answer.server, 1);
        assert_eq!(client::ask(&connection).await.server, 1);
        connection.close(0_u32.into(), b"");
        old.endpoint.wait_idle().await;
    });
    fleet.a.wait_for("idle");
    assert_eq!(fleet.a.end(), Some(0));
}

#[test]
fn connection_ids_and_secrets_change_while_connections_go_on() {
    let mut fleet = Fleet::start(Mode::Open);
    let client = fleet.client_of(1);
    let connection = fleet.run(async {
        let connection = client.connect(fleet.router.address).await;
        assert_eq!(client::ask(&connection).await.server, 1);
        connection
    });
    assert_eq!(fleet.router.last_codepoint(), Some(0));
    fleet.b.wait_for("received a session");
    fleet.b.wait_for("received a session");
    fleet.b.tell("rotate");
    fleet.a.tell("rotate");
    fleet.run(async {
        while fleet.router.last_codepoint() != Some(1) {
            assert_eq!(client::ask(&connection).await.server, 1);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let moved = fleet.router.socket_for(2);
        client.endpoint.rebind(moved).unwrap();
        assert_eq!(client::ask(&connection).await.server, 1);
    });
    let late = fleet.client_of(1);
    fleet.run(async {
        let connection = late.connect(fleet.router.address).await;
        assert_eq!(client::ask(&connection).await.server, 1);
    });
    // Sealed under the new secret.
    fleet.b.wait_for("received a session");
}

/// How long a packet may take to a server and the answer back, many times over.
const SILENCE: Duration = Duration::from_millis(500);
