//! Bytes that depend on their place in the stream, so that none can be missing, repeated or moved
//! unnoticed.

use crate::Result;
use bytes::Bytes;

/// `length` bytes from `start` on, both multiples of 8 except a last `length`.
pub(crate) fn content(start: u64, length: usize) -> Bytes {
    let words = (start / 8..).take(length.div_ceil(8));
    let mut bytes: Vec<u8> = words.flat_map(|word| mixed(word).to_le_bytes()).collect();
    bytes.truncate(length);
    bytes.into()
}

/// Whether `received` is what stands at `start`.
///
/// # Errors
/// At the first byte that is not, with its place.
pub(crate) fn compare(start: u64, received: &[u8]) -> Result<()> {
    let expected = |place: u64| mixed(place / 8).to_le_bytes()[(place % 8) as usize];
    match (start..)
        .zip(received)
        .find(|(place, byte)| expected(*place) != **byte)
    {
        None => Ok(()),
        Some((place, _)) => Err(format!("byte {place} is not the one that was sent").into()),
    }
}

/// SplitMix64's output function: neighbours have nothing in common.
fn mixed(word: u64) -> u64 {
    let mut bits = word.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_is_recognized_in_any_pieces() {
        let made = content(8, 1_003);
        compare(8, &made).unwrap();
        compare(8 + 501, &made[501..]).unwrap();
    }

    #[test]
    fn a_byte_that_is_missing_repeated_or_changed_is_found() {
        let mut made = content(0, 64).to_vec();
        assert!(compare(1, &made).is_err());
        made[63] ^= 1;
        let error = compare(0, &made).unwrap_err();
        assert_eq!(error.to_string(), "byte 63 is not the one that was sent");
        made.remove(20);
        assert!(compare(0, &made[..30]).is_err());
    }
}
