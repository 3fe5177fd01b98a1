//! A host that is busy with something else reads late what its kernel has received in time.

use crate::support::{Endpoints, NAME, any, within_a_minute};
use paceline::Connection;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;
use tokio::net::UdpSocket;

/// For as long nothing of this process runs.
const PAUSE: Duration = Duration::from_millis(500);

/// The answers wait in the client's socket for [`PAUSE`], since its thread does something else.
#[tokio::test]
async fn no_rtt_has_the_time_in_it_for_which_the_host_was_busy() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let path = UdpSocket::bind(any()).await.unwrap();
        let address = path.local_addr().unwrap();
        let is_busy = AtomicBool::new(false);
        let exchange = async {
            let connecting = endpoints.client.connect(address, NAME).unwrap();
            let accepting = async { endpoints.server.accept().await.unwrap().await };
            let (client, server) = tokio::join!(connecting, accepting);
            let (client, server) = (client.unwrap(), server.unwrap());
            let mut rtts = Vec::new();
            for _ in 0..3 {
                rtts.push(answered_late(&client, &server, &is_busy).await);
            }
            rtts
        };
        let rtts = tokio::select! {
            () = pass_on(&path, endpoints.address(), &is_busy) => unreachable!(),
            rtts = exchange => rtts,
        };
        // A thread that loses its CPU while it reads the clocks takes the time of reading.
        assert!(rtts.iter().any(|rtt| *rtt < PAUSE / 2), "{rtts:?}");
    })
    .await;
}

/// The newest RTT after a request whose answer was read late.
async fn answered_late(client: &Connection, server: &Connection, is_busy: &AtomicBool) -> Duration {
    let (mut send, mut recv) = client.open_bi().await.unwrap();
    send.write_all(b"?").await.unwrap();
    let (mut answer, mut request) = server.accept_bi().await.unwrap();
    request.read_exact(&mut [0]).await.unwrap();
    is_busy.store(true, Ordering::Relaxed);
    answer.write_all(b"!").await.unwrap();
    recv.read_exact(&mut [0]).await.unwrap();
    client.stats().latest_rtt.unwrap()
}

/// Passes datagrams on between a client and `server`. While the host `is_busy` the next one for the
/// client finds its process away.
async fn pass_on(path: &UdpSocket, server: SocketAddr, is_busy: &AtomicBool) {
    let mut buffer = [0; 65_536];
    let mut client = server;
    loop {
        let (len, from) = path.recv_from(&mut buffer).await.unwrap();
        let is_answer = from == server;
        if !is_answer {
            client = from;
        }
        let to = if is_answer { client } else { server };
        path.send_to(&buffer[..len], to).await.unwrap();
        #[expect(
            clippy::disallowed_methods,
            reason = "the thread is busy, as the test wants it"
        )]
        if is_answer && is_busy.swap(false, Ordering::Relaxed) {
            sleep(PAUSE);
        }
    }
}
