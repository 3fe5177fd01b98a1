//! Numbers used once.

use super::cid_cipher::CidCipher;
use super::cid_config::MAX_NONCE;

/// All octet strings of one length, each once, from some beginning (§9.6 of
/// draft-ietf-quic-load-balancers-21).
pub(super) struct Nonces {
    /// The next one, in its first octets, as a number in network order.
    next: [u8; MAX_NONCE],
    len: usize,
    /// How many are left; 2¹²⁸ − 1 stands for that and more.
    left: u128,
    /// Shuffles them where everybody can read them. A permutation, so none comes twice: random
    /// ones of 4 octets would do so after some 65,000.
    shuffle: Option<CidCipher>,
}

impl Nonces {
    /// Nonces of `len` octets counted upwards from `start`.
    pub(super) fn counted(len: usize, start: [u8; MAX_NONCE]) -> Self {
        let bits = 8 * u32::try_from(len).expect("at most 18");
        Self {
            next: start,
            len,
            left: 1_u128.checked_shl(bits).unwrap_or(u128::MAX),
            shuffle: None,
        }
    }

    /// The same in an order that shows nothing to those without `key`.
    pub(super) fn shuffled(len: usize, start: [u8; MAX_NONCE], key: &[u8; 16]) -> Self {
        Self {
            shuffle: Some(CidCipher::new(key)),
            ..Self::counted(len, start)
        }
    }

    /// Writes the next one to `nonce`; `false` when all have been used.
    pub(super) fn write_next(&mut self, nonce: &mut [u8]) -> bool {
        let Some(left) = self.left.checked_sub(1) else {
            return false;
        };
        self.left = left;
        nonce.copy_from_slice(&self.next[..self.len]);
        if let Some(shuffle) = &self.shuffle {
            shuffle.encrypt(nonce);
        }
        for octet in self.next[..self.len].iter_mut().rev() {
            *octet = octet.wrapping_add(1);
            if *octet != 0 {
                break;
            }
        }
        true
    }

    pub(super) fn left(&self) -> u128 {
        self.left
    }

    /// As if all had been used.
    #[cfg(test)]
    pub(super) fn exhaust(&mut self) {
        self.left = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    #[test]
    fn they_count_through_zero_and_end_before_the_first_one() {
        let mut start = [0; MAX_NONCE];
        start[..4].copy_from_slice(&[0xff, 0xff, 0xff, 0xfe]);
        let mut nonces = Nonces::counted(4, start);
        let mut nonce = [0; 4];
        for expected in [0xffff_fffe, 0xffff_ffff, 0, 1_u32] {
            assert!(nonces.write_next(&mut nonce));
            assert_eq!(u32::from_be_bytes(nonce), expected);
        }
        assert_eq!(nonces.left(), (1 << 32) - 4);
        nonces.left = 1;
        assert!(nonces.write_next(&mut nonce));
        assert!(!nonces.write_next(&mut nonce));
        assert!(!nonces.write_next(&mut nonce));
    }

    proptest! {
        #[test]
        fn none_comes_twice(start: [u8; MAX_NONCE], key: [u8; 16], len in 4..=MAX_NONCE) {
            for mut nonces in [Nonces::counted(len, start), Nonces::shuffled(len, start, &key)] {
                let mut seen = HashSet::new();
                for _ in 0..1_000 {
                    let mut nonce = vec![0; len];
                    prop_assert!(nonces.write_next(&mut nonce));
                    prop_assert!(seen.insert(nonce));
                }
            }
        }
    }

    /// 100,000 random nonces of 4 octets would have one twice with a probability of 69 %.
    #[test]
    fn shuffled_ones_show_no_order_and_still_never_repeat() {
        let mut nonces = Nonces::shuffled(4, [0; MAX_NONCE], &[7; 16]);
        let mut seen = HashSet::new();
        let mut rises = 0;
        let mut last = 0;
        for _ in 0..100_000 {
            let mut nonce = [0; 4];
            assert!(nonces.write_next(&mut nonce));
            let number = u32::from_be_bytes(nonce);
            rises += u32::from(number > last);
            last = number;
            assert!(seen.insert(number));
        }
        assert!((48_000..52_000).contains(&rises), "{rises}");
    }
}
