use super::*;
use crate::admission::AdmissionLimits;
use bench_kit::plan::{Direction, Extras, Limit, Limits, Plan};
use bench_kit::wire::{ALPN, Reply, Request, read_message, write_message};
use cc_core::{ControllerSpec, Registry};
use paceline::{ClientConfig, Endpoint, KernelPacing, Steering, tls};
use std::future::ready;
use std::net::Ipv4Addr;

/// Holds up the thread that makes it, for ever.
const BLOCKS: ControllerSpec = ControllerSpec::new("blocks", "never there", |_, _| {
    loop {
        std::thread::park();
    }
});

fn server(threads: usize, port: u16) -> Result<ThreadedServer, Failure> {
    let setup = ServerSetup {
        bind: (Ipv4Addr::LOCALHOST, port).into(),
        identity: None,
        idle_timeout: Duration::from_secs(2),
        limits: Limits::NONE,
        stranger_limits: None,
        admission: AdmissionLimits::OWN_CLIENTS,
        max_runs: None,
        token: None,
        is_one_off: false,
        perf_congestion: None,
        kernel_pacing: KernelPacing::Off,
        qlog: None,
        resume: None,
        registry: Registry::standard().with(BLOCKS),
        seed: Some(1),
    };
    ThreadedServer::bind(setup, Arc::new(|_| {}), threads)
}

/// Asks for a run; gives the reply.
async fn ask(server: SocketAddr, congestion: &str) -> Option<Reply> {
    let endpoint = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let config: ClientConfig = tls::client_without_verification()
        .alpn(&[ALPN])
        .config()
        .unwrap();
    let connecting = endpoint.connect_with(config, server, "localhost").unwrap();
    let connection = connecting.await.ok()?;
    let (mut send, mut receive) = connection.open_bi().await.ok()?;
    let plan = Plan {
        direction: Direction::Reverse,
        limit: Limit::Time(Duration::from_secs(1)),
        omit: Duration::ZERO,
        streams: 1,
        length: 1_000,
        rate: Some(1_000_000),
        client_congestion: "cubic".to_owned(),
        server_congestion: congestion.to_owned(),
        window: 1 << 20,
        step: Duration::from_millis(100),
        extras: Extras::default(),
    };
    let run = Request::Run(Box::new(plan));
    write_message(&mut send, &run).await.ok()?;
    read_message(&mut receive).await.ok()?
}

#[tokio::test]
async fn a_client_that_holds_up_its_thread_holds_up_neither_the_others_nor_the_end() {
    let server = server(4, 0).unwrap();
    if server.server.steering() != Steering::Kernel {
        assert_eq!(server.server.shards(), 1);
        return;
    }
    let address = server.local_addr();
    let short = Duration::from_millis(500);
    let blocked = timeout(short, ask(address, "blocks")).await;
    assert!(blocked.is_err(), "{blocked:?}");
    // One of four may come to the thread that does not answer.
    let mut served = 0;
    for _ in 0..12 {
        let reply = timeout(short, ask(address, "cubic")).await;
        served += u32::from(reply == Ok(Some(Reply::Accepted)));
    }
    assert!(served >= 3, "{served} of 12");
    let ended = timeout(Duration::from_secs(5), server.wait(ready(()))).await;
    assert_eq!(ended, Ok(()));
}

#[tokio::test]
async fn an_address_that_another_server_has_is_refused() {
    let first = server(2, 0).unwrap();
    let port = first.local_addr().port();
    let error = server(2, port).err().unwrap().to_string();
    assert_eq!(
        error,
        format!(
            "cannot listen on UDP 127.0.0.1:{port}: another program uses this port; end it, or use \
             another -p"
        )
    );
}
