//! Endpoints: a UDP socket, its connections, and the one task that moves them.

mod deadlines;
mod incoming;
mod inner;
#[cfg(feature = "metrics")]
mod metrics;
mod newcomers;
mod receive;
mod table;
mod task;
#[cfg(feature = "metrics")]
mod unreported;

#[cfg(feature = "metrics")]
pub use self::metrics::EndpointMetrics;
pub use incoming::{Incoming, IncomingFuture, RetryError};
pub use table::{EndpointStats, TimerStats};

use crate::clock;
use crate::config::{ClientConfig, ServerConfig};
use crate::connection::Connecting;
use crate::datagram_socket::DatagramSocket;
use crate::lock::Lock;
#[cfg(feature = "testing")]
use crate::random;
use crate::shard_routing::Membership;
use crate::socket::Socket;
#[cfg(feature = "testing")]
use crate::virtual_time;
use bytes::Bytes;
use inner::{EndpointLease, Inner};
use quinn_proto::{ConnectError, EndpointConfig, VarInt};
use socket2::{Domain, Protocol, Type};
use std::io;
use std::net::{SocketAddr, SocketAddrV6};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use table::Table;
use task::Task;
use tokio::sync::Notify;
use tracing::Instrument;

/// A UDP socket with its connections, in either role or both.
///
/// Clones are handles to the same endpoint. One task, spawned on the tokio runtime in which the
/// endpoint was made, does all of its work. It ends when the last handle and the last connection
/// are gone; handles of a connection keep that connection going, not the ability to accept. The
/// socket is closed with it, a moment after the last handle: bind its address again with retries.
///
/// What it logs is in a `tracing` span `endpoint`, what concerns a connection in one more,
/// `connection`, a child of the span in which the application connected or accepted. Both are of
/// level `debug`.
#[derive(Debug, Clone)]
pub struct Endpoint {
    lease: EndpointLease,
    default_client_config: Option<ClientConfig>,
}

impl Endpoint {
    /// An endpoint that makes connections, bound to the local address `bind`: usually
    /// `0.0.0.0:0` or `[::]:0`. An IPv6 socket reaches IPv4 peers, too, where the system allows.
    ///
    /// # Errors
    /// When the address cannot be bound.
    ///
    /// # Panics
    /// Outside a tokio runtime, or in one without I/O.
    pub fn client(bind: SocketAddr) -> io::Result<Self> {
        #[cfg(feature = "testing")]
        if let Some(socket) = virtual_time::with(|world| world.bind(bind)) {
            return Self::with_socket(EndpointConfig::default(), None, socket?);
        }
        let domain = Domain::for_address(bind);
        let socket = socket2::Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
        if bind.is_ipv6()
            && let Err(error) = socket.set_only_v6(false)
        {
            tracing::debug!(%error, "this socket will not reach IPv4 peers");
        }
        socket.bind(&bind.into())?;
        Self::new(EndpointConfig::default(), None, socket.into())
    }

    /// An endpoint that accepts connections at the local address `bind`, and can make some.
    ///
    /// # Errors
    /// When the address cannot be bound.
    ///
    /// # Panics
    /// Outside a tokio runtime, or in one without I/O.
    pub fn server(config: ServerConfig, bind: SocketAddr) -> io::Result<Self> {
        #[cfg(feature = "testing")]
        if let Some(socket) = virtual_time::with(|world| world.bind(bind)) {
            return Self::with_socket(EndpointConfig::default(), Some(config), socket?);
        }
        let socket = std::net::UdpSocket::bind(bind)?;
        Self::new(EndpointConfig::default(), Some(config), socket)
    }

    /// An endpoint on a socket of the application's; with `server_config`, it accepts.
    ///
    /// # Errors
    /// When the socket lacks an option that QUIC needs, or at the limit of open files.
    ///
    /// # Panics
    /// Outside a tokio runtime, or in one without I/O.
    pub fn new(
        config: EndpointConfig,
        server_config: Option<ServerConfig>,
        socket: std::net::UdpSocket,
    ) -> io::Result<Self> {
        Self::in_group(config, server_config, Socket::new(socket)?, None)
    }

