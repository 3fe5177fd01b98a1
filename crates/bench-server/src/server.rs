//! The server's side: any number of clients at once, each with a run of its own.

use crate::admission::{ClientPrefix, LimitReached, Verdict};
use crate::listening::{Listening, Logged, endpoint_config};
use crate::log_limiter::Topic;
use crate::session::Session;
use crate::setup::{Log, ServerSetup};
use crate::shared::{Permit, Shared};
use bench_kit::clock;
use bench_kit::failure::Failure;
use bench_kit::wire::SHUTDOWN;
use paceline::{Endpoint, Incoming, ServerConfig, VarInt};
use std::fmt;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// A server that listens.
pub struct Server {
    endpoint: Endpoint,
    fingerprint: Option<[u8; 32]>,
    shared: Arc<Shared>,
    is_one_off: bool,
    logged: Option<Logged>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("address", &self.shared.address)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Listens from now on. To be called inside a tokio runtime.
    ///
    /// # Errors
    /// When the address is in use or not this machine's, or the certificate does not fit its key.
    pub fn bind(mut setup: ServerSetup, log: Log) -> Result<Self, Failure> {
        let Listening {
            config,
            fingerprint,
            logged,
        } = Listening::of(&mut setup)?;
        let endpoint = listen(setup.bind, config)
            .map_err(|error| Failure::cannot_listen(setup.bind, error))?;
        let address = endpoint
            .local_addr()
            .map_err(|error| Failure::run(error.to_string()))?;
        Ok(Self {
            endpoint,
            fingerprint,
            is_one_off: setup.is_one_off,
            logged,
            shared: Arc::new(Shared::new(setup, address, log)),
        })
    }

    /// Where it listens.
    pub fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.endpoint.local_addr()
    }

    /// The SHA-256 fingerprint of the certificate that the server made itself.
    pub fn fingerprint(&self) -> Option<[u8; 32]> {
        self.fingerprint
    }

    /// Serves until `stop`, or until one run was made if that is wanted. Whatever runs then is
    /// ended cleanly.
    pub async fn serve(&self, stop: impl Future<Output = ()>) {
        let mut sessions = JoinSet::new();
        let mut number = 0_u64;
        let mut has_run = false;
        tokio::pin!(stop);
        loop {
            tokio::select! {
                biased;
                () = &mut stop => break,
                Some(ended) = sessions.join_next() => {
                    has_run |= matches!(ended, Ok(true));
                    // A run may have several connections.
                    if self.is_one_off && has_run && sessions.is_empty() {
                        break;
                    }
                }
                incoming = self.endpoint.accept() => {
                    let Some(incoming) = incoming else { break };
                    if let Some((incoming, permit)) = admit(&self.shared, incoming) {
                        number += 1;
                        let session = Session::new(Arc::clone(&self.shared), number, permit);
                        let config = self.logged.as_ref();
                        let config = config.and_then(|logged| logged.config(number));
                        sessions.spawn(session.serve(incoming, config));
                    }
                }
            }
        }
        self.endpoint
            .close(VarInt::from_u32(SHUTDOWN), b"server stopped");
        sessions.shutdown().await;
        self.shared.log_totals();
        // Until the closes have left; clients that do not get them notice by the silence.
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, self.endpoint.wait_idle()).await;
    }
}

/// The client with its permit, if it gets one now.
pub(crate) fn admit(shared: &Arc<Shared>, incoming: Incoming) -> Option<(Incoming, Permit)> {
    let address = incoming.remote_address();
    let prefix = ClientPrefix::of(address.ip());
    let is_validated = incoming.remote_address_validated() || !incoming.may_retry();
    match Permit::take(shared, clock::now(), prefix, is_validated) {
        Ok(permit) => Some((incoming, permit)),
        Err(Verdict::Refuse(limit)) => {
            refuse(shared, incoming, prefix, limit);
            None
        }
        Err(_) => {
            // It comes back at once if it exists.
            let _ = incoming.retry();
            None
        }
    }
}

fn refuse(shared: &Shared, incoming: Incoming, prefix: ClientPrefix, limit: LimitReached) {
    let address = incoming.remote_address();
    shared.log(
        prefix,
        Topic::Refusal,
        format_args!("Refused {address}: {limit}"),
    );
    incoming.refuse();
}

fn listen(bind: SocketAddr, config: ServerConfig) -> std::io::Result<Endpoint> {
    let socket = UdpSocket::bind(bind)?;
    let endpoint = Endpoint::new(endpoint_config(), Some(config), socket)?;
    // Clients and their windows are limited one by one, and a measurement by nothing else.
    endpoint.set_window_budget(u64::MAX);
    Ok(endpoint)
}

/// How long goodbyes may take: less than [`ANSWER`](bench_kit::interrupt::ANSWER).
const CLOSE_TIMEOUT: Duration = Duration::from_millis(600);

#[cfg(test)]
mod tests;
