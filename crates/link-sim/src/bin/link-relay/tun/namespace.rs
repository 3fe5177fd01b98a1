use super::kernel::{Namespaces, leave_namespaces, open_tun};
use super::netlink::Devices;
use crate::failure::Failure;
use core::fmt::Display;
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::thread::{CapabilitySet, LinkNameSpaceType, capabilities, move_into_link_name_space};
use std::fs::{self, File};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::{io, thread};

/// Makes the process root of a user namespace of its own, unless it may make network namespaces
/// as it is. Only a process with one thread can.
pub(super) fn become_privileged() -> Result<(), Failure> {
    let needed = CapabilitySet::SYS_ADMIN | CapabilitySet::NET_ADMIN;
    if capabilities(None).is_ok_and(|sets| sets.effective.contains(needed)) {
        return Ok(());
    }
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    let enter = || {
        leave_namespaces(Namespaces::User)?;
        // Without this, nobody unprivileged may map a group.
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/gid_map", format!("0 {} 1", group.as_raw()))?;
        fs::write("/proc/self/uid_map", format!("0 {} 1", user.as_raw()))
    };
    enter().map_err(|error| {
        Failure::run(format!(
            "cannot create a user namespace: {error}; run as root, or check sysctl \
             user.max_user_namespaces, kernel.unprivileged_userns_clone and \
             kernel.apparmor_restrict_unprivileged_userns"
        ))
    })
}

/// One end of the link: a network namespace with a TUN device.
///
/// The namespace ends with the last process in it and the last file that refers to it, the device
/// when the link lets go of it.
#[derive(Debug)]
pub(super) struct Namespace {
    file: OwnedFd,
}

/// A new namespace, the TUN device in it, and whether that has an IPv6 address.
#[derive(Debug)]
pub(super) struct End {
    pub(super) namespace: Namespace,
    pub(super) device: OwnedFd,
    pub(super) has_ipv6: bool,
}

impl Namespace {
    /// Makes one end with these addresses, which reaches the other end's.
    pub(super) fn create(v4: Ipv4Addr, v6: Ipv6Addr) -> Result<End, Failure> {
        on_a_thread(|| {
            leave_namespaces(Namespaces::Network).map_err(because(
                "cannot create a network namespace (check sysctl \
                 kernel.apparmor_restrict_unprivileged_userns)",
            ))?;
            let file = File::open("/proc/thread-self/ns/net")
                .map_err(because("cannot open a network namespace"))?;
            let device = open_tun(DEVICE).map_err(because(
                "cannot open /dev/net/tun (load the kernel module tun)",
            ))?;
            let has_ipv6 = configure(v4, v6).map_err(because(
                "cannot set the address of the TUN \
                 device",
            ))?;
            Ok(End {
                namespace: Self { file: file.into() },
                device,
                has_ipv6,
            })
        })
    }

    /// What `job` makes in it, such as sockets, which stay there.
    pub(super) fn inside<T: Send>(
        &self,
        job: impl FnOnce() -> io::Result<T> + Send,
    ) -> io::Result<T> {
        on_a_thread(|| {
            self.enter()?;
            job()
        })
    }

    /// Moves the calling thread, and what it starts, into it.
    pub(super) fn enter(&self) -> io::Result<()> {
        let kind = Some(LinkNameSpaceType::Network);
        Ok(move_into_link_name_space(self.file.as_fd(), kind)?)
    }

    /// Packets that the kernel dropped because the link had not read those before them in time.
    pub(super) fn dropped(&self) -> io::Result<u64> {
        let devices = self.read("dev")?;
        Ok(transmit_drops(&devices, DEVICE).unwrap_or(0))
    }

    /// Whether a TCP socket listens in it, or a UDP socket waits to be sent to.
    pub(super) fn has_a_server(&self) -> io::Result<bool> {
        for (table, state) in [
            ("tcp", LISTENS),
            ("tcp6", LISTENS),
            ("udp", UNCONNECTED),
            ("udp6", UNCONNECTED),
        ] {
            // Without IPv6 there are no such tables.
            if self.read(table).is_ok_and(|table| has_state(&table, state)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// One of its tables in /proc/net.
    fn read(&self, table: &str) -> io::Result<String> {
        self.inside(|| fs::read_to_string(format!("/proc/thread-self/net/{table}")))
    }
}

/// Namespaces are per thread, so whatever happens in one happens on a thread of its own.
fn on_a_thread<T: Send>(job: impl FnOnce() -> T + Send) -> T {
    let result = thread::scope(|scope| scope.spawn(job).join());
    result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn because<E: Display>(what: &str) -> impl FnOnce(E) -> Failure {
    move |error| Failure::run(format!("{what}: {error}"))
}

/// Switches loopback and the TUN device of the calling thread's namespace on. Answers whether
/// there is IPv6.
fn configure(v4: Ipv4Addr, v6: Ipv6Addr) -> io::Result<bool> {
    let devices = Devices::open()?;
    devices.up(devices.index("lo")?)?;
    let tun = devices.index(DEVICE)?;
    devices.set_sizes(tun, MTU, QUEUE)?;
    // A kernel without IPv6, or with it switched off, refuses either of these.
    let has_ipv6 = devices.omit_link_local(tun).is_ok()
        && devices.add_address(tun, v6.into(), PREFIX_V6).is_ok();
    devices.add_address(tun, v4.into(), PREFIX_V4)?;
    devices.up(tun)?;
    Ok(has_ipv6)
}

/// The drops among what a device sent, from the table `net/dev`: a name, then eight columns of
/// what it received, then bytes, packets, errors and drops of what it sent.
fn transmit_drops(table: &str, device: &str) -> Option<u64> {
    let columns = table.lines().find_map(|line| {
        let (name, columns) = line.split_once(':')?;
        (name.trim() == device).then_some(columns)
    })?;
    columns.split_whitespace().nth(8 + 3)?.parse().ok()
}

/// Whether a socket in a table such as `net/tcp` is in this state, the fourth column.
fn has_state(table: &str, state: &str) -> bool {
    let mut lines = table.lines().skip(1);
    lines.any(|line| line.split_whitespace().nth(3) == Some(state))
}

const DEVICE: &str = "tun0";
/// Ethernet's.
const MTU: u32 = 1_500;
/// Packets that the device holds until they are read. A TCP sender's whole window may come at
/// once, as a TUN device does not hold its sender back: these are 120 ms at 1 Gbit/s.
const QUEUE: u32 = 10_000;
const PREFIX_V4: u8 = 24;
const PREFIX_V6: u8 = 64;

// <net/tcp_states.h>, in hexadecimal as the tables have them.
const UNCONNECTED: &str = "07";
const LISTENS: &str = "0A";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_those_of_the_device_and_of_sending() {
        let table = "Inter-|   Receive                  |  Transmit\n\
            face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop\n\
              lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n\
            tun0:21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36\n";
        assert_eq!(transmit_drops(table, "tun0"), Some(32));
        assert_eq!(transmit_drops(table, "tun1"), None);
    }

    #[test]
    fn a_server_is_known_by_the_state_of_its_socket() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue\n\
            0: 00000000:1451 00000000:0000 0A 00000000:00000000\n";
        assert!(has_state(table, LISTENS));
        assert!(!has_state(table, UNCONNECTED));
    }
}
