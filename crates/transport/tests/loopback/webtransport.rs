//! WebTransport sessions, our own client against our own server, and raw bytes against either.

use crate::support::{NAME, any, noise, within_a_minute};
use paceline::tls::SelfSigned;
use paceline::webtransport::http::{HeaderName, HeaderValue, StatusCode};
use paceline::webtransport::{
    self, ALPN, ConnectError, ConnectOptions, Connection, ReadError, Request, SendDatagramError,
    Session, SessionError, StreamCode, WriteError,
};
use paceline::{ConnectionError, DatagramOptions, DatagramOutcome, Endpoint, TransportConfig};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;

mod cancelled;

/// A server, and an endpoint that can connect to it.
struct Pair {
    server: Endpoint,
    client: Endpoint,
}

impl Pair {
    fn new() -> Self {
        Self::with(&TransportConfig::default())
    }

    fn with(transport: &TransportConfig) -> Self {
        let certificate = SelfSigned::generate([NAME, "127.0.0.1"]).unwrap();
        let mut config = certificate.server().alpn(&[ALPN]).config().unwrap();
        config.transport_config(Arc::new(transport.clone()));
        let server = Endpoint::server(config, any()).unwrap();
        let config = paceline::tls::client_with_fingerprint(certificate.fingerprint);
        let mut config = config.alpn(&[ALPN]).config().unwrap();
        config.transport_config(Arc::new(TransportConfig::default()));
        let mut client = Endpoint::client(any()).unwrap();
        client.set_default_client_config(config);
        Self { server, client }
    }

    fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.server.local_addr().unwrap())
    }

    /// The two ends of a QUIC connection, the client's first.
    async fn connect(&self) -> (paceline::Connection, paceline::Connection) {
        let address = self.server.local_addr().unwrap();
        let connecting = self.client.connect(address, NAME).unwrap();
        let accepting = async { self.server.accept().await.unwrap().await };
        let (client, server) = tokio::join!(connecting, accepting);
        (client.unwrap(), server.unwrap())
    }

    /// The two ends of a WebTransport connection, the client's first.
    async fn connections(&self) -> (Connection, Connection) {
        let (client, server) = self.connect().await;
        (Connection::new(client), Connection::new(server))
    }
}

/// The two ends of a session, the client's first.
async fn session(client: &Connection, server: &Connection, url: &str) -> (Session, Session) {
    let accepting = async { server.accept().await.unwrap().accept().await };
    let (opened, accepted) = tokio::join!(client.connect(url), accepting);
    (opened.unwrap(), accepted.unwrap())
}

/// A session of a connection of its own, whose handles are dropped.
async fn sessions(pair: &Pair) -> (Session, Session) {
    let (client, server) = pair.connections().await;
    session(&client, &server, &pair.url("/")).await
}

const LARGE: usize = 10_000_000;

