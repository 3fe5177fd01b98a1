//! As much of rtnetlink(7) as it takes to give a device its addresses, without the `ip` program.

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};
use std::io;
use std::net::IpAddr;

/// The devices of the network namespace in which it was opened.
#[derive(Debug)]
pub(super) struct Devices {
    socket: OwnedFd,
}

impl Devices {
    pub(super) fn open() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
        Ok(Self { socket })
    }

    pub(super) fn index(&self, name: &str) -> io::Result<u32> {
        Ok(rustix::net::netdevice::name_to_index(&self.socket, name)?)
    }

    /// Sets the largest IP packet and the number of packets that may wait to be read.
    pub(super) fn set_sizes(&self, device: u32, mtu: u32, queue: u32) -> io::Result<()> {
        let mut request = Request::new(RTM_NEWLINK, 0, &link_message(device, 0));
        request.attribute(IFLA_MTU, &mtu.to_ne_bytes());
        request.attribute(IFLA_TXQLEN, &queue.to_ne_bytes());
        self.ask(request)
    }

    /// Keeps IPv6 from making itself an address on the device and asking for routers there.
    pub(super) fn omit_link_local(&self, device: u32) -> io::Result<()> {
        let mut request = Request::new(RTM_NEWLINK, 0, &link_message(device, 0));
        request.nested(IFLA_AF_SPEC, |families| {
            families.nested(AF_INET6, |ipv6| {
                ipv6.attribute(IFLA_INET6_ADDR_GEN_MODE, &[IN6_ADDR_GEN_MODE_NONE]);
            });
        });
        self.ask(request)
    }

    /// Gives it an address and with it the route to its network.
    pub(super) fn add_address(&self, device: u32, address: IpAddr, prefix: u8) -> io::Result<()> {
        let (family, bytes) = match address {
            IpAddr::V4(address) => (AF_INET, address.octets().to_vec()),
            IpAddr::V6(address) => (AF_INET6, address.octets().to_vec()),
        };
        // struct ifaddrmsg: family, prefix length, flags, scope, device.
        let mut message = vec![family as u8, prefix, IFA_F_NODAD, 0];
        message.extend(device.to_ne_bytes());
        let mut request = Request::new(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &message);
        request.attribute(IFA_LOCAL, &bytes);
        request.attribute(IFA_ADDRESS, &bytes);
        self.ask(request)
    }

    pub(super) fn up(&self, device: u32) -> io::Result<()> {
        self.ask(Request::new(RTM_NEWLINK, 0, &link_message(device, IFF_UP)))
    }

    /// Sends a request and reads the kernel's answer to it, which is an error number or zero.
    fn ask(&self, request: Request) -> io::Result<()> {
        let sent = request.finish();
        send(&self.socket, &sent, SendFlags::empty())?;
        let mut answer = [0; 4_096];
        let (length, _) = recv(&self.socket, &mut answer[..], RecvFlags::empty())?;
        match error_of(&answer[..length]) {
            Some(0) => Ok(()),
            Some(number) => Err(Errno::from_raw_os_error(number).into()),
            None => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// A message to the kernel: a header, a fixed part and attributes, each padded to four bytes.
#[derive(Debug)]
struct Request {
    bytes: Vec<u8>,
}

impl Request {
    fn new(kind: u16, flags: u16, message: &[u8]) -> Self {
        // struct nlmsghdr: length, type, flags, sequence number, port.
        let mut bytes = vec![0; 4];
        bytes.extend(kind.to_ne_bytes());
        bytes.extend((flags | NLM_F_REQUEST | NLM_F_ACK).to_ne_bytes());
        bytes.extend([0; 8]);
        bytes.extend(message);
        Self { bytes }
    }

    fn attribute(&mut self, kind: u16, value: &[u8]) {
        self.nested(kind, |inside| inside.bytes.extend(value));
    }

    /// An attribute made of what `fill` adds.
    fn nested(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) {
        let begin = self.bytes.len();
        // struct rtattr: length without padding, type.
        self.bytes.extend([0; 2]);
        self.bytes.extend(kind.to_ne_bytes());
        fill(self);
        let length = u16::try_from(self.bytes.len() - begin).expect("attributes are short");
        self.bytes[begin..begin + 2].copy_from_slice(&length.to_ne_bytes());
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn finish(mut self) -> Vec<u8> {
        let length = u32::try_from(self.bytes.len()).expect("requests are short");
        self.bytes[..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes
    }
}

/// struct ifinfomsg: family, padding, type, device, flags, and which of the flags to change.
fn link_message(device: u32, flags: u32) -> Vec<u8> {
    [0, device, flags, flags].map(u32::to_ne_bytes).concat()
}

/// The positive error number in an answer; `None` when it is no answer to a request.
fn error_of(answer: &[u8]) -> Option<i32> {
    let kind = u16::from_ne_bytes(*answer.get(4..)?.first_chunk()?);
    let error = i32::from_ne_bytes(*answer.get(16..)?.first_chunk()?);
    (kind == NLMSG_ERROR).then(|| error.wrapping_neg())
}

// <linux/netlink.h>
const NLM_F_REQUEST: u16 = 0x1;
const NLM_F_ACK: u16 = 0x4;
const NLM_F_EXCL: u16 = 0x200;
const NLM_F_CREATE: u16 = 0x400;
const NLMSG_ERROR: u16 = 2;

// <linux/rtnetlink.h>
const RTM_NEWLINK: u16 = 16;
const RTM_NEWADDR: u16 = 20;

// <linux/if.h>, <linux/if_link.h>, <linux/if_addr.h>
const IFF_UP: u32 = 1;
const IFLA_MTU: u16 = 4;
const IFLA_TXQLEN: u16 = 13;
const IFLA_AF_SPEC: u16 = 26;
const IFLA_INET6_ADDR_GEN_MODE: u16 = 8;
const IN6_ADDR_GEN_MODE_NONE: u8 = 1;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
/// An IPv6 address is usable at once, instead of after a second in which nobody else claims it.
const IFA_F_NODAD: u8 = 0x2;

// <linux/socket.h>
const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_without_the_padding_that_follows() {
        let mut request = Request::new(RTM_NEWLINK, 0, &link_message(7, IFF_UP));
        request.nested(IFLA_AF_SPEC, |families| {
            families.nested(AF_INET6, |ipv6| ipv6.attribute(8, &[1]));
        });
        let bytes = request.finish();
        let u16_at = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        assert_eq!(bytes.len(), 16 + 16 + 4 + 4 + 8);
        assert_eq!(usize::from(u16_at(0)), bytes.len());
        assert_eq!((u16_at(32), u16_at(34)), (16, IFLA_AF_SPEC));
        assert_eq!((u16_at(36), u16_at(38)), (12, AF_INET6));
        assert_eq!((u16_at(40), u16_at(42)), (5, 8));
    }

    #[test]
    fn an_answer_is_an_error_number_or_nothing() {
        let answer = |kind: u16, error: i32| {
            let mut bytes = vec![0; 20];
            bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
            bytes[16..].copy_from_slice(&error.to_ne_bytes());
            bytes
        };
        assert_eq!(error_of(&answer(NLMSG_ERROR, 0)), Some(0));
        assert_eq!(error_of(&answer(NLMSG_ERROR, -17)), Some(17));
        assert_eq!(error_of(&answer(RTM_NEWLINK, 0)), None);
        assert_eq!(error_of(&[0; 19]), None);
    }

    #[test]
    fn loopback_exists_and_nothing_else_of_its_name() {
        let devices = Devices::open().unwrap();
        assert_eq!(devices.index("lo").unwrap(), 1);
        devices.index("no such device").unwrap_err();
    }
}