    /// An endpoint on what the application has in place of a UDP socket; with `server_config`, it
    /// accepts. See [`DatagramSocket`] for what such a socket has to do, and what it loses.
    ///
    /// # Examples
    /// A UDP socket that loses every tenth datagram:
    ///
    /// ```
    /// use paceline::{ArrivedDatagrams, DatagramBatch, DatagramSocket, Endpoint, EndpointConfig};
    /// use std::io;
    /// use std::net::{Ipv4Addr, SocketAddr};
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// use std::task::{Context, Poll, ready};
    /// use tokio::{io::ReadBuf, net::UdpSocket};
    ///
    /// #[derive(Debug)]
    /// struct Lossy(UdpSocket, AtomicU64);
    ///
    /// impl DatagramSocket for Lossy {
    ///     fn local_addr(&self) -> io::Result<SocketAddr> {
    ///         self.0.local_addr()
    ///     }
    ///
    ///     fn try_send(&self, batch: &DatagramBatch<'_>) -> io::Result<()> {
    ///         if self.1.fetch_add(1, Ordering::Relaxed) % 10 == 9 {
    ///             return Ok(());
    ///         }
    ///         self.0.try_send_to(batch.contents, batch.destination).map(drop)
    ///     }
    ///
    ///     fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<()> {
    ///         self.0.poll_send_ready(cx).map(drop)
    ///     }
    ///
    ///     fn poll_recv(
    ///         &self,
    ///         cx: &mut Context<'_>,
    ///         buffer: &mut [u8],
    ///     ) -> Poll<io::Result<ArrivedDatagrams>> {
    ///         let mut datagram = ReadBuf::new(buffer);
    ///         let source = ready!(self.0.poll_recv_from(cx, &mut datagram))?;
    ///         Poll::Ready(Ok(ArrivedDatagrams::one(datagram.filled().len(), source)))
    ///     }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> io::Result<()> {
    /// let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    /// let socket = Arc::new(Lossy(socket, AtomicU64::new(0)));
    /// let client = Endpoint::with_socket(EndpointConfig::default(), None, socket)?;
    /// # drop(client);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the socket has no address, or at the limit of open files.
    ///
    /// # Panics
    /// Outside a tokio runtime, or in one without I/O.
    pub fn with_socket(
        config: EndpointConfig,
        server_config: Option<ServerConfig>,
        socket: Arc<dyn DatagramSocket>,
    ) -> io::Result<Self> {
        Self::in_group(config, server_config, Socket::own(socket)?, None)
    }

    /// As [`new`](Self::new), one of the shards behind one address with `membership`.
    pub(crate) fn in_group(
        config: EndpointConfig,
        server_config: Option<ServerConfig>,
        socket: Socket,
        membership: Option<Membership>,
    ) -> io::Result<Self> {
        if let Some(config) = &server_config {
            let checked = config.transport.check();
            checked.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        }
        #[cfg(feature = "testing")]
        let config = seeded(config);
        let proto = quinn_proto::Endpoint::new(
            Arc::new(config),
            // The table sets it.
            None,
            !socket.may_fragment(),
            None,
        );
        let queue = membership.as_ref().map(Membership::queue);
        let queue = queue.map_or_else(Arc::default, Arc::clone);
        let table = Table::new(proto, server_config.map(Arc::new), Arc::clone(&queue));
        let inner = Arc::new(Inner {
            table: Lock::new(table),
            socket: Lock::new(Arc::new(socket)),
            rebinds: AtomicU64::new(0),
            membership,
            queue,
            lateness: Arc::default(),
            incoming: Notify::new(),
            idle: Notify::new(),
            is_abandoned: AtomicBool::new(false),
        });
        let span = tracing::debug_span!("endpoint", local = %inner.socket().local_addr()?);
        tokio::spawn(Task::new(Arc::clone(&inner))?.instrument(span));
        Ok(Self {
            lease: EndpointLease::new(inner),
            default_client_config: None,
        })
    }

    /// The next connection attempt; `None` once the endpoint is [`close`](Self::close)d, and when
    /// it is [`drain`](Self::drain)ed and has no more.
    ///
    /// # Cancel safety
    /// If this does not resolve, no attempt was taken.
    pub async fn accept(&self) -> Option<Incoming> {
        loop {
            let arrived = {
                let mut table = self.lease.table();
                if let Some((proto, config)) = table.incoming.pop_front() {
                    return Some(Incoming::new(proto, config, self.lease.clone()));
                }
                if table.is_lost || table.closed.is_some() || table.is_draining {
                    return None;
                }
                self.lease.incoming.notified()
            };
            arrived.await;
        }
    }

    /// Sets the configuration that [`connect`](Self::connect) uses, for this handle and clones of
    /// it made from now on.
    pub fn set_default_client_config(&mut self, config: ClientConfig) {
        self.default_client_config = Some(config);
    }