#[tokio::test]
async fn ten_megabytes_each_way_arrive_unchanged_in_all_kinds_of_streams() {
    within_a_minute(async {
        let pair = Pair::new();
        let (client, server) = sessions(&pair).await;
        let (up, down) = (noise(1, LARGE), noise(2, LARGE));
        let echo = tokio::spawn(async move {
            let (mut send, mut recv) = server.accept_bi().await.unwrap();
            let asked = recv.read_to_end(LARGE).await.unwrap();
            send.write_all(&asked).await.unwrap();
            send.finish().unwrap();
            let mut uni = server.accept_uni().await.unwrap();
            let asked = uni.read_to_end(LARGE).await.unwrap();
            let mut back = server.open_uni().await.unwrap();
            back.write_all(&asked).await.unwrap();
            back.shutdown().await.unwrap();
            let (mut send, mut recv) = server.open_bi().await.unwrap();
            send.write_all(b"from the server").await.unwrap();
            send.finish().unwrap();
            assert_eq!(recv.read_to_end(100).await.unwrap(), b"and back");
            server.closed().await
        });
        let (mut send, mut recv) = client.open_bi().await.unwrap();
        let write = async {
            send.write_all(&up).await.unwrap();
            send.finish().unwrap();
            send.stopped().await.unwrap();
        };
        let (_, back) = tokio::join!(write, recv.read_to_end(LARGE));
        assert!(back.unwrap() == up);
        let mut uni = client.open_uni().await.unwrap();
        let write = async {
            uni.write_all(&down).await.unwrap();
            uni.finish().unwrap();
        };
        let read = async {
            let mut back = client.accept_uni().await.unwrap();
            back.read_to_end(LARGE).await.unwrap()
        };
        assert!(tokio::join!(write, read).1 == down);
        let (mut send, mut recv) = client.accept_bi().await.unwrap();
        assert_eq!(recv.read_to_end(100).await.unwrap(), b"from the server");
        send.write_all(b"and back").await.unwrap();
        send.finish().unwrap();
        send.stopped().await.unwrap();
        client.close(3_000_000_000, "that is all");
        let expected = SessionError::Closed {
            code: 3_000_000_000,
            reason: "that is all".to_owned(),
        };
        assert_eq!(echo.await.unwrap(), expected);
        assert_eq!(client.closed().await, SessionError::ClosedHere);
        pair.client.wait_idle().await;
    })
    .await;
}

#[tokio::test]
async fn datagrams_stay_in_their_session() {
    within_a_minute(async {
        let pair = Pair::new();
        let (client, server) = pair.connections().await;
        let (one, one_server) = session(&client, &server, &pair.url("/1")).await;
        let (two, two_server) = session(&client, &server, &pair.url("/2")).await;
        assert_eq!((one.id(), two.id()), (0, 4));
        for (session, text) in [(&one, "for one"), (&two, "for two"), (&two, "")] {
            session.send_datagram(text.as_bytes()).unwrap();
        }
        assert_eq!(one_server.read_datagram().await.unwrap(), "for one");
        assert_eq!(two_server.read_datagram().await.unwrap(), "for two");
        assert_eq!(two_server.read_datagram().await.unwrap(), "");
        let most = two_server.max_datagram_size().unwrap();
        two_server.send_datagram(&vec![7; most]).unwrap();
        assert_eq!(two.read_datagram().await.unwrap().len(), most);
        let too_large = two_server.send_datagram(&vec![7; most + 1]);
        assert_eq!(too_large, Err(SendDatagramError::TooLarge));
        // The end of one is not the other's.
        one.close(1, "");
        let SessionError::Closed { code: 1, .. } = one_server.closed().await else {
            panic!("closed in another way");
        };
        assert!(matches!(
            one.send_datagram(b"late"),
            Err(SendDatagramError::SessionEnded(SessionError::ClosedHere))
        ));
        two.send_datagram(b"still there").unwrap();
        assert_eq!(two_server.read_datagram().await.unwrap(), "still there");
    })
    .await;
}

#[tokio::test]
async fn datagrams_have_lifetimes_groups_and_outcomes_as_those_of_a_connection() {
    within_a_minute(async {
        let pair = Pair::new();
        let (client, server) = sessions(&pair).await;
        let mut events = client.connection().datagram_events();
        let options = DatagramOptions::default().notify(true);
        let sent = client.send_datagram_with(b"sent", options).unwrap();
        assert_eq!(server.read_datagram().await.unwrap(), "sent");
        for outcome in [DatagramOutcome::Sent, DatagramOutcome::Acknowledged] {
            let event = events.next().await.unwrap();
            assert_eq!((event.id, event.outcome), (sent, outcome));
        }
        let expired = client.send_datagram_with(b"late", options.ttl(Duration::ZERO));
        let event = events.next().await.unwrap();
        assert_eq!(event.id, expired.unwrap());
        assert_eq!(event.outcome, DatagramOutcome::Expired);
        client.close(1, "");
        let ended = client.send_datagram_with(b"after the end", options);
        assert_eq!(ended, Err(SessionError::ClosedHere.into()));
    })
    .await;
}

