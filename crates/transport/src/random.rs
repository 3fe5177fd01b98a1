//! Randomness of the operating system.

use crate::crypto_provider;

pub(crate) fn u64() -> u64 {
    let mut bytes = [0; 8];
    fill(&mut bytes);
    u64::from_ne_bytes(bytes)
}

/// Fills `bytes`.
pub(crate) fn fill(bytes: &mut [u8]) {
    crypto_provider::fill_random(bytes);
}
