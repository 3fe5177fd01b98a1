use crate::clock;
use crate::driver::ConnectionDriver;
use crate::tls::{self, SelfSigned};
use bytes::BytesMut;
use quinn_proto::{DatagramEvent, EndpointConfig};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// Bytes that a server with a chain of so many certificates, packets of `mtu` bytes and batches of
/// `segments` sends within a minute to an address from which a first packet came and nothing else;
/// and the bytes of that packet.
fn answer(certificates: usize, mtu: u16, segments: usize) -> (usize, usize) {
    let (client, server): (SocketAddr, SocketAddr) = (
        (Ipv4Addr::LOCALHOST, 1).into(),
        (Ipv4Addr::LOCALHOST, 2).into(),
    );
    let mut own = EndpointConfig::default();
    own.max_udp_payload_size(65_000).unwrap();
    let own = Arc::new(own);
    let mut now = clock::now();
    let config = tls::client_without_verification().config().unwrap();
    let mut proto = quinn_proto::Endpoint::new(Arc::clone(&own), None, true, None);
    let (config, _) = config.for_connection("localhost");
    let (_, mut conn) = proto.connect(now, config, server, "localhost").unwrap();
    let mut initial = Vec::new();
    let first = conn.poll_transmit(now, 1, &mut initial);
    assert_eq!(first.unwrap().size, 1_200);

    let certificate = SelfSigned::generate(["localhost"]).unwrap();
    let chain = vec![certificate.cert.clone(); certificates];
    let mut config = tls::server(chain, certificate.key.clone_key())
        .config()
        .unwrap();
    Arc::make_mut(&mut config.transport).initial_mtu(mtu);
    let mut proto = quinn_proto::Endpoint::new(own, Some(config.for_endpoint()), true, None);
    let data = BytesMut::from(&initial[..]);
    let mut buf = Vec::new();
    let Some(DatagramEvent::NewConnection(attempt)) =
        proto.handle(now, client, None, None, data, &mut buf)
    else {
        panic!("a first packet begins a connection")
    };
    let (config, driver) = config.for_connection();
    let accepted = proto.accept(attempt, now, &mut buf, Some(config));
    let Ok((_, conn)) = accepted else {
        panic!("a connection")
    };
    let mut driver = ConnectionDriver::new(conn, driver, now);
    let (mut sent, end) = (0, now + Duration::from_secs(60));
    while now < end {
        buf.clear();
        while let Some(transmit) = driver.poll_transmit(now, segments, &mut buf) {
            sent += transmit.size;
            buf.clear();
        }
        let Some((timeout, _)) = driver.poll_timeout() else {
            break;
        };
        now = timeout.max(now + Duration::from_micros(1));
        driver.handle_timeout(now);
    }
    (sent, initial.len())
}

#[test]
fn no_chain_of_certificates_amplifies_more_than_three_times() {
    for certificates in [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 40] {
        for mtu in [1_200, 1_252, 1_452] {
            for segments in [1, 10] {
                let (sent, received) = answer(certificates, mtu, segments);
                assert!(
                    sent <= 3 * received,
                    "{certificates} certificates, {mtu} bytes, batches of {segments}: {sent} \
                     bytes for {received}"
                );
                // A flight that is cut short by one packet costs a round trip, no more.
                let least = if certificates > 12 { 2 * received } else { 500 };
                assert!(sent >= least, "{certificates} certificates: {sent} bytes");
            }
        }
    }
}

#[test]
fn a_server_with_large_packets_answers_at_once() {
    for mtu in [3_601, 8_952, 65_000] {
        let (sent, received) = answer(1, mtu, 10);
        assert!(sent >= 500, "{mtu} bytes: {sent} sent");
        assert!(sent <= 3 * received, "{mtu} bytes: {sent} sent");
        let (sent, _) = answer(40, mtu, 10);
        assert!(
            sent <= 3 * received + usize::from(mtu),
            "{mtu}: {sent} sent"
        );
    }
}
