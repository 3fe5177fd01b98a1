//! What a client recognizes a certificate by.

use crate::crypto_provider::digest::{SHA256, digest};
use rustls::pki_types::CertificateDer;

/// SHA-256 of a certificate's DER.
pub fn fingerprint(cert: &CertificateDer<'_>) -> [u8; 32] {
    let hash = digest(&SHA256, cert);
    hash.as_ref().try_into().expect("SHA-256 has 32 bytes")
}