#[tokio::test]
async fn datagrams_that_nobody_reads_are_bounded_and_the_oldest_go() {
    within_a_minute(async {
        let pair = Pair::new();
        let (client, server) = sessions(&pair).await;
        for number in 0..4000_u32 {
            let mut data = vec![0; 1000];
            data[..4].copy_from_slice(&number.to_be_bytes());
            let full = || client.connection().datagram_send_buffer_space() < 2000;
            while full() {
                tokio::task::yield_now().await;
            }
            client.send_datagram(&data).unwrap();
        }
        // The last one says that all have arrived or are lost.
        let mut stream = client.open_uni().await.unwrap();
        stream.finish().unwrap();
        stream.stopped().await.unwrap();
        server.accept_uni().await.unwrap();
        let mut read = Vec::new();
        let pause = Duration::from_millis(200);
        while let Ok(data) = tokio::time::timeout(pause, server.read_datagram()).await {
            let number = data.unwrap()[..4].try_into().unwrap();
            read.push(u32::from_be_bytes(number));
        }
        // 1 MiB of them, each of which counts for 64 bytes more than it has.
        assert!(read.len() <= (1 << 20) / 1064, "{}", read.len());
        assert!(read[0] > 1000, "the oldest is {}", read[0]);
    })
    .await;
}

