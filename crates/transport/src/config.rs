//! Configuration: quinn's, with the congestion controller chosen by name.

mod bounded;
mod defaults;
mod ranges;
mod transport;

use crate::choice::ChooseController;
use crate::clock::WallClock;
use crate::driver::DriverConfig;
use crate::path_memory::{PathMemory, PathStore};
pub use bounded::{MtuDiscoveryConfig, ValidationTokenConfig};
use quinn_proto::crypto::{self, HandshakeTokenKey};
use quinn_proto::{ConnectionId, TimeSource, TokenMemoryCache, TokenStore};
use std::fmt;
use std::net::{SocketAddrV4, SocketAddrV6};
use std::sync::Arc;
use std::time::Duration;
pub use transport::TransportConfig;

/// Configuration of outgoing connections.
///
/// ```
/// use paceline::tls;
///
/// // By the certificate's fingerprint; `client_with_ca` trusts authorities.
/// let certificate = tls::SelfSigned::generate(["localhost"])?;
/// let mut config = tls::client_with_fingerprint(certificate.fingerprint).config()?;
/// config.congestion("bbr3")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ClientConfig {
    crypto: Arc<dyn crypto::ClientConfig>,
    token_store: Arc<dyn TokenStore>,
    initial_dst_cid_provider: Option<Arc<dyn Fn() -> ConnectionId + Send + Sync>>,
    version: Option<u32>,
    path_store: Option<Arc<PathStore>>,
    transport: Arc<TransportConfig>,
}

impl ClientConfig {
    /// The given cryptography, such as a
    /// [`QuicClientConfig`](quinn_proto::crypto::rustls::QuicClientConfig), with the default
    /// transport; [`tls`](crate::tls) makes the common cases.
    pub fn new(crypto: Arc<dyn crypto::ClientConfig>) -> Self {
        Self {
            crypto,
            token_store: Arc::new(TokenMemoryCache::default()),
            initial_dst_cid_provider: None,
            version: None,
            path_store: Some(Arc::default()),
            transport: Arc::default(),
        }
    }

    /// Where address-validation tokens of servers are kept. Default: in memory.
    pub fn token_store(&mut self, store: Arc<dyn TokenStore>) -> &mut Self {
        self.token_store = store;
        self
    }

    /// Makes the first packet's destination connection ID: at least 8 unpredictable bytes
    /// (RFC 9000 §7.2).
    pub fn initial_dst_cid_provider(
        &mut self,
        provider: Arc<dyn Fn() -> ConnectionId + Send + Sync>,
    ) -> &mut Self {
        self.initial_dst_cid_provider = Some(provider);
        self
    }

    /// QUIC version to speak. Default 1.
    pub fn version(&mut self, version: u32) -> &mut Self {
        self.version = Some(version);
        self
    }

    /// Where memories of paths are kept, by the server's name as sessions are, so that a connection
    /// to a server of before resumes what the path carried (RFC 9959). Default: in memory, shared
    /// by clones of the configuration; `None` turns it off. A memory that was
    /// [given](TransportConfig::path_memory) comes before it.
    pub fn path_store(&mut self, store: Option<Arc<PathStore>>) -> &mut Self {
        self.path_store = store;
        self
    }

    pub(crate) fn for_connection(
        &self,
        server_name: &str,
    ) -> (quinn_proto::ClientConfig, DriverConfig) {
        let (transport, mut driver) = self.transport.for_connection();
        driver.is_validated = true;
        driver.resume.store = self.path_store.clone();
        driver.resume.server_name = Some(server_name.to_owned());
        let crypto = driver.congestion.tap().client(self.crypto.clone());
        let mut config = quinn_proto::ClientConfig::new(crypto);
        config
            .token_store(self.token_store.clone())
            .transport_config(transport);
        if let Some(provider) = &self.initial_dst_cid_provider {
            config.initial_dst_cid_provider(provider.clone());
        }
        if let Some(version) = self.version {
            config.version(version);
        }
        (config, driver)
    }
}

impl fmt::Debug for ClientConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientConfig")
            .field("version", &self.version)
            .field("transport", &self.transport)
            .finish_non_exhaustive()
    }
}

/// Configuration of incoming connections.
///
/// ```
/// use paceline::tls;
///
/// let certificate = tls::SelfSigned::generate(["localhost"])?;
/// let mut config = certificate.server().alpn(&[b"chat/1"]).config()?;
/// // Clients with other protocols are refused; at most so many attempts wait to be accepted.
/// config.max_incoming(1_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct ServerConfig {
    proto: quinn_proto::ServerConfig,
    path_store: Option<Arc<PathStore>>,
    /// How accepted connections behave.
    pub transport: Arc<TransportConfig>,
}

impl ServerConfig {
    /// The given cryptography, such as a
    /// [`QuicServerConfig`](quinn_proto::crypto::rustls::QuicServerConfig), with the default
    /// transport and a random key for address-validation tokens.
    pub fn with_crypto(crypto: Arc<dyn crypto::ServerConfig>) -> Self {
        Self::of(quinn_proto::ServerConfig::with_crypto(crypto))
    }

    /// As [`with_crypto`](Self::with_crypto), with this key for address-validation tokens.
    pub fn new(
        crypto: Arc<dyn crypto::ServerConfig>,
        token_key: Arc<dyn HandshakeTokenKey>,
    ) -> Self {
        Self::of(quinn_proto::ServerConfig::new(crypto, token_key))
    }

