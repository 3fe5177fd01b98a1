//! Configurations as quinn has them: its setters, its public fields, its way to name a controller.

use crate::congestion::{self, ControllerFactory};
use paceline::{
    AckFrequencyConfig, ChooseController, ConnectionId, IdleTimeout, MtuDiscoveryConfig,
    TimeSource, TokenStore, ValidationTokenConfig, VarInt, crypto, rustls,
};
use quinn_proto::crypto::HandshakeTokenKey;
use rustls::RootCertStore;
use rustls::client::VerifierBuilderError;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::fmt;
use std::net::{SocketAddrV4, SocketAddrV6};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

/// A [`paceline::TransportConfig`], whose defaults it has, with quinn's way to name a controller.
#[derive(Debug, Default)]
pub struct TransportConfig(paceline::TransportConfig);

macro_rules! transport_setters {
    ($($name:ident: $type:ty;)*) => {
        impl TransportConfig {$(
            #[doc = concat!("As [`paceline::TransportConfig::", stringify!($name), "`].")]
            pub fn $name(&mut self, value: $type) -> &mut Self {
                self.0.$name(value);
                self
            }
        )*}
    };
}

transport_setters! {
    max_concurrent_bidi_streams: VarInt;
    max_concurrent_uni_streams: VarInt;
    max_idle_timeout: Option<IdleTimeout>;
    stream_receive_window: VarInt;
    receive_window: VarInt;
    send_window: u64;
    send_fairness: bool;
    packet_threshold: u32;
    time_threshold: f32;
    initial_rtt: Duration;
    initial_mtu: u16;
    min_mtu: u16;
    mtu_discovery_config: Option<MtuDiscoveryConfig>;
    pad_to_mtu: bool;
    ack_frequency_config: Option<AckFrequencyConfig>;
    persistent_congestion_threshold: u32;
    keep_alive_interval: Option<Duration>;
    crypto_buffer_size: usize;
    allow_spin: bool;
    datagram_receive_buffer_size: Option<usize>;
    datagram_send_buffer_size: usize;
    enable_segmentation_offload: bool;
}

impl TransportConfig {
    /// The controller of paceline's that has the name of quinn's: see
    /// [the list](crate#controllers).
    ///
    /// # Panics
    /// When the factory is of another kind than [`CubicConfig`](congestion::CubicConfig),
    /// [`NewRenoConfig`](congestion::NewRenoConfig) and [`BbrConfig`](congestion::BbrConfig), or
    /// its values are outside of paceline's ranges.
    pub fn congestion_controller_factory(
        &mut self,
        factory: Arc<dyn ControllerFactory + Send + Sync + 'static>,
    ) -> &mut Self {
        self.0.congestion(congestion::chosen(factory));
        self
    }

    /// As [`paceline::TransportConfig::congestion`]: a controller by its name.
    ///
    /// # Errors
    /// When a string names no controller.
    pub fn congestion<C: ChooseController>(&mut self, choice: C) -> C::Chosen<&mut Self> {
        choice.choose_controller(|choice| {
            self.0.congestion(choice);
            self
        })
    }

    /// As [`paceline::TransportConfig::qlog_stream`].
    #[cfg(feature = "qlog")]
    pub fn qlog_stream(&mut self, stream: Option<paceline::QlogStream>) -> &mut Self {
        self.0.qlog_stream(stream);
        self
    }

    fn for_paceline(&self) -> Arc<paceline::TransportConfig> {
        Arc::new(self.0.clone())
    }
}

impl Deref for TransportConfig {
    type Target = paceline::TransportConfig;

    fn deref(&self) -> &paceline::TransportConfig {
        &self.0
    }
}

impl DerefMut for TransportConfig {
    fn deref_mut(&mut self) -> &mut paceline::TransportConfig {
        &mut self.0
    }
}

/// A [`paceline::ClientConfig`].
#[derive(Debug, Clone)]
pub struct ClientConfig(paceline::ClientConfig);

impl ClientConfig {
    /// As [`paceline::ClientConfig::new`].
    pub fn new(crypto: Arc<dyn crypto::ClientConfig>) -> Self {
        Self(paceline::ClientConfig::new(crypto))
    }

    /// As [`paceline::ClientConfig::with_root_certificates`].
    ///
    /// # Errors
    /// When there is no root certificate.
    pub fn with_root_certificates(roots: Arc<RootCertStore>) -> Result<Self, VerifierBuilderError> {
        paceline::ClientConfig::with_root_certificates(roots).map(Self)
    }

    /// A client that believes the certificates that the operating system does.
    ///
    /// # Errors
    /// When the system's verifier cannot be had.
    #[cfg(feature = "platform-verifier")]
    pub fn try_with_platform_verifier() -> Result<Self, rustls::Error> {
        #[cfg(feature = "aws-lc-rs")]
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        #[cfg(not(feature = "aws-lc-rs"))]
        let provider = rustls::crypto::ring::default_provider();
        let provider = Arc::new(provider);
        let verifier = rustls_platform_verifier::Verifier::new(provider.clone())?;
        let mut tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        tls.enable_early_data = true;
        let crypto = crypto::rustls::QuicClientConfig::try_from(tls);
        let crypto = crypto.map_err(|error| rustls::Error::General(error.to_string()))?;
        Ok(Self::new(Arc::new(crypto)))
    }

