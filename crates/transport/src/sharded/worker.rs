//! A shard's thread: its runtime, its endpoint, and the handlers of its connections.

use super::server::Figures;
use crate::config::ServerConfig;
use crate::endpoint::{Endpoint, Incoming};
use crate::shard_routing::Membership;
use crate::socket::Socket;
use quinn_proto::EndpointConfig;
use std::net::UdpSocket;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::SyncSender;
use std::{future, io, iter};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet, LocalSet};

/// What becomes a shard once it is on its thread.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) config: EndpointConfig,
    pub(super) server_config: ServerConfig,
    pub(super) socket: UdpSocket,
    pub(super) membership: Option<Membership>,
    pub(super) figures: Arc<Figures>,
    pub(super) busy: Busy,
}

impl Worker {
    /// Serves until the endpoint accepts no more and the whole group is idle. `ready` gets the
    /// endpoint, or why there is none.
    pub(super) fn run<H, F>(self, make: impl FnOnce() -> H, ready: SyncSender<io::Result<Endpoint>>)
    where
        H: Fn(Incoming) -> F + 'static,
        F: Future<Output = ()> + 'static,
    {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        match runtime {
            Ok(runtime) => LocalSet::new().block_on(&runtime, self.serve(make, ready)),
            Err(error) => report(&ready, Err(error)),
        }
    }

    async fn serve<H, F>(self, make: impl FnOnce() -> H, ready: SyncSender<io::Result<Endpoint>>)
    where
        H: Fn(Incoming) -> F + 'static,
        F: Future<Output = ()> + 'static,
    {
        let server_config = Some(self.server_config);
        let endpoint = Socket::new(self.socket).and_then(|socket| {
            Endpoint::in_group(self.config, server_config, socket, self.membership)
        });
        let endpoint = match endpoint {
            Ok(endpoint) => endpoint,
            Err(error) => return report(&ready, Err(error)),
        };
        let handler = make();
        let is_accepting = Accepting::begin(Arc::clone(&self.figures));
        report(&ready, Ok(endpoint.clone()));
        drop(ready);
        let mut handlers = Handlers::new(self.figures);
        accept(&endpoint, handler, &mut handlers).await;
        drop(is_accepting);
        handlers.join().await;
        endpoint.wait_idle().await;
        self.busy.wait_for_all().await;
    }
}

/// A shard that has work. The kernel counts a group's sockets by their places, so none is closed
/// before the last shard is done.
#[derive(Debug)]
pub(super) struct Busy(watch::Sender<usize>);

impl Busy {
    /// One for each of `shards`, and how many of them there are.
    pub(super) fn all(shards: usize) -> (impl Iterator<Item = Self>, watch::Receiver<usize>) {
        let (busy, is_busy) = watch::channel(shards);
        (iter::repeat_n(busy, shards).map(Self), is_busy)
    }

    /// This shard has done its work; waits until every other has.
    async fn wait_for_all(self) {
        let mut busy = self.0.subscribe();
        drop(self);
        // An error means that all are gone, and done.
        let _ = busy.wait_for(|busy| *busy == 0).await;
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.send_modify(|busy| *busy -= 1);
    }
}

struct Accepting(Arc<Figures>);

impl Accepting {
    fn begin(figures: Arc<Figures>) -> Self {
        figures.is_accepting.store(true, Ordering::Relaxed);
        Self(figures)
    }
}

impl Drop for Accepting {
    fn drop(&mut self) {
        self.0.is_accepting.store(false, Ordering::Relaxed);
    }
}

/// Hands attempts to `handler` until there will be none any more.
async fn accept<H, F>(endpoint: &Endpoint, handler: H, handlers: &mut Handlers)
where
    H: Fn(Incoming) -> F + 'static,
    F: Future<Output = ()> + 'static,
{
    let handler = Rc::new(handler);
    loop {
        tokio::select! {
            attempt = endpoint.accept() => match attempt {
                Some(attempt) => {
                    let handler = Rc::clone(&handler);
                    handlers.tasks.spawn_local(async move { handler(attempt).await });
                }
                None => return,
            },
            () = handlers.reap() => {}
        }
    }
}

struct Handlers {
    tasks: JoinSet<()>,
    figures: Arc<Figures>,
}

impl Handlers {
    fn new(figures: Arc<Figures>) -> Self {
        Self {
            tasks: JoinSet::new(),
            figures,
        }
    }

    /// Waits for one task to end, for ever if there is none.
    async fn reap(&mut self) {
        match self.tasks.join_next().await {
            Some(result) => self.note(result),
            None => future::pending().await,
        }
    }

    async fn join(&mut self) {
        while let Some(result) = self.tasks.join_next().await {
            self.note(result);
        }
    }

    fn note(&self, result: Result<(), JoinError>) {
        if let Err(error) = result {
            self.figures.handler_panics.fetch_add(1, Ordering::Relaxed);
            tracing::error!(%error, "a connection's handler has panicked");
        }
    }
}

/// The application may have stopped waiting.
fn report(ready: &SyncSender<io::Result<Endpoint>>, result: io::Result<Endpoint>) {
    let _ = ready.send(result);
}
