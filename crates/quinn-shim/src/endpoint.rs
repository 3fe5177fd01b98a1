//! Endpoints, with the runtime that quinn asks for.

use crate::abstract_socket::{Adapted, AsyncUdpSocket};
use crate::config::{ClientConfig, ServerConfig};
use crate::connection::Connecting;
use crate::delegate::delegated;
use crate::incoming::Incoming;
use crate::named_future::named_futures;
use crate::runtime::{Runtime, TokioRuntime, default_runtime, refused};
use paceline::{ConnectError, EndpointConfig, EndpointStats, VarInt};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::ops::Deref;
use std::sync::Arc;
use tokio::runtime::Handle;

/// A [`paceline::Endpoint`] that is quinn's as well.
#[derive(Debug, Clone)]
pub struct Endpoint(paceline::Endpoint);

impl Endpoint {
    /// As [`paceline::Endpoint::client`].
    ///
    /// # Errors
    /// When the address cannot be bound, and outside a tokio runtime.
    pub fn client(addr: SocketAddr) -> io::Result<Self> {
        check_runtime(default_runtime().as_deref())?;
        paceline::Endpoint::client(addr).map(Self)
    }

    /// As [`paceline::Endpoint::server`].
    ///
    /// # Errors
    /// When the address cannot be bound, and outside a tokio runtime.
    pub fn server(config: ServerConfig, addr: SocketAddr) -> io::Result<Self> {
        check_runtime(default_runtime().as_deref())?;
        paceline::Endpoint::server(config.for_paceline(), addr).map(Self)
    }

    /// As [`paceline::Endpoint::new`], on the tokio runtime in which it is called; that is what
    /// `runtime`, a [`TokioRuntime`], stands for.
    ///
    /// # Errors
    /// As there, for any other `runtime`, and outside a tokio runtime.
    pub fn new(
        config: EndpointConfig,
        server_config: Option<ServerConfig>,
        socket: UdpSocket,
        runtime: Arc<dyn Runtime>,
    ) -> io::Result<Self> {
        check_runtime(Some(&*runtime))?;
        let server_config = server_config.map(|config| config.for_paceline());
        paceline::Endpoint::new(config, server_config, socket).map(Self)
    }

    /// As [`paceline::Endpoint::with_socket`], with quinn's trait.
    ///
    /// # Errors
    /// As there, and as [`new`](Self::new).
    pub fn new_with_abstract_socket(
        config: EndpointConfig,
        server_config: Option<ServerConfig>,
        socket: Arc<dyn AsyncUdpSocket>,
        runtime: Arc<dyn Runtime>,
    ) -> io::Result<Self> {
        check_runtime(Some(&*runtime))?;
        let server_config = server_config.map(|config| config.for_paceline());
        paceline::Endpoint::with_socket(config, server_config, Adapted::new(socket)).map(Self)
    }

    /// As [`paceline::Endpoint::rebind_with_socket`], with quinn's trait.
    ///
    /// # Errors
    /// As there.
    pub fn rebind_abstract(&self, socket: Arc<dyn AsyncUdpSocket>) -> io::Result<()> {
        self.0.rebind_with_socket(Adapted::new(socket))
    }

    /// As [`paceline::Endpoint::accept`].
    pub fn accept(&self) -> Accept<'_> {
        Accept(Box::pin(async { self.0.accept().await.map(Incoming) }))
    }

    /// As [`paceline::Endpoint::set_default_client_config`].
    pub fn set_default_client_config(&mut self, config: ClientConfig) {
        self.0.set_default_client_config(config.for_paceline());
    }

    /// As [`paceline::Endpoint::connect`].
    ///
    /// # Errors
    /// As there.
    pub fn connect(&self, addr: SocketAddr, server_name: &str) -> Result<Connecting, ConnectError> {
        self.0.connect(addr, server_name).map(Connecting)
    }

    /// As [`paceline::Endpoint::connect_with`].
    ///
    /// # Errors
    /// As there.
    pub fn connect_with(
        &self,
        config: ClientConfig,
        addr: SocketAddr,
        server_name: &str,
    ) -> Result<Connecting, ConnectError> {
        let connecting = self
            .0
            .connect_with(config.for_paceline(), addr, server_name);
        connecting.map(Connecting)
    }

    /// As [`paceline::Endpoint::wait_idle`].
    pub async fn wait_idle(&self) {
        self.0.wait_idle().await;
    }

    /// As [`paceline::Endpoint::set_server_config`].
    pub fn set_server_config(&self, config: Option<ServerConfig>) {
        let config = config.map(|config| config.for_paceline());
        self.0.set_server_config(config);
    }
}

delegated! { Endpoint:
    close(code: VarInt, reason: &[u8]);
    local_addr() -> io::Result<SocketAddr>;
    open_connections() -> usize;
    rebind(socket: UdpSocket) -> io::Result<()>;
    stats() -> EndpointStats;
}

impl Deref for Endpoint {
    type Target = paceline::Endpoint;

    fn deref(&self) -> &paceline::Endpoint {
        &self.0
    }
}

named_futures! {
    /// The future of [`Endpoint::accept`].
    Accept -> Option<Incoming>;
}

/// Whether an endpoint can run: on tokio, here.
fn check_runtime(runtime: Option<&dyn Runtime>) -> io::Result<()> {
    if let Some(runtime) = runtime
        && !runtime.is_tokio()
    {
        let what = format!("runtime {runtime:?}");
        return Err(refused(&what, &format!("{TokioRuntime:?}")));
    }
    Handle::try_current().map(|_| ()).map_err(io::Error::other)
}
