//! TLS 1.3 for the common cases: self-signed and pinned, a CA, or no verification at all.
//!
//! Certificates that vouch for themselves, `SelfSigned`, are made with feature `rcgen`, a default.
//!
//! Each function starts a configuration on which [`cipher`](ClientTls::cipher) and
//! [`alpn`](ClientTls::alpn) can be set. Anything else goes through rustls:
//! [`ClientConfig::new`] and [`ServerConfig::with_crypto`] take what quinn takes.
//!
//! ```
//! use paceline::tls::{self, Cipher};
//!
//! let certificate = tls::SelfSigned::generate(["localhost", "127.0.0.1"])?;
//! let server = certificate.server().alpn(&[b"chat/1"]).config()?;
//! let client = tls::client_with_fingerprint(certificate.fingerprint)
//!     .alpn(&[b"chat/1"])
//!     .cipher(Cipher::ChaCha20)
//!     .config()?;
//! # let _ = (server, client);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod fingerprint;
#[cfg(feature = "rcgen")]
mod self_signed;

use crate::clock::WallClock;
use crate::config::{ClientConfig, ServerConfig};
use crate::crypto_provider::{cipher_suite, default_provider};
use core::fmt;
use core::str::FromStr;
pub use error::TlsError;
pub use fingerprint::Fingerprint;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{VerifierBuilderError, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::{ProducesTickets, StoresServerSessions};
use rustls::{
    CertificateError, DigitallySignedStruct, KeyLogFile, RootCertStore, SignatureScheme,
    SupportedCipherSuite, Tls13CipherSuite,
};
#[cfg(feature = "rcgen")]
pub use self_signed::SelfSigned;
use std::sync::Arc;

#[cfg(feature = "rcgen")]
impl SelfSigned {
    /// A server that shows this certificate.
    pub fn server(&self) -> ServerTls {
        server(vec![self.cert.clone()], self.key.clone_key())
    }
}

/// A client that takes whatever certificate it is shown: it cannot tell the server from somebody
/// in between. For measurements and tests.
pub fn client_without_verification() -> ClientTls {
    ClientTls::new(Verifier::Nothing)
}

/// A client that takes the one certificate with this SHA-256 fingerprint, whatever its name and
/// dates.
pub fn client_with_fingerprint(fingerprint: impl Into<Fingerprint>) -> ClientTls {
    ClientTls::new(Verifier::Fingerprint(fingerprint.into()))
}

/// A client that trusts the authorities in `pem` and checks name and dates.
///
/// ```
/// use paceline::tls::{self, TlsError};
///
/// // What it takes is a file's contents, such as those of `ca-certificates.crt`.
/// let error = tls::client_with_ca(b"no certificate").unwrap_err();
/// assert!(matches!(error, TlsError::Pem(_)));
/// ```
///
/// # Errors
/// When `pem` holds no certificate or one that cannot be read.
pub fn client_with_ca(pem: &[u8]) -> Result<ClientTls, TlsError> {
    let mut roots = RootCertStore::empty();
    for cert in CertificateDer::pem_slice_iter(pem) {
        let cert = cert.map_err(|error| TlsError::Pem(error.to_string()))?;
        roots.add(cert).map_err(TlsError::Rustls)?;
    }
    if roots.is_empty() {
        return Err(TlsError::Pem("no certificate found".to_owned()));
    }
    Ok(client_with_roots(Arc::new(roots)))
}

/// A client that trusts the authorities in `roots` and checks name and dates.
pub fn client_with_roots(roots: Arc<RootCertStore>) -> ClientTls {
    ClientTls::new(Verifier::Authorities(roots))
}

/// A server with this certificate chain, its own first, and the key to it.
pub fn server(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> ServerTls {
    ServerTls {
        chain,
        key,
        suites: Vec::new(),
        alpn: Vec::new(),
        has_key_log: false,
        resumption: Resumption::Alone,
    }
}

impl ClientConfig {
    /// A client that trusts the authorities in `roots` and checks name and dates;
    /// [`client_with_ca`] takes them as a PEM file.
    ///
    /// # Errors
    /// When `roots` has none.
    pub fn with_root_certificates(roots: Arc<RootCertStore>) -> Result<Self, VerifierBuilderError> {
        let config = client_with_roots(roots).config();
        config.map_err(|error| match error {
            TlsError::Verifier(error) => error,
            _ => unreachable!("a verifier is all that can fail"),
        })
    }
}

impl ServerConfig {
    /// A server with this certificate chain, the server's own first, and the key to it.
    ///
    /// # Errors
    /// When the key is of an unknown kind or does not belong to the certificate.
    pub fn with_single_cert(
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Self, rustls::Error> {
        server(chain, key).config()
    }
}

/// A client's TLS in the making.
#[derive(Debug, Clone)]
pub struct ClientTls {
    verifier: Verifier,
    /// Empty for all that there are.
    suites: Vec<SupportedCipherSuite>,
    alpn: Vec<Vec<u8>>,
    has_key_log: bool,
}

impl ClientTls {
    fn new(verifier: Verifier) -> Self {
        Self {
            verifier,
            suites: Vec::new(),
            alpn: Vec::new(),
            has_key_log: false,
        }
    }

    /// Offers this cipher alone. Default: all three, AES-256 first.
    pub fn cipher(mut self, cipher: Cipher) -> Self {
        self.suites = vec![cipher.entry().2];
        self
    }

    /// Offers these alone, the preferred one first, such as
    /// [`plaintext_suite`](crate::testing::plaintext_suite).
    #[cfg(feature = "testing")]
    pub fn suites(mut self, suites: &[SupportedCipherSuite]) -> Self {
        self.suites = suites.to_vec();
        self
    }

    /// Offers these application protocols, the preferred one first. Default: none.
    pub fn alpn(mut self, protocols: &[&[u8]]) -> Self {
        self.alpn = protocols.iter().map(|name| name.to_vec()).collect();
        self
    }

    /// Writes each session's secrets to the file that the environment variable `SSLKEYLOGFILE`
    /// names, for Wireshark and the like; nowhere if it is not set. **Whoever reads that file reads
    /// the traffic.** Default: the variable is not looked at.
    pub fn key_log(mut self) -> Self {
        self.has_key_log = true;
        self
    }

    /// The configuration to connect with.
    ///
    /// # Errors
    /// When the authorities cannot be used for verification.
    pub fn config(self) -> Result<ClientConfig, TlsError> {
        let provider = provider(self.suites);
        let verifier = self.verifier.build(&provider)?;
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .expect("each provider has TLS 1.3")
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        config.time_provider = Arc::new(WallClock);
        config.alpn_protocols = self.alpn;
        if self.has_key_log {
            config.key_log = Arc::new(KeyLogFile::new());
        }
        config.enable_early_data = true;
        let crypto = QuicClientConfig::with_initial(Arc::new(config), initial_suite())
            .expect("Initial packets use AES-128-GCM");
        Ok(ClientConfig::new(Arc::new(crypto)))
    }
}

/// A server's TLS in the making.
#[derive(Debug)]
pub struct ServerTls {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    /// Empty for all that there are.
    suites: Vec<SupportedCipherSuite>,
    alpn: Vec<Vec<u8>>,
    has_key_log: bool,
    resumption: Resumption,
}

#[derive(Debug)]
enum Resumption {
    /// In this configuration.
    Alone,
    Tickets(Arc<dyn ProducesTickets>),
    Sessions(Arc<dyn StoresServerSessions>),
}

impl ServerTls {
    /// Accepts this cipher alone. Default: all three, in the client's order.
    pub fn cipher(mut self, cipher: Cipher) -> Self {
        self.suites = vec![cipher.entry().2];
        self
    }

    /// Accepts these alone, such as [`plaintext_suite`](crate::testing::plaintext_suite).
    #[cfg(feature = "testing")]
    pub fn suites(mut self, suites: &[SupportedCipherSuite]) -> Self {
        self.suites = suites.to_vec();
        self
    }

    /// Accepts these application protocols. Default: none, and clients that ask for one are
    /// refused nothing.
    pub fn alpn(mut self, protocols: &[&[u8]]) -> Self {
        self.alpn = protocols.iter().map(|name| name.to_vec()).collect();
        self
    }

    /// Writes each session's secrets to the file that the environment variable `SSLKEYLOGFILE`
    /// names, for Wireshark and the like; nowhere if it is not set. **Whoever reads that file reads
    /// the traffic.** Default: the variable is not looked at.
    pub fn key_log(mut self) -> Self {
        self.has_key_log = true;
        self
    }

    /// Has clients keep their sessions in tickets made by `tickets`, such as
    /// [`Secrets::ticketer`](crate::quic_lb::Secrets::ticketer), so that other servers can resume
    /// them. Without 0-RTT: rustls takes none with tickets that could be used twice.
    pub fn tickets(mut self, tickets: Arc<dyn ProducesTickets>) -> Self {
        self.resumption = Resumption::Tickets(tickets);
        self
    }

    /// Keeps sessions in `sessions`, such as [`quic_lb::Sessions`](crate::quic_lb::Sessions), with
    /// 0-RTT. Default: the last 256, in this configuration alone.
    pub fn sessions(mut self, sessions: Arc<dyn StoresServerSessions>) -> Self {
        self.resumption = Resumption::Sessions(sessions);
        self
    }

    /// The configuration to accept with.
    ///
    /// # Errors
    /// When the key is of an unknown kind or does not belong to the certificate.
    pub fn config(self) -> Result<ServerConfig, rustls::Error> {
        let mut config = rustls::ServerConfig::builder_with_provider(provider(self.suites))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .expect("each provider has TLS 1.3")
            .with_no_client_auth()
            .with_single_cert(self.chain, self.key)?;
        config.time_provider = Arc::new(WallClock);
        config.alpn_protocols = self.alpn;
        if self.has_key_log {
            config.key_log = Arc::new(KeyLogFile::new());
        }
        // The only value but 0 that QUIC allows (RFC 9001 §4.6.1).
        config.max_early_data_size = u32::MAX;
        match self.resumption {
            Resumption::Alone => {}
            Resumption::Sessions(sessions) => config.session_storage = sessions,
            Resumption::Tickets(tickets) => {
                config.ticketer = tickets;
                config.max_early_data_size = 0;
            }
        }
        let crypto = QuicServerConfig::with_initial(Arc::new(config), initial_suite())
            .expect("Initial packets use AES-128-GCM");
        Ok(ServerConfig::with_crypto(Arc::new(crypto)))
    }
}

/// What protects the packets after the handshake's first flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cipher {
    /// AES-128-GCM with SHA-256: the fastest where the CPU has AES instructions.
    Aes128,
    /// AES-256-GCM with SHA-384.
    Aes256,
    /// ChaCha20-Poly1305 with SHA-256: the fastest without AES instructions.
    ChaCha20,
}

impl Cipher {
    const ALL: [(Self, &'static str, SupportedCipherSuite); 3] = [
        (
            Self::Aes128,
            "aes128",
            cipher_suite::TLS13_AES_128_GCM_SHA256,
        ),
        (
            Self::Aes256,
            "aes256",
            cipher_suite::TLS13_AES_256_GCM_SHA384,
        ),
        (
            Self::ChaCha20,
            "chacha20",
            cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
        ),
    ];

    fn entry(self) -> &'static (Self, &'static str, SupportedCipherSuite) {
        let found = Self::ALL.iter().find(|(cipher, ..)| *cipher == self);
        found.expect("every cipher is listed")
    }
}

impl fmt::Display for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.entry().1)
    }
}

