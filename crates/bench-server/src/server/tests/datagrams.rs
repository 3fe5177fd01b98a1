//! Paths and clients that take no datagram of the size in use.

use super::*;
use bench_kit::plan::Datagrams;
use paceline::TransportConfig;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

/// Panics if `test` takes longer than this, even where it does not yield.
fn within<T>(limit: Duration, test: impl FnOnce() -> T + Send + 'static) -> T
where
    T: Send + 'static,
{
    let (done, is_done) = mpsc::channel();
    std::thread::spawn(move || done.send(test()));
    is_done
        .recv_timeout(limit)
        .expect("the test ends in time and without a panic")
}

/// Begins a run on a runtime of its own; gives why the server ends it.
fn error_of(
    transport: TransportConfig,
    plan: Plan,
    path: impl FnOnce(SocketAddr) -> SocketAddr + Send + 'static,
) -> String {
    within(Duration::from_secs(40), move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async move {
            let server = Fixture::with(|setup| setup.limits.duration = Duration::from_secs(60));
            let endpoint = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
            let mut config: ClientConfig = tls::client_without_verification()
                .alpn(&[ALPN])
                .config()
                .unwrap();
            config.transport_config(Arc::new(transport));
            let connecting = endpoint.connect_with(config, path(server.address), "localhost");
            let connection = connecting.unwrap().await.unwrap();
            let (mut send, mut receive) = connection.open_bi().await.unwrap();
            write_message(&mut send, &Request::Run(Box::new(plan)))
                .await
                .unwrap();
            let reply = read_message(&mut receive).await.unwrap();
            assert_eq!(reply, Some(Reply::Accepted));
            let begun = Begun {
                receive,
                connection,
                _send: send,
                _endpoint: endpoint,
            };
            begun.error().await
        })
    })
}

/// The server sends datagrams as fast as it can.
fn reverse(size: Option<u16>, time: Duration) -> Plan {
    Plan {
        direction: Direction::Reverse,
        limit: Limit::Time(time),
        extras: Extras {
            datagrams: Some(Datagrams { size }),
            ..Extras::default()
        },
        ..plan()
    }
}

#[test]
fn a_client_that_takes_only_tiny_datagrams_ends_its_own_run() {
    let mut tiny = TransportConfig::default();
    tiny.datagram_receive_buffer_size(Some(10));
    let error = error_of(tiny, reverse(None, Duration::from_secs(1)), |server| server);
    assert!(
        error.starts_with("datagrams of 18 bytes too large for this path; use -l "),
        "{error}"
    );
}

/// Takes datagrams between a client and `server`, and once it has taken 3,000 none that is longer
/// than 1,280 bytes.
fn narrowing(server: SocketAddr) -> SocketAddr {
    let [front, back] = [0, 0].map(|port| UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).unwrap());
    let address = front.local_addr().unwrap();
    let client = Arc::new(Mutex::new(None));
    let is_narrow = Arc::new(AtomicBool::new(false));
    let (front_out, back_out) = (front.try_clone().unwrap(), back.try_clone().unwrap());
    for socket in [&front, &back] {
        let limit = Some(Duration::from_secs(5));
        socket.set_read_timeout(limit).unwrap();
    }
    let (to, narrow) = (Arc::clone(&client), Arc::clone(&is_narrow));
    std::thread::spawn(move || {
        let mut datagram = [0; 65_536];
        while let Ok((length, from)) = front.recv_from(&mut datagram) {
            *to.lock().unwrap() = Some(from);
            if length <= 1_280 || !narrow.load(Ordering::Relaxed) {
                back_out.send_to(&datagram[..length], server).unwrap();
            }
        }
    });
    std::thread::spawn(move || {
        let mut datagram = [0; 65_536];
        for count in 0_u32.. {
            let Ok(length) = back.recv(&mut datagram) else {
                return;
            };
            is_narrow.store(count > 3_000, Ordering::Relaxed);
            let client = client.lock().unwrap().expect("the client spoke first");
            if length <= 1_280 || count <= 3_000 {
                let _ = front_out.send_to(&datagram[..length], client);
            }
        }
    });
    address
}

#[test]
fn a_path_that_becomes_too_narrow_ends_the_run() {
    let plan = reverse(Some(1_350), Duration::from_secs(20));
    let error = error_of(TransportConfig::default(), plan, narrowing);
    assert!(
        error.starts_with("datagrams of 1350 bytes too large for this path; use -l "),
        "{error}"
    );
}
