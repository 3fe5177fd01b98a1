//! Values of a configuration at the ends of their types, and beyond what a connection works with.

use crate::support::{address, configs, simulation};
use paceline::units::Bandwidth;
use paceline::{
    AckFrequencyConfig, ClientConfig, Connection, DatagramOptions, Endpoint, MtuDiscoveryConfig,
    ServerConfig, TransportConfig, ValidationTokenConfig, VarInt,
};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

const SERVER: &str = "10.0.0.1:443";
const LENGTH: usize = 100_000;

const FLOATS: [f32; 10] = [
    f32::NAN,
    f32::NEG_INFINITY,
    -1.0,
    -0.0,
    0.0,
    f32::MIN_POSITIVE,
    0.5,
    1e30,
    f32::MAX,
    f32::INFINITY,
];
const TIMES: [Duration; 4] = [
    Duration::ZERO,
    Duration::from_nanos(1),
    Duration::from_secs(1 << 40),
    Duration::MAX,
];

/// What a configuration with a value does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// Data comes through, in about as many packets as it takes.
    Works,
    /// As it was asked to: the handshake ends, or data waits for ever.
    Waits,
    /// No connection and no endpoint can be made, and the error names the setting.
    Fails,
}

/// Those that do not work.
const OTHERS: &[(&str, Expected)] = &[
    ("time_threshold(NaN)", Expected::Fails),
    ("time_threshold(-inf)", Expected::Fails),
    ("time_threshold(-1.0)", Expected::Fails),
    ("max_time_threshold(NaN)", Expected::Fails),
    ("max_time_threshold(-inf)", Expected::Fails),
    ("max_time_threshold(-1.0)", Expected::Fails),
    ("initial_rtt(1099511627776s)", Expected::Fails),
    (
        "initial_rtt(18446744073709551615.999999999s)",
        Expected::Fails,
    ),
    ("initial_mtu(65535)", Expected::Fails),
    ("min_mtu(65535)", Expected::Fails),
    ("handshake_timeout(0ns)", Expected::Waits),
    ("handshake_timeout(1ns)", Expected::Waits),
    ("send_window(0)", Expected::Waits),
    ("send_window(1)", Expected::Waits),
    ("max_send_window(0)", Expected::Waits),
    ("max_send_window(1)", Expected::Waits),
    ("max_concurrent_bidi_streams(0)", Expected::Waits),
    ("stream_receive_window(0)", Expected::Waits),
    ("stream_receive_window(1)", Expected::Waits),
    ("receive_window(0)", Expected::Waits),
    ("receive_window(1)", Expected::Waits),
    ("max_receive_window(0)", Expected::Waits),
    ("max_receive_window(1)", Expected::Waits),
    ("max_rate(0)", Expected::Waits),
    ("max_rate(1)", Expected::Waits),
];

type Set = Box<dyn Fn(&mut TransportConfig)>;

