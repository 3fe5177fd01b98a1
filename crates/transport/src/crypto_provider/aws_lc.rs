//! aws-lc-rs.

use aws_lc_rs::cipher::{
    AES_128, DecryptingKey, DecryptionContext, EncryptingKey, UnboundCipherKey,
};
pub(crate) use aws_lc_rs::{aead, digest, hkdf, hmac};
pub(crate) use rustls::crypto::aws_lc_rs::{cipher_suite, default_provider};

/// Fills `bytes` with randomness that nobody can predict.
pub(crate) fn fill_random(bytes: &mut [u8]) {
    aws_lc_rs::rand::fill(bytes).expect("the operating system has randomness");
}

/// AES-128 on single blocks of 16 octets (FIPS 197).
pub(crate) struct Aes128 {
    encrypt: EncryptingKey,
    decrypt: DecryptingKey,
}

impl Aes128 {
    pub(crate) fn new(key: &[u8; 16]) -> Self {
        let key = || UnboundCipherKey::new(&AES_128, key).expect("AES-128 takes 16 octets");
        Self {
            encrypt: EncryptingKey::ecb(key()).expect("AES has ECB"),
            decrypt: DecryptingKey::ecb(key()).expect("AES has ECB"),
        }
    }

    pub(crate) fn encrypt(&self, block: &mut [u8; 16]) {
        let context = self.encrypt.encrypt(block);
        context.expect("one block, and no IV in ECB");
    }

    pub(crate) fn decrypt(&self, block: &mut [u8; 16]) {
        let plain = self.decrypt.decrypt(block, DecryptionContext::None);
        plain.expect("one block, and no IV in ECB");
    }
}
