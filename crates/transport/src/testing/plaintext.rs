//! Packet protection that protects nothing, for simulations, which have no eavesdropper.
//!
//! The TLS handshake takes place all the same, and a packet has the length that AES-128-GCM would
//! have given it, so that everything happens as it would with encryption, with less work.

use crate::crypto_provider::cipher_suite::{
    TLS13_AES_128_GCM_SHA256, TLS13_CHACHA20_POLY1305_SHA256,
};
use rustls::crypto::cipher::{AeadKey, Iv};
use rustls::quic::{Algorithm, HeaderProtectionKey, PacketKey, Tag};
use rustls::{Error, SupportedCipherSuite, Tls13CipherSuite};
use std::sync::LazyLock;

/// `TLS_AES_128_GCM_SHA256` with packets that are left as they are.
pub(super) fn suite() -> SupportedCipherSuite {
    static SUITE: LazyLock<Tls13CipherSuite> = LazyLock::new(|| plain(TLS13_AES_128_GCM_SHA256));
    SupportedCipherSuite::Tls13(&SUITE)
}

/// A cipher suite that leaves packets as they are, for tests with peers that forge frames. What
/// negotiates it takes the number of `TLS_CHACHA20_POLY1305_SHA256`, so an endpoint may offer it
/// beside the other two and encrypt to honest peers. Packets end in 16 bytes that stand for their
/// number; zeros are right for every number.
pub fn plaintext_suite() -> SupportedCipherSuite {
    static SUITE: LazyLock<Tls13CipherSuite> =
        LazyLock::new(|| plain(TLS13_CHACHA20_POLY1305_SHA256));
    SupportedCipherSuite::Tls13(&SUITE)
}

/// The suite without the protection of packets.
fn plain(real: SupportedCipherSuite) -> Tls13CipherSuite {
    let real = real.tls13().expect("a TLS 1.3 suite by its name");
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
    fn encrypt_in_place(&self, number: u64, _: &[u8], _: &mut [u8]) -> Result<Tag, Error> {
        Ok(Tag::from(&tag(number)[..]))
    }

    fn decrypt_in_place<'a>(
        &self,
        number: u64,
        _: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8], Error> {
        match payload.split_last_chunk() {
            Some((plain, found)) if *found == tag(number) || *found == ANY_NUMBER => Ok(plain),
            _ => Err(Error::DecryptError),
        }
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

/// The packet's number, which is what a header can leave in doubt: a packet that so many others
/// have overtaken that its number is completed to a wrong one is not to be understood, either
/// (RFC 9000 §17.1).
fn tag(number: u64) -> [u8; TAG] {
    (u128::from(number) + 1).to_be_bytes()
}

/// The tag of who forges packets, see [`World::tamper`](super::World::tamper).
const ANY_NUMBER: [u8; TAG] = [0; TAG];

/// Of AES-128-GCM, as are the limits of packets for one key (RFC 9001 §6.6), so that keys change
/// when they would.
const TAG: usize = 16;
const CONFIDENTIALITY_LIMIT: u64 = 1 << 23;
const INTEGRITY_LIMIT: u64 = 1 << 52;