    /// As [`try_with_platform_verifier`](Self::try_with_platform_verifier).
    ///
    /// # Panics
    /// When the system's verifier cannot be had.
    #[cfg(feature = "platform-verifier")]
    #[deprecated = "use `try_with_platform_verifier` instead"]
    pub fn with_platform_verifier() -> Self {
        Self::try_with_platform_verifier().expect("the system has a verifier")
    }

    /// As [`paceline::ClientConfig::initial_dst_cid_provider`].
    pub fn initial_dst_cid_provider(
        &mut self,
        provider: Arc<dyn Fn() -> ConnectionId + Send + Sync>,
    ) -> &mut Self {
        self.0.initial_dst_cid_provider(provider);
        self
    }

    /// As [`paceline::ClientConfig::transport_config`].
    pub fn transport_config(&mut self, transport: Arc<TransportConfig>) -> &mut Self {
        self.0.transport_config(transport.for_paceline());
        self
    }

    /// As [`paceline::ClientConfig::token_store`].
    pub fn token_store(&mut self, store: Arc<dyn TokenStore>) -> &mut Self {
        self.0.token_store(store);
        self
    }

    /// As [`paceline::ClientConfig::version`].
    pub fn version(&mut self, version: u32) -> &mut Self {
        self.0.version(version);
        self
    }

    pub(crate) fn for_paceline(self) -> paceline::ClientConfig {
        self.0
    }
}

/// A [`paceline::ServerConfig`] with the public fields that quinn's has.
#[derive(Clone)]
pub struct ServerConfig {
    /// How accepted connections behave.
    pub transport: Arc<TransportConfig>,
    /// TLS.
    pub crypto: Arc<dyn crypto::ServerConfig>,
    /// Address-validation tokens for later connections.
    pub validation_token: ValidationTokenConfig,
    rest: paceline::ServerConfig,
}

impl ServerConfig {
    /// As [`paceline::ServerConfig::new`].
    pub fn new(
        crypto: Arc<dyn crypto::ServerConfig>,
        token_key: Arc<dyn HandshakeTokenKey>,
    ) -> Self {
        let rest = paceline::ServerConfig::new(crypto.clone(), token_key);
        Self::with_rest(crypto, rest)
    }

    /// As [`paceline::ServerConfig::with_crypto`].
    pub fn with_crypto(crypto: Arc<dyn crypto::ServerConfig>) -> Self {
        let rest = paceline::ServerConfig::with_crypto(crypto.clone());
        Self::with_rest(crypto, rest)
    }

    /// As [`paceline::ServerConfig::with_single_cert`].
    ///
    /// # Errors
    /// When the key is of an unknown kind or does not belong to the certificate.
    pub fn with_single_cert(
        cert_chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Self, rustls::Error> {
        let config = quinn_proto::ServerConfig::with_single_cert(cert_chain, key)?;
        Ok(Self::with_crypto(config.crypto))
    }

    fn with_rest(crypto: Arc<dyn crypto::ServerConfig>, rest: paceline::ServerConfig) -> Self {
        Self {
            transport: Arc::default(),
            crypto,
            validation_token: ValidationTokenConfig::default(),
            rest,
        }
    }

    /// Replaces the transport configuration.
    pub fn transport_config(&mut self, transport: Arc<TransportConfig>) -> &mut Self {
        self.transport = transport;
        self
    }

    /// Replaces the configuration of address-validation tokens.
    pub fn validation_token_config(&mut self, validation: ValidationTokenConfig) -> &mut Self {
        self.validation_token = validation;
        self
    }

    pub(crate) fn for_paceline(&self) -> paceline::ServerConfig {
        let mut config = self.rest.clone();
        config
            .crypto(self.crypto.clone())
            .validation_token_config(self.validation_token.clone())
            .transport_config(self.transport.for_paceline());
        config
    }
}

macro_rules! server_setters {
    ($($name:ident: $type:ty;)*) => {
        impl ServerConfig {$(
            #[doc = concat!("As [`paceline::ServerConfig::", stringify!($name), "`].")]
            pub fn $name(&mut self, value: $type) -> &mut Self {
                self.rest.$name(value);
                self
            }
        )*}
    };
}

server_setters! {
    max_incoming: usize;
    incoming_buffer_size: u64;
    incoming_buffer_size_total: u64;
    retry_token_lifetime: Duration;
    migration: bool;
    time_source: Arc<dyn TimeSource>;
    token_key: Arc<dyn HandshakeTokenKey>;
    preferred_address_v4: Option<SocketAddrV4>;
    preferred_address_v6: Option<SocketAddrV6>;
}

impl fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerConfig")
            .field("transport", &self.transport)
            .field("validation_token", &self.validation_token)
            .field("rest", &self.rest)
            .finish_non_exhaustive()
    }
}