impl FromStr for Cipher {
    type Err = units::ParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.iter().find(|(_, name, _)| *name == text);
        found
            .map(|(cipher, ..)| *cipher)
            .ok_or_else(|| units::ParseError::new(text, "`aes128`, `aes256` or `chacha20`"))
    }
}

#[derive(Debug, Clone)]
enum Verifier {
    Nothing,
    Fingerprint(Fingerprint),
    Authorities(Arc<RootCertStore>),
}

impl Verifier {
    fn build(
        self,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ServerCertVerifier>, TlsError> {
        let pinned = match self {
            Self::Nothing => None,
            Self::Fingerprint(fingerprint) => Some(fingerprint),
            Self::Authorities(roots) => {
                let provider = Arc::clone(provider);
                let builder = WebPkiServerVerifier::builder_with_provider(roots, provider);
                return Ok(builder.build()?);
            }
        };
        Ok(Arc::new(Unchained {
            pinned,
            provider: Arc::clone(provider),
        }))
    }
}

/// Judges a certificate without a chain of trust: by its fingerprint or not at all. That the
/// server holds the certificate's key is checked in either case.
#[derive(Debug)]
struct Unchained {
    pinned: Option<Fingerprint>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Unchained {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match self.pinned {
            Some(pinned) if pinned != Fingerprint::of(end_entity) => {
                Err(CertificateError::ApplicationVerificationFailure.into())
            }
            _ => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        unreachable!("QUIC speaks TLS 1.3 only")
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// aws-lc-rs or ring, with these ciphers alone if some were chosen.
fn provider(suites: Vec<SupportedCipherSuite>) -> Arc<CryptoProvider> {
    let mut provider = default_provider();
    if !suites.is_empty() {
        provider.cipher_suites = suites;
    }
    Arc::new(provider)
}

/// Initial packets are protected by AES-128-GCM whatever is negotiated (RFC 9001 §5.2).
fn initial_suite() -> rustls::quic::Suite {
    let suite = aes_128_gcm().quic_suite();
    suite.expect("AES-128-GCM has a QUIC suite")
}

/// TLS_AES_128_GCM_SHA256.
fn aes_128_gcm() -> &'static Tls13CipherSuite {
    let suite = cipher_suite::TLS13_AES_128_GCM_SHA256.tls13();
    suite.expect("a TLS 1.3 suite by its name")
}
