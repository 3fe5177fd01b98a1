//! The program, interpreted: it is the rule, for packets and for what is none.

use super::program;
use crate::shard_routing::owner;
use libc::{
    BPF_A, BPF_ABS, BPF_ALU, BPF_B, BPF_IND, BPF_JA, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_MISC,
    BPF_MOD, BPF_RET, BPF_TAX, sock_filter,
};
use proptest::collection::vec;
use proptest::prelude::*;

proptest! {
    #[test]
    fn kernel_and_endpoints_agree_on_any_octets(
        datagram in vec(any::<u8>(), 0..64),
        cid_len in 1..=20_usize,
        shards in 1..=256_usize,
    ) {
        let chosen = interpret(&program(cid_len, shards), &datagram);
        prop_assert!(chosen < shards);
        prop_assert_eq!(chosen, owner(&datagram, cid_len, shards));
    }

    #[test]
    fn the_last_octet_of_a_connection_id_decides(
        id in vec(any::<u8>(), 1..=20),
        shards in 1..=256_usize,
        is_long: bool,
        rest in vec(any::<u8>(), 1..40),
    ) {
        let header = if is_long {
            vec![0xc0, 0, 0, 0, 1, u8::try_from(id.len()).unwrap()]
        } else {
            vec![0x40]
        };
        let datagram = [&header, &id, &rest[..]].concat();
        let expected = usize::from(*id.last().unwrap()) % shards;
        prop_assert_eq!(interpret(&program(id.len(), shards), &datagram), expected);
    }
}

#[test]
fn what_has_no_connection_id_goes_to_the_first_shard() {
    let program = program(8, 7);
    let of_no_length = [0xc0, 0, 0, 0, 1, 0, 3, 3];
    let beyond_the_end = [0xc0, 0, 0, 0, 1, 255, 3, 3];
    let cut = [0x40, 3, 3, 3];
    for datagram in [&[][..], &of_no_length, &beyond_the_end, &cut, &[0xff; 5]] {
        assert_eq!(interpret(&program, datagram), 0, "{datagram:?}");
    }
}

/// What the kernel does with the instructions that the program has, on a payload.
fn interpret(program: &[sock_filter], payload: &[u8]) -> usize {
    let (mut a, mut x, mut at) = (0_u32, 0_u32, 0);
    let octet = |index: u32| payload.get(index as usize).copied().map(u32::from);
    loop {
        let instruction = &program[at];
        let (code, k) = (u32::from(instruction.code), instruction.k);
        at += 1;
        const ABSOLUTE: u32 = BPF_LD | BPF_B | BPF_ABS;
        const INDIRECT: u32 = BPF_LD | BPF_B | BPF_IND;
        const SET: u32 = BPF_JMP | BPF_JSET | BPF_K;
        const ALWAYS: u32 = BPF_JMP | BPF_JA;
        const REMAINDER: u32 = BPF_ALU | BPF_MOD | BPF_K;
        const TO_INDEX: u32 = BPF_MISC | BPF_TAX;
        const RETURN: u32 = BPF_RET | BPF_A;
        match code {
            ABSOLUTE | INDIRECT => {
                let base = if code == INDIRECT { x } else { 0 };
                match octet(base + k) {
                    Some(octet) => a = octet,
                    None => return 0,
                }
            }
            SET if a & k != 0 => at += usize::from(instruction.jt),
            SET => at += usize::from(instruction.jf),
            ALWAYS => at += k as usize,
            REMAINDER => a %= k,
            TO_INDEX => x = a,
            RETURN => return a as usize,
            _ => panic!("the interpreter lacks {code:#x}"),
        }
    }
}
