//! Code of the application's on the endpoint's task that blocks, panics, and calls back.

use crate::support::{Endpoints, NAME, noise, within_a_minute};
use cc_core::{
    Control, Controller, ControllerSpec, Event, LostPacket, Observer, PathState, RateSample,
    Registry, SharedSpec, Snapshot,
};
use paceline::{Connection, ConnectionError, Endpoint, VarInt, tls};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use tokio::task::JoinSet;
use units::Bandwidth;

/// Shows the connection to whoever is made before it.
type Slot = Arc<Mutex<Option<Connection>>>;

/// NewReno, but that `fault` is called with the number of each ACK.
struct Faulty<F> {
    inner: Box<dyn Controller>,
    acks: u64,
    fault: F,
    panics_in_drop: bool,
}

impl<F: FnMut(u64) + Send> Controller for Faulty<F> {
    fn on_lost(&mut self, path: &PathState, packet: &LostPacket, observer: &mut dyn Observer) {
        self.inner.on_lost(path, packet, observer);
    }

    fn on_ack(&mut self, path: &PathState, sample: &RateSample, observer: &mut dyn Observer) {
        self.acks += 1;
        (self.fault)(self.acks);
        self.inner.on_ack(path, sample, observer);
    }

    fn control(&self) -> Control {
        self.inner.control()
    }

    fn snapshot(&self) -> Snapshot {
        self.inner.snapshot()
    }
}

impl<F> fmt::Debug for Faulty<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Faulty")
    }
}

impl<F> Drop for Faulty<F> {
    fn drop(&mut self) {
        assert!(!self.panics_in_drop, "dropped");
    }
}

fn faulty(
    name: &'static str,
    panics_in_drop: bool,
    fault: impl FnMut(u64) + Clone + Send + Sync + 'static,
) -> SharedSpec {
    ControllerSpec::sharing(name, "", move |_, setup| {
        Box::new(Faulty {
            inner: Registry::standard()
                .choose("new_reno")
                .unwrap()
                .build(setup),
            acks: 0,
            fault: fault.clone(),
            panics_in_drop,
        })
    })
}

