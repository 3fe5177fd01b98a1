//! How server ID and nonce are hidden: AES-128-ECB, in one pass or four
//! (draft-ietf-quic-load-balancers-21 §5.4).

use crate::crypto_provider::Aes128;
use std::fmt;

/// A permutation of the octet strings of each length from 4 to 19, chosen by a key.
///
/// 16 octets are one block. Any other length is a Feistel network of four rounds over two halves,
/// which share the middle octet when the length is odd.
pub(super) struct CidCipher(Aes128);

impl CidCipher {
    pub(super) fn new(key: &[u8; 16]) -> Self {
        Self(Aes128::new(key))
    }

    /// Encrypts all of `fields` in place.
    pub(super) fn encrypt(&self, fields: &mut [u8]) {
        if let Ok(block) = fields.try_into() {
            return self.0.encrypt(block);
        }
        let len = fields.len();
        let (mut left, mut right) = split(fields);
        self.round(len, 1, &left, &mut right, FIRST_BITS);
        self.round(len, 2, &right, &mut left, last_bits(len));
        self.round(len, 3, &left, &mut right, FIRST_BITS);
        self.round(len, 4, &right, &mut left, last_bits(len));
        join(&left, &right, fields);
    }

    /// Decrypts `fields` in place, of which only the first `wanted` octets are meant afterwards:
    /// a first half costs a round less than the whole.
    pub(super) fn decrypt(&self, fields: &mut [u8], wanted: usize) {
        if let Ok(block) = fields.try_into() {
            return self.0.decrypt(block);
        }
        let len = fields.len();
        let (mut left, mut right) = split(fields);
        self.round(len, 4, &right, &mut left, last_bits(len));
        self.round(len, 3, &left, &mut right, FIRST_BITS);
        self.round(len, 2, &right, &mut left, last_bits(len));
        if wanted > len / 2 {
            self.round(len, 1, &left, &mut right, FIRST_BITS);
        }
        join(&left, &right, fields);
    }

    /// Mixes `from` into `to`. Where the halves share an octet, `spared` names the octet of `to`
    /// whose bits belong to the other half, and which bits those are.
    fn round(&self, len: usize, pass: u8, from: &Half, to: &mut Half, spared: (usize, u8)) {
        let mut block = [0; BLOCK];
        block[..HALF].copy_from_slice(from);
        block[14] = u8::try_from(len).expect("at most 19");
        block[15] = pass;
        self.0.encrypt(&mut block);
        let half = len.div_ceil(2);
        for (octet, mask) in to[..half].iter_mut().zip(block) {
            *octet ^= mask;
        }
        if len % 2 == 1 {
            let (index, bits) = spared;
            to[index] &= !bits;
        }
    }
}

impl fmt::Debug for CidCipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CidCipher")
    }
}

/// One half, zeros behind it.
type Half = [u8; HALF];

fn split(fields: &[u8]) -> (Half, Half) {
    let half = fields.len().div_ceil(2);
    let (mut left, mut right) = ([0; HALF], [0; HALF]);
    left[..half].copy_from_slice(&fields[..half]);
    right[..half].copy_from_slice(&fields[fields.len() - half..]);
    if fields.len() % 2 == 1 {
        left[half - 1] &= 0xf0;
        right[0] &= 0x0f;
    }
    (left, right)
}

fn join(left: &Half, right: &Half, fields: &mut [u8]) {
    let half = fields.len().div_ceil(2);
    let begin = fields.len() - half;
    fields[begin..].copy_from_slice(&right[..half]);
    fields[..begin].copy_from_slice(&left[..begin]);
    if begin < half {
        fields[begin] |= left[begin];
    }
}

/// Of a right half, the left one has the first four bits.
const FIRST_BITS: (usize, u8) = (0, 0xf0);

/// Of a left half, the right one has the last four bits.
fn last_bits(len: usize) -> (usize, u8) {
    (len.div_ceil(2) - 1, 0x0f)
}

/// Octets of an AES block.
const BLOCK: usize = 16;

/// Octets of the longest half: 19, halved and rounded up.
const HALF: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// §5.4.2.4. Its step 10 misprints an operand, `0xb3e4357c` for the 0xb334357c above it; the
    /// outcome is right.
    #[test]
    fn the_drafts_worked_example() {
        let key = 0xfdf7_26a9_893e_c05c_0632_d395_6680_baf0_u128;
        let cipher = CidCipher::new(&key.to_be_bytes());
        let mut fields = [0x31, 0x44, 0x1a, 0x9c, 0x69, 0xc2, 0x75];
        cipher.encrypt(&mut fields);
        assert_eq!(fields, [0x67, 0x94, 0x7d, 0x29, 0xbe, 0x05, 0x4a]);
    }

    proptest! {
        #[test]
        fn what_is_encrypted_is_decrypted(
            key: [u8; 16],
            fields in proptest::collection::vec(any::<u8>(), 4..=19),
        ) {
            let cipher = CidCipher::new(&key);
            let mut hidden = fields.clone();
            cipher.encrypt(&mut hidden);
            for wanted in 0..=fields.len() {
                let mut seen = hidden.clone();
                cipher.decrypt(&mut seen, wanted);
                prop_assert_eq!(&seen[..wanted], &fields[..wanted]);
            }
        }

        #[test]
        fn every_octet_depends_on_every_octet(
            key: [u8; 16],
            len in 8_usize..=19,
            index in 0_usize..19,
        ) {
            let cipher = CidCipher::new(&key);
            let mut plain = vec![0; len];
            let mut flipped = plain.clone();
            flipped[index % len] ^= 0x10;
            cipher.encrypt(&mut plain);
            cipher.encrypt(&mut flipped);
            let differing = plain.iter().zip(&flipped).filter(|(a, b)| a != b).count();
            // An octet stays the same once in 256 times; half of them, never.
            prop_assert!(differing > len / 2);
        }
    }
}
