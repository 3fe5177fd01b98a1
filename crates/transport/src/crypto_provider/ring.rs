//! ring, and for blocks of AES the crate `aes`.

use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use ring::rand::{SecureRandom, SystemRandom};
pub(crate) use ring::{aead, digest, hkdf, hmac};
pub(crate) use rustls::crypto::ring::{cipher_suite, default_provider};

/// Fills `bytes` with randomness that nobody can predict.
pub(crate) fn fill_random(bytes: &mut [u8]) {
    let filled = SystemRandom::new().fill(bytes);
    filled.expect("the operating system has randomness");
}

/// AES-128 on single blocks of 16 octets (FIPS 197).
pub(crate) struct Aes128(aes::Aes128);

impl Aes128 {
    pub(crate) fn new(key: &[u8; 16]) -> Self {
        Self(aes::Aes128::new(key.into()))
    }

    pub(crate) fn encrypt(&self, block: &mut [u8; 16]) {
        self.0.encrypt_block(block.into());
    }

    pub(crate) fn decrypt(&self, block: &mut [u8; 16]) {
        self.0.decrypt_block(block.into());
    }
}
