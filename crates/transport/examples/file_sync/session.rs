//! The client's connection, and the next one when it is lost.

use super::protocol::{self, ALPN, MAX_REPLY, Reply, Request, SyncError};
use paceline::units::Bandwidth;
use paceline::{ClientConfig, Connection, ConnectionError, Endpoint, RecvStream, tls};
use std::error::Error;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Mutex;

/// A server, whether there is a connection to it at present or not.
#[derive(Debug)]
pub(crate) struct Session {
    endpoint: Endpoint,
    /// TLS sessions are kept with it: the second connection can have 0-RTT.
    config: ClientConfig,
    server: SocketAddr,
    max_rate: Option<Bandwidth>,
    /// One at a time, whoever notices first that it is lost.
    connection: Mutex<Option<Connection>>,
    received: AtomicU64,
}

impl Session {
    /// A server whose certificate has the fingerprint `pinned`, in hexadecimal digits, and the most
    /// that it is to send.
    pub(crate) fn new(
        server: SocketAddr,
        pinned: &str,
        max_rate: Option<Bandwidth>,
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let pinned = pinned.parse::<tls::Fingerprint>().map_err(|error| {
            format!("{error}; name the file that the server has written with --fingerprint")
        })?;
        let local = match server {
            SocketAddr::V4(_) => "0.0.0.0:0",
            SocketAddr::V6(_) => "[::]:0",
        };
        let config = tls::client_with_fingerprint(pinned);
        Ok(Self {
            endpoint: Endpoint::client(local.parse()?)?,
            config: config.alpn(&[ALPN]).config()?,
            server,
            max_rate,
            connection: Mutex::new(None),
            received: AtomicU64::new(0),
        })
    }

    /// Sends a request; returns the reply, and the stream with what is behind it.
    pub(crate) async fn ask(&self, request: &Request) -> Result<(Reply, RecvStream), SyncError> {
        ask(&self.connection().await?, request).await
    }

    /// Bytes of files that have come, over all connections.
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Counts bytes of files.
    pub(crate) fn count(&self, bytes: usize) {
        self.received.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Ends the connection in good order.
    pub(crate) async fn close(&self) {
        if let Some(connection) = self.connection.lock().await.take() {
            connection.close(0_u32.into(), b"done");
        }
        self.endpoint.wait_idle().await;
    }

    /// The connection that there is, or a new one.
    async fn connection(&self) -> Result<Connection, SyncError> {
        let mut slot = self.connection.lock().await;
        if let Some(connection) = slot.as_ref()
            && connection.close_reason().is_none()
        {
            return Ok(connection.clone());
        }
        let is_first = slot.is_none();
        let mut config = self.config.clone();
        if is_first {
            config.handshake_timeout(Some(FIRST_HANDSHAKE));
        }
        let connecting = self.endpoint.connect_with(config, self.server, "localhost");
        let connecting = connecting.map_err(|error| SyncError::Refused(error.to_string()))?;
        let (connection, accepted) = match connecting.into_0rtt() {
            Ok((connection, accepted)) => (connection, Some(accepted)),
            Err(connecting) => {
                let connected = connecting.await;
                // A server that has been there may come back; this one has never been.
                let connected = connected.map_err(|error| match is_first {
                    true => SyncError::Refused(self.unreached(&error)),
                    false => error.into(),
                });
                (connected?, None)
            }
        };
        if let Some(rate) = self.max_rate {
            let bits_per_second = rate.bits_per_sec();
            let request = Request::MaxRate { bits_per_second };
            let asked = ask(&connection, &request).await;
            match accepted {
                // Rejected 0-RTT: the stream has never been, and the connection goes on.
                Some(accepted) if asked.is_err() => {
                    accepted.await;
                    ask(&connection, &request).await?;
                }
                _ => drop(asked?),
            }
        }
        Ok(slot.insert(connection).clone())
    }

    /// What to do where the first connection fails.
    fn unreached(&self, error: &ConnectionError) -> String {
        let server = self.server;
        match error {
            ConnectionError::TimedOut => format!(
                "{server}: no server answers within {FIRST_HANDSHAKE:?}; start one there, or name \
                 another address with --server"
            ),
            error => format!(
                "{server}: no connection ({error}); check that --server and --fingerprint are of \
                 the same server"
            ),
        }
    }
}

async fn ask(connection: &Connection, request: &Request) -> Result<(Reply, RecvStream), SyncError> {
    let (mut send, mut recv) = connection.open_bi().await?;
    protocol::write(&mut send, request).await?;
    send.finish()?;
    match protocol::read(&mut recv, MAX_REPLY).await? {
        Reply::Refused(text) => Err(SyncError::Refused(format!("the server says: {text}"))),
        reply => Ok((reply, recv)),
    }
}

/// Time for the first packet and two more, of 1 s and 3 s later (RFC 9002 §6.2.2).
const FIRST_HANDSHAKE: Duration = Duration::from_secs(4);
