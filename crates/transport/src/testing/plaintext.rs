//! Packet protection that protects nothing, for simulations in which nobody listens.
//!
//! The TLS handshake takes place all the same, and a packet has the length that AES-128-GCM would
//! have given it, so that everything happens as it would with encryption, with less work.

use rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::crypto::cipher::{AeadKey, Iv};
use rustls::quic::{Algorithm, HeaderProtectionKey, PacketKey, Tag};
use rustls::{Error, SupportedCipherSuite, Tls13CipherSuite};
use std::sync::LazyLock;

/// `TLS_AES_128_GCM_SHA256` with packets that are left as they are.
pub(super) fn suite() -> SupportedCipherSuite {
    static SUITE: LazyLock<Tls13CipherSuite> = LazyLock::new(|| {
        let real = TLS13_AES_128_GCM_SHA256.tls13();
        let real = real.expect("a TLS 1.3 suite by its name");
        Tls13CipherSuite {
            common: rustls::crypto::CipherSuiteCommon {
                suite: real.common.suite,
                hash_provider: real.common.hash_provider,
                confidentiality_limit: real.common.confidentiality_limit,
            },
            hkdf_provider: real.hkdf_provider,
            aead_alg: real.aead_alg,
            quic: Some(&Plaintext),
        }
    });
    SupportedCipherSuite::Tls13(&SUITE)
}

struct Plaintext;

impl Algorithm for Plaintext {
    fn packet_key(&self, _: AeadKey, _: Iv) -> Box<dyn PacketKey> {
        Box::new(Self)
    }

    fn header_protection_key(&self, _: AeadKey) -> Box<dyn HeaderProtectionKey> {
        Box::new(Self)
    }

    fn aead_key_len(&self) -> usize {
        16
    }
}

impl PacketKey for Plaintext {
    fn encrypt_in_place(&self, _: u64, _: &[u8], _: &mut [u8]) -> Result<Tag, Error> {
        Ok(Tag::from(&[0; TAG][..]))
    }

    fn decrypt_in_place<'a>(
        &self,
        _: u64,
        _: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8], Error> {
        let end = payload.len().checked_sub(TAG).ok_or(Error::DecryptError)?;
        Ok(&payload[..end])
    }

    fn tag_len(&self) -> usize {
        TAG
    }

    fn confidentiality_limit(&self) -> u64 {
        CONFIDENTIALITY_LIMIT
    }

    fn integrity_limit(&self) -> u64 {
        INTEGRITY_LIMIT
    }
}

impl HeaderProtectionKey for Plaintext {
    fn encrypt_in_place(&self, _: &[u8], _: &mut u8, _: &mut [u8]) -> Result<(), Error> {
        Ok(())
    }

    fn decrypt_in_place(&self, _: &[u8], _: &mut u8, _: &mut [u8]) -> Result<(), Error> {
        Ok(())
    }

    fn sample_len(&self) -> usize {
        TAG
    }
}

/// Of AES-128-GCM, as are the limits of packets for one key (RFC 9001 §6.6), so that keys change
/// when they would.
const TAG: usize = 16;
const CONFIDENTIALITY_LIMIT: u64 = 1 << 23;
const INTEGRITY_LIMIT: u64 = 1 << 52;
