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
/// key and number; zeros are right for all.
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
    fn packet_key(&self, key: AeadKey, _: Iv) -> Box<dyn PacketKey> {
        let (own, _) = key.as_ref().split_first_chunk().expect("a key of 16 bytes");
        Box::new(Key(*own))
    }

    fn header_protection_key(&self, _: AeadKey) -> Box<dyn HeaderProtectionKey> {
        Box::new(Self)
    }

    fn aead_key_len(&self) -> usize {
        16
    }
}

/// A key, of which so much stands in its packets: a packet that comes after its keys were discarded
/// is not to be read with the next ones, which would be a key update.
struct Key([u8; 8]);

impl PacketKey for Key {
    fn encrypt_in_place(&self, number: u64, _: &[u8], _: &mut [u8]) -> Result<Tag, Error> {
        Ok(Tag::from(&self.tag(number)[..]))
    }

    fn decrypt_in_place<'a>(
        &self,
        number: u64,
        _: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8], Error> {
        match payload.split_last_chunk() {
            Some((plain, found)) if *found == self.tag(number) || *found == ANY => Ok(plain),
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

impl Key {
    /// The key and the packet's number, which is what a header can leave in doubt: a packet that so
    /// many others have overtaken that its number is completed to a wrong one is not to be
    /// understood, either (RFC 9000 §17.1).
    fn tag(&self, number: u64) -> [u8; TAG] {
        let key = u128::from(u64::from_be_bytes(self.0));
        ((key << 64) | (u128::from(number) + 1)).to_be_bytes()
    }
}

/// The tag of who forges packets, see [`World::tamper`](super::World::tamper).
const ANY: [u8; TAG] = [0; TAG];

/// Of AES-128-GCM, as are the limits of packets for one key (RFC 9001 §6.6), so that keys change
/// when they would.
const TAG: usize = 16;
const CONFIDENTIALITY_LIMIT: u64 = 1 << 23;
const INTEGRITY_LIMIT: u64 = 1 << 52;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_read_with_its_own_key_and_number_alone() {
        let key = |byte| Plaintext.packet_key(AeadKey::from([byte; 32]), Iv::from([0; 12]));
        let mut sealed = b"text".to_vec();
        let tag = key(1).encrypt_in_place(7, &[], &mut sealed).unwrap();
        sealed.extend_from_slice(tag.as_ref());
        let read = |byte, number| {
            let mut packet = sealed.clone();
            let plain = key(byte).decrypt_in_place(number, &[], &mut packet);
            plain.ok().map(<[u8]>::to_vec)
        };
        assert_eq!(read(1, 7), Some(b"text".to_vec()));
        assert_eq!((read(2, 7), read(1, 8)), (None, None));
        let mut forged = [&b"text"[..], &ANY].concat();
        assert!(key(2).decrypt_in_place(9, &[], &mut forged).is_ok());
    }
}
