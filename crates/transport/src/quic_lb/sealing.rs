//! Sealing under the secret of an epoch, and opening under the one that was sealed with.

use super::secrets::{Epoch, Purpose, Schedule, Secrets};
use crate::crypto_provider::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use crate::crypto_provider::hkdf::HKDF_SHA256;
use crate::random;
use quinn_proto::crypto::{AeadKey, CryptoError, HandshakeTokenKey};
use rustls::server::ProducesTickets;
use std::sync::Arc;

impl Secrets {
    /// For [`ServerConfig::token_key`](crate::ServerConfig::token_key). How long a token is good
    /// is set there, too; the overlap limits it.
    pub fn token_key(&self) -> Arc<dyn HandshakeTokenKey> {
        Arc::new(Sealing::new(self.clone(), Purpose::Token))
    }

    /// For [`ServerTls::tickets`](crate::tls::ServerTls::tickets): a client resumes its session at
    /// any server, but without 0-RTT, which takes [`Sessions`](super::Sessions). A ticket is good
    /// for the overlap.
    pub fn ticketer(&self) -> Arc<dyn ProducesTickets> {
        Arc::new(Tickets::new(self.clone()))
    }
}

/// Seals with AES-256-GCM under a key of its own for each sealing, which HKDF makes from the
/// epoch's secret and 16 random bytes: 2⁴⁸ of them under one secret share a key with a
/// probability of 2⁻³³, however many servers there are.
///
/// ```text
/// ┌────────────┬──────────┬─────────────┬──────────────┐
/// │ ciphertext │ tag (16) │ key id (1)  │ random (16)  │
/// └────────────┴──────────┴─────────────┴──────────────┘
/// ```
#[derive(Debug, Clone)]
pub(super) struct Sealing {
    secrets: Secrets,
    purpose: Purpose,
}

impl Sealing {
    pub(super) fn new(secrets: Secrets, purpose: Purpose) -> Self {
        Self { secrets, purpose }
    }

    pub(super) fn seal(&self, plain: &[u8]) -> Option<Vec<u8>> {
        let mut random = [0; RANDOM];
        random::fill(&mut random);
        let mut sealed = plain.to_vec();
        self.aead_from_hkdf(&random).seal(&mut sealed, &[]).ok()?;
        sealed.extend(random);
        Some(sealed)
    }

    pub(super) fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        let (sealed, random) = sealed.split_last_chunk::<RANDOM>()?;
        let mut sealed = sealed.to_vec();
        let key = self.aead_from_hkdf(random);
        key.open(&mut sealed, &[]).ok().map(|plain| plain.to_vec())
    }
}

impl HandshakeTokenKey for Sealing {
    fn aead_from_hkdf(&self, random_bytes: &[u8]) -> Box<dyn AeadKey> {
        Box::new(KeyOfAnyEpoch {
            schedule: self.secrets.schedule(),
            now: self.secrets.unix_time(),
            purpose: self.purpose,
            random: random_bytes.to_vec(),
        })
    }
}

/// A key that becomes one when it is known of which epoch.
///
/// It is no key of aws-lc-rs' or ring's itself: quinn-proto implements its traits for those of one
/// library alone, ring's as soon as anything in the program turns on its feature `ring`.
struct KeyOfAnyEpoch {
    schedule: Arc<Schedule>,
    now: u64,
    purpose: Purpose,
    random: Vec<u8>,
}

impl KeyOfAnyEpoch {
    fn of(&self, epoch: &Epoch) -> LessSafeKey {
        let mut key = [0; 32];
        let random = [&self.random[..]];
        let material = epoch.key(self.purpose).expand(&random, HKDF_SHA256);
        let filled = material.and_then(|material| material.fill(&mut key));
        filled.expect("32 bytes are one block of HKDF-SHA-256");
        LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &key).expect("AES-256 takes 32 bytes"))
    }
}

impl AeadKey for KeyOfAnyEpoch {
    fn seal(&self, data: &mut Vec<u8>, additional_data: &[u8]) -> Result<(), CryptoError> {
        let epoch = self.schedule.sealing(self.now);
        let key = self.of(epoch);
        key.seal_in_place_append_tag(nonce(), Aad::from(additional_data), data)
            .map_err(|_| CryptoError)?;
        data.push(epoch.key_id());
        Ok(())
    }

    fn open<'a>(
        &self,
        data: &'a mut [u8],
        additional_data: &[u8],
    ) -> Result<&'a mut [u8], CryptoError> {
        let (key_id, sealed) = data.split_last_mut().ok_or(CryptoError)?;
        let epoch = self.schedule.opening(self.now, *key_id);
        let key = self.of(epoch.ok_or(CryptoError)?);
        key.open_in_place(nonce(), Aad::from(additional_data), sealed)
            .map_err(|_| CryptoError)
    }
}

/// Each key seals once.
fn nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; 12])
}

/// TLS session tickets that every server of the fleet can read.
#[derive(Debug)]
pub(super) struct Tickets(Sealing);

impl Tickets {
    pub(super) fn new(secrets: Secrets) -> Self {
        Self(Sealing::new(secrets, Purpose::Ticket))
    }
}

impl ProducesTickets for Tickets {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        self.0.secrets.schedule().overlap()
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        self.0.seal(plain)
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        self.0.open(cipher)
    }
}

/// Bytes that make a key, as quinn-proto has them in its tokens.
const RANDOM: usize = 16;

#[cfg(test)]
#[cfg(feature = "rcgen")]
mod tests;
