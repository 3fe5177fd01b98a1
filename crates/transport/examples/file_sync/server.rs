//! The side that has the files.

use super::paths::{list, resolve};
use super::protocol::{self, ALPN, CHUNK, MAX_REQUEST, Reply, Request, SyncError};
use aws_lc_rs::digest::{Context, SHA256};
use paceline::units::Bandwidth;
use paceline::{Connection, Endpoint, Incoming, RecvStream, SendStream, TransportConfig, tls};
use std::error::Error;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

/// A directory that clients may read.
#[derive(Debug)]
pub(crate) struct Server {
    endpoint: Endpoint,
    fingerprint: tls::Fingerprint,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Canonical.
    root: Box<Path>,
    /// Most that a client gets.
    max_rate: Option<Bandwidth>,
}

impl Server {
    pub(crate) fn new(
        directory: &Path,
        listen: SocketAddr,
        max_rate: Option<Bandwidth>,
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let certificate = tls::SelfSigned::generate(["localhost"])?;
        let mut transport = TransportConfig::default();
        transport.max_rate(max_rate);
        let mut config = certificate.server().alpn(&[ALPN]).config()?;
        config.transport_config(Arc::new(transport));
        let root = fs::canonicalize(directory).map_err(|error| {
            let directory = directory.display();
            format!("{directory}: {error}; name a directory that exists")
        })?;
        let root = root.into();
        let endpoint = Endpoint::server(config, listen)
            .map_err(|error| format!("{listen}: {error}; name another address with --listen"))?;
        Ok(Self {
            endpoint,
            fingerprint: certificate.fingerprint,
            shared: Arc::new(Shared { root, max_rate }),
        })
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.endpoint.local_addr()
    }

    /// Of the certificate, as hexadecimal digits.
    pub(crate) fn fingerprint(&self) -> String {
        self.fingerprint.to_string()
    }

    /// Serves every client, until the endpoint is closed.
    pub(crate) async fn run(&self) {
        while let Some(attempt) = self.endpoint.accept().await {
            tokio::spawn(serve_connection(attempt, Arc::clone(&self.shared)));
        }
    }

    /// Gives the transfers under way a few seconds, and interrupts the rest.
    pub(crate) async fn shut_down(&self) {
        self.endpoint.drain();
        if timeout(GRACE, self.endpoint.wait_idle()).await.is_err() {
            self.endpoint
                .close(0_u32.into(), b"the server is shutting down");
            self.endpoint.wait_idle().await;
        }
    }
}

async fn serve_connection(attempt: Incoming, shared: Arc<Shared>) {
    let Ok(connecting) = attempt.accept() else {
        return;
    };
    // Requests that come with 0-RTT are answered before the handshake has ended.
    let Ok((connection, _)) = connecting.into_0rtt() else {
        return;
    };
    // How many there are at a time is bounded by `max_concurrent_bidi_streams`.
    while let Ok((send, recv)) = connection.accept_bi().await {
        let (connection, shared) = (connection.clone(), Arc::clone(&shared));
        tokio::spawn(async move { serve_stream(&connection, &shared, send, recv).await });
    }
}

/// Answers one request. What fails is the client's to notice.
async fn serve_stream(
    connection: &Connection,
    shared: &Shared,
    mut send: SendStream,
    mut recv: RecvStream,
) {
    let answered = async {
        // A list would else come after the files that are on their way.
        send.set_priority(ANSWERS)?;
        let request = timeout(PATIENCE, protocol::read(&mut recv, MAX_REQUEST)).await;
        let request = request.map_err(|_| SyncError::Refused("no request came".to_owned()))??;
        answer(connection, shared, &mut send, request).await
    };
    let refusal = match answered.await {
        Ok(()) => return,
        Err(SyncError::Refused(text)) => Reply::Refused(text),
        // A stream that was only dropped would look finished.
        Err(_) => return send.reset(FAILED.into()).unwrap_or_default(),
    };
    if protocol::write(&mut send, &refusal).await.is_ok() {
        send.finish().unwrap_or_default();
    }
}

async fn answer(
    connection: &Connection,
    shared: &Shared,
    send: &mut SendStream,
    request: Request,
) -> Result<(), SyncError> {
    match request {
        Request::List { path } => {
            let root = shared.root.clone();
            let files = tokio::task::spawn_blocking(move || list(&root, &path)).await;
            let files = files.map_err(io::Error::from)??;
            protocol::write(send, &Reply::Files(files)).await?;
        }
        Request::Get {
            path,
            offset,
            priority,
        } => {
            // Streams of equal priority take turns.
            send.set_priority(priority.clamp(-ANSWERS, ANSWERS - 1))?;
            send_file(&shared.root, send, &path, offset).await?;
        }
        Request::MaxRate { bits_per_second } => {
            let wanted = Bandwidth::from_bits_per_sec(bits_per_second.max(MIN_RATE));
            let most = shared.max_rate.unwrap_or(Bandwidth::MAX);
            connection.set_max_rate(Some(wanted.min(most)));
            protocol::write(send, &Reply::Done).await?;
        }
    }
    Ok(send.finish()?)
}

async fn send_file(
    root: &Path,
    send: &mut SendStream,
    path: &str,
    offset: u64,
) -> Result<(), SyncError> {
    let refused = |why: String| SyncError::Refused(format!("{path:?} {why}"));
    let found = resolve(root, path)?;
    // Before it is opened, for which a pipe would wait.
    let metadata = tokio::fs::metadata(&found).await?;
    if !metadata.is_file() {
        return Err(refused("is no file; list it".to_owned()));
    }
    let mut file = tokio::fs::File::open(found).await?;
    let size = metadata.len();
    if offset > size {
        let why = format!("has {size} bytes, fewer than {offset}; begin at 0");
        return Err(refused(why));
    }
    protocol::write(send, &Reply::File { size }).await?;

    // The hash is of the whole file, so that what the client has had before is checked too.
    let mut hash = Context::new(&SHA256);
    let mut at = 0;
    let mut chunk = vec![0; CHUNK];
    while at < size {
        let wanted = CHUNK.min(usize::try_from(size - at).unwrap_or(CHUNK));
        let length = file.read(&mut chunk[..wanted]).await?;
        if length == 0 {
            return Err(io::Error::other("the file has become shorter").into());
        }
        hash.update(&chunk[..length]);
        let known = usize::try_from(offset.saturating_sub(at)).unwrap_or(usize::MAX);
        // What is written fills the connection's send buffer, where another stream finds no room,
        // whatever its priority: so little of each file waits there.
        if send.unsent()? >= AHEAD {
            send.sent().await?;
        }
        // At the client's pace: this waits while what it was sent is not acknowledged.
        send.write_all(&chunk[known.min(length)..length]).await?;
        at += length as u64;
    }
    Ok(send.write_all(hash.finish().as_ref()).await?)
}

/// The priority of answers that are no file, above that of any file.
const ANSWERS: i32 = 101;
/// Bytes of a file that wait to leave, and what is read at a time more.
const AHEAD: u64 = 256 << 10;
/// The code of a stream that was reset because the server could not read on.
const FAILED: u32 = 1;
/// Bits per second: a client that asks for less would keep its connection for ever.
const MIN_RATE: u64 = 64_000;
/// What a client has for its request.
const PATIENCE: Duration = Duration::from_secs(10);
const GRACE: Duration = Duration::from_secs(5);
