//! A client that speaks `perf` by itself.

use super::*;
use bench_kit::perf::ALPN;
use paceline::WriteError;

async fn connect(server: &Fixture) -> (Endpoint, Connection) {
    let endpoint = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let config: ClientConfig = tls::client_without_verification()
        .alpn(&[ALPN])
        .config()
        .unwrap();
    let connecting = endpoint.connect_with(config, server.address, "localhost");
    let connection = connecting.unwrap().await.unwrap();
    (endpoint, connection)
}

/// Writes a request for `answer` bytes with `payload` bytes behind it.
async fn write(send: &mut SendStream, answer: u64, payload: usize) -> Result<(), WriteError> {
    send.write_all(&answer.to_be_bytes()).await?;
    send.write_all(&vec![7; payload]).await?;
    send.finish().unwrap();
    Ok(())
}

async fn length_of(mut receive: RecvStream) -> u64 {
    let mut length = 0;
    while let Some(chunk) = receive.read_chunk(usize::MAX, true).await.unwrap() {
        length += chunk.bytes.len() as u64;
    }
    length
}

#[tokio::test]
async fn a_stream_is_answered_with_as_many_bytes_as_it_asks_for() {
    let server = Fixture::new(8);
    let (_endpoint, connection) = connect(&server).await;
    for (answer, payload) in [(0, 0), (1, 0), (0, 300_000), (3_000_000, 0), (131_073, 5)] {
        let (mut send, receive) = connection.open_bi().await.unwrap();
        write(&mut send, answer, payload).await.unwrap();
        assert_eq!(length_of(receive).await, answer);
        let mut send = connection.open_uni().await.unwrap();
        write(&mut send, answer, payload).await.unwrap();
        if answer > 0 {
            let receive = connection.accept_uni().await.unwrap();
            assert_eq!(length_of(receive).await, answer);
        }
    }
    // Closed before it has said anything, a stream is closed in return, and no more.
    let (mut send, receive) = connection.open_bi().await.unwrap();
    send.write_all(&[0; 7]).await.unwrap();
    send.finish().unwrap();
    assert_eq!(length_of(receive).await, 0);
    connection.close(VarInt::from_u32(0), b"");
    server.line_with("perf, cubic").await;
    server
        .line_with("11 streams, 586 KBytes received, 5.97 MBytes sent")
        .await;
}

#[tokio::test]
async fn the_answer_waits_for_the_end_of_the_request() {
    let server = Fixture::new(8);
    let (_endpoint, connection) = connect(&server).await;
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    send.write_all(&10_u64.to_be_bytes()).await.unwrap();
    let early = tokio::time::timeout(Duration::from_millis(200), receive.read_chunk(10, true));
    assert!(early.await.is_err());
    send.finish().unwrap();
    assert_eq!(length_of(receive).await, 10);
}

#[tokio::test]
async fn an_endless_answer_ends_when_the_client_has_had_enough() {
    let server = Fixture::new(8);
    let (_endpoint, connection) = connect(&server).await;
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    write(&mut send, u64::MAX, 0).await.unwrap();
    let mut left = 4_000_000_usize;
    while left > 0 {
        let chunk = receive.read_chunk(usize::MAX, true).await.unwrap().unwrap();
        left = left.saturating_sub(chunk.bytes.len());
    }
    receive.stop(VarInt::from_u32(0)).unwrap();
    // The next stream is served.
    let (mut send, receive) = connection.open_bi().await.unwrap();
    write(&mut send, 5, 0).await.unwrap();
    assert_eq!(length_of(receive).await, 5);
}

#[tokio::test]
async fn answers_that_the_client_permits_no_stream_for_are_bounded() {
    let server = Fixture::with(|setup| setup.limits.duration = Duration::from_secs(60));
    let (_endpoint, connection) = connect(&server).await;
    connection.set_max_concurrent_uni_streams(VarInt::from_u32(0));
    let mut asked = 0;
    while asked < 5_000
        && let Ok(opened) = tokio::time::timeout(STALLED, connection.open_uni()).await
    {
        write(&mut opened.unwrap(), 10, 0).await.unwrap();
        asked += 1;
    }
    assert!((256..1_000).contains(&asked), "{asked} requests");
    // All of them are answered as soon as they may.
    connection.set_max_concurrent_uni_streams(VarInt::from_u32(100));
    for _ in 0..asked {
        let receive = connection.accept_uni().await.unwrap();
        assert_eq!(length_of(receive).await, 10);
    }
}

/// Far longer than another stream takes on loopback.
const STALLED: Duration = Duration::from_secs(1);

#[tokio::test]
async fn a_client_of_perf_gets_no_more_than_others() {
    let limited = |change: fn(&mut Limits)| Fixture::with(move |setup| change(&mut setup.limits));
    let much = limited(|limits| limits.bytes = units::Bytes::new(1 << 20));
    assert_eq!(
        download(&much).await,
        "HERE: run exceeds this server's limit of 1.00 MBytes"
    );
    let long = limited(|limits| limits.duration = Duration::from_millis(300));
    assert_eq!(
        download(&long).await,
        "HERE: run exceeds this server's time limit"
    );
}

/// How a download without end ends.
async fn download(server: &Fixture) -> String {
    let (_endpoint, connection) = connect(server).await;
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    write(&mut send, u64::MAX, 0).await.unwrap();
    while let Ok(Some(_)) = receive.read_chunk(usize::MAX, true).await {}
    bench_kit::close_reason::lost(&connection.closed().await, "HERE", Duration::ZERO)
}

#[tokio::test]
async fn answers_keep_to_the_servers_rate() {
    let server = Fixture::with(|setup| {
        setup.limits.duration = Duration::from_secs(20);
        setup.limits.rate = units::Bandwidth::from_bits_per_sec(8_000_000);
    });
    let (_endpoint, connection) = connect(&server).await;
    let (mut send, receive) = connection.open_bi().await.unwrap();
    write(&mut send, 1_000_000, 0).await.unwrap();
    let begin = clock::now();
    assert_eq!(length_of(receive).await, 1_000_000);
    let elapsed = clock::now() - begin;
    assert!(elapsed > Duration::from_millis(900), "{elapsed:?}");
}

#[tokio::test]
async fn with_a_token_perf_is_not_spoken() {
    let server = Fixture::with(|setup| setup.token = Some(token("clients of perf have none")));
    let endpoint = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let config = tls::client_without_verification()
        .alpn(&[ALPN])
        .config()
        .unwrap();
    let connecting = endpoint.connect_with(config, server.address, "localhost");
    connecting.unwrap().await.unwrap_err();
}
