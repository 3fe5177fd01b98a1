//! Randomness of the operating system.

pub(crate) fn u64() -> u64 {
    let mut bytes = [0; 8];
    fill(&mut bytes);
    u64::from_ne_bytes(bytes)
}

/// Fills `bytes`.
pub(crate) fn fill(bytes: &mut [u8]) {
    aws_lc_rs::rand::fill(bytes).expect("aws-lc has randomness");
}
