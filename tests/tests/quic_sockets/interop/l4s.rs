//! `prague` sends ECT(1) to peers that know nothing of it, through a queue that marks.

use crate::interop::{ALPN, LEN, Library, NAME, any, hash, noise, quinns, relayed, s2ns};
use link_sim::relay::Relay;
use paceline::tls::{self, SelfSigned};
use paceline::{EcnStats, Endpoint, TransportConfig};
use std::sync::Arc;
use std::time::Duration;

/// Slow, so that a flow fills it on a busy machine too.
const LINK: &str = "rate 10mbit delay 5ms aqm dualpi2";

/// Sends a file to `server`, which echoes it. What the sender counted, and how many packets the
/// link marked on their way.
async fn send_to(server: Library) -> (EcnStats, u64) {
    let certificate = SelfSigned::generate([NAME]).unwrap();
    let address = match server {
        Library::Quinn => quinns::serve(&certificate, false),
        Library::S2n => s2ns::serve(&certificate, false),
        Library::Ours => unreachable!("it is a peer that knows nothing of ECT(1)"),
    };
    let relay = Relay::spawn(relayed(address, LINK)).unwrap();
    let mut config = tls::client_with_fingerprint(certificate.fingerprint)
        .alpn(&[ALPN])
        .config()
        .unwrap();
    let mut transport = TransportConfig::default();
    transport.congestion("prague").unwrap();
    config.transport_config(Arc::new(transport));
    let endpoint = Endpoint::client(any()).unwrap();
    let connecting = endpoint.connect_with(config, relay.local_addr(), NAME);
    let connection = connecting.unwrap().await.unwrap();
    let (mut send, mut recv) = connection.open_bi().await.unwrap();
    let sent = noise(LEN / 2);
    let write = async {
        send.write_all(&sent).await.unwrap();
        send.finish().unwrap();
    };
    let ((), received) = tokio::join!(write, recv.read_to_end(LEN));
    assert_eq!(hash(&received.unwrap()), hash(&sent));
    let ecn = connection.stats().ecn;
    connection.close(0_u32.into(), b"");
    let link = relay.shutdown().unwrap().link;
    (ecn, link.marked.packets)
}

async fn keeps_its_connection(server: Library) {
    let sending = tokio::time::timeout(Duration::from_secs(60), send_to(server));
    let (ecn, marked) = sending.await.expect("the transfer hangs");
    assert!(ecn.sent_ect1 > 20 * ecn.sent_ect0, "{server:?}: {ecn:?}");
    assert!(marked > 0, "{server:?}: the link was never full");
    // The last packets are ACKs, which nobody acknowledges.
    let reported = ecn.ce_marked;
    assert!(
        (marked - marked / 10..=marked).contains(&reported),
        "{server:?} reported {reported} of {marked} marks"
    );
}

#[tokio::test]
async fn quinn_reports_marks_of_ect1() {
    keeps_its_connection(Library::Quinn).await;
}

#[tokio::test]
async fn s2n_quic_reports_marks_of_ect1() {
    keeps_its_connection(Library::S2n).await;
}
