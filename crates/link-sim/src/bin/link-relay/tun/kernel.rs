//! The system calls whose safety the compiler cannot see; the only unsafe code of this program.
#![expect(
    unsafe_code,
    reason = "namespaces, TUN devices and what a child does before it starts have no safe interface"
)]

use rustix::fd::OwnedFd;
use rustix::ioctl::{Updater, ioctl, opcode};
use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

pub(super) fn leave_namespaces(namespaces: Namespaces) -> io::Result<()> {
    let flags = match namespaces {
        Namespaces::User => UnshareFlags::NEWUSER,
        Namespaces::Network => UnshareFlags::NEWNET,
    };
    // SAFETY: only leaving the table of files would be unsafe, and neither flag does.
    unsafe { unshare_unsafe(flags) }?;
    Ok(())
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Namespaces {
    /// Only a process with one thread can; it is then root inside of the new one.
    User,
    Network,
}

/// A new TUN device in the calling thread's network namespace. It lives as long as the answer is
/// open.
///
/// Without a call of TUNSETOFFLOAD a new device has no offload: the kernel takes large segments
/// apart and computes checksums before it hands packets over.
pub(super) fn open_tun(name: &str) -> io::Result<OwnedFd> {
    const TUNSETIFF: rustix::ioctl::Opcode = opcode::write::<i32>(b'T', 202);
    let device = std::fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/net/tun")?;
    let mut request = InterfaceRequest::new(name, IFF_TUN | IFF_NO_PI);
    // SAFETY: TUNSETIFF reads and writes one `struct ifreq`, which `InterfaceRequest` is.
    unsafe { ioctl(&device, Updater::<TUNSETIFF, _>::new(&mut request)) }?;
    Ok(device.into())
}

/// Lets the kernel end the process that `command` starts when the thread that started it ends,
/// were it by a kill.
pub(super) fn end_with_this_thread(command: &mut Command) {
    // SAFETY: the closure runs between fork and exec, where it makes one system call and neither
    // allocates nor takes a lock.
    unsafe {
        command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?));
    }
}

/// `struct ifreq`: a name that ends with a zero, then a union of which this is the flags.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; 16],
    flags: i16,
    rest: [u8; 22],
}

impl InterfaceRequest {
    fn new(name: &str, flags: i16) -> Self {
        let mut request = Self {
            name: [0; 16],
            flags,
            rest: [0; 22],
        };
        request.name[..name.len()].copy_from_slice(name.as_bytes());
        request
    }
}

// <linux/if_tun.h>
const IFF_TUN: i16 = 0x1;
const IFF_NO_PI: i16 = 0x1000;
