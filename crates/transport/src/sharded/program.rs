//! The rule of [`owner`](super::owner) as a classic BPF program, and how the kernel gets it.
//!
//! Classic BPF has no loops, reads nothing but the packet, and the kernel checks a program before
//! it takes it; hence it needs no privilege (socket(7), SO_ATTACH_REUSEPORT_CBPF, since Linux 4.5
//! for UDP). Loads are relative to the UDP payload: the kernel pulls the UDP header first. A load
//! beyond the packet's end ends the program with the result 0.

use crate::shard_routing::{CID_LEN_AT, LONG_HEADER};
use libc::{
    BPF_A, BPF_ABS, BPF_ALU, BPF_B, BPF_IND, BPF_JA, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_MISC,
    BPF_MOD, BPF_RET, BPF_TAX, sock_filter, sock_fprog,
};
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Picks the socket of a SO_REUSEPORT group by its index: A is the accumulator, X the index
/// register, `[n]` the octet at offset n of the payload.
///
/// # Panics
/// If `shards` is 0, by which the kernel refuses to divide, too.
pub(super) fn program(cid_len: usize, shards: usize) -> [sock_filter; LEN] {
    assert!(shards > 0, "a group has sockets");
    let k = |offset| u32::try_from(offset).expect("connection IDs have at most 20 octets");
    [
        statement(BPF_LD | BPF_B | BPF_ABS, 0),
        jump(BPF_JMP | BPF_JSET | BPF_K, LONG_HEADER.into(), 2),
        // A short header: A = [cid_len], the last octet of the ID that begins at 1.
        statement(BPF_LD | BPF_B | BPF_ABS, k(cid_len)),
        statement(BPF_JMP | BPF_JA, 3),
        // A long header: A = [5 + [5]].
        statement(BPF_LD | BPF_B | BPF_ABS, k(CID_LEN_AT)),
        statement(BPF_MISC | BPF_TAX, 0),
        statement(BPF_LD | BPF_B | BPF_IND, k(CID_LEN_AT)),
        statement(BPF_ALU | BPF_MOD | BPF_K, k(shards)),
        statement(BPF_RET | BPF_A, 0),
    ]
}

/// Has the kernel choose by `program` among the sockets of the group that `socket` founds.
///
/// To be called before the socket is bound: the group then has the program when its first
/// datagram comes, the socket is the group's first, and binding to an address at which another
/// group lives is refused instead of joining that group.
///
/// # Errors
/// What the kernel says; EINVAL if `socket` lacks SO_REUSEPORT.
#[expect(
    unsafe_code,
    reason = "neither rustix nor socket2 nor nix wraps SO_ATTACH_REUSEPORT_CBPF"
)]
pub(super) fn attach(socket: &impl AsFd, program: &mut [sock_filter]) -> io::Result<()> {
    let argument = sock_fprog {
        len: u16::try_from(program.len()).expect("the kernel takes at most 4,096 instructions"),
        filter: program.as_mut_ptr(),
    };
    let len = libc::socklen_t::try_from(size_of_val(&argument)).expect("16 bytes at most");
    // SAFETY: the descriptor is open while it is borrowed, and the kernel copies `argument` and
    // the instructions it points to, whose number it has, before the call returns.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_REUSEPORT_CBPF,
            (&raw const argument).cast(),
            len,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

fn statement(code: u32, k: u32) -> sock_filter {
    sock_filter {
        code: u16::try_from(code).expect("codes have 16 bits"),
        jt: 0,
        jf: 0,
        k,
    }
}

/// Skips the next `then` instructions if the test holds.
fn jump(code: u32, k: u32, then: u8) -> sock_filter {
    sock_filter {
        jt: then,
        ..statement(code, k)
    }
}

/// Instructions, of which no packet meets more than seven.
const LEN: usize = 9;

#[cfg(test)]
mod tests;