/// Each setter with each value of its type, by name and value.
fn cases() -> Vec<(String, Set)> {
    let mut cases: Vec<(String, Set)> = Vec::new();
    macro_rules! each {
        ($values:expr => $($name:ident $(($wrap:expr))?),*) => {$(
            for value in $values {
                let name = format!("{}({value:?})", stringify!($name));
                let set = move |config: &mut TransportConfig| {
                    each!(@set config $name value $($wrap)?);
                };
                cases.push((name, Box::new(set)));
            }
        )*};
        ($values:expr => $outer:ident($type:ty): $($name:ident $(($wrap:expr))?),*) => {$(
            for value in $values {
                let name = format!("{}.{}({value:?})", stringify!($outer), stringify!($name));
                let set = move |config: &mut TransportConfig| {
                    let mut inner = <$type>::default();
                    each!(@set inner $name value $($wrap)?);
                    config.$outer(Some(inner));
                };
                cases.push((name, Box::new(set)));
            }
        )*};
        (@set $config:ident $name:ident $value:ident) => { $config.$name($value) };
        (@set $config:ident $name:ident $value:ident $wrap:expr) => {
            $config.$name($wrap($value))
        };
    }
    let counts = [0, 1, u32::MAX];
    let sizes = [0, 1, u16::MAX];
    let bytes = [0, 1, u64::MAX];
    let buffers = [0, 1, usize::MAX];
    let varints = [0_u32.into(), 1_u32.into(), VarInt::MAX];
    each!(FLOATS => time_threshold, max_time_threshold);
    each!(TIMES => initial_rtt, path_memory_lifetime);
    each!(TIMES => handshake_timeout(Some), max_probe_interval(Some), keep_alive_interval(Some));
    each!(bytes => send_window, max_send_window, max_jump, congestion_seed);
    each!(bytes => max_rate(|rate| Some(Bandwidth::from_bits_per_sec(rate))));
    each!(counts => packet_threshold, persistent_congestion_threshold, max_packets_per_ack(Some));
    each!(sizes => initial_mtu, min_mtu);
    each!(buffers => crypto_buffer_size, datagram_receive_buffer_size(Some));
    each!(buffers => datagram_send_buffer_size, datagram_send_buffer_count);
    each!(varints => max_concurrent_bidi_streams, max_concurrent_uni_streams);
    each!(varints => initial_bidi_streams(Some), initial_uni_streams(Some));
    each!(varints => stream_receive_window, receive_window, max_receive_window);
    each!(varints => max_idle_timeout(|time: VarInt| Some(time.into())));
    each!(TIMES => ack_frequency_config(AckFrequencyConfig): max_ack_delay(Some));
    each!(varints => ack_frequency_config(AckFrequencyConfig):
        ack_eliciting_threshold, reordering_threshold);
    each!(sizes => mtu_discovery_config(MtuDiscoveryConfig): upper_bound, minimum_change);
    each!(TIMES => mtu_discovery_config(MtuDiscoveryConfig): interval, black_hole_cooldown);
    cases
}

/// Both ends with what `set` has set.
fn both(set: &Set) -> (ServerConfig, ClientConfig) {
    let (mut server, mut client) = configs("cubic");
    let mut transport = TransportConfig::default();
    set(&mut transport);
    let transport = Arc::new(transport);
    server.transport_config(Arc::clone(&transport));
    client.transport_config(transport);
    (server, client)
}

/// Gives back what comes on streams.
async fn serve(endpoint: Endpoint) -> Option<()> {
    let connection = endpoint.accept().await?.await.ok()?;
    while let Ok((mut send, mut recv)) = connection.accept_bi().await {
        let data = recv.read_to_end(LENGTH).await.ok()?;
        send.write_all(&data).await.ok()?;
        send.finish().ok()?;
    }
    Some(())
}

/// Data there and back, and five seconds of rest. The packets that were sent.
async fn transfer(connection: &Connection) -> Option<u64> {
    let _ = connection.send_rate_hint();
    for ttl in TIMES {
        let options = DatagramOptions::default().ttl(ttl).notify(true);
        let _ = connection.send_datagram_with(vec![7; 100].into(), options);
    }
    let (mut send, mut recv) = connection.open_bi().await.ok()?;
    send.write_all(&[7; LENGTH]).await.ok()?;
    send.finish().ok()?;
    let back = recv.read_to_end(LENGTH).await.ok()?;
    assert_eq!(back.len(), LENGTH);
    sleep(Duration::from_secs(5)).await;
    Some(connection.stats().udp_tx.datagrams)
}