#[tokio::test]
async fn codes_of_streams_arrive_as_they_were_given() {
    within_a_minute(async {
        let pair = Pair::new();
        let (client, server) = sessions(&pair).await;
        let (mut send, mut recv) = client.open_bi().await.unwrap();
        send.write_all(b"a").await.unwrap();
        let (mut far_send, mut far_recv) = server.accept_bi().await.unwrap();
        assert_eq!(far_recv.read_chunk(1).await.unwrap().unwrap(), "a");
        send.reset(u32::MAX).unwrap();
        let read = far_recv.read_chunk(1).await;
        let expected = StreamCode::Application(u32::MAX);
        assert_eq!(read, Err(ReadError::Reset(expected)));
        recv.stop(30).unwrap();
        let written = loop {
            match far_send.write(&[0; 1000]).await {
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert_eq!(written, WriteError::Stopped(StreamCode::Application(30)));
        let error = std::io::Error::from(written);
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
        // A stream that is dropped unread is stopped with code 0.
        let mut uni = client.open_uni().await.unwrap();
        uni.set_priority(7).unwrap();
        assert_eq!(uni.priority(), Ok(7));
        drop(server.accept_uni().await.unwrap());
        let written = loop {
            match uni.write(&[0; 1000]).await {
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert_eq!(written, WriteError::Stopped(StreamCode::Application(0)));
    })
    .await;
}

#[tokio::test]
async fn a_closed_session_ends_what_waits_on_either_side() {
    within_a_minute(async {
        let pair = Pair::new();
        let (client, server) = pair.connections().await;
        let (one, one_server) = session(&client, &server, &pair.url("/")).await;
        let (two, two_server) = session(&client, &server, &pair.url("/")).await;
        let (mut send, mut recv) = one.open_bi().await.unwrap();
        send.write_all(b"x").await.unwrap();
        let (mut far_send, mut far_recv) = one_server.accept_bi().await.unwrap();
        far_recv.read_chunk(1).await.unwrap();
        // Neither side reads: the writers wait for room.
        let fill = tokio::spawn(async move {
            let data = vec![0; 1 << 20];
            loop {
                if let Err(error) = far_send.write_all(&data).await {
                    return error;
                }
            }
        });
        let waiting = tokio::spawn(async move { far_recv.read_chunk(1).await });
        let reason = "é".repeat(600);
        one.close(5, &reason);
        // 1,024 bytes at most, and whole characters.
        let closed = SessionError::Closed {
            code: 5,
            reason: "é".repeat(512),
        };
        assert_eq!(one_server.closed().await, closed);
        let ended = fill.await.unwrap();
        let gone = StreamCode::Http3(0x170d_7b68_u32.into());
        let expected = [
            WriteError::SessionEnded(closed.clone()),
            WriteError::Stopped(gone),
        ];
        assert!(expected.contains(&ended), "{ended:?}");
        let ended = waiting.await.unwrap().unwrap_err();
        let expected = [
            ReadError::SessionEnded(closed.clone()),
            ReadError::Reset(gone),
        ];
        assert!(expected.contains(&ended), "{ended:?}");
        assert_eq!(one_server.accept_uni().await.unwrap_err(), closed);
        assert_eq!(one_server.open_uni().await.unwrap_err(), closed);
        let here = SessionError::ClosedHere;
        assert_eq!(
            send.write_all(b"y").await,
            Err(WriteError::SessionEnded(here.clone()))
        );
        let error = loop {
            match recv.read_chunk(usize::MAX).await {
                Ok(chunk) => assert!(chunk.is_some(), "the stream was not finished"),
                Err(error) => break error,
            }
        };
        assert_eq!(error, ReadError::SessionEnded(here));
        // The other one goes on.
        let mut uni = two_server.open_uni().await.unwrap();
        uni.write_all(b"still there").await.unwrap();
        uni.finish().unwrap();
        let mut uni = two.accept_uni().await.unwrap();
        assert_eq!(uni.read_to_end(100).await.unwrap(), b"still there");
    })
    .await;
}

#[tokio::test]
async fn an_abrupt_end_of_the_connection_ends_everything() {
    within_a_minute(async {
        let pair = Pair::new();
        let (client, server) = pair.connections().await;
        let (one, one_server) = session(&client, &server, &pair.url("/")).await;
        let (mut send, mut recv) = one.open_bi().await.unwrap();
        let waiting = tokio::spawn(async move { recv.read_chunk(1).await });
        let accepting = tokio::spawn({
            let one = one.clone();
            async move { one.accept_bi().await.map(drop) }
        });
        let datagram = tokio::spawn({
            let one = one.clone();
            async move { one.read_datagram().await }
        });
        one_server.connection().close(77_u32.into(), b"power cut");
        let SessionError::ConnectionLost(ConnectionError::ApplicationClosed(end)) =
            one.closed().await
        else {
            panic!("ended in another way: {:?}", one.close_reason());
        };
        assert_eq!(u64::from(end.error_code), 77);
        let lost = SessionError::ConnectionLost(ConnectionError::ApplicationClosed(end));
        assert_eq!(
            waiting.await.unwrap(),
            Err(ReadError::SessionEnded(lost.clone()))
        );
        assert_eq!(accepting.await.unwrap().unwrap_err(), lost);
        assert_eq!(datagram.await.unwrap().unwrap_err(), lost);
        assert_eq!(
            send.write(b"x").await,
            Err(WriteError::SessionEnded(lost.clone()))
        );
        assert!(server.accept().await.is_err());
        assert_eq!(
            one_server.closed().await,
            SessionError::ConnectionLost(ConnectionError::LocallyClosed)
        );
        assert!(matches!(
            client.connect("https://localhost/").await,
            Err(ConnectError::ConnectionLost(_))
        ));
    })
    .await;
}

#[tokio::test]
async fn a_request_shows_what_was_asked_for_and_can_be_rejected() {
    within_a_minute(async {
        let pair = Pair::new();
        let server = pair.server.clone();
        let serving = tokio::spawn(async move {
            let connection = Connection::new(server.accept().await.unwrap().await.unwrap());
            let request = connection.accept().await.unwrap();
            assert_eq!((request.path(), request.query()), ("/chat", Some("room=1")));
            assert_eq!(request.headers()["origin"], "https://example.org");
            assert_eq!(request.protocols(), ["v2", "v1"]);
            let accepted = request.accept_protocol("v1").await.unwrap();
            assert_eq!(accepted.protocol(), Some("v1"));
            let missing = connection.accept().await.unwrap();
            assert_eq!(missing.path(), "/missing");
            missing.reject(StatusCode::NOT_FOUND).await.unwrap();
            let dropped: Request = connection.accept().await.unwrap();
            drop(dropped);
            accepted.closed().await
        });
        let options = ConnectOptions::new(pair.url("/chat?room=1"))
            .protocol("v2")
            .protocol("v1")
            .header(
                HeaderName::from_static("origin"),
                HeaderValue::from_static("https://example.org"),
            );
        let address = pair.server.local_addr().unwrap();
        let quic = pair.client.connect(address, NAME).unwrap().await.unwrap();
        let connection = Connection::new(quic);
        let chat = connection.connect(options).await.unwrap();
        assert_eq!(chat.protocol(), Some("v1"));
        let rejected = connection.connect(&*pair.url("/missing")).await;
        let Err(ConnectError::Rejected(status)) = rejected else {
            panic!("{rejected:?}");
        };
        assert_eq!(status, 404);
        let dropped = connection.connect(&*pair.url("/dropped")).await;
        assert!(
            matches!(dropped, Err(ConnectError::Answer(_))),
            "{dropped:?}"
        );
        // The last handles of a session close it, with code 0.
        drop(chat);
        let closed = SessionError::Closed {
            code: 0,
            reason: String::new(),
        };
        assert_eq!(serving.await.unwrap(), closed);
    })
    .await;
}

#[tokio::test]
async fn no_more_sessions_than_the_server_permits() {
    within_a_minute(async {
        let pair = Pair::new();
        let (client, server) = pair.connect().await;
        let client = Connection::new(client);
        let server = Connection::with_most_sessions(server, 1);
        let (one, far) = session(&client, &server, &pair.url("/")).await;
        let second = client.connect(&*pair.url("/")).await;
        let limited = matches!(second, Err(ConnectError::TooManySessions { limit: 1 }));
        assert!(limited, "{second:?}");
        one.close(0, "");
        far.closed().await;
        let (_two, _far) = session(&client, &server, &pair.url("/")).await;
    })
    .await;
}

#[tokio::test]
async fn the_shortest_way_to_a_session() {
    within_a_minute(async {
        let pair = Pair::new();
        let server = pair.server.clone();
        let serving = tokio::spawn(async move {
            let connection = Connection::new(server.accept().await.unwrap().await.unwrap());
            let session = connection.accept().await.unwrap().accept().await.unwrap();
            session.closed().await
        });
        let session = webtransport::connect(&pair.client, &*pair.url("/")).await;
        session.unwrap().close(9, "bye");
        let ended = serving.await.unwrap();
        assert!(
            matches!(ended, SessionError::Closed { code: 9, .. }),
            "{ended:?}"
        );
        for url in ["http://localhost/", "https://me@localhost/", "localhost"] {
            let connected = webtransport::connect(&pair.client, url).await;
            assert!(matches!(connected, Err(ConnectError::Url { .. })), "{url}");
        }
    })
    .await;
}

/// What a peer sends at the beginning of streams, and the code with which the connection ends.
struct Breach {
    streams: &'static [&'static [u8]],
    code: u64,
}

const SETTINGS: &[u8] = &[0, 4, 0];

#[tokio::test]
async fn a_client_without_the_protocol_is_told_to_offer_it() {
    within_a_minute(async {
        let certificate = SelfSigned::generate(["127.0.0.1"]).unwrap();
        let config = certificate.server().alpn(&[ALPN]).config().unwrap();
        let server = Endpoint::server(config, any()).unwrap();
        let url = format!("https://{}/", server.local_addr().unwrap());
        tokio::spawn(async move { server.accept().await.unwrap().await });
        let mut client = Endpoint::client(any()).unwrap();
        let config = paceline::tls::client_with_fingerprint(certificate.fingerprint);
        client.set_default_client_config(config.config().unwrap());
        let error = webtransport::connect(&client, url).await.unwrap_err();
        assert!(
            matches!(error, ConnectError::NoCommonProtocol(_)),
            "{error:?}"
        );
        assert!(error.to_string().contains("webtransport::ALPN"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn a_breach_of_http3_ends_the_connection_with_its_code() {
    let breaches = [
        // No SETTINGS first; two control streams; DATA in one; two SETTINGS; SETTINGS cut short.
        Breach {
            streams: &[&[0, 7, 1, 0]],
            code: 0x10a,
        },
        Breach {
            streams: &[SETTINGS, SETTINGS],
            code: 0x103,
        },
        Breach {
            streams: &[&[0, 4, 0, 0, 1, 9]],
            code: 0x105,
        },
        Breach {
            streams: &[&[0, 4, 0, 4, 0]],
            code: 0x105,
        },
        Breach {
            streams: &[&[0, 4, 1, 0x40]],
            code: 0x106,
        },
        // SETTINGS of 2^30 - 1 bytes.
        Breach {
            streams: &[&[0, 4, 0xbf, 0xff, 0xff, 0xff]],
            code: 0x107,
        },
        // A push; two encoders.
        Breach {
            streams: &[&[1, 0]],
            code: 0x103,
        },
        Breach {
            streams: &[&[2], &[2]],
            code: 0x103,
        },
        // A stream of a session that no stream of a client's can be.
        Breach {
            streams: &[&[0x40, 0x54, 3]],
            code: 0x108,
        },
    ];
    within_a_minute(async {
        for Breach { streams, code } in breaches {
            let pair = Pair::new();
            let (raw, server) = pair.connect().await;
            let server = Connection::new(server);
            let mut open = Vec::new();
            for bytes in streams {
                let mut send = raw.open_uni().await.unwrap();
                send.write_all(bytes).await.unwrap();
                open.push(send);
            }
            assert_eq!(code_of_end(&raw).await, code, "{streams:?}");
            assert!(server.accept().await.is_err());
        }
    })
    .await;
}

#[tokio::test]
async fn so_does_one_in_a_bidirectional_stream_or_a_datagram() {
    within_a_minute(async {
        for (bytes, code) in [
            // A session's name that is no session's; DATA first; QPACK that needs a table.
            (&[0x40, 0x41, 1][..], 0x108),
            (&[0, 1, 1], 0x105),
            (&[1, 3, 5, 0, 0x80], 0x200),
        ] {
            let pair = Pair::new();
            let (raw, server) = pair.connect().await;
            let _server = Connection::new(server);
            let (mut send, _recv) = raw.open_bi().await.unwrap();
            send.write_all(bytes).await.unwrap();
            assert_eq!(code_of_end(&raw).await, code, "{bytes:?}");
        }
        for bytes in [&[][..], &[0xff; 8]] {
            let pair = Pair::new();
            let (raw, server) = pair.connect().await;
            let _server = Connection::new(server);
            raw.send_datagram(bytes::Bytes::from_static(bytes)).unwrap();
            assert_eq!(code_of_end(&raw).await, 0x33, "{bytes:?}");
        }
    })
    .await;
}

/// With which the peer closes the connection.
async fn code_of_end(raw: &paceline::Connection) -> u64 {
    match raw.closed().await {
        ConnectionError::ApplicationClosed(end) => end.error_code.into_inner(),
        other => panic!("ended in another way: {other}"),
    }
}

#[tokio::test]
async fn streams_for_sessions_that_are_not_there_are_bounded() {
    within_a_minute(async {
        let pair = Pair::new();
        let (raw, server) = pair.connect().await;
        let _server = Connection::new(server);
        // For a session of the stream 400, which nobody has opened.
        let mut early = Vec::new();
        for _ in 0..20 {
            let mut send = raw.open_uni().await.unwrap();
            send.write_all(&[0x40, 0x54, 0x41, 0x90]).await.unwrap();
            early.push(send);
            raw.send_datagram(bytes::Bytes::from_static(&[0x40, 100]))
                .unwrap();
        }
        let mut rejected = 0;
        for stream in &early {
            let stopped = stream.stopped();
            if let Ok(code) = tokio::time::timeout(Duration::from_millis(300), stopped).await {
                assert_eq!(code, Ok(Some(0x3994_bd84_u32.into())));
                rejected += 1;
            }
        }
        assert_eq!(rejected, 4);
        // The stream 0 is not a session and will not be one.
        let (mut send, mut recv) = raw.open_bi().await.unwrap();
        send.write_all(&[0x40, 0x41, 0x41, 0x90]).await.unwrap();
        assert!(recv.read_to_end(9).await.is_err());
        let mut late = raw.open_uni().await.unwrap();
        late.write_all(&[0x40, 0x54, 0]).await.unwrap();
        assert_eq!(late.stopped().await, Ok(Some(0x170d_7b68_u32.into())));
    })
    .await;
}

/// A control stream with the settings of WebTransport, and an answer of status 200.
const WEBTRANSPORT: &[u8] = &[
    0, 4, 18, 8, 1, 0x33, 1, 0xab, 0x60, 0x37, 0x42, 1, 0xc0, 0, 0, 0, 0xc6, 0x71, 0x70, 0x6a, 1,
];
const OK: &[u8] = &[1, 3, 0, 0, 0xd9];

/// Its QUIC acknowledges the end of a session before its session has read it.
#[tokio::test]
async fn a_connection_stays_until_the_peer_answers_the_end_of_its_last_session() {
    within_a_minute(async {
        let pair = Pair::new();
        let (client, raw) = pair.connect().await;
        let client = Connection::new(client);
        let mut control = raw.open_uni().await.unwrap();
        control.write_all(WEBTRANSPORT).await.unwrap();
        let url = pair.url("/");
        let serving = async {
            let (mut send, recv) = raw.accept_bi().await.unwrap();
            send.write_all(OK).await.unwrap();
            (send, recv)
        };
        let (session, (mut send, mut recv)) = tokio::join!(client.connect(&*url), serving);
        session.unwrap().close(7, "done");
        drop(client);
        let told = recv.read_to_end(1_000).await.unwrap();
        assert!(told.ends_with(b"\0\0\0\x07done"), "{told:?}");
        // Many round trips.
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(raw.close_reason(), None);
        send.finish().unwrap();
        assert_eq!(code_of_end(&raw).await, 0x100);
    })
    .await;
}

/// Both ends of a connection, the client's in QUIC, after a session that the server has closed.
async fn after_a_session(pair: &Pair) -> (paceline::Connection, Connection, Connection) {
    let (quic, server) = pair.connect().await;
    let (client, server) = (Connection::new(quic.clone()), Connection::new(server));
    let url = pair.url("/");
    let serving = async {
        let request = server.accept().await.unwrap();
        request.accept().await.unwrap().close(7, "done");
    };
    let (session, ()) = tokio::join!(client.connect(&*url), serving);
    session.unwrap().closed().await;
    (quic, client, server)
}

/// Chromium's QUIC answers the end of a session before its session learns of it. A connection that
/// was closed at once was a lost one for the page, now and then.
#[tokio::test]
async fn a_server_leaves_the_end_of_the_connection_to_the_client_for_a_second() {
    within_a_minute(async {
        let pair = Pair::new();
        let (quic, _client, server) = after_a_session(&pair).await;
        drop(server);
        // Many round trips.
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(quic.close_reason(), None);
        assert_eq!(code_of_end(&quic).await, 0x100);
    })
    .await;
}

#[tokio::test]
async fn a_server_that_is_dropped_outside_of_a_runtime_ends_the_connection() {
    within_a_minute(async {
        let pair = Pair::new();
        let (quic, _client, server) = after_a_session(&pair).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        std::thread::spawn(move || drop(server)).join().unwrap();
        assert_eq!(code_of_end(&quic).await, 0x100);
    })
    .await;
}

/// Not each of its sessions: a client that begins and ends them fast would have a task for each.
#[tokio::test]
async fn no_task_of_a_session_that_has_ended_is_left() {
    within_a_minute(async {
        let pair = Pair::new();
        let (client, server) = pair.connections().await;
        let url = pair.url("/");
        let tasks = tokio::runtime::Handle::current().metrics();
        let before = tasks.num_alive_tasks();
        for _ in 0..100 {
            let serving = async {
                let request = server.accept().await.unwrap();
                request.accept().await.unwrap().close(7, "done");
            };
            let (session, ()) = tokio::join!(client.connect(&*url), serving);
            session.unwrap().closed().await;
        }
        // Those of the last few wait for acknowledgements.
        let after = tasks.num_alive_tasks();
        assert!(after < before + 50, "{before} tasks, then {after}");
    })
    .await;
}

#[tokio::test]
async fn what_comes_before_the_answer_is_kept() {
    within_a_minute(async {
        let pair = Pair::new();
        let (client, server) = pair.connections().await;
        let raw = client.quic().clone();
        let url = pair.url("/");
        let connecting = tokio::spawn(async move {
            let session = client.connect(&*url).await.unwrap();
            (client, session)
        });
        let request = server.accept().await.unwrap();
        // Before the server has decided.
        let mut early = raw.open_uni().await.unwrap();
        early.write_all(&[0x40, 0x54, 0]).await.unwrap();
        early.write_all(b"early").await.unwrap();
        early.finish().unwrap();
        raw.send_datagram(bytes::Bytes::from_static(b"\0early"))
            .unwrap();
        assert_eq!(early.stopped().await, Ok(None));
        let session = request.accept().await.unwrap();
        let mut stream = session.accept_uni().await.unwrap();
        assert_eq!(stream.read_to_end(9).await.unwrap(), b"early");
        assert_eq!(session.read_datagram().await.unwrap(), "early");
        drop(connecting.await.unwrap());
    })
    .await;
}

#[tokio::test]
async fn no_bytes_make_either_side_panic() {
    within_a_minute(async {
        for seed in 0..40 {
            let pair = Pair::new();
            let (client, server) = pair.connect().await;
            // Either side has a peer that sends noise with likely beginnings.
            let (raw, victim) = match seed % 2 {
                0 => (client, server),
                _ => (server, client),
            };
            let is_server = seed % 2 == 0;
            let victim = Connection::new(victim);
            let watched = victim.quic().clone();
            let asking = tokio::spawn(async move {
                match is_server {
                    true => {
                        while let Ok(request) = victim.accept().await {
                            drop(request.accept().await);
                        }
                    }
                    false => drop(victim.connect("https://localhost/").await),
                }
            });
            let beginnings: [&[u8]; 8] = [
                &[0x40, 0x54, 0],
                &[0x40, 0x41, 0],
                &[0, 4, 0],
                &[1],
                &[2],
                &[3],
                &[1, 0x20, 0, 0],
                &[],
            ];
            for (index, beginning) in beginnings.into_iter().enumerate() {
                let data = noise(seed * 8 + index as u64, 300);
                let Ok(mut uni) = raw.open_uni().await else {
                    break;
                };
                let _ = uni.write_all(&[beginning, &data[..]].concat()).await;
                let Ok((mut send, _recv)) = raw.open_bi().await else {
                    break;
                };
                let _ = send.write_all(&[beginning, &data[..]].concat()).await;
                let _ = send.finish();
                let _ = raw.send_datagram(data[..index * 4].to_vec().into());
            }
            raw.close(0_u32.into(), b"");
            watched.closed().await;
            asking.await.expect("no panic");
        }
    })
    .await;
}
