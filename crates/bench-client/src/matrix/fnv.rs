/// FNV-1a of 128 bits (draft-eastlake-fnv-22): the same on every machine; against accidents, not
/// against malice.
pub(super) fn fnv_1a(text: &str) -> u128 {
    text.bytes().fold(OFFSET_BASIS, |hash, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(PRIME)
    })
}

const OFFSET_BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