/// The controllers, and what ends their connections.
fn controllers(slot: &Slot) -> [(SharedSpec, Option<&'static str>); 5] {
    let (calling, owning) = (Arc::clone(slot), Arc::clone(slot));
    [
        (
            faulty("blocking", false, |acks| block(acks.is_multiple_of(8))),
            None,
        ),
        (faulty("undropping", true, |_| ()), None),
        (
            faulty("panicking", false, |acks| assert!(acks < 5, "at 5")),
            Some("controller panicking panicked: at 5"),
        ),
        (
            faulty("calling", false, move |acks| {
                if acks > 20
                    && let Some(connection) = &*calling.lock().unwrap()
                {
                    connection.stats();
                }
            }),
            Some("controller calling panicked: a congestion controller used a connection"),
        ),
        (
            // Drops its handle while it panics.
            faulty("owning", false, move |acks| {
                let _connection = owning.lock().unwrap_or_else(|e| e.into_inner()).take();
                assert!(acks < 5, "at 5");
            }),
            Some("controller owning panicked: at 5"),
        ),
    ]
}

#[expect(clippy::disallowed_methods, reason = "what must not wait does")]
fn block(does: bool) {
    if does {
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Calls all that it can, and what `fault` does, on every 16th event.
struct Calling<F> {
    connection: Connection,
    endpoint: Endpoint,
    events: u64,
    fault: F,
}

impl<F: FnMut(u64)> Observer for Calling<F> {
    fn on_event(&mut self, _event: &Event) {
        self.events += 1;
        if self.events.is_multiple_of(16) {
            call_everything(&self.connection, &self.endpoint, self.events);
        }
        (self.fault)(self.events);
    }
}

/// What needs no `await` and ends nothing.
fn call_everything(connection: &Connection, endpoint: &Endpoint, round: u64) {
    let _ = (connection.stats(), connection.congestion().to_string());
    let _ = (
        connection.rtt(),
        connection.min_rtt(),
        connection.close_reason(),
    );
    let _ = (
        connection.remote_address(),
        connection.local_ip(),
        connection.side(),
    );
    let _ = (
        connection.stable_id(),
        connection.handshake_data(),
        connection.peer_identity(),
    );
    let _ = connection.export_keying_material(&mut [0; 16], b"label", b"");
    let _ = (
        connection.max_datagram_size(),
        connection.datagram_send_buffer_space(),
    );
    let _ = connection.send_datagram(vec![0; 100].into());
    connection.set_max_rate(round.is_multiple_of(2).then_some(Bandwidth::MAX));
    connection.set_max_concurrent_bi_streams(VarInt::from_u32(100));
    connection.set_max_concurrent_uni_streams(VarInt::from_u32(100));
    connection.set_receive_window(VarInt::from_u32(1 << 20));
    drop(connection.congestion_events());
    drop(connection.clone());
    let _ = (
        endpoint.stats(),
        endpoint.open_connections(),
        endpoint.local_addr(),
    );
}

/// The observers, and what ends their connections.
fn observe(connection: &Connection, endpoint: &Endpoint, kind: usize) -> Option<&'static str> {
    let calling = |fault: fn(u64)| {
        Box::new(Calling {
            connection: connection.clone(),
            endpoint: endpoint.clone(),
            events: 0,
            fault,
        })
    };
    connection.set_observer(calling(|_| ()));
    match kind {
        0 => connection.add_observer(calling(|events| block(events.is_multiple_of(32)))),
        1 => {
            connection.add_observer(calling(|events| assert!(events < 8, "observed")));
            return Some("observer panicked: observed");
        }
        _ => connection.add_observer(calling(|_| ())),
    }
    None
}

/// Uploads under `spec` and observed, while a thread calls all that it can. The connection ends as
/// it should.
async fn upload(endpoints: &Endpoints, index: usize, round: u64) {
    let slot = Slot::default();
    let (spec, fault) = controllers(&slot).into_iter().nth(index % 5).unwrap();
    let (name, registry) = (spec.name, Registry::standard().with(spec));
    let config = tls::client_with_fingerprint(endpoints.certificate.fingerprint);
    let mut config = config.config().unwrap();
    config.congestion(registry.choose(name).unwrap());
    let connecting = endpoints
        .client
        .connect_with(config, endpoints.address(), NAME);
    let connection = connecting.unwrap().await.unwrap();
    *slot.lock().unwrap() = Some(connection.clone());
    let observed = observe(&connection, &endpoints.client, index / 5);
    let faults: Vec<_> = fault.into_iter().chain(observed).collect();
    let is_over = Arc::new(AtomicBool::new(false));
    let caller = {
        let (is_over, connection) = (Arc::clone(&is_over), connection.clone());
        let endpoint = endpoints.client.clone();
        std::thread::spawn(move || {
            let mut calls = round;
            while !is_over.load(Ordering::Relaxed) {
                call_everything(&connection, &endpoint, calls);
                calls += 1;
                std::thread::yield_now();
            }
        })
    };
    let sent = async {
        let mut send = connection.open_uni().await?;
        send.write_all(&noise(round, SIZE)).await?;
        // Until the fault has its effect.
        while !faults.is_empty() {
            send.write_all(&noise(round, SIZE)).await?;
        }
        send.finish().unwrap();
        send.stopped().await?;
        Ok::<_, paceline::WriteError>(())
    };
    let sent = sent.await;
    is_over.store(true, Ordering::Relaxed);
    caller.join().unwrap();
    slot.lock().unwrap_or_else(|e| e.into_inner()).take();
    let reason = connection.close_reason().map(|reason| reason.to_string());
    match &reason {
        None => assert!(
            sent.is_ok() && faults.is_empty(),
            "{name}: {sent:?}, {faults:?}"
        ),
        Some(reason) => {
            let is_expected = faults.iter().any(|fault| reason.contains(fault));
            assert!(is_expected, "{name}: {reason} instead of {faults:?}");
        }
    }
    connection.close(0_u32.into(), b"");
}

async fn soak(received: Arc<AtomicU64>) {
    let endpoints = Arc::new(Endpoints::new());
    let server = endpoints.server.clone();
    let serving = tokio::spawn(async move {
        while let Some(attempt) = server.accept().await {
            let received = Arc::clone(&received);
            tokio::spawn(async move {
                let connection = attempt.await.unwrap();
                if let Ok(mut recv) = connection.accept_uni().await {
                    while let Ok(Some(chunk)) = recv.read_chunk(usize::MAX, true).await {
                        received.fetch_add(chunk.bytes.len() as u64, Ordering::Relaxed);
                    }
                }
                connection.closed().await;
            });
        }
    });
    for round in 0..ROUNDS {
        let mut uploads = JoinSet::new();
        for index in 0..15 {
            let endpoints = Arc::clone(&endpoints);
            uploads.spawn(async move { upload(&endpoints, index, round).await });
        }
        uploads.join_all().await;
    }
    Arc::into_inner(endpoints).unwrap().close().await;
    serving.await.unwrap();
}

/// On threads of their own: what would be blocked is the runtime, and every time limit in it.
#[test]
fn code_that_blocks_panics_and_calls_back_costs_its_own_connection_at_most() {
    let (done, is_done) = mpsc::channel();
    let received = Arc::<AtomicU64>::default();
    let counting = Arc::clone(&received);
    std::thread::spawn(move || {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(soak(counting));
        done.send(()).unwrap();
    });
    let result = is_done.recv_timeout(Duration::from_secs(60));
    result.expect("it blocks, or a connection ended that should not have");
    // Of fifteen, four have no fault.
    let least = ROUNDS * 4 * SIZE as u64;
    assert!(received.load(Ordering::Relaxed) >= least);
}

#[tokio::test]
async fn the_last_handle_dropped_in_a_controller_closes_the_connection() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        let slot = Slot::default();
        let dropping = Arc::clone(&slot);
        let spec = faulty("dropping", false, move |_| {
            drop(dropping.lock().unwrap().take());
        });
        let registry = Registry::standard().with(spec);
        client.set_congestion(registry.choose("dropping").unwrap());
        let mut send = client.open_uni().await.unwrap();
        send.write_all(&noise(1, 10_000)).await.unwrap();
        drop(send);
        *slot.lock().unwrap() = Some(client);
        let ConnectionError::ApplicationClosed(close) = server.closed().await else {
            panic!("closed otherwise");
        };
        assert_eq!(close.error_code, VarInt::from_u32(0));
        assert!(slot.lock().unwrap().is_none());
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_controller_that_cannot_be_made_ends_the_connection_that_chose_it() {
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        let spec = ControllerSpec::new("unmade", "", |_, _| panic!("no"));
        let registry = Registry::standard().with(spec);
        client.set_congestion(registry.choose("unmade").unwrap());
        let reason = client.closed().await.to_string();
        assert!(
            reason.contains("controller unmade panicked: no"),
            "{reason}"
        );
        server.closed().await;
        endpoints.close().await;
    })
    .await;
}

const ROUNDS: u64 = 3;
const SIZE: usize = 300_000;
