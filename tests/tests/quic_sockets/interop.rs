//! This transport, quinn and s2n-quic as each other's clients and servers, over real sockets: with
//! Retry, loss, reordering, new keys and new addresses in mid-transfer. Every echo is compared by
//! its hash. What quinn and this transport share beyond that is in `crates/transport/tests`.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod l4s;
mod nat;
mod ours;
mod quinns;
mod s2ns;

use link_sim::relay::{Relay, RelayConfig};
use nat::Nat;
use paceline::tls::SelfSigned;
use std::hash::{DefaultHasher, Hasher};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;
use units::Rng;

/// Whose client or server it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Library {
    Ours,
    Quinn,
    S2n,
}

/// What happens when a third has come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Incident {
    Nothing,
    /// One of the two uses new keys: our side, as s2n-quic has no call for that; the client, if
    /// both could.
    NewKeys,
    /// The client's packets come from another port.
    NewAddress,
}

/// A client's connection with one stream in both directions.
struct Client {
    send: Box<dyn AsyncWrite + Send + Unpin>,
    recv: Box<dyn AsyncRead + Send + Unpin>,
    /// Starts using new keys, where the library lets an application do that.
    update_keys: Box<dyn Fn() + Send>,
    /// Ends the connection.
    close: Box<dyn FnOnce() + Send>,
}

/// Sends `len` bytes to an echo server of `server`'s and gets them back; tells how many Retry
/// packets there were.
async fn exchange(
    [client, server]: [Library; 2],
    retry: bool,
    link: Option<&str>,
    incident: Incident,
    len: usize,
) -> u64 {
    let certificate = SelfSigned::generate([NAME]).unwrap();
    let mut address = match server {
        Library::Ours => {
            let keeps_keys = incident != Incident::NewKeys || client != Library::S2n;
            ours::serve(&certificate, retry, (!keeps_keys).then_some(len / 3))
        }
        Library::Quinn => quinns::serve(&certificate, retry),
        Library::S2n => s2ns::serve(&certificate, retry),
    };
    let relay = link.map(|link| Relay::spawn(relayed(address, link)).unwrap());
    if let Some(relay) = &relay {
        address = relay.local_addr();
    }
    let nat = Nat::start(address).await;
    let mut client = match client {
        Library::Ours => ours::connect(&certificate, nat.address()).await,
        Library::Quinn => quinns::connect(&certificate, nat.address()).await,
        Library::S2n => s2ns::connect(&certificate, nat.address()).await,
    };
    let sent = noise(len);
    // The last third waits for the incident: a server hears of a new address only by what a client
    // sends from there, and one that merely listens may have nothing to send.
    let (before, after) = sent.split_at(len - len / 3);
    let happened = Notify::new();
    let write = async {
        client.send.write_all(before).await.unwrap();
        happened.notified().await;
        client.send.write_all(after).await.unwrap();
        client.send.shutdown().await.unwrap();
    };
    let read = async {
        let mut received = vec![0; len / 3];
        client.recv.read_exact(&mut received).await.unwrap();
        match incident {
            Incident::Nothing => {}
            Incident::NewKeys => (client.update_keys)(),
            Incident::NewAddress => nat.rebind().await,
        }
        happened.notify_one();
        client.recv.read_to_end(&mut received).await.unwrap();
        received
    };
    let ((), received) = tokio::join!(write, read);
    assert_eq!(received.len(), sent.len());
    assert_eq!(hash(&received), hash(&sent));
    (client.close)();
    if let Some(stats) = relay.map(|relay| relay.shutdown().unwrap()) {
        let lost = stats.link.dropped.loss.packets + stats.return_link.dropped.loss.packets;
        assert!(lost > 10, "{lost} packets lost");
    }
    if incident == Incident::NewAddress {
        assert!(nat.answers_to_new_address() > 100);
    }
    nat.retries()
}

/// Each of the two as the other's client and server.
async fn both_ways(
    other: Library,
    retry: bool,
    link: Option<&str>,
    incident: Incident,
    len: usize,
) {
    for pair in [[Library::Ours, other], [other, Library::Ours]] {
        let retries = within_a_minute(pair, retry, link, incident, len).await;
        assert_eq!(retries > 0, retry, "{pair:?}: {retries} Retry packets");
    }
}

/// [`exchange`], and a failure if it takes a minute.
async fn within_a_minute(
    pair: [Library; 2],
    retry: bool,
    link: Option<&str>,
    incident: Incident,
    len: usize,
) -> u64 {
    let exchange = exchange(pair, retry, link, incident, len);
    let limited = tokio::time::timeout(Duration::from_secs(60), exchange);
    limited.await.unwrap_or_else(|_| panic!("{pair:?} hangs"))
}

#[tokio::test]
async fn s2n_quic() {
    both_ways(Library::S2n, false, None, Incident::Nothing, LEN).await;
}

#[tokio::test]
async fn s2n_quic_with_retry() {
    both_ways(Library::S2n, true, None, Incident::Nothing, LEN / 8).await;
}

#[tokio::test]
async fn s2n_quic_over_a_link_that_loses_and_reorders() {
    both_ways(Library::S2n, false, Some(LOSSY), Incident::Nothing, LEN / 4).await;
}

#[tokio::test]
async fn s2n_quic_from_a_new_address() {
    both_ways(Library::S2n, false, None, Incident::NewAddress, LEN).await;
}

#[tokio::test]
async fn s2n_quic_with_new_keys() {
    let [ours, theirs] = [Library::Ours, Library::S2n];
    for pair in [[ours, theirs], [theirs, ours]] {
        let before = s2ns::key_updates();
        let limited = within_a_minute(pair, false, None, Incident::NewKeys, LEN);
        assert_eq!(limited.await, 0, "nobody asks for a Retry");
        let updates = s2ns::key_updates() - before;
        assert!(updates > 0, "{pair:?}: no new keys");
    }
}

#[tokio::test]
async fn quinn_with_retry() {
    both_ways(Library::Quinn, true, None, Incident::Nothing, LEN / 8).await;
}

#[tokio::test]
async fn quinn_over_a_link_that_loses_and_reorders() {
    let link = Some(LOSSY);
    both_ways(Library::Quinn, false, link, Incident::Nothing, LEN / 4).await;
}

#[tokio::test]
async fn quinn_from_a_new_address() {
    both_ways(Library::Quinn, false, None, Incident::NewAddress, LEN).await;
}

#[tokio::test]
async fn quinn_with_new_keys() {
    both_ways(Library::Quinn, false, None, Incident::NewKeys, LEN).await;
}

fn relayed(server: SocketAddr, link: &str) -> RelayConfig {
    RelayConfig {
        link: link.parse().unwrap(),
        return_link: link.parse().unwrap(),
        seed: e2e::seed::choose(1, "relay"),
        ..RelayConfig::new(any(), server)
    }
}

/// A loopback address, any port.
fn any() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

fn noise(len: usize) -> Vec<u8> {
    let mut rng = Rng::new(1);
    let words = std::iter::repeat_with(|| rng.next_u64().to_le_bytes());
    words.take(len.div_ceil(8)).flatten().take(len).collect()
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

const NAME: &str = "localhost";
/// The application protocol of the echo; s2n-quic insists on one.
const ALPN: &[u8] = b"echo";
/// Bytes each way; less where each takes longer.
const LEN: usize = 4 << 20;
/// Round trips of 10 to 18 ms, packets out of order within 4 ms, 2 % lost each way.
const LOSSY: &str = "delay 7ms 2ms loss 2%";
