//! From a plan to a connection.

use super::port_check::{self, unspecified};
use bench_kit::plan::{Controllers, Plan, Turn};
use bench_kit::qlog::Qlog;
use bench_kit::token::Token;
use bench_kit::transfer::LocalFile;
use bench_kit::wire::ALPN;
use bench_kit::{close_reason, perf, transport_settings};
use link_sim::relay::explain_bind;
use paceline::tls::{self, Cipher, ClientTls};
use paceline::{
    ClientConfig, Connection, Endpoint, EndpointConfig, KernelPacing, PathMemory, TransportConfig,
};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Everything that a run needs to know.
#[derive(Debug, Clone)]
pub(crate) struct ClientSetup {
    pub(crate) remote: Remote,
    /// What all connections do together.
    pub(crate) plan: Plan,
    /// How many connections there are, each with a socket of its own.
    pub(crate) connections: u32,
    pub(crate) controllers: Controllers,
    /// What the one stream of the run sends, or where what it receives goes.
    pub(crate) file: Option<LocalFile>,
    /// Whether the server speaks `perf` and knows no plan.
    pub(crate) is_perf: bool,
    pub(crate) cipher: Option<Cipher>,
    pub(crate) mtu: Option<u16>,
    pub(crate) kernel_pacing: KernelPacing,
    pub(crate) connect_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) seed: u64,
    /// Where a qlog of each connection is written; `None` writes none.
    pub(crate) qlog: Option<Qlog>,
    /// Whether new connections are made beside the load, and timed.
    pub(crate) makes_probes: bool,
    /// What the connections know of their paths when they begin; without, nothing.
    pub(crate) memories: Vec<Option<PathMemory>>,
}

/// A server, and how to reach it. Displayed for messages.
#[derive(Debug, Clone)]
pub(crate) struct Remote {
    /// Where packets go to: the server, or the relay in front of it.
    pub(crate) target: SocketAddr,
    /// The server itself, where it can be asked whether anything listens: not behind a relay
    /// elsewhere.
    pub(crate) server: Option<SocketAddr>,
    /// The server as the user wrote it, for messages and for its certificate's name.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) trust: Trust,
    /// What the server wants its clients to know.
    pub(crate) token: Option<Token>,
    pub(crate) bind: Option<IpAddr>,
    /// The first connection's port, the next one's and so on; `None` is any.
    pub(crate) first_port: Option<u16>,
    /// How long a run waits for its turn where the server has as many as it takes; `None` is not
    /// at all.
    pub(crate) turn: Option<Turn>,
}

impl fmt::Display for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// Which servers a client takes.
#[derive(Debug, Clone)]
pub(crate) enum Trust {
    /// All of them.
    Anyone,
    /// The one whose certificate has this SHA-256 fingerprint.
    Fingerprint([u8; 32]),
    /// Those that these certificates, in PEM, vouch for.
    Authorities(Vec<u8>),
}

impl ClientSetup {
    fn tls(&self, number: u32) -> Result<ClientConfig, String> {
        let tls: ClientTls = match &self.remote.trust {
            Trust::Anyone => tls::client_without_verification(),
            Trust::Fingerprint(fingerprint) => tls::client_with_fingerprint(*fingerprint),
            Trust::Authorities(pem) => {
                tls::client_with_ca(pem).map_err(|error| format!("--ca: {error}"))?
            }
        };
        let tls = match self.cipher {
            Some(cipher) => tls.cipher(cipher),
            None => tls,
        };
        let mut config = tls
            .alpn(&[if self.is_perf { perf::ALPN } else { ALPN }])
            .key_log()
            .config()
            .map_err(|error| format!("--ca: {error}"))?;
        config
            .transport_config(Arc::new(self.transport(number)))
            // No run begins with what another one has learned, unless that is asked for.
            .path_store(None);
        Ok(config)
    }

    fn transport(&self, number: u32) -> TransportConfig {
        let mut config =
            transport_settings::of_plan(&self.plan, &self.controllers.client, self.idle_timeout);
        config
            .path_memory(self.memories.get(number as usize).copied().flatten())
            .congestion_seed(self.seed)
            .kernel_pacing(self.kernel_pacing)
            .handshake_timeout(Some(self.connect_timeout));
        // Those beyond are probes, many and short.
        let qlog = self.qlog.as_ref().filter(|_| number < self.connections);
        if let Some(qlog) = qlog {
            let controller = self.controllers.client.to_string();
            config.qlog_stream(qlog.connection("client", u64::from(number) + 1, &controller));
        }
        if let Some(mtu) = self.mtu {
            transport_settings::fix_mtu(&mut config, mtu);
        }
        config
    }
}

