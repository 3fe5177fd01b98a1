//! The sockets of a group, one for each shard, in the order in which the kernel counts them.

use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{SocketAddr, UdpSocket};

/// Who sees to it that packets reach their shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steering {
    /// The kernel, by connection ID: Linux.
    Kernel,
    /// Nobody: only one shard has been asked for.
    Unneeded,
    /// Nobody could: there is one shard, although more have been asked for.
    Unavailable,
}

/// Sockets bound to one address, and who sees to it that each gets its shard's packets.
pub(super) struct Sockets {
    pub(super) sockets: Vec<UdpSocket>,
    pub(super) steering: Steering,
}

/// As many sockets as shards, or a single one where the kernel cannot steer.
///
/// # Errors
/// When `address` cannot be bound.
pub(super) fn bind(address: SocketAddr, shards: usize, cid_len: usize) -> io::Result<Sockets> {
    bind_with(address, shards, |founder| {
        platform::steer(founder, cid_len, shards)
    })
}

fn bind_with(
    address: SocketAddr,
    shards: usize,
    steer: impl FnOnce(&Socket) -> io::Result<()>,
) -> io::Result<Sockets> {
    if shards > 1 {
        let founder = socket(address)?;
        match steer(&founder) {
            Ok(()) => return bind_group(founder, address, shards),
            Err(error) => {
                tracing::warn!(%error, shards, "no steering by connection ID: a single shard");
            }
        }
    }
    let single = socket(address)?;
    single.bind(&address.into())?;
    let steering = if shards > 1 {
        Steering::Unavailable
    } else {
        Steering::Unneeded
    };
    Ok(Sockets {
        sockets: vec![single.into()],
        steering,
    })
}

/// The founder is the group's first socket; each further one becomes the next when it is bound.
fn bind_group(founder: Socket, address: SocketAddr, shards: usize) -> io::Result<Sockets> {
    founder.bind(&address.into())?;
    let founder = UdpSocket::from(founder);
    let address = founder.local_addr()?;
    let mut sockets = vec![founder];
    for _ in 1..shards {
        let member = socket(address)?;
        platform::join(&member)?;
        member.bind(&address.into())?;
        sockets.push(member.into());
    }
    Ok(Sockets {
        sockets,
        steering: Steering::Kernel,
    })
}

/// A socket for either family where the address is IPv6 and the system allows.
fn socket(address: SocketAddr) -> io::Result<Socket> {
    let domain = Domain::for_address(address);
    let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
    if address.is_ipv6()
        && let Err(error) = socket.set_only_v6(false)
    {
        tracing::debug!(%error, "these sockets will not reach IPv4 peers");
    }
    Ok(socket)
}

#[cfg(target_os = "linux")]
mod platform {
    use crate::sharded::program;
    use socket2::Socket;
    use std::io;

    /// Has `founder`, not yet bound, found a group that steers.
    pub(super) fn steer(founder: &Socket, cid_len: usize, shards: usize) -> io::Result<()> {
        join(founder)?;
        program::attach(founder, &mut program::program(cid_len, shards))
    }

    /// Lets `member` be bound to the group's address.
    pub(super) fn join(member: &Socket) -> io::Result<()> {
        member.set_reuse_port(true)
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use socket2::Socket;
    use std::io;

    pub(super) fn steer(_founder: &Socket, _cid_len: usize, _shards: usize) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn join(_member: &Socket) -> io::Result<()> {
        unreachable!("no group is founded")
    }
}

#[cfg(test)]
mod tests;
