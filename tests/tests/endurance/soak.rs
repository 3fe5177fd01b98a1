//! A transfer at full rate over links that change all the time.

use crate::{any, asked, held_by_all, report, resident};
use e2e::seed;
use link_sim::relay::{Direction, Relay, RelayConfig};
use paceline::tls::{SelfSigned, client_with_fingerprint};
use paceline::{Connection, Endpoint, RecvStream, SendStream};
use std::hash::{DefaultHasher, Hasher};
use std::time::{Duration, Instant};
use tokio::time::timeout;
use units::Rng;

/// Bytes written at once.
const BLOCK: usize = 64 << 10;

/// The longest that nothing may arrive: above any probe timeout that these links can bring about.
const STALL: Duration = Duration::from_secs(20);

/// Between two lines of figures.
const TELL: Duration = Duration::from_secs(30);

/// What travels: blocks of noise, each other than the last, so that order matters.
struct Noise(Rng);

impl Noise {
    fn fill(&mut self, block: &mut [u8]) {
        for word in block.chunks_exact_mut(8) {
            word.copy_from_slice(&self.0.next_u64().to_le_bytes());
        }
    }
}

/// Writes until `end`; tells how much, and its hash.
async fn write(mut send: SendStream, end: Instant) -> (u64, u64) {
    let (mut noise, mut hasher) = (Noise(Rng::new(1)), DefaultHasher::new());
    let mut block = vec![0; BLOCK];
    let mut bytes = 0;
    while now() < end {
        noise.fill(&mut block);
        hasher.write(&block);
        let written = timeout(STALL, send.write_all(&block)).await;
        written.expect("no room to write").unwrap();
        bytes += BLOCK as u64;
    }
    send.finish().unwrap();
    (bytes, hasher.finish())
}

/// Reads to the end; tells how much, and its hash.
async fn read(mut recv: RecvStream) -> (u64, u64) {
    let mut hasher = DefaultHasher::new();
    let mut block = vec![0; BLOCK];
    let mut bytes = 0;
    loop {
        // A hash depends on where its input is cut.
        let mut filled = 0;
        while filled < BLOCK {
            let chunk = timeout(STALL, recv.read(&mut block[filled..])).await;
            match chunk.expect("nothing arrives").unwrap() {
                Some(len) => filled += len,
                None => {
                    assert_eq!(filled, 0, "blocks are whole");
                    return (bytes, hasher.finish());
                }
            }
        }
        hasher.write(&block);
        bytes += BLOCK as u64;
    }
}

fn link(rng: &mut Rng) -> String {
    let mut text = format!("delay {}ms", 1 + rng.below(40));
    if rng.below(2) == 0 {
        text += &format!(" {}ms", 1 + rng.below(5));
    }
    if rng.below(4) != 0 {
        text += &format!(
            " rate {}mbit queue {}p",
            5 + rng.below(500),
            20 + rng.below(500)
        );
    }
    if rng.below(2) == 0 {
        text += &format!(" loss {}%", rng.below(4));
    }
    text
}

/// The only clock of these tests that is not virtual.
#[expect(
    clippy::disallowed_methods,
    reason = "a soak lasts as long as is asked"
)]
fn now() -> Instant {
    Instant::now()
}

async fn connect(
    server: &Endpoint,
    relay: std::net::SocketAddr,
    cert: &SelfSigned,
) -> [Connection; 2] {
    let client = Endpoint::client(any()).unwrap();
    let config = client_with_fingerprint(cert.fingerprint).config().unwrap();
    let connecting = client.connect_with(config, relay, "localhost").unwrap();
    let accepting = async { server.accept().await.unwrap().await.unwrap() };
    let (client, server) = tokio::join!(connecting, accepting);
    [client.unwrap(), server]
}

#[test]
fn a_long_transfer_over_changing_links_arrives_without_a_stall_or_a_leak() {
    let seconds = asked("PACELINE_SOAK_SECONDS", 3);
    let mut rng = Rng::new(seed::choose(1, "soak"));
    let runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = { runtime }.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let certificate = SelfSigned::generate(["localhost"]).unwrap();
        let server = Endpoint::server(certificate.server().config().unwrap(), any()).unwrap();
        let relay = Relay::spawn(RelayConfig::new(any(), server.local_addr().unwrap())).unwrap();
        let [client, there] = connect(&server, relay.local_addr(), &certificate).await;
        let end = now() + Duration::from_secs(seconds);
        let up = tokio::spawn(write(client.open_uni().await.unwrap(), end));
        let down = tokio::spawn(write(there.open_uni().await.unwrap(), end));
        let up_read = tokio::spawn(read(there.accept_uni().await.unwrap()));
        let down_read = tokio::spawn(read(client.accept_uni().await.unwrap()));

        let (mut highest, mut told) = (0, now());
        while now() < end {
            tokio::time::sleep(Duration::from_millis(200 + rng.below(1_000))).await;
            for direction in [Direction::ToServer, Direction::ToClient] {
                let spec = link(&mut rng).parse().unwrap();
                relay.reconfigure(direction, spec).unwrap();
            }
            if rng.below(5) == 0 {
                let names = ["cubic", "bbr3", "new_reno"];
                let choice = e2e::choose(names[rng.below(3) as usize]);
                client.set_congestion(&choice);
            }
            highest = highest.max(held_by_all());
            if now() - told >= TELL {
                told = now();
                let sent = [&client, &there].map(|end| end.stats().udp_tx.bytes / 1_000_000);
                report(format_args!(
                    "{sent:?} MB sent, {} KiB held, {:?} KiB resident",
                    held_by_all() / 1_024,
                    resident()
                ));
            }
        }
        // What is still to be delivered may be 16 MiB each way.
        for direction in [Direction::ToServer, Direction::ToClient] {
            relay
                .reconfigure(direction, "delay 2ms".parse().unwrap())
                .unwrap();
        }
        let sent = [up.await.unwrap(), down.await.unwrap()];
        assert_eq!(sent, [up_read.await.unwrap(), down_read.await.unwrap()]);
        assert!(sent[0].0 + sent[1].0 > seconds * 500_000, "{sent:?}");
        // Windows and send buffers of both ends, the relay's queues and pools.
        assert!(highest < 256 << 20, "{highest} bytes held");
        client.close(0_u32.into(), b"");
        server.wait_idle().await;
    });
}
