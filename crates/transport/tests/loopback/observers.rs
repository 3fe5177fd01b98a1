//! What observers may do on the endpoint's task.

use crate::support::{Endpoints, noise, receive_all, send_all, within_a_minute};
use cc_core::{Event, Observer};
use paceline::{Connection, Endpoint};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// On a thread of its own: what would be blocked is the runtime, and every time limit in it.
#[test]
fn an_observer_may_use_its_connection_and_its_endpoint() {
    let (done, is_done) = mpsc::channel();
    std::thread::spawn(move || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().unwrap();
        runtime.block_on(curious_transfer());
        done.send(()).unwrap();
    });
    is_done
        .recv_timeout(Duration::from_secs(60))
        .expect("the observer blocks the endpoint's task");
}

async fn curious_transfer() {
    let endpoints = Endpoints::new();
    let (client, server) = endpoints.connect().await;
    let (curious, delivered, is_dropped) = Curious::new(client.clone(), endpoints.client.clone());
    client.set_observer(Box::new(curious));
    transfer(&client, &server, 1_000_000).await;
    assert!(delivered.load(Ordering::Relaxed) > 100_000);
    drop((client, server));
    endpoints.close().await;
    // It held a handle of the connection, and the connection it.
    assert!(is_dropped.load(Ordering::Relaxed));
}

/// Asks for all that it can on every event.
struct Curious {
    connection: Connection,
    endpoint: Endpoint,
    delivered: Arc<AtomicU64>,
    is_dropped: Arc<AtomicBool>,
}

impl Curious {
    fn new(connection: Connection, endpoint: Endpoint) -> (Self, Arc<AtomicU64>, Arc<AtomicBool>) {
        let (delivered, is_dropped) = <(Arc<AtomicU64>, Arc<AtomicBool>)>::default();
        let curious = Self {
            connection,
            endpoint,
            delivered: Arc::clone(&delivered),
            is_dropped: Arc::clone(&is_dropped),
        };
        (curious, delivered, is_dropped)
    }
}

impl Observer for Curious {
    fn on_event(&mut self, _event: &Event) {
        let delivered = self.connection.stats().delivered;
        self.delivered.store(delivered.get(), Ordering::Relaxed);
        self.connection.set_max_rate(None);
        assert_eq!(self.endpoint.open_connections(), 1);
        assert_eq!(self.endpoint.stats().send_errors, 0);
    }
}

impl Drop for Curious {
    fn drop(&mut self) {
        self.is_dropped.store(true, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn an_observer_may_put_another_in_its_place() {
    struct Replacing(Connection, Arc<AtomicU64>);
    impl Observer for Replacing {
        fn on_event(&mut self, _event: &Event) {
            self.1.fetch_add(1, Ordering::Relaxed);
            let next = Self(self.0.clone(), Arc::clone(&self.1));
            self.0.set_observer(Box::new(next));
        }
    }
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        let count = Arc::<AtomicU64>::default();
        let observer = Replacing(client.clone(), Arc::clone(&count));
        client.set_observer(Box::new(observer));
        transfer(&client, &server, 1_000_000).await;
        assert!(count.load(Ordering::Relaxed) > 1);
        endpoints.close().await;
    })
    .await;
}

#[tokio::test]
async fn observers_and_streams_are_beside_each_other() {
    struct Counting(Arc<AtomicU64>);
    impl Observer for Counting {
        fn on_event(&mut self, _event: &Event) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        let counts = [(); 3].map(|()| Arc::<AtomicU64>::default());
        let [set, replacing, added] = &counts;
        client.set_observer(Box::new(Counting(Arc::clone(set))));
        client.add_observer(Box::new(Counting(Arc::clone(added))));
        client.set_observer(Box::new(Counting(Arc::clone(replacing))));
        drop(client.congestion_events());
        let mut events = client.congestion_events();
        let reading = tokio::spawn(async move {
            let mut count = 0;
            while events.next().await.is_some() {
                count += 1;
            }
            count + events.missed()
        });
        transfer(&client, &server, 1_000_000).await;
        endpoints.close().await;
        let read = reading.await.unwrap();
        assert!(read > 10, "{read}");
        let counts = counts.map(|count| count.load(Ordering::Relaxed));
        assert_eq!(counts, [0, read, read]);
        // Of what is over there is nothing to read.
        assert!(client.congestion_events().next().await.is_none());
    })
    .await;
}

/// Sends so many bytes from `client` to `server`.
async fn transfer(client: &Connection, server: &Connection, bytes: usize) {
    let data = noise(1, bytes);
    let send = client.open_uni().await.unwrap();
    let receive = async { receive_all(server.accept_uni().await.unwrap()).await };
    let ((), received) = tokio::join!(send_all(send, &data), receive);
    assert!(received == data, "{} bytes", received.len());
}

/// Of two connections between the same endpoints, one is observed.
#[tokio::test]
async fn an_observer_that_panics_ends_its_connection_alone() {
    struct Clumsy;
    impl Observer for Clumsy {
        fn on_event(&mut self, _event: &Event) {
            panic!("not prepared for this");
        }
    }
    within_a_minute(async {
        let endpoints = Endpoints::new();
        let (client, server) = endpoints.connect().await;
        let (other_client, other_server) = endpoints.connect().await;
        client.set_observer(Box::new(Clumsy));
        let mut send = client.open_uni().await.unwrap();
        let _ = send.write_all(&noise(1, 100_000)).await;
        let reason = client.closed().await.to_string();
        let expected = "observer panicked: not prepared for this";
        assert!(reason.contains(expected), "{reason}");
        let reason = server.closed().await.to_string();
        assert!(reason.contains("internal error"), "{reason}");
        transfer(&other_client, &other_server, 1_000_000).await;
        endpoints.close().await;
    })
    .await;
}