    fn of(mut proto: quinn_proto::ServerConfig) -> Self {
        proto.time_source(Arc::new(WallClock));
        Self {
            proto,
            path_store: None,
            transport: Arc::default(),
        }
    }

    /// Where memories of paths are kept, by the client's network (an IPv4 /24 or an IPv6 /48), so
    /// that what is sent to a client of before resumes what the path carried (RFC 9959). Default
    /// `None`. Where many clients share a network, as behind a carrier's NAT, the paths to them are
    /// not one.
    pub fn path_store(&mut self, store: Option<Arc<PathStore>>) -> &mut Self {
        self.path_store = store;
        self
    }

    /// Replaces the cryptography, with the certificates that it has. The key for
    /// address-validation tokens stays as it is.
    pub fn crypto(&mut self, crypto: Arc<dyn crypto::ServerConfig>) -> &mut Self {
        self.proto.crypto = crypto;
        self
    }

    /// How long a Retry token is valid; more than a hundred years are as many. Default 15 s.
    pub fn retry_token_lifetime(&mut self, value: Duration) -> &mut Self {
        self.proto.retry_token_lifetime(ranges::lifetime(value));
        self
    }

    /// Address-validation tokens for later connections. Default: two for each client, valid for
    /// two weeks; those that came back are remembered in a Bloom filter of at most 20 MiB.
    pub fn validation_token_config(&mut self, value: ValidationTokenConfig) -> &mut Self {
        self.proto.validation_token_config(value.proto());
        self
    }

    /// quinn-proto's part, for what concerns the endpoint as a whole.
    pub(crate) fn for_endpoint(&self) -> Arc<quinn_proto::ServerConfig> {
        Arc::new(self.proto.clone())
    }

    /// The same for an endpoint that takes no attempts, which drops their first packets before it
    /// derives keys.
    pub(crate) fn for_shut_endpoint(&self) -> Arc<quinn_proto::ServerConfig> {
        let mut config = self.proto.clone();
        config.max_incoming(0);
        Arc::new(config)
    }

    pub(crate) fn for_connection(&self) -> (Arc<quinn_proto::ServerConfig>, DriverConfig) {
        let (transport, mut driver) = self.transport.for_connection();
        driver.resume.store = self.path_store.clone();
        let mut config = self.proto.clone();
        config.crypto = driver.congestion.tap().server(config.crypto);
        config.transport = transport;
        (Arc::new(config), driver)
    }
}

macro_rules! transport_setters {
    ($($config:ident),*) => {$(
        impl $config {
            /// Replaces the transport configuration.
            pub fn transport_config(&mut self, transport: Arc<TransportConfig>) -> &mut Self {
                self.transport = transport;
                self
            }

            /// As [`TransportConfig::congestion`], without a change to the rest of the
            /// transport configuration.
            ///
            /// # Errors
            /// When a string names no controller.
            pub fn congestion<C: ChooseController>(&mut self, choice: C) -> C::Chosen<&mut Self> {
                choice.choose_controller(|choice| {
                    Arc::make_mut(&mut self.transport).congestion(choice);
                    self
                })
            }

            /// As [`TransportConfig::path_memory`], without a change to the rest of the transport
            /// configuration.
            pub fn path_memory(&mut self, memory: Option<PathMemory>) -> &mut Self {
                Arc::make_mut(&mut self.transport).path_memory(memory);
                self
            }

            /// As [`TransportConfig::handshake_timeout`], without a change to the rest of the
            /// transport configuration.
            pub fn handshake_timeout(&mut self, timeout: Option<Duration>) -> &mut Self {
                Arc::make_mut(&mut self.transport).handshake_timeout(timeout);
                self
            }
        }
    )*};
}

transport_setters!(ClientConfig, ServerConfig);

/// Setters that quinn-proto's configuration has as they are.
macro_rules! delegated_setters {
    ($config:ident: $($(#[$doc:meta])* $name:ident: $type:ty;)*) => {
        impl $config {$(
            $(#[$doc])*
            pub fn $name(&mut self, value: $type) -> &mut Self {
                self.proto.$name(value);
                self
            }
        )*}
    };
}

delegated_setters! { ServerConfig:
    /// Most attempts that wait to be accepted; further ones are not answered. Default 65,536.
    max_incoming: usize;
    /// Most bytes held for one attempt that waits to be accepted. Default 10 MiB.
    incoming_buffer_size: u64;
    /// Most bytes held for all attempts that wait to be accepted. Default 100 MiB.
    incoming_buffer_size_total: u64;
    /// Whether clients may change their address. Default `true`.
    migration: bool;
    /// The clock that tokens are dated by. Default: the system's.
    time_source: Arc<dyn TimeSource>;
    /// The key that protects tokens; servers that share it accept each other's.
    token_key: Arc<dyn HandshakeTokenKey>;
    /// IPv4 address that clients shall move to (RFC 9000 §9.6). Default none.
    preferred_address_v4: Option<SocketAddrV4>;
    /// IPv6 address that clients shall move to (RFC 9000 §9.6). Default none.
    preferred_address_v6: Option<SocketAddrV6>;
}
