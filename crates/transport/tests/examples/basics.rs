//! The examples of connections, datagrams, 0-RTT and controllers.

#[path = "../../examples/client.rs"]
#[expect(dead_code, reason = "a test has no use for `main`")]
mod client;
#[path = "../../examples/controller_in_endpoint.rs"]
#[expect(dead_code, reason = "a test has no use for `main`")]
mod controller_in_endpoint;
#[path = "../../examples/datagrams.rs"]
#[expect(dead_code, reason = "a test has no use for `main`")]
mod datagrams;
#[path = "../../examples/server.rs"]
#[expect(dead_code, reason = "a test has no use for `main`")]
mod server;
#[path = "../../examples/zero_rtt.rs"]
#[expect(dead_code, reason = "a test has no use for `main`")]
mod zero_rtt;

use client::causes::with_causes;
use paceline::cc_core::Registry;
use paceline::{ConnectionError, ReadError, ReadToEndError, WriteError};
use std::io;
use tokio::sync::oneshot;

#[tokio::test]
async fn the_client_gets_back_what_it_sends_and_the_server_ends_when_told() {
    let (endpoint, fingerprint) = server::listen("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = endpoint.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let serving = tokio::spawn(async move {
        let mut out = Vec::new();
        let stopped = async { stopped.await.unwrap() };
        server::serve(endpoint, stopped, &mut out).await.unwrap();
        String::from_utf8(out).unwrap()
    });
    // More than any buffer takes, so that both directions have to move at once.
    let message: Vec<u8> = (0..8 << 20).map(|index: u32| index as u8).collect();
    let echo = client::echo(address, &fingerprint, &message).await.unwrap();
    assert!(echo == message);

    stop.send(()).unwrap();
    let said = serving.await.unwrap();
    assert!(said.starts_with("listening on 127.0.0.1:"), "{said}");
    assert!(said.ends_with("no connection is left\n"), "{said}");
}

#[tokio::test]
async fn the_client_takes_no_other_certificate() {
    let (endpoint, fingerprint) = server::listen("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = endpoint.local_addr().unwrap();
    let mut out = Vec::new();
    let serving = server::serve(endpoint, std::future::pending(), &mut out);
    let refused = async {
        let other = if fingerprint.starts_with('0') {
            "1"
        } else {
            "0"
        };
        let other = format!("{other}{}", &fingerprint[1..]);
        let error = client::echo(address, &other, b"hello").await.unwrap_err();
        assert!(
            error.to_string().contains("invalid peer certificate"),
            "{error}"
        );
        let error = client::echo(address, "beef", b"hello").await.unwrap_err();
        assert!(
            error
                .to_string()
                .contains("is not a SHA-256 fingerprint of 64 hexadecimal digits; name the file")
        );
    };
    tokio::select! {
        ended = serving => panic!("{ended:?}"),
        () = refused => {}
    }
}

#[tokio::test]
async fn a_client_whose_server_goes_away_says_why() {
    let (endpoint, fingerprint) = server::listen("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = endpoint.local_addr().unwrap();
    let leaving = async {
        let connection = endpoint.accept().await.unwrap().await.unwrap();
        let _stream = connection.accept_bi().await.unwrap();
        connection.close(1_u32.into(), b"off for the night");
        endpoint.wait_idle().await;
    };
    let (echo, ()) = tokio::join!(client::echo(address, &fingerprint, b"hello"), leaving);
    let error = echo.unwrap_err().to_string();
    let why = "connection lost: closed by peer: off for the night (code 1)";
    assert!(error.contains(why), "{error}");
    assert_eq!(error.matches("connection lost").count(), 1, "{error}");
}

#[tokio::test]
async fn a_server_at_an_address_that_is_taken_says_which_and_what_to_do() {
    let (endpoint, _) = server::listen("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = endpoint.local_addr().unwrap();
    let error = server::listen(address).unwrap_err().to_string();
    assert!(error.starts_with(&format!("{address}: ")), "{error}");
    assert!(
        error.ends_with("name another address with --listen"),
        "{error}"
    );
}

#[test]
fn errors_have_each_of_their_causes_once() {
    let lost = WriteError::ConnectionLost(ConnectionError::TimedOut);
    assert_eq!(lost.to_string(), "connection lost");
    assert_eq!(with_causes(&lost), "connection lost: timed out");
    let read = ReadToEndError::Read(ReadError::ConnectionLost(ConnectionError::Reset));
    let said = "read error: connection lost: reset by peer";
    assert_eq!(with_causes(&read), said);
    assert_eq!(with_causes(&io::Error::other(read)), said);
    assert_eq!(with_causes(&ConnectionError::TimedOut), "timed out");
}

#[tokio::test]
async fn commands_arrive_and_the_positions_that_waited_behind_them_do_not() {
    let lines = datagrams::run().await.unwrap();
    let (received, fates) = lines.split_last().unwrap();
    assert_eq!(*received, "received: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]");
    for (number, fate) in fates.iter().enumerate() {
        // The commands alone take 300 ms at that rate.
        let expected = match number < 10 {
            true => format!("command {number}: Acknowledged"),
            false => format!("position {number}: Expired"),
        };
        assert_eq!(*fate, expected);
    }
    assert_eq!(fates.len(), 20);
}

#[tokio::test]
async fn a_second_visit_is_early_and_a_restarted_server_rejects_it() {
    let said = [
        "GET, no session yet, after the handshake: here it is",
        "GET, 0-RTT accepted: here it is",
        "PAY, 0-RTT accepted: paid, after the handshake",
        "GET, 0-RTT rejected, sent again: here it is",
    ];
    assert_eq!(zero_rtt::run().await.unwrap(), said);
}

#[test]
fn a_controller_of_ones_own_fills_a_link() {
    let registry = Registry::standard().with(controller_in_endpoint::AIMD);
    for name in ["aimd", "cubic"] {
        let choice = registry.choose(name).unwrap();
        let line = controller_in_endpoint::upload(choice).unwrap();
        let (goodput, state) = line.split_once(" Mbit/s, ").unwrap();
        let goodput: f64 = goodput.parse().unwrap();
        assert!((14.0..20.0).contains(&goodput), "{line}");
        assert!(state.starts_with(&format!("{name} ")), "{line}");
    }
}