    /// Connects to `address`, whose certificate has to be valid for `server_name`.
    ///
    /// # Errors
    /// When that cannot even be tried: no default configuration, an address of the wrong kind, a
    /// name that is no DNS name, or a closed endpoint. Whatever the network does comes out of
    /// the [`Connecting`].
    pub fn connect(
        &self,
        address: SocketAddr,
        server_name: &str,
    ) -> Result<Connecting, ConnectError> {
        let config = self.default_client_config.as_ref();
        let config = config.ok_or(ConnectError::NoDefaultClientConfig)?.clone();
        self.connect_with(config, address, server_name)
    }

    /// As [`connect`](Self::connect), with this configuration.
    ///
    /// # Errors
    /// As there.
    pub fn connect_with(
        &self,
        config: ClientConfig,
        address: SocketAddr,
        server_name: &str,
    ) -> Result<Connecting, ConnectError> {
        let is_ipv6 = self.lease.socket().is_ipv6();
        let remote = match (address, is_ipv6) {
            (SocketAddr::V6(_), false) => return Err(ConnectError::InvalidRemoteAddress(address)),
            (SocketAddr::V4(v4), true) => {
                SocketAddrV6::new(v4.ip().to_ipv6_mapped(), v4.port(), 0, 0).into()
            }
            _ => address,
        };
        let mut table = self.lease.table();
        if table.is_lost || table.closed.is_some() {
            return Err(ConnectError::EndpointStopping);
        }
        let now = clock::now();
        let (config, driver) = config.for_connection(server_name);
        let (handle, conn) = table.proto.connect(now, config, remote, server_name)?;
        table.stats.outgoing_handshakes += 1;
        Ok(Connecting::new(table.insert(handle, conn, driver, now)))
    }

    /// Goes on over another UDP socket, with all connections.
    ///
    /// Servers learn the new address from the next packet and validate it (RFC 9000 §9); clients
    /// of this endpoint know only the old one, and are lost unless the new socket has it. What
    /// still arrives at the old socket is taken until something has arrived at the new one.
    ///
    /// # Errors
    /// When the socket lacks an option that QUIC needs. The old one is kept.
    ///
    /// # Panics
    /// Outside a tokio runtime, or in one without I/O.
    pub fn rebind(&self, socket: std::net::UdpSocket) -> io::Result<()> {
        self.go_on_over(Socket::new(socket)?);
        Ok(())
    }

    /// As [`rebind`](Self::rebind), over a socket of the application's, whichever it was before.
    ///
    /// # Errors
    /// When the socket has no address. The old one is kept.
    pub fn rebind_with_socket(&self, socket: Arc<dyn DatagramSocket>) -> io::Result<()> {
        self.go_on_over(Socket::own(socket)?);
        Ok(())
    }

    fn go_on_over(&self, socket: Socket) {
        let socket = socket.in_place_of(&self.lease.socket());
        let table = self.lease.table();
        *self.lease.lock_socket() = Arc::new(socket);
        self.lease.rebinds.fetch_add(1, Ordering::Release);
        for connection in table.iter() {
            connection.lock().driver.conn().local_address_changed();
            connection.schedule();
        }
        drop(table);
        self.lease.queue.wake();
    }

    /// Replaces the configuration for attempts that arrive from now on; `None` accepts no more.
    ///
    /// ```
    /// use paceline::{Endpoint, tls};
    /// use std::error::Error;
    ///
    /// /// A new certificate, for connections from now on.
    /// fn renew(endpoint: &Endpoint) -> Result<(), Box<dyn Error>> {
    ///     let certificate = tls::SelfSigned::generate(["localhost"])?;
    ///     endpoint.set_server_config(Some(certificate.server().config()?));
    ///     Ok(())
    /// }
    /// ```
    pub fn set_server_config(&self, config: Option<ServerConfig>) {
        let mut table = self.lease.table();
        table.set_server_config(config.map(Arc::new));
    }

    /// Most bytes by which the flow-control windows of all connections grow, in both directions
    /// together. Default 1 GiB.
    ///
    /// What connections begin with comes on top. A connection gives back what it no longer needs
    /// round trip by round trip, and the rest when it ends. A smaller budget takes nothing away.
    pub fn set_window_budget(&self, bytes: u64) {
        self.lease.table().budget.set_limit(bytes);
    }

