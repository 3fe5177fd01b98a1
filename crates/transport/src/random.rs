//! Randomness of the operating system; in virtual time, of the simulation.

use crate::crypto_provider;
#[cfg(feature = "testing")]
use crate::virtual_time;

pub(crate) fn u64() -> u64 {
    let mut bytes = [0; 8];
    fill(&mut bytes);
    u64::from_ne_bytes(bytes)
}

/// Fills `bytes`.
pub(crate) fn fill(bytes: &mut [u8]) {
    #[cfg(feature = "testing")]
    if virtual_time::with(|world| fill_by(bytes, || world.random())).is_some() {
        return;
    }
    crypto_provider::fill_random(bytes);
}

#[cfg(feature = "testing")]
fn fill_by(bytes: &mut [u8], mut random: impl FnMut() -> u64) {
    for chunk in bytes.chunks_mut(8) {
        chunk.copy_from_slice(&random().to_le_bytes()[..chunk.len()]);
    }
}