async fn outcome(name: &str, set: &Set) -> Expected {
    let (server, client) = both(set);
    let (plain, _) = configs("cubic");
    let setting = name.split('(').next().unwrap();
    let (server, fails) = match Endpoint::server(server, address(SERVER)) {
        Ok(server) => (server, false),
        Err(error) => {
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{name}: {error}");
            assert!(error.to_string().starts_with(setting), "{name}: {error}");
            (Endpoint::server(plain, address(SERVER)).unwrap(), true)
        }
    };
    tokio::spawn(serve(server));
    let endpoint = Endpoint::client(address("0.0.0.0:0")).unwrap();
    let connecting = endpoint.connect_with(client, address(SERVER), "server.test");
    let connection = match connecting.unwrap().await {
        Ok(connection) => connection,
        Err(error) if fails => {
            let names_it = error.to_string().contains(&format!(": {setting} is "));
            assert!(names_it, "{name}: {error}");
            return Expected::Fails;
        }
        Err(error) => {
            assert_eq!(error.to_string(), "timed out", "{name}");
            return Expected::Waits;
        }
    };
    assert!(!fails, "{name}: a client connects");
    match timeout(Duration::from_secs(60), transfer(&connection)).await {
        Ok(Some(packets)) => {
            assert!(packets < 600, "{name}: {packets} packets");
            Expected::Works
        }
        Ok(None) | Err(_) => {
            let error = connection.close_reason().map(|error| error.to_string());
            let is_idle = error.as_deref().is_none_or(|error| error == "timed out");
            assert!(is_idle, "{name}: {error:?}");
            Expected::Waits
        }
    }
}

#[test]
fn each_value_works_or_is_an_error_that_names_it() {
    for (name, set) in cases() {
        let expected = OTHERS.iter().find(|other| other.0 == name);
        let expected = expected.map_or(Expected::Works, |other| other.1);
        let link = "delay 20ms loss 1% rate 10mbit";
        let seen = simulation(1, link).run(outcome(&name, &set));
        assert_eq!(seen, expected, "{name}");
    }
}

/// Whether the second of two connections of a client is one of a validated address, and whether a
/// third one is that has answered a Retry.
async fn validated(server: ServerConfig, client: ClientConfig) -> [bool; 2] {
    let listening = Endpoint::server(server, address(SERVER)).unwrap();
    let endpoint = Endpoint::client(address("0.0.0.0:0")).unwrap();
    let mut seen = [false; 2];
    for number in 0..3 {
        let connecting = endpoint.connect_with(client.clone(), address(SERVER), "server.test");
        let accepting = async {
            let mut attempt = listening.accept().await?;
            if number == 2 && attempt.may_retry() {
                attempt.retry().unwrap();
                attempt = timeout(Duration::from_secs(5), listening.accept())
                    .await
                    .ok()??;
            }
            seen[usize::from(number == 2)] = attempt.remote_address_validated();
            attempt.await.ok()
        };
        let (connection, accepted) = tokio::join!(connecting.unwrap(), accepting);
        if let (Ok(connection), Some(_accepted)) = (connection, accepted) {
            // Its tokens come after the handshake.
            sleep(Duration::from_secs(1)).await;
            connection.close(0_u8.into(), b"");
        }
    }
    seen
}

#[test]
fn tokens_are_valid_for_any_time_that_is_set() {
    for time in TIMES {
        let is_long = time > Duration::from_secs(1);
        let seen = simulation(1, "delay 20ms").run(async {
            let (mut server, client) = configs("cubic");
            let mut tokens = ValidationTokenConfig::default();
            tokens.lifetime(time);
            server.validation_token_config(tokens);
            validated(server, client).await
        });
        assert_eq!(seen, [is_long, true], "{time:?}");
    }
}

/// The endpoint is there already, so its connections say what is wrong.
#[test]
fn a_server_is_told_by_each_connection_what_is_wrong_with_a_later_configuration() {
    let (ours, peers) = simulation(1, "delay 20ms").run(async {
        let (server, client) = configs("cubic");
        let mut wrong = server.clone();
        let mut transport = TransportConfig::default();
        transport.time_threshold(f32::NAN);
        wrong.transport_config(Arc::new(transport));
        let listening = Endpoint::server(server, address(SERVER)).unwrap();
        listening.set_server_config(Some(wrong));
        let endpoint = Endpoint::client(address("0.0.0.0:0")).unwrap();
        let connecting = endpoint.connect_with(client, address(SERVER), "server.test");
        let accepting = async { listening.accept().await.unwrap().await };
        let (peers, ours) = tokio::join!(connecting.unwrap(), accepting);
        (
            ours.unwrap_err().to_string(),
            peers.unwrap_err().to_string(),
        )
    });
    let what = "time_threshold is NaN, which is no number of round trips; set 1.125";
    assert!(ours.contains(what), "{ours}");
    assert!(!peers.contains("time_threshold"), "{peers}");
}