/// A connection, and what has to live as long.
pub(super) struct Connected {
    pub(super) endpoint: Endpoint,
    pub(super) connection: Connection,
    pub(super) local: SocketAddr,
    /// What the socket is bound to.
    pub(super) bound: SocketAddr,
}

impl Connected {
    /// The client's address and the server's.
    pub(super) fn addresses(&self) -> (SocketAddr, SocketAddr) {
        (self.local, self.connection.remote_address())
    }
}

/// Connects within the setup's timeout; `number` is that of the connection, from 0, for
/// what it knows of its path.
pub(super) async fn connect(setup: &ClientSetup, number: u32) -> Result<Connected, String> {
    let config = setup.tls(number)?;
    let endpoint = endpoint(setup, number)?;
    let server = setup.remote.to_string();
    let connecting = endpoint
        .connect_with(config, setup.remote.target, &setup.remote.host)
        .map_err(|error| format!("cannot connect to {server}: {error}"))?;
    let answered = tokio::select! {
        biased;
        answered = timeout(setup.connect_timeout, connecting) => answered,
        () = port_check::refused(setup.remote.server, None) => {
            return Err(close_reason::port_closed(&server));
        }
    };
    let connection = answered
        .map_err(|_| close_reason::no_answer(&server))?
        .map_err(|error| match (&error, &setup.remote.trust) {
            (error, Trust::Fingerprint(_)) if close_reason::is_tls_error(error) => {
                format!(
                    "the certificate of {server} does not match --fingerprint; use the one \
                     that bench-server prints"
                )
            }
            (error, Trust::Authorities(_)) if close_reason::is_tls_error(error) => {
                format!("the certificate of {server} cannot be verified with --ca: {error}")
            }
            (error, _) if setup.is_perf && close_reason::is_alpn_error(error) => {
                format!(
                    "{server} does not support ALPN `perf`; leave out --perf for a \
                     bench-server"
                )
            }
            (error, _) => close_reason::not_connected(error, &server),
        })?;
    let bound = endpoint.local_addr().map_err(|error| error.to_string())?;
    let ip = connection
        .local_ip()
        .or_else(|| local_ip(setup.remote.target));
    Ok(Connected {
        local: SocketAddr::new(ip.unwrap_or_else(|| bound.ip()), bound.port()),
        bound,
        endpoint,
        connection,
    })
}

/// The address from which this machine sends to `target`; nothing is sent.
fn local_ip(target: SocketAddr) -> Option<IpAddr> {
    let socket = std::net::UdpSocket::bind(unspecified(target)).ok()?;
    socket.connect(target).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

/// A socket of the target's family, and what it accepts.
fn endpoint(setup: &ClientSetup, number: u32) -> Result<Endpoint, String> {
    let bind = setup
        .remote
        .bind
        .unwrap_or_else(|| unspecified(setup.remote.target).ip());
    // Those beyond are probes, many and short.
    let first = setup
        .remote
        .first_port
        .filter(|_| number < setup.connections);
    let port = first.map_or(0, |first| {
        first.saturating_add(u16::try_from(number).unwrap_or(u16::MAX))
    });
    let address = SocketAddr::new(bind, port);
    let cannot = |error: std::io::Error| {
        let why = explain_bind(address, error, "--cport", "-B");
        match port {
            0 => format!("cannot send from {bind}: {why}"),
            _ => format!("cannot send from {bind} port {port}: {why}"),
        }
    };
    let socket = std::net::UdpSocket::bind(address).map_err(cannot)?;
    let mut config = EndpointConfig::default();
    // The server's packets grow to what this allows.
    let mtu = setup.mtu.unwrap_or(transport_settings::USUAL_PAYLOAD);
    config
        .max_udp_payload_size(mtu)
        .map_err(|error| format!("--mtu {mtu}: {error}"))?;
    Endpoint::new(config, None, socket).map_err(cannot)
}
