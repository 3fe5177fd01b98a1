//! What setting up TLS fails with.

use rustls::client::VerifierBuilderError;
use thiserror::Error;

/// TLS could not be set up.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A self-signed certificate could not be made.
    #[cfg(feature = "rcgen")]
    #[error("self-signed certificate: {0}")]
    SelfSigned(#[source] rcgen::Error),
    /// A certificate cannot be valid for this time.
    #[cfg(feature = "rcgen")]
    #[error("validity of the certificate: {0}")]
    Validity(String),
    /// The file of authorities cannot be read.
    #[error("expected certificates in PEM: {0}")]
    Pem(String),
    /// An authority cannot be used.
    #[error("authority: {0}")]
    Verifier(#[from] VerifierBuilderError),
    /// rustls refused a certificate.
    #[error(transparent)]
    Rustls(#[from] rustls::Error),
}