    /// The local address.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.lease.socket().local_addr()
    }

    /// Counters at this moment.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let endpoint = paceline::Endpoint::client("127.0.0.1:0".parse()?)?;
    /// let stats = endpoint.stats();
    /// println!("{} attempts, {} send errors", stats.outgoing_handshakes, stats.send_errors);
    /// assert_eq!(endpoint.open_connections(), 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn stats(&self) -> EndpointStats {
        let lateness = &self.lease.lateness;
        let socket = self.lease.socket();
        let (stats, window_growth) = {
            let table = self.lease.table();
            (table.stats, table.budget.used())
        };
        EndpointStats {
            send_errors: socket.send_errors(),
            send_blocked: socket.send_blocked(),
            timer: TimerStats {
                count: lateness.count(),
                p50: lateness.quantile(50),
                p99: lateness.quantile(99),
            },
            window_growth,
            ..stats
        }
    }

    /// Has the endpoint report what it counts to the crate `metrics`, with `name` in the label
    /// `endpoint`: a name of its role, such as `public` or `upstream`.
    ///
    /// Whatever the endpoint and its open connections have counted before is in the first report.
    /// Connections that have ended before are missing from it, so this is best called at once.
    #[cfg(feature = "metrics")]
    pub fn metrics(&self, name: impl Into<String>) -> EndpointMetrics {
        self.labelled_metrics(vec![::metrics::Label::new("endpoint", name.into())])
    }

    /// The same with these labels on everything.
    #[cfg(feature = "metrics")]
    pub(crate) fn labelled_metrics(&self, labels: Vec<::metrics::Label>) -> EndpointMetrics {
        EndpointMetrics::new(self.lease.inner(), labels)
    }

    /// How many connections are open, closing ones among them.
    pub fn open_connections(&self) -> usize {
        self.lease.table().proto.open_connections()
    }

    /// Closes all connections at once, and accepts and makes no more. See
    /// [`Connection::close`](crate::Connection::close).
    pub fn close(&self, code: VarInt, reason: &[u8]) {
        let reason = Bytes::copy_from_slice(reason);
        let mut table = self.lease.table();
        table.closed = Some((code, reason.clone()));
        for connection in table.iter() {
            connection.close(code, reason.clone());
        }
        drop(table);
        self.lease.incoming.notify_waiters();
        self.lease.queue.wake();
    }

    /// Accepts no more, while the connections that there are go on:
    /// [`wait_idle`](Self::wait_idle) returns when the last of them has ended. There is no way
    /// back. [`connect`](Self::connect) still works.
    ///
    /// [`accept`](Self::accept) gives the attempts that have arrived, then `None`. Later ones get
    /// no answer, so that the client sends its first packet again, a second later and then at
    /// doubled intervals, and a balancer can have moved it to another server by then. To refuse
    /// them would end them (RFC 9000 §5.2.2 allows both). Refused are those that bring the token
    /// of a [Retry](Incoming::retry): the connection ID that came with it leads here, whatever a
    /// balancer does.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let certificate = paceline::tls::SelfSigned::generate(["localhost"])?;
    /// # let config = certificate.server().config()?;
    /// # let server = paceline::Endpoint::server(config, "127.0.0.1:0".parse()?)?;
    /// use std::time::Duration;
    /// use tokio::time::timeout;
    ///
    /// server.drain();
    /// assert!(server.accept().await.is_none());
    /// if timeout(Duration::from_secs(30), server.wait_idle()).await.is_err() {
    ///     server.close(0_u32.into(), b"the server is shutting down");
    ///     server.wait_idle().await;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn drain(&self) {
        self.lease.table().is_draining = true;
        self.lease.incoming.notify_waiters();
    }

    /// Waits until no connection is left, not even one that is closing, which takes three probe
    /// timeouts (RFC 9000 §10.2), 3 s before a round trip is measured: a program that ends before
    /// may leave its peers to their idle timeouts. It may be dropped at any time.
    pub async fn wait_idle(&self) {
        loop {
            let idle = {
                let table = self.lease.table();
                if table.is_empty() {
                    return;
                }
                self.lease.idle.notified()
            };
            idle.await;
        }
    }
}

/// In virtual time all that an endpoint draws comes from the simulation's seed.
#[cfg(feature = "testing")]
fn seeded(mut config: EndpointConfig) -> EndpointConfig {
    virtual_time::with(|_| {
        let mut seed = [0; 32];
        random::fill(&mut seed);
        config.rng_seed(Some(seed));
    });
    config
}
